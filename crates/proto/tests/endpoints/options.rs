//! The effects of options, and the effects that they must not have.

use fairwire_kit::{Pair, SERVICE, Wire, config_of, data, ms, reseal};
use fairwire_units::Ecn;
use fairwire_wire::feature::Feature;
use fairwire_wire::{Ccid, DccpOption, Encoder, Kind, PacketType, ResetCode, SeqNo};

use fairwire_proto::{Config, Event};

/// An option's type and data.
type Raw = (u8, &'static [u8]);

fn ack(ack: SeqNo) -> Kind {
    Kind::Ack { ack }
}

fn opened() -> Pair {
    let (pair, _) = Pair::opened();
    pair
}

fn options_of(wire: &Wire) -> Vec<DccpOption<'_>> {
    wire.packet()
        .options
        .iter()
        .filter_map(|raw| raw.decode().ok())
        .collect()
}

fn put(encoder: &mut Encoder<'_>, options: &[Raw]) {
    for (option_type, data) in options {
        encoder.raw_option(*option_type, data).unwrap();
    }
}

/// RFC 4340, 5.8.2: Mandatory before an option that is not understood causes Reset 6.
///
/// The Reset carries the option's type and two bytes of its data. Mandatory at the end or doubled causes Reset 5.
/// Before Padding it has no effect.
#[test]
fn item_5_mandatory() {
    let six = |data| Some((ResetCode::MandatoryError, data));
    let five = |data| Some((ResetCode::OptionError, data));
    let cases: [(&[Raw], _); 8] = [
        (&[(1, &[]), (99, &[7, 8, 9])], six([99, 7, 8])),
        (&[(1, &[]), (99, &[7])], six([99, 7, 0])),
        (&[(1, &[]), (3, &[])], six([3, 0, 0])),
        // A known option with an invalid value.
        (&[(1, &[]), (41, &[5, 6])], six([41, 5, 6])),
        // A known option that is not acted upon: a Receive Rate, to a CCID 2 sender.
        (&[(1, &[]), (194, &[0; 4])], six([194, 0, 0])),
        (&[(1, &[]), (1, &[]), (41, &[0; 4])], five([1, 0, 0])),
        (&[(1, &[]), (0, &[]), (99, &[7])], None),
        (&[(1, &[]), (41, &[0; 4])], None),
    ];
    for (options, expected) in cases {
        let mut pair = opened();
        let answers = pair.inject(0, 1, ack, |encoder| put(encoder, options));
        assert_eq!(
            answers.first().and_then(Wire::reset),
            expected,
            "{options:?}"
        );
        let closed = pair
            .told(1)
            .iter()
            .any(|e| matches!(e, Event::Closed { .. }));
        assert_eq!(closed, expected.is_some(), "{options:?}");
    }
}

/// RFC 4340, 5.8.2: Mandatory as the very last byte causes Reset 5.
#[test]
fn item_5_mandatory_at_the_end() {
    let mut pair = opened();
    let answers = pair.inject(0, 1, ack, |encoder| {
        put(encoder, &[(0, &[]), (0, &[]), (0, &[]), (1, &[])]);
    });
    let error = (ResetCode::OptionError, [1, 0, 0]);
    assert_eq!(answers.first().and_then(Wire::reset), Some(error));
}

/// RFC 4340, 5.8 and 5.8.2: on Data, Mandatory and all negotiation are ignored.
#[test]
fn item_5_data_carries_no_dangerous_options() {
    let mut pair = opened();
    let answers = pair.inject(
        0,
        1,
        |_| Kind::Data,
        |encoder| {
            put(
                encoder,
                &[
                    (1, &[]),
                    (99, &[7]),
                    (1, &[]),
                    (1, &[]),
                    (32, &[3, 0, 0, 0, 0, 0, 40]),
                ],
            );
        },
    );
    assert!(answers.iter().all(|w| w.reset().is_none()));
    assert_eq!(pair.first(1).remote_window, 1_024, "the Change did nothing");
}

/// RFC 4340, 5.8 and 15: options that are unknown, of wrong length, or longer than the header are ignored.
///
/// The packet counts, and the options before them are processed.
#[test]
fn items_4_and_9_odd_options_are_ignored() {
    let cases: [&[Raw]; 7] = [
        &[(99, &[1, 2, 3])],
        &[(37, &[])],
        &[(37, &[0; 7])],
        &[(41, &[0; 3])],
        &[(43, &[0; 3])],
        &[(38, &[])],
        &[(17, &[]), (200, &[1])],
    ];
    for options in cases {
        let mut pair = opened();
        let server = pair.ids()[1];
        let received = |pair: &Pair| pair.ends[1].stats(server).unwrap().packets_received;
        let before = received(&pair);
        let answers = pair.inject(0, 1, ack, |encoder| put(encoder, options));
        assert!(answers.is_empty(), "{options:?}");
        assert_eq!(received(&pair), before + 1, "{options:?}");
    }
    // A length beyond the end: the Timestamp before it is echoed, the one after it is not read.
    let mut pair = opened();
    let mut wire = pair.forge(
        0,
        1,
        |ack| Kind::Sync { ack },
        |encoder| put(encoder, &[(41, &[0, 0, 0, 9]), (41, &[0; 4])]),
        fairwire_proto::Payload::EMPTY,
    );
    let at = wire.head.len() - 6;
    wire.head[at - 1..].fill(200);
    let path = pair.path(0);
    reseal(&mut wire, &path);
    assert_eq!(pair.answers_to(&wire)[0].packet_type(), PacketType::SyncAck);
}

/// RFC 4340, 13.1 and 13.3: a Timestamp is echoed on the next packet, with the time since it arrived.
///
/// It does not cause a packet of its own.
#[test]
fn timestamps_are_echoed() {
    let mut pair = opened();
    let server = pair.server.unwrap();
    let answers = pair.inject(0, 1, ack, |encoder| {
        encoder.option(&DccpOption::Timestamp(1_234)).unwrap();
    });
    assert!(answers.is_empty());
    pair.log.clear();
    pair.run_for(ms(10));
    pair.ends[1].send(pair.now, server, data(5)).unwrap();
    pair.drain();
    let echo = DccpOption::TimestampEcho {
        timestamp: 1_234,
        elapsed: Some(1_000),
    };
    let echoes: usize = pair
        .log
        .iter()
        .map(|w| options_of(w).iter().filter(|o| **o == echo).count())
        .sum();
    assert_eq!(echoes, 1);
    pair.run_for(ms(5_000));
    let later = pair.log.iter().flat_map(options_of);
    assert_eq!(
        later
            .filter(|o| matches!(o, DccpOption::TimestampEcho { .. }))
            .count(),
        1
    );
}

/// RFC 4340, 7.7: with the feature on, a packet after packets without data carries their number as NDP Count.
///
/// The option is as short as possible.
#[test]
fn ndp_counts() {
    let mut pair = Pair::new();
    let mut ccid3 = config_of(Ccid::TFRC);
    // A skipped number counts as data.
    ccid3.check_feedback = false;
    let (client, server) = pair.open(ccid3.clone(), ccid3);
    pair.bottleneck = Some((ms(2), 20));
    pair.saturate_both([client, server], 100, ms(3_000));
    for side in 0..2 {
        let mut run = 0;
        let mut seen = 0;
        for wire in pair.log.iter().filter(|w| w.from == side) {
            let packet_type = wire.packet_type();
            let count = options_of(wire)
                .into_iter()
                .find_map(|option| match option {
                    DccpOption::NdpCount(count) => Some(count),
                    _ => None,
                });
            let negotiated = seen > 0 || count.is_some();
            if negotiated && run > 0 {
                assert_eq!(count, Some(run), "{packet_type}");
                seen += 1;
            } else {
                assert_eq!(count.unwrap_or(0), 0);
            }
            run = if packet_type.carries_data() {
                0
            } else {
                run + 1
            };
        }
        assert!(seen > 10, "side {side}: {seen}");
    }
}

/// RFC 4340, 12.1: an end that cannot read marks says so with Mandatory, and neither end sends ECN-capable packets.
#[test]
fn ecn_incapable() {
    for blind in [0, 1] {
        let mut pair = Pair::new();
        let config = |ecn| {
            let mut config = Config::default();
            config.ecn = ecn;
            config
        };
        let (client, server) = pair.open(config(blind != 0), config(blind != 1));
        let change = DccpOption::ChangeL {
            feature: Feature::EcnIncapable.number(),
            value: &[1],
        };
        let announced = pair.log.iter().filter(|w| w.from == blind).any(|wire| {
            let options = options_of(wire);
            options
                .windows(2)
                .any(|pair| pair == [DccpOption::Mandatory, change])
        });
        assert!(announced, "side {blind}");
        pair.ends[0].send(pair.now, client, data(1)).unwrap();
        pair.ends[1].send(pair.now, server, data(1)).unwrap();
        pair.run_for(ms(500));
        assert!(pair.log.iter().all(|w| w.transmit.ecn == Ecn::NotEct));
        assert!(pair.ends[0].recv(client).is_some());
        assert!(pair.ends[1].recv(server).is_some());
    }
}

/// RFC 8311, 6: data packets are ECT(0), all others are not; handshake packets may be fragmented.
#[test]
fn ecn_and_fragmentation() {
    let mut pair = opened();
    let client = pair.events[0][0].1;
    for _ in 0..20 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
    }
    pair.run_for(ms(500));
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    for wire in &pair.log {
        let packet_type = wire.packet_type();
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        assert_eq!(wire.transmit.ecn == Ecn::Ect0, is_data, "{packet_type}");
        let handshake = [PacketType::Request, PacketType::Response, PacketType::Reset];
        let fragmentable = handshake.contains(&packet_type);
        assert_eq!(!wire.transmit.dont_fragment, fragmentable, "{packet_type}");
    }
}

/// RFC 4340, 5.4 to 5.7: bytes after the header of an Ack, a Sync or a Close are padding, not data.
#[test]
fn padding_is_not_data() {
    let kinds = [ack, |ack| Kind::Sync { ack }, |ack| Kind::Close { ack }];
    for kind in kinds {
        let mut pair = opened();
        let server = pair.server.unwrap();
        let wire = pair.forge(0, 1, kind, |_| {}, data(500));
        pair.answers_to(&wire);
        assert!(pair.ends[1].recv(server).is_none());
    }
}

/// A header full of Changes, many of unknown or repeated features, causes at most one Confirm for each feature.
///
/// The Confirms are sent in one or two packets, and the connection continues.
#[test]
fn item_6_floods_of_options_are_bounded() {
    for round in 0..20u8 {
        let mut pair = opened();
        let answers = pair.inject(0, 1, ack, |encoder| {
            for i in 0..u8::MAX {
                let feature = i.wrapping_mul(round);
                let value = &[1];
                if encoder
                    .option(&DccpOption::ChangeL { feature, value })
                    .is_err()
                {
                    break;
                }
            }
        });
        assert!(answers.len() <= 1);
        let flood = pair.log.len() - answers.len();
        pair.run_for(ms(1_000));
        let mut answered = [0; 256];
        for raw in pair.log[flood..]
            .iter()
            .flat_map(|wire| wire.packet().options)
        {
            if let Ok(DccpOption::ConfirmR { feature, .. }) = raw.decode() {
                answered[usize::from(feature)] += 1;
            }
        }
        assert!(answered.iter().any(|&times| times > 0), "round {round}");
        assert!(answered.iter().all(|&times| times <= 1), "{answered:?}");
        assert!(pair.log.len() - flood <= 3, "round {round}");
        let closed = |event: &Event| matches!(event, Event::Closed { .. });
        assert!(!pair.told(1).iter().any(closed), "round {round}");
    }
}

/// The Response repeats the Service Code of the Request (RFC 4340, 5.3).
#[test]
fn the_response_names_the_service() {
    let pair = opened();
    let response = pair
        .log
        .iter()
        .find(|w| w.packet_type() == PacketType::Response);
    assert_eq!(
        response.and_then(|w| w.packet().kind.service()),
        Some(SERVICE)
    );
}
