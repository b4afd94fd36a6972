//! Feedback that does not fit into one Ack.

use fairwire_units::Duration;
use fairwire_wire::{Ccid, DccpOption, Encoder, Kind, PacketType, Seq, option_type};

use super::kit::Wire;
use super::kit::{Pair, ms};
use crate::ackvec::Report;
use crate::packet_options::PacketOptions;
use crate::{Config, Encapsulation, PathMtuDiscovery};

/// CCID 2 over the smallest path MTU, with windows that allow large jumps of the sequence number.
fn narrow() -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::TCP_LIKE];
    config.receive_ccids = vec![Ccid::TCP_LIKE];
    config.path_mtu = 576;
    config.path_mtu_discovery = PathMtuDiscovery::Off;
    config.sequence_window = 1 << 17;
    config
}

/// Returns an open pair whose Acks have the least room: IPv6 and UDP.
fn open() -> Pair {
    let hosts = [1, 2].map(|host| [0x2001, 0xDB8, 0, 0, 0, 0, 0, host].into());
    let mut pair = Pair::between(hosts, Encapsulation::Udp, ms(20));
    pair.open(narrow(), narrow());
    pair
}

/// Returns what the server sends within `time` while all packets are lost.
fn sent_in(pair: &mut Pair, time: Duration) -> Vec<Wire> {
    let before = pair.log.len();
    pair.lose(|_| true);
    pair.run_for(time);
    let log = pair.log[before..].iter();
    log.filter(|wire| wire.from == 1).cloned().collect()
}

/// Returns the acknowledgement number of an Ack, and whether its Ack Vector reports that packet as received.
fn told(wire: &Wire) -> (Option<Seq>, bool) {
    let packet = wire.packet();
    let ack = packet.ack().map(|ack| ack.extend(Seq::ZERO));
    let options = PacketOptions::read(packet.options);
    let report = ack.and_then(|ack| Report::of(&options, ack));
    (
        ack,
        report.is_some_and(|r| ack.is_some_and(|ack| r.has_arrived(ack))),
    )
}

/// RFC 4340, 11.4: an Ack Vector that is too long for the path reports the newest packets, and the Ack is sent once.
///
/// Each Ack of CCID 2 has an Ack Vector. After a gap as wide as the window it does not fit into the smallest path MTU.
#[test]
fn a_vector_too_long_for_the_path_is_told_as_far_as_it_fits() {
    let mut pair = open();
    let (last, _) = pair.last_of(0);
    let answers = pair.inject(0, 40_000, |_| Kind::Data, |_| {});
    let types: Vec<_> = answers.iter().map(Wire::packet_type).collect();
    assert_eq!(types, [PacketType::Ack]);
    assert_eq!(told(&answers[0]), (Some(last.add(40_000)), true));
    let more = sent_in(&mut pair, ms(10_000));
    assert!(more.len() <= 1, "{} packets say the same", more.len());
}

/// RFC 4340, 6.6.7 and 11.4: an Ack Vector that does not fit into an Ack follows a round trip later.
///
/// Answers to Changes of unknown features fill the first Ack. Packets that arrive meanwhile do not cause an earlier
/// Ack.
#[test]
fn what_an_ack_has_no_room_for_waits_a_round_trip() {
    let change = |encoder: &mut Encoder<'_>| {
        for feature in 20..=127 {
            let change = DccpOption::ChangeL {
                feature,
                value: &[1],
            };
            encoder.option(&change).expect("room");
        }
        for feature in 20..=79 {
            let change = DccpOption::ChangeR {
                feature,
                value: &[1],
            };
            encoder.option(&change).expect("room");
        }
    };
    let mut pair = open();
    pair.lose(|_| true);
    let (last, _) = pair.last_of(0);
    pair.inject(0, 400, |ack| Kind::DataAck { ack }, change);
    for n in 0..100 {
        // Acks, which require no answer.
        let wire = pair.forge(
            0,
            401 + n,
            |ack| Kind::Ack { ack },
            |_| {},
            crate::Payload::EMPTY,
        );
        pair.deliver(1, &wire);
        pair.run_for(ms(1));
    }
    let sent = pair.log.iter().filter(|wire| wire.from == 1);
    let acks: Vec<_> = sent
        .filter(|wire| told(wire).0.is_some_and(|ack| ack.is_after(last)))
        .collect();
    assert!((2..=5).contains(&acks.len()), "{} Acks", acks.len());
    let full = acks[0].packet();
    let confirms = full
        .options
        .iter()
        .filter(|raw| raw.option_type == option_type::CONFIRM_R);
    assert!(confirms.count() > 100, "{full:?}");
    assert!(acks[1].at - acks[0].at >= ms(30), "{acks:?}");
    assert!(!told(acks[0]).1 && told(acks[1]).1, "{acks:?}");
}
