//! Hostile input in every state. UDP is used, where no checksum rejects a modified packet.

use fairwire_kit::{Dice, Draft, Fault, Pair, SERVICE, Wire, data, kind_of, ms};
use fairwire_units::{Duration, Ecn};
use fairwire_wire::{Ccid, DccpOption, Encoder, Kind, PacketType, Seq};
use proptest::prelude::*;

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Event, IcmpError, IcmpQuote, Meta, Payload, Unreachable,
};

/// Returns a pair at the given stage of its life, before the hostile packets arrive.
fn staged(stage: u8) -> (Pair, ConnectionId) {
    let mut pair = Pair::along(Encapsulation::Udp, ms(20));
    let mut config = Config::default();
    config.report_fates = true;
    if stage % 2 == 1 {
        config.send_ccids = vec![Ccid::TFRC, Ccid::TFRC_SP, Ccid::TCP_LIKE];
        config.receive_ccids = vec![Ccid::TFRC_SP, Ccid::TFRC, Ccid::TCP_LIKE];
    }
    let client = pair.connect(config.clone(), config);
    match stage / 2 {
        0 => {}
        1 => pair.run_for(ms(25)),
        2 => {
            pair.lose(|wire| wire.packet_type() == PacketType::Ack);
            pair.run_for(ms(45));
        }
        3 => pair.run_for(ms(300)),
        4 => pair.saturate(0, client, 100, ms(600)),
        _ => {
            pair.run_for(ms(300));
            pair.lose(|_| true);
            pair.ends[0].close(pair.now, client);
            if let Some(server) = pair.server {
                pair.ends[1].close(pair.now, server);
            }
            pair.run_for(ms(10));
        }
    }
    (pair, client)
}

fn hand_over(pair: &mut Pair, side: usize, head: &[u8], ecn: Ecn) {
    let meta = Meta {
        path: pair.path(side),
        ecn,
    };
    pair.ends[side].handle_datagram(pair.now, meta, head, Payload::EMPTY);
    pair.drain();
}

/// Asserts that both ends become idle after all that happened, and that each connection ends once.
fn comes_to_rest(mut pair: Pair, client: ConnectionId) {
    pair.rule(|_| None);
    pair.ends[0].close(pair.now, client);
    // The server may accept a delayed packet only now, when the client no longer knows the connection. Such an idle
    // connection stays until its application closes it.
    for wait in [Duration::from_secs(1), Duration::from_secs(600)] {
        if let Some(server) = pair.server {
            pair.ends[1].close(pair.now, server);
        }
        pair.run_for(wait);
    }
    for side in 0..2 {
        assert_eq!(
            pair.ends[side].endpoint_stats().connections,
            0,
            "side {side}"
        );
        assert_eq!(pair.ends[side].endpoint_stats().half_open, 0, "side {side}");
    }
    let closed = |event: &&Event| matches!(event, Event::Closed { .. });
    assert_eq!(pair.told(0).iter().filter(closed).count(), 1);
}

/// Requests with hundreds of unknown features get a Response with as many answers as fit.
///
/// The second Request arrives before the first is answered.
#[test]
fn more_unknown_features_than_fit() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(25));
    let request = |_| Kind::Request { service: SERVICE };
    for ahead in [1, 2] {
        let ask = |encoder: &mut Encoder<'_>| {
            for feature in 20..=255 {
                let change = if ahead == 1 {
                    DccpOption::ChangeL {
                        feature,
                        value: &[],
                    }
                } else {
                    DccpOption::ChangeR {
                        feature,
                        value: &[],
                    }
                };
                encoder.option(&change).expect("700 bytes");
            }
        };
        let wire = pair.forge(0, ahead, request, ask, Payload::EMPTY);
        pair.deliver(1, &wire);
    }
    pair.log.clear();
    pair.drain();
    let response = pair.log.first().expect("an answer");
    assert_eq!(response.packet_type(), PacketType::Response);
    assert!(response.head.len() > 900, "{}", response.head.len());
}

/// Init Cookies that would not fit into an Ack on this path are not kept.
#[test]
fn cookies_larger_than_the_path() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.path_mtu = 576;
    pair.connect_only(config);
    let request = pair.log[0].packet();
    let (ports, ack) = (request.ports.swapped(), request.seq);
    let kind = Kind::Response {
        ack,
        service: SERVICE,
    };
    let wire = pair.make(1, Draft::new(ports, Seq::new(5), kind), |encoder| {
        for value in [[1; 200], [2; 200], [3; 200]] {
            encoder.option(&DccpOption::InitCookie(&value)).unwrap();
        }
    });
    let answers = pair.answers_to(&wire);
    assert_eq!(answers[0].packet_type(), PacketType::Ack);
    assert!(answers[0].head.len() <= 576 - 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random bytes in any state do no harm.
    #[test]
    fn random_bytes(
        stage in 0u8..12,
        packets in proptest::collection::vec((0usize..2, proptest::collection::vec(any::<u8>(), 0..80)), 1..20),
    ) {
        let (mut pair, client) = staged(stage);
        let ports: Vec<u8> = pair.log[0].head[..4].to_vec();
        for (side, mut head) in packets {
            // Half of them have the ports of the connection.
            if head.len() > 12 && head[5] % 2 == 0 {
                let swapped = [ports[2], ports[3], ports[0], ports[1]];
                head[..4].copy_from_slice(if side == 1 { &ports } else { &swapped });
                head[4] %= 20;
            }
            hand_over(&mut pair, side, &head, Ecn::Ce);
        }
        comes_to_rest(pair, client);
    }

    /// Sent packets with some bytes changed, delivered again to either side, do no harm.
    #[test]
    fn mutated_packets(
        stage in 0u8..12,
        changes in proptest::collection::vec(
            (any::<usize>(), any::<u8>(), any::<u8>(), 0usize..2, any::<bool>()), 1..30),
    ) {
        let (mut pair, client) = staged(stage);
        for (pick, at, value, side, cut) in changes {
            let wire: &Wire = &pair.log[pick % pair.log.len()];
            let mut head = wire.head.clone();
            let at = usize::from(at) % head.len();
            head[at] = value;
            if cut {
                head.truncate(at);
            }
            hand_over(&mut pair, side, &head, Ecn::from_bits(value));
        }
        comes_to_rest(pair, client);
    }

    /// Packets of any type with valid numbers and any options do no harm, in any state.
    #[test]
    fn insiders(
        stage in 0u8..12,
        packets in proptest::collection::vec(
            (0usize..2, 0usize..11, 0u64..60, any::<i16>(),
             proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..12)), 0..6)),
            1..15),
    ) {
        let (mut pair, client) = staged(stage);
        for (side, packet_type, ahead, ack_off, options) in packets {
            if pair.log.iter().all(|wire| wire.from != side) {
                continue;
            }
            let packet_type = PacketType::ALL[packet_type];
            let kind = |ack: fairwire_wire::SeqNo| {
                let off = u64::from(ack_off.unsigned_abs() % 64);
                kind_of(packet_type, ack.extend(Seq::ZERO).sub(off).into())
            };
            let wire = pair.forge(side, ahead, kind, |encoder| {
                for (option_type, data) in &options {
                    // Mostly known types.
                    let known = if option_type % 4 == 0 { *option_type } else { 32 + option_type % 14 };
                    let data = if known < 32 { &[][..] } else { data };
                    let _room = encoder.raw_option(known, data);
                }
            }, data(3));
            pair.answers_to(&wire);
            pair.run_for(ms(3));
        }
        comes_to_rest(pair, client);
    }

    /// Application calls in any order, with timers and losses, do no harm.
    ///
    /// Every accepted datagram gets one fate.
    #[test]
    fn calls_in_any_order(
        stage in 0u8..12,
        seed in any::<u64>(),
        calls in proptest::collection::vec((0u8..9, 0usize..2, 0u64..400), 1..60),
    ) {
        let (mut pair, client) = staged(stage);
        let mut dice = Dice::new(seed);
        pair.rule(move |_| dice.chance(200).then_some(Fault::Lose));
        let given = |pair: &Pair| {
            let fates = pair.told(0).into_iter();
            fates.filter(|e| matches!(e, Event::Fate { .. })).count()
        };
        let already = pair.ends[0].stats(client).map_or(0, |s| s.data_sent as usize + s.queued_packets);
        let mut taken = already;
        for (call, side, wait) in calls {
            let id = if side == 0 { Some(client) } else { pair.server };
            let Some(id) = id else { continue };
            let now = pair.now;
            let end = &mut pair.ends[side];
            match call {
                0..4 => {
                    let sent = end.send(now, id, data(wait as u32)).is_ok();
                    taken += usize::from(sent && side == 0);
                }
                4 => while end.recv(id).is_some() {},
                5 => end.close(now, id),
                6 if wait < 50 => end.discard(now, id),
                7 if wait < 20 => end.abort(now, id),
                8 => {
                    let head = [wait as u8; 16];
                    let error = IcmpError::Unreachable { why: Unreachable::Port };
                    let path = pair.path(side);
                    let quote = IcmpQuote { error, head: &head[..(wait as usize % 17)] };
                    pair.ends[side].handle_icmp(now, path, quote);
                }
                _ => {}
            }
            pair.run_for(ms(wait));
        }
        pair.ends[0].close(pair.now, client);
        pair.run_for(Duration::from_secs(100));
        prop_assert_eq!(given(&pair), taken);
        comes_to_rest(pair, client);
    }
}

/// Packets of an off-path attacker who knows addresses and ports but no numbers change nothing.
///
/// A hundred thousand packets of all types cost eight Syncs a second.
#[test]
fn item_13_blind_attackers_get_nowhere() {
    let (mut pair, [client, server]) = Pair::opened();
    let (_, ports) = pair.last_of(0);
    let mut dice = Dice::new(99);
    let begun = pair.now;
    for i in 0..100_000u64 {
        let packet_type = PacketType::ALL[(i % 11) as usize];
        let kind = kind_of(packet_type, Seq::new(dice.next()).into());
        let wire = pair.forged(0, ports, Seq::new(dice.next()), &kind);
        pair.deliver(1, &wire);
        if i % 100 == 0 {
            pair.now += ms(1);
            pair.drain();
        }
    }
    let seconds = (pair.now - begun).as_millis() / 1_000;
    let stats = pair.ends[1].stats(server).unwrap();
    assert!(stats.syncs_sent <= 8 * seconds + 8, "{}", stats.syncs_sent);
    pair.run_for(ms(1_000));
    pair.ends[0].send(pair.now, client, data(4)).unwrap();
    pair.run_for(ms(500));
    assert_eq!(pair.ends[1].recv(server).map(|r| r.payload.len()), Some(4));
}
