//! What a packet costs that was made to cost much: steps of loops, counted.

use fairwire_wire::{DccpOption, Encoder, Kind, PacketType};

use super::pair::{Fault, Pair, SERVICE, data, ms};
use crate::{Config, work};

/// More than a report of one packet of ours takes: three steps for each block that a head has room for.
const REPORT: u64 = 8_192;

/// The largest Sequence Window, as a Change L of feature 3.
fn widest_window(encoder: &mut Encoder<'_>) {
    let change = DccpOption::ChangeL {
        feature: 3,
        value: &[0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    };
    encoder.option(&change).unwrap();
}

/// A forged Request asks for the widest Sequence Window, the next one, with data, is 2^45 numbers
/// further. The window that the first asks for is not in force before the handshake is complete, so
/// the second is no valid packet: it gets a Sync, and nothing is reported of what lies between.
#[test]
fn finding_1_a_window_waits_for_the_handshake() {
    for jump in [1 << 45, 76, 75] {
        let mut pair = Pair::new();
        pair.rule(|wire| (wire.from == 1).then_some(Fault::Lose));
        pair.connect(Config::default(), Config::default());
        pair.run_for(ms(25));
        let request = |_| Kind::Request { service: SERVICE };
        let first = pair.forge(0, 1, request, widest_window, data(1));
        pair.answers_to(&first);
        let (_, remote) = pair.ends[1].connections[0].windows();
        assert_eq!(remote, 100, "until the handshake is complete");
        let second = pair.forge(0, 1 + jump, request, |_| {}, data(1));
        let (answers, _) = work::within(REPORT, || pair.answers_to(&second));
        let valid = jump == 75;
        let expected = if valid {
            PacketType::Response
        } else {
            PacketType::Sync
        };
        assert_eq!(answers[0].packet_type(), expected, "{jump}");
    }
}
