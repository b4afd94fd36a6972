//! What a packet costs that was made to cost much: steps of loops, counted.

use fairwire_units::Duration;
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

/// A sender states a round trip of a microsecond (RFC 6323), pauses for an hour and leaves a hole: a
/// packet makes few loss events of it, however many microseconds and packets it has. Each data packet
/// gets one packet of feedback at most.
#[test]
fn finding_2_a_stated_round_trip_of_a_microsecond() {
    for ccid in [3, 4] {
        let mut config = Config::default();
        config.send_ccids = vec![ccid];
        config.receive_ccids = vec![ccid];
        config.send_rtt_estimate = true;
        // Nothing but what the packets cause.
        config.keep_alive = None;
        let mut pair = Pair::new();
        let (client, server) = pair.open(config.clone(), config);
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
        pair.run_for(ms(300));
        pair.rule(|_| Some(Fault::Lose));
        let before = pair.types(1).len();
        let (mut ahead, mut sent, mut seen) = (0, 0, 0);
        for hole in [700, 300, 760, 1] {
            pair.run_for(Duration::from_secs(3_600));
            ahead += hole;
            for _ in 0..3 {
                ahead += 1;
                sent += 1;
                let stated = |encoder: &mut Encoder<'_>| {
                    encoder.option(&DccpOption::RttEstimate(1)).unwrap();
                };
                let wire = pair.forge(0, ahead, |_| Kind::Data, stated, data(1));
                pair.deliver(1, &wire);
                pair.drain();
            }
            let events = pair.ends[1].stats(server).unwrap().loss_events_seen;
            assert!(events > seen, "CCID {ccid}: {hole}");
            assert!(events <= seen + 112, "CCID {ccid}: {events}");
            seen = events;
        }
        pair.run_for(ms(1_000));
        let answers = pair.types(1).len() - before;
        assert!(answers <= sent + 2, "CCID {ccid}: {answers}");
    }
}
