//! Detection of a peer that has stopped sending, and its effects (RFC 4340, section 11.1).

use fairwire_kit::{Fault, Pair, config_of, data, ms};
use fairwire_wire::PacketType;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// RFC 4341, 6.2.1, and RFC 4342, 6.4: a side that stops sending becomes quiescent.
///
/// The server is quiescent 0.2 s after its last datagram, as two round trips take only 80 ms. The client, which
/// continues to send, is not.
#[test]
fn a_side_that_stops_is_quiescent() {
    for number in [2, 3] {
        let mut pair = Pair::new();
        let (client, server) = pair.open(config_of(number), config_of(number));
        let asked = |pair: &Pair| {
            let end = |side: usize, id| pair.ends[side].is_peer_quiescent(pair.now, id);
            [end(CLIENT, client).unwrap(), end(SERVER, server).unwrap()]
        };
        assert_eq!(asked(&pair), [true, true], "CCID {number}: nobody has sent");
        for round in 0..100 {
            pair.ends[CLIENT].send(pair.now, client, data(100)).unwrap();
            if round < 50 {
                pair.ends[SERVER].send(pair.now, server, data(100)).unwrap();
            }
            pair.run_for(ms(10));
            // Each round ends 10 ms after its datagrams were sent. Those of the first round arrive when the second
            // ends, and the server's last datagram arrives when round 50 ends.
            let quiescent = round >= 50 + 20;
            let before_any = round < 1;
            let expected = [quiescent || before_any, before_any];
            assert_eq!(asked(&pair), expected, "CCID {number}, round {round}");
        }
    }
}

/// RFC 4340, 11.1: acknowledgements are acknowledged by separate Acks only while data flows one way.
///
/// While both ends send, other packets do it. Once the server is quiescent, the client sends an Ack for each window.
#[test]
fn acks_of_acks_are_for_one_way_data() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config_of(2), config_of(2));
    pair.bottleneck = Some((ms(1), 30));
    let acks = |pair: &Pair, from: usize| {
        let sent = pair.log[from..].iter().filter(|wire| wire.from == CLIENT);
        sent.filter(|wire| wire.packet_type() == PacketType::Ack)
            .count()
    };
    pair.saturate(CLIENT, client, 500, ms(2_000));
    let opened = pair.log.len();
    for _ in 0..33 {
        // At least two windows of the client pass between two of these.
        pair.ends[SERVER].send(pair.now, server, data(100)).unwrap();
        pair.saturate(CLIENT, client, 500, ms(150));
    }
    let both = acks(&pair, opened);
    let stopped = pair.log.len();
    pair.saturate(CLIENT, client, 500, ms(5_000));
    let one_way = acks(&pair, stopped);
    assert!(both < 10, "{both}: the others ride on DataAcks");
    // 5 s are 70 round trips of at least 70 ms, with the queue of 30 full.
    assert!((40..=125).contains(&one_way), "{one_way}");
}

/// RFC 4340, 11.4.2: on one-way data the client's Acks stay short, however long it lasts.
///
/// What the server knows about the client's acknowledgements is not repeated.
#[test]
fn acks_of_acks_stay_short() {
    let mut pair = Pair::new();
    let (client, _) = pair.open(config_of(2), config_of(2));
    pair.bottleneck = Some((ms(1), 50));
    pair.saturate(CLIENT, client, 500, ms(20_000));
    let acks = pair.log.iter().rev().filter(|wire| wire.from == CLIENT);
    let lengths: Vec<_> = acks
        .filter(|wire| wire.packet_type() == PacketType::Ack)
        .map(|wire| wire.head.len())
        .take(20)
        .collect();
    // A header of 24 bytes, a vector of one or two entries, an Elapsed Time, padding.
    assert!(lengths.iter().all(|&len| len <= 36), "{lengths:?}");
}

/// RFC 4340, 7: a packet that is too late to tell whether it is a copy is not delivered.
#[test]
fn what_is_too_late_is_not_passed_on() {
    let mut pair = Pair::new();
    // So wide that numbers that are 3 s old are valid.
    let mut config = config_of(2);
    config.sequence_window = 100_000;
    let (client, server) = pair.open(config.clone(), config);
    pair.bottleneck = Some((ms(1), 50));
    let (mut count, mut copies) = (0, 0);
    pair.rule(move |wire| {
        count += u64::from(wire.from == CLIENT);
        let late = wire.from == CLIENT && count % 200 == 0;
        copies += u64::from(late);
        // More than 1,024 packets pass in 4 s.
        match (late, copies % 2) {
            (true, 0) => Some(Fault::Delay(ms(4_000))),
            (true, _) => Some(Fault::CopyLate(ms(4_000))),
            _ => None,
        }
    });
    let mut got = std::collections::BTreeMap::new();
    for tag in 0..10_000 {
        let payload = fairwire_proto::Payload::synthetic(100, tag);
        // A datagram that the full queue refuses is not sent at all.
        let _ = pair.ends[CLIENT].send(pair.now, client, payload);
        pair.run_for(ms(1));
        while let Some(received) = pair.ends[SERVER].recv(server) {
            let fairwire_proto::Payload::Synthetic { tag, .. } = received.payload else {
                panic!("as it was sent");
            };
            *got.entry(tag).or_insert(0) += 1;
        }
    }
    assert!(got.len() > 4_000, "{}", got.len());
    assert!(got.values().all(|&times| times == 1));
    let stats = pair.ends[SERVER].stats(server).unwrap();
    assert!(stats.duplicates > 10, "{stats:?}");
    assert_eq!(stats.discarded, 0, "none had an invalid number");
}
