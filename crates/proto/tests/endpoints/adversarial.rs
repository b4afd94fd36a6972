//! Hostile input, by the items of `docs/adversarial.md`, as far as the tests of each topic do not send it.
//!
//! Most tests use UDP, where no checksum rejects a modified packet.

use fairwire_kit::{
    Draft, Fault, PORT, Pair, SERVICE, Wire, config_of, data, kind_of, ms, plain, reseal,
};
use fairwire_units::Duration;
use fairwire_wire::{AckEntry, DccpOption, Encoder, EntryState, Kind, PacketType, ResetCode, Seq};

use fairwire_proto::{Config, ConnectionId, Encapsulation, Event, InitCookies, Payload};

const ACK: fn(fairwire_wire::SeqNo) -> Kind = |ack| Kind::Ack { ack };

fn in_udp() -> (Pair, ConnectionId, ConnectionId) {
    let mut pair = Pair::along(Encapsulation::Udp, ms(20));
    let (client, server) = pair.open(Config::default(), Config::default());
    (pair, client, server)
}

/// Returns the number of packets that the server's connection took, and the number of malformed packets.
fn taken_and_malformed(pair: &Pair) -> (u64, u64) {
    let server = pair.server.expect("accepted");
    let taken = pair.ends[1].stats(server).expect("open").packets_received;
    (taken, pair.ends[1].endpoint_stats().malformed)
}

/// Delivers a header without payload to the server and returns the immediate answers.
fn answers_to_head(pair: &mut Pair, head: &[u8]) -> Vec<Wire> {
    let mut wire = pair.forge(0, 0, ACK, |_| {}, Payload::EMPTY);
    wire.head = head.to_vec();
    pair.answers_to(&wire)
}

fn is_closed(pair: &Pair) -> bool {
    let told = pair.told(0).into_iter().chain(pair.told(1));
    told.into_iter()
        .any(|event| matches!(event, Event::Closed { .. }))
}

/// Item 1; RFC 4340, 5.1: packets with a truncated header or an invalid Data Offset are ignored.
///
/// The next packet of each type is cut at each length of its header, and gets each Data Offset that is inside its
/// header or beyond its end. There is no answer and no change of state, and nothing is read beyond the end. An uncut
/// Ack counts.
#[test]
fn item_1_broken_heads_change_nothing() {
    for packet_type in PacketType::ALL {
        let (mut pair, ..) = in_udp();
        let timestamp = |encoder: &mut Encoder<'_>| {
            encoder.option(&DccpOption::Timestamp(9)).expect("room");
        };
        let kind = |ack| kind_of(packet_type, ack);
        let bare = pair.forge(0, 1, kind, |_| {}, Payload::EMPTY).head.len();
        let whole = pair.forge(0, 1, kind, timestamp, Payload::EMPTY).head;
        let (taken, malformed) = taken_and_malformed(&pair);
        let mut sent = 0;
        for len in 0..whole.len() {
            assert!(answers_to_head(&mut pair, &whole[..len]).is_empty());
            sent += 1;
        }
        for words in 0..=u8::MAX {
            let offset = usize::from(words) * 4;
            if offset < bare || offset > whole.len() {
                let mut head = whole.clone();
                head[4] = words;
                assert!(
                    answers_to_head(&mut pair, &head).is_empty(),
                    "{packet_type} {words}"
                );
                sent += 1;
            }
        }
        assert_eq!(
            taken_and_malformed(&pair),
            (taken, malformed + sent),
            "{packet_type}"
        );
        if packet_type == PacketType::Ack {
            answers_to_head(&mut pair, &whole);
            assert_eq!(taken_and_malformed(&pair), (taken + 1, malformed + sent));
        }
    }
}

/// Item 2; RFC 4340, 5.1 and 3.1: packets of the reserved types 11 to 15 are ignored, in both header forms.
///
/// The next Ack Vector reports their number as not received. An Ack with every reserved bit set is accepted.
#[test]
fn item_2_reserved_types_are_not_received() {
    for number in 11..=15u8 {
        for long in [0, 1] {
            let (mut pair, ..) = in_udp();
            let (taken, malformed) = taken_and_malformed(&pair);
            let mut head = pair.forge(0, 1, ACK, |_| {}, Payload::EMPTY).head;
            head[8] = number << 1 | long;
            assert!(answers_to_head(&mut pair, &head).is_empty());
            assert_eq!(taken_and_malformed(&pair), (taken, malformed + 1));
            let (last, _) = pair.last_of(0);
            let wire = pair.forge(0, 2, |_| Kind::Data, |_| {}, data(5));
            let answers = pair.answers_to(&wire);
            let answer = answers.first().expect("a gap is told at once").packet();
            assert_eq!(answer.ack(), Some(last.add(2).into()));
            let options = answer.options.iter().filter_map(|raw| raw.decode().ok());
            let states: Vec<_> = options
                .filter_map(|option| match option {
                    DccpOption::AckVector { entries, .. } => Some(entries),
                    _ => None,
                })
                .flat_map(|entries| entries.iter().collect::<Vec<_>>())
                .map(|entry| (entry.state(), entry.run()))
                .collect();
            assert_eq!(
                states[..2],
                [(EntryState::Received, 1), (EntryState::NotReceived, 1)],
                "{number}"
            );
        }
    }
    let (mut pair, ..) = in_udp();
    let (taken, malformed) = taken_and_malformed(&pair);
    let mut head = pair.forge(0, 1, ACK, |_| {}, Payload::EMPTY).head;
    head[8] |= 0xE0;
    head[9] = 0xFF;
    head[16..18].fill(0xFF);
    assert!(answers_to_head(&mut pair, &head).is_empty());
    assert_eq!(taken_and_malformed(&pair), (taken + 1, malformed));
}

/// Item 4; RFC 4340, 5.8: an option with an invalid length ends the options.
///
/// The length is 0, 1 or beyond the header, or the type is the last byte of the header. The Timestamp before the option
/// is echoed. Its data bytes, which would read as Mandatory options, have no effect, and the packet counts.
#[test]
fn item_4_nonsensical_lengths_end_the_options() {
    for length in [Some(0), Some(1), Some(7), Some(255), None] {
        let (mut pair, _, server) = in_udp();
        let options = |encoder: &mut Encoder<'_>| {
            encoder.option(&DccpOption::Timestamp(9)).expect("room");
            encoder.raw_option(99, &[1; 4]).expect("room");
        };
        let mut head = pair
            .forge(0, 1, |ack| Kind::Sync { ack }, options, Payload::EMPTY)
            .head;
        let len = head.len();
        match length {
            Some(length) => head[len - 5] = length,
            None => head[len - 6..].copy_from_slice(&[0, 0, 0, 0, 0, 99]),
        }
        let answers = answers_to_head(&mut pair, &head);
        assert_eq!(answers.len(), 1, "{length:?}");
        assert_eq!(answers[0].packet_type(), PacketType::SyncAck, "{length:?}");
        let before = pair.log.len() - 1;
        pair.ends[1].send(pair.now, server, data(5)).unwrap();
        pair.drain();
        let options = pair.log[before..].iter().map(|wire| wire.packet().options);
        let echoed = DccpOption::TimestampEcho {
            timestamp: 9,
            elapsed: None,
        };
        let echoes = options.flat_map(|options| options.iter().collect::<Vec<_>>());
        let echoes = echoes.filter(|raw| raw.decode() == Ok(echoed)).count();
        assert_eq!(echoes, 1, "{length:?}");
        assert!(!is_closed(&pair));
    }
}

/// Item 7; RFC 4340, 9.2: a packet whose Checksum Coverage exceeds its data is ignored together with its options.
///
/// Otherwise the Mandatory option in it would cause a Reset. The test covers native packets with a right checksum, and
/// UDP.
#[test]
fn item_7_coverage_beyond_the_data_drops_the_options_too() {
    for (encapsulation, payload) in [(Encapsulation::Native, 7), (Encapsulation::Udp, 0)] {
        for cscov in 0..=15u8 {
            let mut pair = Pair::along(encapsulation, ms(20));
            pair.open(Config::default(), Config::default());
            let (taken, malformed) = taken_and_malformed(&pair);
            let mandatory = |encoder: &mut Encoder<'_>| {
                encoder.option(&DccpOption::Mandatory).expect("room");
                encoder.raw_option(99, &[7, 8]).expect("room");
            };
            let kind = |ack| Kind::DataAck { ack };
            let mut wire = pair.forge(0, 1, kind, mandatory, data(payload));
            wire.head[5] = cscov;
            if encapsulation == Encapsulation::Native {
                let path = pair.path(0);
                reseal(&mut wire, &path);
            }
            let answers = pair.answers_to(&wire);
            let covers = u32::from(cscov.saturating_sub(1)) * 4;
            if covers > payload {
                assert!(answers.is_empty(), "{cscov}");
                assert_eq!(
                    taken_and_malformed(&pair),
                    (taken, malformed + 1),
                    "{cscov}"
                );
            } else if cscov == 0 || encapsulation == Encapsulation::Udp {
                let reset = answers.first().and_then(Wire::reset);
                assert_eq!(reset.map(|(code, _)| code), Some(ResetCode::MandatoryError));
            }
        }
    }
}

/// Item 12; RFC 4340, 8.5, step 4, and 8.1.3: a client in REQUEST answers invalid packets at a limited rate.
///
/// It gets 5,000 Data packets without acknowledgements in a second, stays in REQUEST, and connects in the end.
#[test]
fn item_12_packet_errors_are_rationed() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    pair.connect(Config::default(), Config::default());
    let ports = pair.log[0].packet().ports.swapped();
    for n in 0..5_000 {
        let wire = pair.forged(1, ports, Seq::new(n), &Kind::Data);
        pair.answers_to(&wire);
        pair.now += Duration::from_micros(200);
    }
    let resets = pair
        .log
        .iter()
        .filter(|wire| wire.reset().is_some())
        .count();
    assert!((1..=1_024 + 64).contains(&resets), "{resets}");
    assert_eq!(pair.told(0), []);
    pair.rule(|_| None);
    pair.run_for(ms(3_000));
    assert!(pair.told(0).contains(&Event::Connected));
}

/// Item 15; RFC 4340, 7.5.3: a Sync or `SyncAck` beyond the window moves the window only after silence.
///
/// While valid packets arrive, they are dropped without an answer. After three round trips of silence one is accepted
/// and moves the window.
#[test]
fn item_15_syncs_leap_only_when_quiet() {
    for packet_type in [PacketType::Sync, PacketType::SyncAck] {
        let (mut pair, ..) = in_udp();
        let kind = |ack| kind_of(packet_type, ack);
        for n in 0..1_000 {
            if n % 100 == 0 {
                // A valid packet every 10 ms, a quarter of the round trip.
                assert!(pair.inject(0, 1 + n / 100, ACK, |_| {}).is_empty());
            }
            let answers = pair.inject(0, 5_000 + n * 7, kind, |_| {});
            assert!(answers.is_empty(), "{packet_type} {n}");
            pair.now += Duration::from_micros(100);
        }
        let (taken, _) = taken_and_malformed(&pair);
        assert!(
            pair.inject(0, 20, ACK, |_| {}).is_empty(),
            "the window is where it was"
        );
        assert_eq!(taken_and_malformed(&pair).0, taken + 1);

        pair.lose(|_| true);
        pair.run_for(ms(130));
        pair.inject(0, 5_000, kind, |_| {});
        assert_eq!(taken_and_malformed(&pair).0, taken + 2, "{packet_type}");
        assert!(
            pair.inject(0, 5_001, ACK, |_| {}).is_empty(),
            "the window has moved"
        );
        assert_eq!(taken_and_malformed(&pair).0, taken + 3, "{packet_type}");
        let late = pair.inject(0, 21, ACK, |_| {});
        assert_eq!(late.first().map(Wire::packet_type), Some(PacketType::Sync));
    }
}

/// Item 19; RFC 4340, 7.5.3 and 7.5.4: an old Close or `CloseReq` closes nothing.
///
/// It is old if its number is not newer than all received numbers, or if it acknowledges less than was acknowledged
/// before. It is answered with a Sync that acknowledges it.
#[test]
fn item_19_old_closes_close_nothing() {
    for (from, packet_type) in [
        (0, PacketType::Close),
        (1, PacketType::Close),
        (1, PacketType::CloseReq),
    ] {
        // The distance of its number from the last received one, and how far back its acknowledgement is.
        for (ahead, back) in [(1, 0), (0, 0), (2, 1), (2, 50)] {
            let (mut pair, [client, server]) = Pair::opened();
            for _ in 0..60 {
                for (side, id) in [(0, client), (1, server)] {
                    pair.ends[side].send(pair.now, id, data(10)).unwrap();
                }
                pair.run_for(ms(50));
            }
            pair.run_for(ms(1_000));
            assert!(pair.inject(from, 1, ACK, |_| {}).is_empty());
            let (last, _) = pair.last_of(from);
            let answers = pair.inject(
                from,
                ahead,
                |ack| kind_of(packet_type, ack.extend(Seq::ZERO).sub(back).into()),
                |_| {},
            );
            let kinds: Vec<_> = answers.iter().map(|wire| wire.packet().kind).collect();
            let ack = last.add(ahead).into();
            assert_eq!(kinds, [Kind::Sync { ack }], "{packet_type} {ahead} {back}");
            assert!(!is_closed(&pair), "{packet_type} {ahead} {back}");
        }
    }
}

/// Item 23; RFC 4340, 10.3: an option of a CCID that is not yet agreed on is ignored.
///
/// Here it is a Receive Rate on the Request. After Mandatory it causes Reset 6.
#[test]
fn item_23_options_of_a_ccid_before_it_is_agreed_on() {
    for mandatory in [false, true] {
        let mut pair = Pair::new();
        pair.lose(|_| true);
        pair.connect(Config::default(), Config::default());
        let options = |encoder: &mut Encoder<'_>| {
            if mandatory {
                encoder.option(&DccpOption::Mandatory).expect("room");
            }
            encoder.option(&DccpOption::ReceiveRate(5)).expect("room");
        };
        let kind = |_| Kind::Request { service: SERVICE };
        let answers = pair.inject(0, 0, kind, options);
        assert_eq!(answers.len(), 1);
        let reset = answers[0].reset();
        let refused = (ResetCode::MandatoryError, [194, 0, 0]);
        assert_eq!(reset, mandatory.then_some(refused));
        if !mandatory {
            assert_eq!(answers[0].packet_type(), PacketType::Response);
        }
    }
}

/// Item 28; RFC 6773, 3.8: feedback from another UDP port or with another DCCP port acknowledges nothing.
///
/// It belongs to another connection. The same feedback from the right ports is accepted.
#[test]
fn item_28_feedback_from_a_wrong_port_is_ignored() {
    let (mut pair, client, _) = in_udp();
    pair.lose(|_| true);
    pair.ends[0].send(pair.now, client, data(5)).unwrap();
    pair.drain();
    let vector = |encoder: &mut Encoder<'_>| {
        let arrived = AckEntry::new(EntryState::Received, 1);
        encoder.ack_vector([arrived]).expect("room");
    };
    let wire = pair.forge(1, 1, ACK, vector, Payload::EMPTY);
    let right = pair.path(0);
    let acknowledged = |pair: &Pair| pair.ends[0].stats(client).unwrap().acknowledged;
    let mut elsewhere = right;
    elsewhere.remote.set_port(right.remote.port() ^ 1);
    let mut moved = wire.head.clone();
    moved[1] ^= 1;
    for (path, head, expected) in [
        (elsewhere, &wire.head, 0),
        (right, &moved, 0),
        (right, &wire.head, 1),
    ] {
        let meta = plain(path);
        pair.ends[0].handle_datagram(pair.now, meta, head, Payload::EMPTY);
        pair.drain();
        assert_eq!(acknowledged(&pair), expected);
    }
    assert!(!is_closed(&pair));
}

/// Item 29, CCID 3 and 4: a connection survives ten seconds of marks on every packet, and recovers when they end.
///
/// Packets without data are marked too. Each sender becomes as slow as RFC 5348 requires, recovers as fast as it
/// allows, and closes normally.
///
/// The numbers are computed by hand, with R = 42 ms: 20 ms each way and 1 ms to transmit each packet. The first packet
/// is marked, so the first loss interval is what half a packet per round trip needs: f(p) = 2, 1/p = 4.8, rounded to 5
/// (RFC 5348, 6.3.1, 8.1). Packets are f(p) round trips apart. When this is more than one round trip, each packet is a
/// loss event and its interval is 1.
///
/// - CCID 3: four or five packets leave before the first report, which is one event. Then p is 1/5, and the averages
///   (5.4) of 1, 1, ... 5, 5 make it 0.27, 0.33, 0.4, 0.49, 0.59, 0.71, 0.88. So packets come after 1.9, 4.0, 6.9, 12,
///   23, 42, 77 and 158 round trips. 10 s are 238 round trips: 12 packets.
/// - CCID 4: 100 of 136 bytes at s = 1,460 make 10.7 packets where CCID 3 sends one (RFC 5622, 5), and a burst within a
///   round trip has N/K = 1. There are two such bursts, of five packets and of four or five. Then single packets come
///   after 0.6, 1.4, 2.2, 4.1, 6.5, 9.9 and 15 round trips, and after 22.7 each from then on, where p is 1: 27 packets.
///
/// At worst p is 1 when the marks end, and the next packet comes after f(1) = 243 round trips. Each unmarked packet
/// lengthens the newest interval. With intervals of 2, 3, 4, ... and eight of 1, the older ones discounted (5.5), p is
/// 0.86, 0.68, 0.54, 0.43, ... and packets come after 144, 67, 30, 15, ... round trips. It takes 524 round trips until
/// the fourteenth packet, where f(p) is about 1. CCID 4 needs a 10.7th of each.
#[test]
fn item_29_marks_on_everything_slow_rates() {
    // CCID; packets in ten seconds of marks; milliseconds to the next packet and to the fourteenth, with R = 43 ms,
    // because acknowledgements may wait for each other.
    let rows = [(3, 11..=13, 10_462, 22_532), (4, 25..=29, 976, 2_106)];
    for (ccid, slow, first, fourteenth) in rows {
        let mut pair = Pair::new();
        let config = config_of(ccid);
        let (client, server) = pair.open(config.clone(), config);
        pair.record = false;
        pair.bottleneck = Some((ms(1), 50));
        pair.rule(|_| Some(Fault::Spoof));
        pair.saturate(0, client, 100, ms(10_000));
        let received = |pair: &Pair| pair.ends[1].stats(server).unwrap().data_received;
        let marked = received(&pair);
        assert!(slow.contains(&marked), "CCID {ccid}: {marked}");
        pair.rule(|_| None);
        pair.saturate(0, client, 100, ms(first));
        assert!(received(&pair) > marked, "CCID {ccid}");
        pair.saturate(0, client, 100, ms(fourteenth - first));
        let more = received(&pair) - marked;
        assert!(more >= 14, "CCID {ccid}: {more}");
        assert!(!is_closed(&pair), "CCID {ccid}");
        pair.ends[0].discard(pair.now, client);
        pair.run_for(ms(1_000));
        let reason = fairwire_proto::CloseReason::Closed;
        let closed = pair.told(1).contains(&Event::Closed { reason });
        assert!(closed, "CCID {ccid}");
    }
}

/// Item 31: forged Requests whose handshakes are never completed do not amplify traffic.
///
/// Each gets at most one Response, and each half-open connection one Reset in the end. None of these is much larger
/// than the Request: a Response adds its options, and without state also the cookie.
#[test]
fn item_31_responses_do_not_amplify() {
    for (policy, more) in [(InitCookies::Never, 100), (InitCookies::Always, 200)] {
        for options in [0, 200] {
            let mut pair = Pair::along(Encapsulation::Udp, ms(20));
            pair.ends[1].reconfigure(|config| config.init_cookies = policy);
            pair.ends[1]
                .listen(PORT, &[SERVICE], Config::default())
                .unwrap();
            pair.lose(|_| true);
            let mut size = 0;
            for n in 0..50u8 {
                let ports = fairwire_wire::Ports {
                    source: 50_000,
                    destination: PORT,
                };
                let kind = Kind::Request { service: SERVICE };
                let seq = Seq::new(u64::from(n));
                let from = [198, 51, 100, n].into();
                size = pair.knock(from, &Draft::new(ports, seq, kind), |encoder| {
                    if options > 0 {
                        encoder.raw_option(200, &vec![7; options]).expect("room");
                    }
                });
                pair.drain();
            }
            pair.run_for(Duration::from_secs(1_000));
            let types = pair.types(1);
            let of = |wanted| types.iter().filter(|&&t| t == wanted).count();
            assert_eq!(of(PacketType::Response), 50);
            assert!(
                of(PacketType::Reset) <= 50 && types.len() <= 100,
                "{}",
                types.len()
            );
            for wire in &pair.log {
                let len = wire.head.len();
                assert!(len <= size + more, "{len} for {size}, {policy:?}");
                assert_eq!(wire.transmit.payload.len(), 0);
            }
        }
    }
}
