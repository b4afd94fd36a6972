//! Loss of synchronisation and recovery from it; packets that do not belong to the connection.

use fairwire_kit::{Dice, Draft, Fault, PORT, Pair, SERVICE, Wire, data, kind_of, ms};
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, Kind, PacketType, ResetCode, Seq};

use fairwire_proto::{Config, Event};

/// RFC 4340, 7.5.4: after a burst of loss longer than the window, a Sync and a `SyncAck` restore the data flow.
#[test]
fn a_burst_beyond_the_window_is_survived() {
    for side in [0, 1] {
        let mut pair = Pair::new();
        let mut config = Config::default();
        config.sequence_window = 100;
        config.max_sequence_window = 100;
        config.idle_timeout = Duration::from_secs(600).into();
        let (client, server) = pair.open(config.clone(), config);
        let ids = [client, server];
        pair.rule(move |wire| (wire.from == side).then_some(Fault::Lose));
        pair.ends[side].skip_numbers(ids[side], 200);
        pair.ends[side].send(pair.now, ids[side], data(1)).unwrap();
        pair.run_for(ms(2_000));
        pair.rule(|_| None);
        for _ in 0..10 {
            pair.ends[side].send(pair.now, ids[side], data(1)).unwrap();
            pair.run_for(ms(700));
        }
        assert!(
            pair.types(1 - side).contains(&PacketType::Sync),
            "side {side}"
        );
        assert!(
            pair.types(side).contains(&PacketType::SyncAck),
            "side {side}"
        );
        let got = std::iter::from_fn(|| pair.ends[1 - side].recv(ids[1 - side])).count();
        assert!(got >= 8, "{got} of 10");
        assert!(
            !pair
                .told(side)
                .iter()
                .any(|e| matches!(e, Event::Closed { .. }))
        );
    }
}

/// RFC 4340, 7.5.4: invalid packets cause at most eight Syncs a second.
///
/// It holds for wrong numbers (step 6) and wrong types (step 7).
#[test]
fn item_13_syncs_are_rationed() {
    for (ahead, packet_type) in [(1 << 30, PacketType::Ack), (1, PacketType::Response)] {
        let (mut pair, _) = Pair::opened();
        let mut syncs = 0;
        for i in 0..2_000 {
            let wire = pair.forge(
                0,
                ahead + i % 50,
                |ack| kind_of(packet_type, ack),
                |_| {},
                data(0),
            );
            let answers = pair.answers_to(&wire);
            assert!(answers.iter().all(|w| w.packet_type() == PacketType::Sync));
            syncs += answers.len();
            pair.now += ms(1);
        }
        assert!(
            (8..=17).contains(&syncs),
            "{syncs} in two seconds, {packet_type}"
        );
    }
}

/// RFC 4340, 7.5.4: invalid packets get a defined answer.
///
/// An invalid Sync gets none. An invalid Reset gets a Sync that acknowledges GSR; any other packet gets a Sync that
/// acknowledges that packet. The Sync has the next number, and no option of the invalid packet is processed.
#[test]
fn item_14_invalid_packets_get_their_answers() {
    for packet_type in PacketType::ALL {
        let (mut pair, _) = Pair::opened();
        let (last, _) = pair.last_of(0);
        let gsr = last.next();
        pair.inject(0, 1, |ack| Kind::Ack { ack }, |_| {});
        let (sent, _) = pair.last_of(1);
        let answers = pair.inject(
            0,
            5_000,
            |ack| kind_of(packet_type, ack),
            |encoder| {
                // Options of invalid packets are never processed: this one would cause a Reset.
                encoder.option(&DccpOption::Mandatory).unwrap();
            },
        );
        let silent = [PacketType::Sync, PacketType::SyncAck, PacketType::Listen];
        let acks: Vec<_> = answers.iter().map(|w| w.packet().kind).collect();
        for answer in &answers {
            assert_eq!(
                answer.packet().seq,
                sent.next().into(),
                "a number of its own"
            );
        }
        if silent.contains(&packet_type) {
            assert_eq!(acks, [], "{packet_type}");
        } else {
            let ack = if packet_type == PacketType::Reset {
                gsr
            } else {
                last.add(5_000)
            };
            assert_eq!(acks, [Kind::Sync { ack: ack.into() }], "{packet_type}");
        }
    }
}

/// RFC 4340, 7.5.4: an invalid Reset gets a Sync with GSR, even if GSR is the number of a packet that was dropped.
///
/// A peer that does not know the connection builds its next Reset from this number. That Reset is new enough (7.5.3) to
/// end the connection.
#[test]
fn finding_14_an_invalid_reset_is_told_gsr() {
    let (mut pair, _) = Pair::opened();
    pair.lose(|_| true);
    let (last, _) = pair.last_of(0);
    let (service, gsr) = (SERVICE, last.add(20));
    pair.inject(0, 20, |ack| Kind::Response { ack, service }, |_| {});
    pair.run_for(ms(500));
    let reset = |ack| kind_of(PacketType::Reset, ack);
    let answers = pair.inject(0, 5_000, reset, |_| {});
    let kinds: Vec<_> = answers.iter().map(|wire| wire.packet().kind).collect();
    assert_eq!(kinds, [Kind::Sync { ack: gsr.into() }]);
    // RFC 4340, 8.3.1: the number after the acknowledged one.
    pair.inject(0, 21, reset, |_| {});
    assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
}

/// A packet with 24-bit numbers that were not agreed on is ignored (RFC 4340, 7.6.1).
#[test]
fn item_3_short_numbers_not_agreed_on_are_ignored() {
    let (mut pair, [_, server]) = Pair::opened();
    let (seq, ports) = pair.last_of(0);
    let short = fairwire_wire::SeqNo::Short(seq.next().short());
    let wire = pair.make(
        0,
        Draft::new(ports, short, Kind::Data).with(data(9)),
        |_| {},
    );
    assert!(pair.answers_to(&wire).is_empty());
    assert!(pair.ends[1].recv(server).is_none());
}

/// RFC 4340, 3.1: numbers wrap at 2^48 at both ends during a transfer without harm.
#[test]
fn numbers_wrap() {
    for before in [0, 1, 50, 1_000] {
        let mut pair = Pair::new();
        for end in &mut pair.ends {
            end.set_first_sequence(Some(Seq::MAX.sub(before)));
        }
        let (client, server) = pair.open(Config::default(), Config::default());
        pair.bottleneck = Some((ms(1), 30));
        pair.saturate_both([client, server], 300, ms(5_000));
        for (side, id) in [(0, client), (1, server)] {
            let stats = pair.ends[side].stats(id).unwrap();
            assert!(stats.data_received > 2_000, "{before} {side}: {stats:?}");
            assert_eq!(
                (stats.discarded, stats.syncs_sent),
                (0, 0),
                "{before} {side}"
            );
        }
    }
}

/// Step 2: a packet of no connection gets Reset 3 with numbers taken from it; a Reset gets no answer.
#[test]
fn item_11_strangers_are_reset() {
    let (mut pair, _) = Pair::opened();
    let (_, mut ports) = pair.last_of(0);
    ports.source ^= 1;
    for packet_type in PacketType::ALL {
        let kind = kind_of(packet_type, Seq::new(1_000).into());
        let wire = pair.forged(0, ports, Seq::new(7), &kind);
        if packet_type == PacketType::Request {
            continue;
        }
        let answers = pair.answers_to(&wire);
        if matches!(packet_type, PacketType::Reset | PacketType::Listen) {
            assert!(answers.is_empty(), "{packet_type}");
            continue;
        }
        let packet = answers[0].packet();
        let seq = if packet_type.has_ack() { 1_001 } else { 0 };
        assert_eq!(packet.seq, Seq::new(seq).into(), "{packet_type}");
        let kind = Kind::Reset {
            ack: Seq::new(7).into(),
            code: ResetCode::NoConnection,
            data: [0; 3],
        };
        assert_eq!(packet.kind, kind, "{packet_type}");
    }
    pair.ends[1].reconfigure(|config| config.answer_unbound_ports = false);
    ports.destination ^= 1;
    let kind = Kind::Data;
    let wire = pair.forged(0, ports, Seq::new(7), &kind);
    assert!(pair.answers_to(&wire).is_empty(), "not our port");
}

/// Two endpoints that do not know each other exchange at most one answer, whatever the first packet was.
///
/// There is no storm of Resets.
#[test]
fn item_11_no_reset_storm() {
    let mut dice = Dice::new(11);
    for _ in 0..500 {
        let mut pair = Pair::new();
        let packet_type = PacketType::ALL[(dice.next() % 11) as usize];
        let kind = kind_of(packet_type, Seq::new(dice.next()).into());
        let ports = fairwire_wire::Ports {
            source: 1,
            destination: 2,
        };
        let wire = pair.forged(0, ports, Seq::new(dice.next()), &kind);
        pair.deliver(1, &wire);
        pair.run_for(ms(5_000));
        assert!(pair.log.len() <= 1, "{packet_type}: {:?}", pair.types(0));
    }
}

/// Resets to unknown sources are limited (RFC 4340, 8.1.3).
#[test]
fn resets_are_rationed() {
    let mut pair = Pair::new();
    let ports = fairwire_wire::Ports {
        source: 1,
        destination: 2,
    };
    pair.record = false;
    pair.ends[1].reconfigure(|config| config.max_answers_per_source_per_s = u32::MAX);
    let wire = pair.forged(0, ports, Seq::new(1), &Kind::Data);
    for _ in 0..10_000 {
        pair.deliver(1, &wire);
        pair.now += Duration::from_micros(100);
    }
    let sent = pair.ends[1].endpoint_stats().resets_sent;
    assert!((1_000..=1_100).contains(&sent), "{sent} in a second");
}

/// A restarted peer knows no connection: its Reset, built from our numbers, ends ours, and a new one can begin.
#[test]
fn a_restarted_peer_resets() {
    let (mut pair, [client, _]) = Pair::opened();
    pair.ends[1] =
        fairwire_proto::Endpoint::new(fairwire_proto::EndpointConfig::default(), [9; 32]);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    for _ in 0..5 {
        let _closed = pair.ends[0].send(pair.now, client, data(10));
        pair.run_for(ms(300));
    }
    let closed = pair.told(0).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    });
    let code = ResetCode::NoConnection;
    let data = [0; 3];
    assert_eq!(
        closed,
        Some(fairwire_proto::CloseReason::Reset {
            code,
            data,
            text: None,
        })
    );
    pair.connect_only(Config::default());
    pair.run_for(ms(200));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
}

/// A packet of each type in each state has the defined effect.
#[test]
fn items_11_and_12_every_type_in_every_state() {
    use PacketType as T;
    // The state after the packet, and the immediate answer.
    let expected = |state: &'static str, packet_type: T, is_server: bool| {
        match (state, packet_type) {
            // RFC 5596, 2.2.3.1: the first one makes the client repeat its Request.
            ("REQUEST", T::Listen) => ("REQUEST", Some(T::Request)),
            (_, T::Listen) => (state, None),
            ("REQUEST" | "PARTOPEN", T::Response) => ("PARTOPEN", Some(T::Ack)),
            (_, T::Reset) => ("CLOSED", None),
            ("REQUEST", _) => ("REQUEST", Some(T::Reset)),
            ("RESPOND", T::Request) => ("RESPOND", Some(T::Response)),
            ("RESPOND", T::Response | T::CloseReq | T::Data) => ("RESPOND", Some(T::Sync)),
            ("RESPOND", T::Close) => ("CLOSED", Some(T::Reset)),
            ("RESPOND", T::Sync) => ("OPEN", Some(T::SyncAck)),
            ("RESPOND", _) => ("OPEN", Some(T::Ack)),
            ("PARTOPEN", T::Request) => ("PARTOPEN", Some(T::Sync)),
            ("PARTOPEN", T::Sync) => ("PARTOPEN", Some(T::SyncAck)),
            ("PARTOPEN", T::CloseReq) => ("CLOSING", Some(T::Close)),
            (_, T::Close) => ("CLOSED", Some(T::Reset)),
            ("PARTOPEN", _) => ("OPEN", None),
            (_, T::Request | T::Response) => (state, Some(T::Sync)),
            (_, T::CloseReq) if is_server => (state, Some(T::Sync)),
            ("OPEN", T::CloseReq) => ("CLOSING", Some(T::Close)),
            (_, T::Sync) => (state, Some(T::SyncAck)),
            _ => (state, None),
        }
    };
    let client_states = ["REQUEST", "PARTOPEN", "OPEN", "CLOSING"];
    let server_states = ["RESPOND", "OPEN", "CLOSEREQ"];
    let ends = client_states
        .map(|s| (0, s))
        .into_iter()
        .chain(server_states.map(|s| (1, s)));
    for (side, state) in ends {
        for packet_type in T::ALL {
            let name = format!("{packet_type} to side {side} in {state:?}");
            let mut pair = Pair::new();
            reach(&mut pair, side, state);
            assert_eq!(pair.states()[side], state, "{name}");
            let wire = pair.forge(
                1 - side,
                1,
                |ack| kind_of(packet_type, ack),
                |_| {},
                data(0),
            );
            let answers = pair.answers_to(&wire);
            let (after, answer) = expected(state, packet_type, side == 1);
            assert_eq!(pair.states()[side], after, "{name}");
            let first = answers.first().map(Wire::packet_type);
            // Delayed acknowledgements do not count as answers.
            assert_eq!(first, answer, "{name}");
        }
    }
}

/// Brings one end into a state.
fn reach(pair: &mut Pair, side: usize, state: &str) {
    let lost = |wire: &Wire| match wire.packet_type() {
        PacketType::Close | PacketType::CloseReq => Some(Fault::Lose),
        _ => None,
    };
    pair.rule(lost);
    match state {
        "REQUEST" => {
            pair.connect(Config::default(), Config::default());
            pair.run_for(ms(21));
            // The Response was sent, so that the forged packets come after it, but has not arrived.
        }
        "RESPOND" | "PARTOPEN" => {
            pair.lose(|wire| wire.packet_type() == PacketType::Ack);
            pair.connect(Config::default(), Config::default());
            pair.run_for(ms(45));
        }
        _ => {
            let (client, server) = pair.open(Config::default(), Config::default());
            if state != "OPEN" {
                pair.ends[side].close(pair.now, [client, server][side]);
                pair.drain();
            }
        }
    }
}

/// A stream of forged packets does not prevent two ends from resynchronising.
///
/// The packets have random numbers, and use up all Syncs that answer invalid packets; no more are sent. The peer's own
/// packets show that it knows our numbers, so they are answered.
#[test]
fn finding_11_strangers_starve_no_resynchronisation() {
    for packet_type in [PacketType::Data, PacketType::Ack] {
        let mut pair = Pair::new();
        let mut config = Config::default();
        config.sequence_window = 100;
        config.max_sequence_window = 100;
        let (client, server) = pair.open(config.clone(), config);
        let mut dice = Dice::new(11);
        let (_, ports) = pair.last_of(0);
        pair.ends[0].skip_numbers(client, 500);
        pair.log.clear();
        let mut got = 0;
        for _ in 0..4_000 {
            // They always arrive just before anything else at this moment.
            pair.now += ms(1);
            for to in 0..2 {
                let ports = if to == 1 { ports } else { ports.swapped() };
                let far = kind_of(packet_type, Seq::new(dice.next()).into());
                let wire = pair.forged(1 - to, ports, Seq::new(dice.next()), &far);
                pair.deliver(to, &wire);
            }
            if dice.chance(10) {
                // Both ends send, so that the client's packets acknowledge.
                let _ = pair.ends[0].send(pair.now, client, data(1));
                let _ = pair.ends[1].send(pair.now, server, data(1));
            }
            pair.run_for(ms(0));
            got += usize::from(pair.ends[1].recv(server).is_some());
        }
        assert!(got > 0, "never in step again under {packet_type}s");
        let syncs = pair.types(1).into_iter();
        let syncs = syncs.filter(|&sent| sent == PacketType::Sync).count();
        assert!(syncs <= 4 * 8 + 1, "{syncs} Syncs");
    }
}

/// A stream of forged packets does not prevent path MTU discovery: probes are sent and answered.
#[test]
fn finding_11_strangers_starve_no_probe() {
    let (mut pair, [client, _]) = Pair::opened();
    let mut dice = Dice::new(12);
    let (_, ports) = pair.last_of(1);
    pair.ends[0].send(pair.now, client, data(1_200)).unwrap();
    for _ in 0..3_000 {
        pair.now += ms(1);
        for to in 0..2 {
            let ports = if to == 0 { ports } else { ports.swapped() };
            let far = kind_of(PacketType::Data, Seq::ZERO.into());
            let wire = pair.forged(1 - to, ports, Seq::new(dice.next()), &far);
            pair.deliver(to, &wire);
        }
        pair.run_for(ms(0));
    }
    let stats = pair.ends[0].stats(client).unwrap();
    assert!(stats.mtu_probes_sent > 0);
    assert_eq!(stats.mtu_probes_lost, 0);
    assert_eq!(stats.path_mtu, 1_500);
}
