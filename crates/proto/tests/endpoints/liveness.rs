//! Silent peers, and applications that do not read.

use fairwire_kit::{Fault, Pair, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{Kind, PacketType};

use fairwire_proto::{CloseReason, Config, Event, QueuePolicy, SendError};

fn reason(pair: &Pair, side: usize) -> Option<CloseReason> {
    pair.told(side).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    })
}

/// A peer that is silent while data is unacknowledged is given up exactly after the idle timeout.
///
/// The time is counted from the first unacknowledged packet.
#[test]
fn a_silent_peer_is_given_up_while_data_waits() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.idle_timeout = Duration::from_secs(10).into();
    let (client, _) = pair.open(config, Config::default());
    pair.lose(|_| true);
    pair.ends[0].send(pair.now, client, data(1)).unwrap();
    pair.run_for(ms(9_999));
    assert_eq!(reason(&pair, 0), None);
    pair.run_for(ms(1));
    assert_eq!(reason(&pair, 0), Some(CloseReason::IdleTimeout));
}

/// With nothing outstanding and no keep-alive, a connection may be silent without limit.
#[test]
fn an_idle_connection_stays() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.keep_alive = None;
    let (client, server) = pair.open(config.clone(), config);
    pair.ends[0].send(pair.now, client, data(1)).unwrap();
    pair.run_for(ms(2_000));
    let sent = pair.log.len();
    pair.run_for(Duration::from_secs(3_600));
    assert_eq!(pair.log.len(), sent, "nobody has anything to say");
    pair.ends[1].send(pair.now, server, data(2)).unwrap();
    pair.run_for(ms(500));
    assert!(pair.ends[0].recv(client).is_some());
}

/// A keep-alive sends a Sync after exactly the configured silence, and detects a peer that is gone.
#[test]
fn keep_alive_speaks_and_notices() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.keep_alive = Some(Duration::from_secs(5).into());
    config.idle_timeout = Duration::from_secs(12).into();
    let (_, _) = pair.open(config, Config::default());
    let last = pair.log.iter().rev().find(|w| w.from == 0).unwrap().at;
    pair.log.clear();
    pair.run_for(Duration::from_secs(21));
    let syncs: Vec<_> = pair.log.iter().filter(|w| w.from == 0).collect();
    assert!(syncs.iter().all(|w| w.packet_type() == PacketType::Sync));
    let at: Vec<_> = syncs.iter().map(|w| (w.at - last).as_millis()).collect();
    assert_eq!(at, [5_000, 10_000, 15_000, 20_000]);
    let answers = pair.types(1);
    assert_eq!(answers, [PacketType::SyncAck; 4]);
    pair.lose(|_| true);
    pair.run_for(Duration::from_secs(30));
    assert_eq!(reason(&pair, 0), Some(CloseReason::IdleTimeout));
}

/// RFC 4340, 7.5.4: forged packets do not make a peer seem gone, with or without keep-alive.
///
/// The peer ignores the Sync about a packet that it has not sent. That silence does not count.
#[test]
fn a_stranger_does_not_make_a_peer_seem_gone() {
    for keep_alive in [None, Some(Duration::from_secs(15))] {
        let mut pair = Pair::new();
        let mut config = Config::default();
        config.keep_alive = keep_alive.map(Into::into);
        config.idle_timeout = Duration::from_secs(30).into();
        // A peer with its own keep-alive would send packets and hide the effect.
        let mut silent = Config::default();
        silent.keep_alive = None;
        pair.open(config, silent);
        for _ in 0..100 {
            pair.inject(1, 1 << 30, |ack| Kind::Ack { ack }, |_| {});
            pair.run_for(Duration::from_secs(1));
        }
        let reasons = [0, 1].map(|side| reason(&pair, side));
        assert_eq!(reasons, [None, None], "{keep_alive:?}");
    }
}

/// A Sync about a forged packet does not use up a try of the keep-alive: one lost keep-alive ends no connection.
#[test]
fn one_lost_keep_alive_ends_nothing() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.keep_alive = Some(Duration::from_secs(15).into());
    config.idle_timeout = Duration::from_secs(30).into();
    let mut silent = Config::default();
    silent.keep_alive = None;
    pair.open(config, silent);
    pair.run_for(ms(2_000));
    pair.inject(1, 1 << 30, |ack| Kind::Ack { ack }, |_| {});
    let until = pair.now + Duration::from_secs(20);
    pair.rule(move |wire| (wire.at < until).then_some(Fault::Lose));
    pair.run_for(Duration::from_secs(60));
    let reasons = [0, 1].map(|side| reason(&pair, side));
    assert_eq!(reasons, [None, None]);
}

/// An application that stops reading loses the newest datagrams beyond the queue limit, and nothing else stops.
///
/// All lost datagrams are counted. Acknowledgements, feedback and the end of the connection are processed (L4).
#[test]
fn a_reader_that_stops_stops_nothing_else() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.receive_queue_packets = 10;
    // A skipped number would count as lost.
    let mut sends = Config::default();
    sends.check_feedback = false;
    let (client, server) = pair.open(sends, config);
    for _ in 0..50 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
        pair.ends[1].send(pair.now, server, data(100)).unwrap();
        pair.run_for(ms(50));
    }
    pair.run_for(ms(500));
    let stats = pair.ends[0].stats(client).unwrap();
    assert_eq!((stats.acknowledged, stats.lost), (50, 0));
    let stats = pair.ends[1].stats(server).unwrap();
    assert_eq!((stats.acknowledged, stats.receive_drops), (50, 40));
    let read = |pair: &mut Pair| -> Vec<u64> {
        std::iter::from_fn(|| pair.ends[1].recv(server))
            .map(|r| r.lost_before)
            .collect()
    };
    assert_eq!(read(&mut pair), [0; 10]);
    pair.ends[0].send(pair.now, client, data(100)).unwrap();
    pair.run_for(ms(500));
    assert_eq!(read(&mut pair), [40]);
    let readable = pair
        .told(1)
        .into_iter()
        .filter(|e| *e == Event::Readable)
        .count();
    assert_eq!(readable, 2, "once each time the queue was empty");
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    assert_eq!(reason(&pair, 1), Some(CloseReason::Closed));
}

/// A full send queue refuses datagrams and announces room once; with `DropOldest` it never refuses.
#[test]
fn a_full_send_queue_says_so() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.send_queue.packets = 3;
    let client = pair.connect(config, Config::default());
    for _ in 0..3 {
        assert!(pair.ends[0].can_send(client, 9));
        pair.ends[0].send(pair.now, client, data(9)).unwrap();
    }
    assert!(!pair.ends[0].can_send(client, 9));
    assert_eq!(
        pair.ends[0].send(pair.now, client, data(9)),
        Err(SendError::Full)
    );
    pair.run_for(ms(500));
    let writable = pair
        .told(0)
        .into_iter()
        .filter(|e| *e == Event::Writable)
        .count();
    assert_eq!(writable, 1);

    let mut pair = Pair::new();
    let mut config = Config::default();
    config.send_queue.packets = 3;
    config.send_queue.policy = QueuePolicy::DropOldest;
    let client = pair.connect(config, Config::default());
    for len in 1..=9 {
        pair.ends[0].send(pair.now, client, data(len)).unwrap();
    }
    pair.run_for(ms(500));
    let server = pair.server.unwrap();
    let got = std::iter::from_fn(|| pair.ends[1].recv(server)).map(|r| r.payload.len());
    assert_eq!(got.collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(pair.ends[0].stats(client).map(|s| s.refused), Some(6));
}

/// A datagram expires when its time is over, without any other activity, and not earlier.
#[test]
fn datagrams_expire_by_the_clock() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.send_queue.age = Some(ms(100).into());
    config.report_fates = true;
    pair.lose(|_| true);
    let client = pair.connect(config, Config::default());
    pair.ends[0].send(pair.now, client, data(1)).unwrap();
    pair.run_for(ms(100));
    assert_eq!(pair.told(0), []);
    pair.run_for(Duration::from_nanos(1));
    assert_eq!(pair.told(0).len(), 1);
    assert_eq!(pair.ends[0].stats(client).map(|s| s.expired), Some(1));
}
