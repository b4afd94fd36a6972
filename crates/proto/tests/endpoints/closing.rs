//! How connections end.

use fairwire_kit::{Dice, Fault, PORT, Pair, SERVICE, Wire, data, kind_of, ms};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Kind, PacketType, ResetCode};

use fairwire_proto::ErrorText;
use fairwire_proto::{CloseReason, Config, Event, Fate, SendError, StartError};

const CLOSED: Event = Event::Closed {
    reason: CloseReason::Closed,
};

fn reason(pair: &Pair, side: usize) -> Option<CloseReason> {
    pair.told(side).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    })
}

/// The close reason after the peer aborted without a text.
const ABORTED_BY_PEER: CloseReason = CloseReason::Reset {
    code: ResetCode::Aborted,
    data: [0; 3],
    text: None,
};

/// RFC 4340, 8.3: a client's Close is answered with a Reset, and the client enters TIMEWAIT.
#[test]
fn a_client_closes() {
    let (mut pair, [client, _]) = Pair::opened();
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(200));
    assert_eq!(pair.types(0).last(), Some(&PacketType::Close));
    assert_eq!(pair.types(1).last(), Some(&PacketType::Reset));
    for side in 0..2 {
        assert_eq!(pair.told(side).last(), Some(&CLOSED), "side {side}");
    }
    assert_eq!(pair.ends[0].endpoint_stats().time_wait, 1);
    assert_eq!(pair.ends[1].endpoint_stats().time_wait, 0);
    pair.run_for(Duration::from_secs(270));
    assert_eq!(pair.ends[0].endpoint_stats().time_wait, 0);
    assert_eq!(pair.next(), None, "TIMEWAIT wakes nobody for ever");
}

/// RFC 4340, 8.3: a server sends a `CloseReq`, so that the client enters TIMEWAIT in its place.
#[test]
fn a_server_closes() {
    let (mut pair, [_, server]) = Pair::opened();
    pair.log.clear();
    pair.ends[1].close(pair.now, server);
    pair.run_for(ms(200));
    let types: Vec<_> = pair.log.iter().map(Wire::packet_type).collect();
    assert_eq!(
        types,
        [PacketType::CloseReq, PacketType::Close, PacketType::Reset]
    );
    for side in 0..2 {
        assert_eq!(pair.told(side).last(), Some(&CLOSED), "side {side}");
    }
    assert_eq!(pair.ends[0].endpoint_stats().time_wait, 1);
    assert_eq!(pair.ends[1].endpoint_stats().time_wait, 0);
}

/// RFC 4340, 3.4 and 8.3: an unanswered Close is repeated after two round trips.
///
/// While no round trip is known, as after a change of path, it counts as 0.2 s.
#[test]
fn an_unknown_round_trip_counts_as_two_tenths() {
    for (changed, first) in [(false, 80), (true, 400)] {
        let (mut pair, [client, _]) = Pair::opened();
        if changed {
            pair.ends[0].path_changed(pair.now, client);
        }
        pair.lose(|_| true);
        pair.log.clear();
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(1_000));
        assert!(pair.types(0)[..2] == [PacketType::Close; 2]);
        assert_eq!(pair.log[1].at - pair.log[0].at, ms(first));
    }
}

/// Both closing handshakes end under heavy loss, whichever side begins, also when both begin.
#[test]
fn item_19_closing_ends_under_loss() {
    for seed in 0..90 {
        let (mut pair, [client, server]) = Pair::opened();
        let mut dice = Dice::new(seed);
        pair.rule(move |_| dice.chance(400).then_some(Fault::Lose));
        if seed % 3 != 1 {
            pair.ends[0].close(pair.now, client);
        }
        if seed % 3 != 0 {
            pair.ends[1].close(pair.now, server);
        }
        pair.run_for(Duration::from_secs(60));
        for side in 0..2 {
            let ended = reason(&pair, side).unwrap_or_else(|| panic!("seed {seed} side {side}"));
            let good = match ended {
                CloseReason::Closed | CloseReason::CloseTimeout => true,
                // The other end no longer existed when the packet was repeated.
                CloseReason::Reset { code, .. } => code == ResetCode::NoConnection,
                _ => false,
            };
            assert!(good, "seed {seed} side {side}: {ended:?}");
            assert_eq!(pair.ends[side].endpoint_stats().connections, 0);
        }
    }
}

/// RFC 4340, 8.3: if only the answer to the Close is lost, both sides report a normal end.
///
/// It does not matter which side began. A peer that did not know the connection when the first Close came is reported
/// as Reset 3.
#[test]
fn a_lost_answer_to_a_close_is_no_failure() {
    for begins in 0..2 {
        let (mut pair, [client, server]) = Pair::opened();
        let mut lost = false;
        pair.rule(move |wire| {
            let first = wire.reset().is_some() && !std::mem::replace(&mut lost, true);
            first.then_some(Fault::Lose)
        });
        pair.ends[begins].close(pair.now, [client, server][begins]);
        pair.run_for(Duration::from_secs(2));
        for side in 0..2 {
            assert_eq!(pair.told(side).last(), Some(&CLOSED), "{begins}: {side}");
        }
    }
    let (mut pair, [client, server]) = Pair::opened();
    pair.lose(|_| true);
    pair.ends[1].abort(pair.now, server);
    pair.drain();
    pair.rule(|_| None);
    pair.ends[0].close(pair.now, client);
    pair.run_for(Duration::from_secs(2));
    let no_connection = CloseReason::Reset {
        code: ResetCode::NoConnection,
        data: [0; 3],
        text: None,
    };
    assert_eq!(reason(&pair, 0), Some(no_connection));
}

/// RFC 4340, 8.3: an unanswered Close is repeated with exponential back-off, first after two round trips.
///
/// After `close_timeout` the connection is reset and forgotten.
#[test]
fn item_19_an_unanswered_close_backs_off_and_ends() {
    let (mut pair, [client, _]) = Pair::opened();
    pair.lose(|_| true);
    pair.log.clear();
    let start = pair.now;
    pair.ends[0].close(pair.now, client);
    pair.run_for(Duration::from_secs(30));
    let at: Vec<_> = pair
        .log
        .iter()
        .filter(|w| w.from == 0)
        .map(|w| (w.at - start).as_millis())
        .collect();
    assert_eq!(at, [0, 80, 240, 560, 1_200, 2_480, 5_000]);
    assert_eq!(reason(&pair, 0), Some(CloseReason::CloseTimeout));
    let mut sent = pair.log.iter().rev();
    let last = sent.find(|w| w.from == 0).and_then(Wire::reset);
    assert_eq!(last, Some((ResetCode::Aborted, [0; 3])));
}

/// `close` lets the queue drain for at most `drain_timeout`; the rest of the queue is refused then.
#[test]
fn item_20_close_drains_for_the_time_that_was_set() {
    for drain in [5_000, 150] {
        let mut pair = Pair::new();
        let mut config = Config::default();
        config.drain_timeout = ms(drain).into();
        config.report_fates = true;
        config.ccid2.initial_window = Some(2.0);
        config.ccid2.initial_ssthresh = Some(2.0);
        let (client, server) = pair.open(config, Config::default());
        for _ in 0..40 {
            pair.ends[0].send(pair.now, client, data(100)).unwrap();
        }
        pair.ends[0].close(pair.now, client);
        let late = pair.ends[0].send(pair.now, client, data(1));
        assert_eq!(late, Err(SendError::Closed));
        pair.run_for(ms(6_000));
        let got = std::iter::from_fn(|| pair.ends[1].recv(server)).count();
        let refused = pair.told(0).into_iter().filter(|event| {
            matches!(
                event,
                Event::Fate {
                    fate: Fate::Refused,
                    ..
                }
            )
        });
        let refused = refused.count();
        assert_eq!(got + refused, 40);
        if drain > 1_000 {
            assert_eq!(got, 40);
        } else {
            // Four round trips; the window is 2 packets at first and grows by one per round trip.
            assert!((2..=20).contains(&got), "{got}");
        }
        assert_eq!(reason(&pair, 0), Some(CloseReason::Closed));
    }
}

/// A peer that acknowledges nothing cannot keep a closing connection alive (adversarial: resource exhaustion).
///
/// `drain_timeout` and `close_timeout` limit its time.
#[test]
fn item_20_a_silent_peer_does_not_hold_a_close() {
    let (mut pair, [_, server]) = Pair::opened();
    for _ in 0..100 {
        pair.ends[1].send(pair.now, server, data(1_000)).unwrap();
    }
    pair.lose(|_| true);
    pair.ends[1].close(pair.now, server);
    pair.run_for(Duration::from_secs(10));
    assert_eq!(reason(&pair, 1), Some(CloseReason::CloseTimeout));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
}

/// Returns when the connection of `side` ended, in milliseconds after `begun`, and how many Closes it sent.
fn end_of_close(pair: &Pair, side: usize, begun: Instant) -> (u64, usize) {
    let mut events = pair.events[side].iter();
    let end = events.find(|(_, _, event)| matches!(event, Event::Closed { .. }));
    let closes = pair.types(side).into_iter();
    let closes = closes.filter(|t| matches!(t, PacketType::Close | PacketType::CloseReq));
    let at = end.expect("it ended").0;
    ((at - begun).as_millis(), closes.count())
}

/// The duration of a close follows from the settings, at the client and at the server.
///
/// With a peer that has vanished it takes `close_timeout`, but at least the time of three Closes with back-off (14
/// round trips), and never longer than `idle_timeout`.
#[test]
fn finding_18_a_close_takes_the_time_that_was_set() {
    for (timeout, idle, expected) in [
        (5_000, 30_000, (5_000, 6)),
        (1_000, 30_000, (1_000, 4)),
        (60_000, 30_000, (30_000, 9)),
        (5_000, 1_000, (1_000, 4)),
        // Round trips of 40 ms.
        (0, 30_000, (560, 3)),
        (100, 30_000, (560, 3)),
        (0, 300, (300, 3)),
    ] {
        for side in 0..2 {
            let mut config = Config::default();
            config.close_timeout = ms(timeout).into();
            config.idle_timeout = ms(idle).into();
            let mut pair = Pair::new();
            let (client, server) = pair.open(config.clone(), config);
            pair.lose(|_| true);
            let begun = pair.now;
            pair.ends[side].close(pair.now, [client, server][side]);
            pair.run_for(Duration::from_secs(90));
            assert_eq!(
                end_of_close(&pair, side, begun),
                expected,
                "{timeout} {idle}"
            );
            assert_eq!(reason(&pair, side), Some(CloseReason::CloseTimeout));
        }
    }
}

/// A peer that owed an answer before the close has only the rest of its `idle_timeout`.
///
/// A peer that sends packets but never answers the Close does not keep the connection alive either.
#[test]
fn finding_18_silence_before_the_close_counts() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.close_timeout = ms(20_000).into();
    config.idle_timeout = ms(10_000).into();
    let (client, _) = pair.open(config.clone(), Config::default());
    pair.lose(|_| true);
    let begun = pair.now;
    pair.ends[0].send(pair.now, client, data(1)).expect("open");
    pair.run_for(ms(7_000));
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(60_000));
    assert_eq!(end_of_close(&pair, 0, begun).0, 10_000);

    let mut pair = Pair::new();
    let (client, server) = pair.open(config, Config::default());
    pair.lose(|wire| wire.packet_type() == PacketType::Close);
    let begun = pair.now;
    pair.ends[0].close(pair.now, client);
    for _ in 0..300 {
        let _ = pair.ends[1].send(pair.now, server, data(1));
        pair.run_for(ms(100));
    }
    assert_eq!(end_of_close(&pair, 0, begun).0, 20_000);
}

/// An abandoned connection is reset, so that the peer does not take it for closed.
///
/// It holds at both sides, with data in the queue. A connection that is already closing continues, with its queue.
#[test]
fn finding_21_letting_go_is_no_close() {
    for side in 0..2 {
        for closes in [false, true] {
            let (mut pair, [client, server]) = Pair::opened();
            let id = [client, server][side];
            for _ in 0..30 {
                pair.ends[side].send(pair.now, id, data(100)).unwrap();
            }
            pair.drain();
            if closes {
                pair.ends[side].close(pair.now, id);
            }
            pair.ends[side].abandon(pair.now, id);
            pair.run_for(ms(2_000));
            let other = [client, server][1 - side];
            let got = std::iter::from_fn(|| pair.ends[1 - side].recv(other)).count();
            let (here, there) = (reason(&pair, side), reason(&pair, 1 - side));
            if closes {
                let closed = Some(CloseReason::Closed);
                assert_eq!((&here, &there, got), (&closed, &closed, 30));
            } else {
                assert_eq!(here, Some(CloseReason::Aborted));
                assert_eq!(there, Some(ABORTED_BY_PEER));
                assert!(got < 30, "the queue is gone");
            }
            assert_eq!(pair.ends[side].endpoint_stats().connections, 0);
        }
    }
}

/// An abandoned attempt to connect leaves no half-open connection at the server.
#[test]
fn finding_21_an_attempt_that_is_dropped_is_taken_back() {
    for wait in [10, 30] {
        let mut pair = Pair::new();
        let client = pair.connect(Config::default(), Config::default());
        pair.run_for(ms(wait));
        pair.ends[0].abandon(pair.now, client);
        pair.run_for(ms(1_000));
        assert_eq!(pair.types(0).last(), Some(&PacketType::Reset));
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0, "{wait} ms");
    }
}

/// `discard` refuses what is queued and closes normally at once.
#[test]
fn discard_refuses_the_queue() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.report_fates = true;
    config.ccid2.initial_window = Some(2.0);
    let (client, _) = pair.open(config, Config::default());
    for _ in 0..10 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
    }
    pair.drain();
    pair.ends[0].discard(pair.now, client);
    pair.drain();
    let refused = Fate::Refused;
    let fates = pair.told(0).into_iter();
    let fates = fates.filter(|e| matches!(e, Event::Fate { fate, .. } if *fate == refused));
    assert_eq!(fates.count(), 8);
    assert_eq!(pair.types(0).last(), Some(&PacketType::Close));
    pair.run_for(ms(100));
    assert_eq!(reason(&pair, 0), Some(CloseReason::Closed));
}

/// An abort sends Reset 2, and the peer learns the code.
#[test]
fn abort_resets() {
    let (mut pair, [client, _]) = Pair::opened();
    pair.ends[0].abort(pair.now, client);
    pair.run_for(ms(100));
    assert_eq!(reason(&pair, 0), Some(CloseReason::Aborted));
    assert_eq!(reason(&pair, 1), Some(ABORTED_BY_PEER));
    assert_eq!(pair.ends[1].endpoint_stats().time_wait, 1);
}

/// RFC 4340, 5.6: a Reset can carry a text, which the peer's application gets.
///
/// Data 1 to 3 of Reset 2 stay zero. A text that is too long is cut.
#[test]
fn an_abort_says_why() {
    for side in 0..2 {
        for (text, told) in [
            ("code 7: the disk is full", Some("code 7: the disk is full")),
            ("", None),
            (&"x".repeat(1_000), Some(&*"x".repeat(ErrorText::MAX))),
        ] {
            let (mut pair, [client, server]) = Pair::opened();
            pair.ends[side].abort_with(pair.now, [client, server][side], text);
            pair.run_for(ms(100));
            assert_eq!(reason(&pair, side), Some(CloseReason::Aborted));
            let Some(CloseReason::Reset { code, data, text }) = reason(&pair, 1 - side) else {
                panic!("{:?}", reason(&pair, 1 - side));
            };
            assert_eq!((code, data), (ResetCode::Aborted, [0; 3]));
            assert_eq!(text.as_ref().map(ErrorText::as_str), told);
        }
    }
}

/// Data that was received before the end can be read until the connection is released.
#[test]
fn unread_data_outlives_the_connection() {
    let (mut pair, [client, server]) = Pair::opened();
    pair.ends[0].send(pair.now, client, data(77)).unwrap();
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    assert_eq!(reason(&pair, 1), Some(CloseReason::Closed));
    assert_eq!(pair.ends[1].recv(server).map(|r| r.payload.len()), Some(77));
    assert_eq!(pair.ends[1].stats(server).map(|s| s.data_received), Some(1));
    pair.ends[1].release(server);
    assert_eq!(pair.ends[1].stats(server), None);
    pair.ends[0].release(client);
    let again = pair.connect_only(Config::default());
    assert_ne!(again, client, "names are not used twice");
    pair.ends[0].release(again);
    assert!(pair.ends[0].stats(again).is_some(), "not closed yet");
}

/// RFC 4340, 8.5, steps 8 and 9: a Reset ends the connection whatever its options are, and is not answered.
///
/// Here an unknown option follows Mandatory.
#[test]
fn a_reset_is_never_answered() {
    let (mut pair, _) = Pair::opened();
    let kind = |ack| kind_of(PacketType::Reset, ack);
    let answers = pair.inject(1, 1, kind, |encoder| {
        encoder.raw_option(1, &[]).unwrap();
        encoder.raw_option(99, &[7]).unwrap();
    });
    assert!(answers.is_empty());
    assert_eq!(reason(&pair, 0), Some(ABORTED_BY_PEER));
    assert_eq!(pair.ends[0].endpoint_stats().time_wait, 1);
}

/// RFC 4340, 8.5, step 2, and 8.3: in TIMEWAIT anything but a Reset is answered with Reset 3.
///
/// No new connection begins on that flow until two segment lifetimes, 240 s, have passed.
#[test]
fn no_connection_on_a_flow_in_time_wait() {
    let (mut pair, [client, _]) = Pair::opened();
    let (port, _, path) = pair.ends[0].addresses(client).unwrap();
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    for (packet_type, answers) in [(PacketType::Data, 1), (PacketType::Reset, 0)] {
        let kind = |ack| kind_of(packet_type, ack);
        let got = pair.inject(1, 1, kind, |_| {});
        assert_eq!(got.len(), answers, "{packet_type}");
        for answer in got {
            assert_eq!(answer.reset(), Some((ResetCode::NoConnection, [0; 3])));
        }
    }
    let again = |pair: &mut Pair| {
        let (now, service) = (pair.now, SERVICE);
        let config = Config::default();
        pair.ends[0].connect(now, path, Some(port), PORT, service, config)
    };
    assert_eq!(again(&mut pair), Err(StartError::NoPort));
    pair.run_for(Duration::from_secs(239));
    assert_eq!(again(&mut pair), Err(StartError::NoPort));
    // Flows that end within the same half minute expire together.
    pair.run_for(Duration::from_secs(32));
    assert!(again(&mut pair).is_ok());
}

/// RFC 4340, 8.3: only a server may send `CloseReq`; a server that receives one answers with a Sync and continues.
#[test]
fn item_19_a_server_is_not_asked_to_close() {
    let (mut pair, _) = Pair::opened();
    let answers = pair.inject(0, 1, |ack| Kind::CloseReq { ack }, |_| {});
    let types: Vec<_> = answers.iter().map(Wire::packet_type).collect();
    assert_eq!(types, [PacketType::Sync]);
    assert_eq!(reason(&pair, 1), None);
}

/// RFC 4340, 8.3: data and acknowledgements that cross a `CloseReq` or Close are still accepted.
#[test]
fn crossing_data_is_taken() {
    let (mut pair, [client, server]) = Pair::opened();
    pair.ends[0].send(pair.now, client, data(5)).unwrap();
    pair.ends[1].close(pair.now, server);
    pair.run_for(ms(300));
    assert_eq!(pair.ends[1].recv(server).map(|r| r.payload.len()), Some(5));
}
