//! Endpoints that cannot read congestion marks (RFC 4340, section 12.1).

use fairwire_kit::{Draft, Pair, SERVICE, Wire, data, ms};
use fairwire_units::Ecn;
use fairwire_wire::{
    DccpOption, DropBlock, DropCode, Encoder, Kind, Packet, Ports, ResetCode, Seq,
};

use fairwire_proto::{Config, ConnectionId, Encapsulation, Event, Payload};

fn config(ecn: bool) -> Config {
    let mut config = Config::default();
    config.ecn = ecn;
    config
}

/// Returns whether a packet carries a Mandatory Change L(ECN Incapable, 1).
fn says_blind(wire: &Wire) -> bool {
    let packet = wire.packet();
    let raw = packet.options.iter();
    let options: Vec<_> = raw.map(fairwire_wire::RawOption::decode).collect();
    let (feature, value) = (4, &[1][..]);
    let change = [
        Ok(DccpOption::Mandatory),
        Ok(DccpOption::ChangeL { feature, value }),
    ];
    options.windows(2).any(|two| two == change)
}

/// Builds a Response to the last Request of side 0.
fn response(pair: &Pair, ahead: u64, options: impl FnOnce(&mut Encoder<'_>)) -> Wire {
    let (ack, ports) = pair.last_of(0);
    let ports = Ports {
        source: ports.destination,
        destination: ports.source,
    };
    let kind = Kind::Response {
        ack: ack.into(),
        service: SERVICE,
    };
    from_nothing(pair, ports, 700 + ahead, &kind, options, Payload::EMPTY)
}

fn from_nothing(
    pair: &Pair,
    ports: Ports,
    seq: u64,
    kind: &Kind,
    options: impl FnOnce(&mut Encoder<'_>),
    payload: Payload,
) -> Wire {
    let draft = Draft::new(ports, Seq::new(seq), *kind).with(payload);
    pair.make(1, draft, options)
}

/// Answers a client with this configuration with a Response with this option.
///
/// Returns the code of the client's Reset, if any.
pub(crate) fn answered_with(config: Config, option: &DccpOption<'_>) -> Option<ResetCode> {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    pair.connect_only(config);
    let wire = response(&pair, 0, |encoder| encoder.option(option).unwrap());
    let answers = pair.answers_to(&wire);
    answers.iter().find_map(Wire::reset).map(|(code, _)| code)
}

/// RFC 4340, 12.1: all four combinations of ECN-capable ends work, natively and in UDP.
///
/// An end that cannot read marks says so with Mandatory from its first packet on. No packet from or to it is
/// ECN-capable. Data flows both ways, and none is refused.
#[test]
fn all_combinations_work() {
    for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
        for (client_reads, server_reads) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let reads = [client_reads, server_reads];
            let mut pair = Pair::along(encapsulation, ms(20));
            let (client, server) = pair.open(config(reads[0]), config(reads[1]));
            let ids: [ConnectionId; 2] = [client, server];
            pair.saturate_both(ids, 300, ms(1_000));
            let name = format!("{reads:?}");
            for side in [0, 1] {
                let said = pair.log.iter().filter(|w| w.from == side).any(says_blind);
                assert_eq!(said, !reads[side], "{name}");
                let stats = pair.ends[side].stats(ids[side]).unwrap();
                assert!(stats.data_received > 50, "{name}: {stats:?}");
                assert_eq!(stats.dropped_locally, [0; 8], "{name}");
            }
            let capable = pair.log.iter().filter(|w| w.transmit.ecn != Ecn::NotEct);
            assert_eq!(capable.count() > 0, reads == [true, true], "{name}");
        }
    }
}

/// RFC 4340, 12.1: an end that cannot read marks ends the connection if the peer does not agree to that.
///
/// A peer that violates the protocol and confirms another value is reset. Reset 6 of a peer that cannot agree ends the
/// attempt.
#[test]
fn a_peer_that_refuses() {
    for value in [&[][..], &[0], &[0, 0]] {
        let confirm = DccpOption::ConfirmR { feature: 4, value };
        let code = answered_with(config(false), &confirm);
        assert_eq!(code, Some(ResetCode::OptionError), "{value:?}");
    }
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    pair.connect_only(config(false));
    let (ack, ports) = pair.last_of(0);
    let ports = Ports {
        source: ports.destination,
        destination: ports.source,
    };
    let (code, data) = (ResetCode::MandatoryError, [32, 4, 1]);
    let ack = ack.into();
    let reset = Kind::Reset { ack, code, data };
    let wire = from_nothing(&pair, ports, 0, &reset, |_| {}, Payload::EMPTY);
    assert!(pair.answers_to(&wire).is_empty());
    let reason = fairwire_proto::CloseReason::Reset {
        code,
        data,
        text: None,
    };
    assert_eq!(pair.told(0), [Event::Closed { reason }]);
}

/// RFC 4340, 12.1: the Change is repeated while a peer does not answer it.
///
/// The peer's data is dropped and reported with Drop Code 0.
#[test]
fn a_peer_that_is_silent_about_it() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    let client = pair.connect_only(config(false));
    let agreed = |encoder: &mut Encoder<'_>| {
        for (feature, value) in [(1, &[2, 2][..]), (6, &[1, 1])] {
            encoder
                .option(&DccpOption::ConfirmR { feature, value })
                .unwrap();
            encoder
                .option(&DccpOption::ConfirmL { feature, value })
                .unwrap();
        }
    };
    let wire = response(&pair, 0, agreed);
    pair.answers_to(&wire);
    let (ack, ports) = pair.last_of(0);
    let ports = Ports {
        source: ports.destination,
        destination: ports.source,
    };
    for seq in 701..705 {
        let kind = Kind::DataAck { ack: ack.into() };
        let wire = from_nothing(&pair, ports, seq, &kind, |_| {}, data(9));
        pair.deliver(0, &wire);
    }
    pair.log.clear();
    pair.run_for(ms(3_000));
    assert!(pair.ends[0].recv(client).is_none());
    let stats = pair.ends[0].stats(client).unwrap();
    assert_eq!(stats.dropped_locally, [4, 0, 0, 0, 0, 0, 0, 0]);
    let report = |packet: Packet<'_>| {
        packet.options.iter().any(|raw| match raw.decode() {
            Ok(DccpOption::DataDropped(blocks)) => blocks.iter().eq([DropBlock::Dropped {
                code: DropCode::ProtocolConstraints,
                run: 4,
            }]),
            _ => false,
        })
    };
    assert!(pair.log.iter().any(|wire| report(wire.packet())));
    let repeated = pair.log.iter().filter(|wire| says_blind(wire));
    assert!(repeated.count() >= 3, "with back-off");
}
