//! Handshakes over good, bad and broken paths.

use std::time;

use fairwire_tls::{
    ClientConfig, MIN_DATAGRAM, Output, ServerConfig, Session, SessionError, StartError, Trust,
};
use fairwire_units::{Duration, Instant};

use crate::net::{
    CLIENT, DELAY, MAX_DATAGRAM, Net, SERVER, TODAY, clean, connected_peer, disturbed, identity,
    pinned,
};

/// A handshake takes two round trips with a cookie and one without, and each end learns what the peer showed.
#[test]
fn a_handshake_completes() {
    for cookies in [true, false] {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]);
        let mut server = ServerConfig::new(identity.clone());
        if !cookies {
            server = server.without_cookies();
        }
        let mut net = Net::new(&client, &server);
        let trips = if cookies { 4 } else { 2 };
        net.run_for(DELAY * trips);
        assert!(net.ends[CLIENT].is_connected(), "cookies: {cookies}");
        net.run_for(Duration::from_secs(1));
        net.expect_connected();
        assert_eq!(
            connected_peer(&net.done[CLIENT]),
            Some(identity.fingerprint())
        );
        assert_eq!(net.ends[CLIENT].peer(), Some(identity.fingerprint()));
        assert_eq!(connected_peer(&net.done[SERVER]), None);
        assert_eq!(net.ends[SERVER].peer(), None);
        for end in &net.ends {
            assert_eq!(end.next_timeout(), None, "an idle session has no timer");
        }
    }
}

/// A path that loses, repeats and reorders a quarter of the datagrams only delays a handshake, and data follow it.
///
/// RFC 9147, section 5.8: flights are sent again until they are answered. The path is bad for 20 s only: within a
/// minute an end sends a flight six times, and a bad path may lose the same part of it each time.
#[test]
fn a_handshake_survives_loss_repetition_and_reordering() {
    for seed in 1..=150 {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]).identity(identity.clone());
        let server = ServerConfig::new(identity.clone());
        let server = server.clients(Trust::Fingerprints(vec![identity.fingerprint()]));
        let mut net =
            Net::with_datagrams(&client, &server, 300 + usize::try_from(seed).unwrap() * 5);
        net.path = disturbed(seed, 25, 25, 50);
        net.run_for(Duration::from_secs(20));
        net.path = clean();
        net.run_for(Duration::from_secs(38));
        assert_eq!(net.failed, [None, None], "seed {seed}");
        net.expect_connected();
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            net.send(from, b"after the storm");
            net.run_for(DELAY);
            assert_eq!(net.data(to), [b"after the storm"], "seed {seed}");
        }
    }
}

/// Data that overtake the end of the client's handshake are not lost to it, and too many of them do no harm: they are
/// more bytes than a handshake may have. What looks like data and is not, or is a copy, takes none of their places.
///
/// RFC 9147, sections 4.2.1 and 4.5.1: such records are kept or dropped, and copies are dropped.
#[test]
fn early_data_wait_for_the_handshake() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server.without_cookies());
    // The client's last flight is late.
    let mut flights = 0;
    net.path = Box::new(move |from, _| {
        flights += u32::from(from == CLIENT);
        vec![if flights == 2 { DELAY * 10 } else { DELAY }]
    });
    net.run_for(DELAY * 2);
    assert!(net.ends[CLIENT].is_connected());
    assert!(!net.ends[SERVER].is_connected());
    for _ in 0..100 {
        let forged = [&[0x2f, 0, 1, 0, 100][..], &[9; 100]].concat();
        net.arrive(SERVER, &forged);
    }
    let first = net.send(CLIENT, &[0; 1_300]);
    net.run_for(DELAY);
    for _ in 0..100 {
        net.arrive(SERVER, &first);
    }
    assert_eq!(net.early[SERVER], [first]);
    for number in 1..250_u8 {
        net.send(CLIENT, &[number; 1_300]);
    }
    net.run_for(Duration::from_secs(2));
    net.expect_connected();
    let expected: Vec<_> = (0..32_u8).map(|number| [number; 1_300]).collect();
    assert_eq!(net.data(SERVER), expected, "those that may be kept");
    net.send(CLIENT, b"later");
    net.run_for(DELAY);
    assert_eq!(net.data(SERVER).last(), Some(&&b"later"[..]));
}

/// No datagram of a handshake is larger than the limit, and the client's hello fills its datagram, so that a server's
/// answer is not much larger.
///
/// RFC 5238, section 3.5: a record must not be larger than what DCCP can send.
#[test]
fn datagrams_stay_within_the_limit() {
    for max in [MIN_DATAGRAM, 300, 512, 1_199, 1_200, 1_201, 9_000] {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]).identity(identity.clone());
        let server = ServerConfig::new(identity.clone());
        let server = server.clients(Trust::Fingerprints(vec![identity.fingerprint()]));
        let mut net = Net::with_datagrams(&client, &server, max);
        net.run_for(Duration::from_secs(2));
        net.expect_connected();
        let longest = net.sent.iter().map(|(_, datagram)| datagram.len()).max();
        assert!(longest <= Some(max.min(1_200)), "{longest:?} with {max}");
        if max >= 300 {
            let step = 32;
            assert_eq!(net.sent[0].1.len(), max.min(480) / step * step);
        }
    }
}

/// Limits for datagrams that are too small for a handshake are refused with both numbers.
#[test]
fn too_small_datagrams_are_refused() {
    let (client, server) = pinned();
    let too_small = StartError::DatagramTooSmall {
        max_datagram: MIN_DATAGRAM - 1,
        needed: MIN_DATAGRAM,
    };
    let result = Session::client(&client, MIN_DATAGRAM - 1, Instant::START, TODAY);
    assert_eq!(result.err(), Some(too_small.clone()));
    assert!(too_small.to_string().contains("256") && too_small.to_string().contains("255"));
    let result = Session::server(&server, MIN_DATAGRAM - 1, Instant::START, TODAY);
    assert_eq!(result.err(), Some(too_small));
}

/// A peer that never answers: the client's hello is sent again after 1, 2, 4 s and so on, and the handshake ends after
/// its timeout with an error that says so.
///
/// RFC 9147, section 5.8.2, and RFC 5238, section 3.2: the timer begins with one second and doubles.
#[test]
fn a_silent_peer_ends_in_a_timeout() {
    let (client, server) = pinned();
    let limit = time::Duration::from_secs(20);
    let mut net = Net::new(&client.handshake_timeout(limit), &server);
    let start = net.now;
    net.path = Box::new(|_, _| Vec::new());
    let mut times = Vec::new();
    for _ in 0..2_100 {
        net.run_for(Duration::from_millis(10));
        times.resize(
            net.sent.len(),
            net.now.saturating_since(start).as_secs_f64(),
        );
    }
    assert_eq!(*net.error(CLIENT), SessionError::TimedOut { limit });
    assert!(net.error(CLIENT).to_string().contains("within 20s"));
    assert_eq!(net.failed[SERVER], None, "the server saw nothing");
    // Each interval is drawn within a quarter of its value, so that clients do not send at the same moments.
    assert_eq!(times.len(), 5, "{times:?}");
    for (pair, expected) in times.windows(2).zip([1.0, 2.0, 4.0, 8.0]) {
        let interval = pair[1] - pair[0];
        assert!((interval / expected - 1.0).abs() < 0.26, "{times:?}");
    }
    let error = net.ends[CLIENT].handle_datagram(net.now, b"late");
    assert_eq!(
        error,
        Err(SessionError::TimedOut { limit }),
        "it stays failed"
    );
    assert_eq!(net.ends[CLIENT].next_timeout(), None);
}

/// Where the round-trip time is known, the timer begins with 1.5 times that, rounded up to one of four values, and
/// doubles until the timeout of the handshake.
///
/// RFC 9147, section 5.8.2.
#[test]
fn the_timer_follows_the_round_trip() {
    for (rtt, first) in [(0, 50), (33, 50), (34, 200), (134, 1_000), (700, 4_000)] {
        let (client, server) = pinned();
        let client = client.round_trip(Duration::from_millis(rtt));
        let mut net = Net::new(&client, &server);
        net.path = Box::new(|_, _| Vec::new());
        let mut times = Vec::new();
        for _ in 0..61_000 {
            net.run_for(Duration::from_millis(1));
            times.resize(net.sent.len(), net.now);
        }
        let mut expected = f64::from(first);
        for pair in times.windows(2) {
            let interval = pair[1].saturating_since(pair[0]).as_secs_f64() * 1e3;
            // It is drawn within a quarter, and seen in steps of a millisecond.
            assert!(
                (interval - expected).abs() <= 0.25 * expected + 1.0,
                "{rtt}: {times:?}"
            );
            expected *= 2.0;
        }
        assert!(times.len() >= 3, "{rtt}: {times:?}");
        assert!(matches!(net.error(CLIENT), SessionError::TimedOut { .. }));
    }
}

/// A handshake that stops half-way ends in the same error at both ends.
#[test]
fn a_truncated_handshake_ends_in_a_timeout() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    let mut left = 3;
    net.path = Box::new(move |_, _| {
        left -= i32::from(left > 0);
        if left > 0 { vec![DELAY] } else { Vec::new() }
    });
    net.run_for(Duration::from_secs(100));
    for end in [CLIENT, SERVER] {
        let limit = time::Duration::from_secs(60);
        assert_eq!(*net.error(end), SessionError::TimedOut { limit });
    }
}

/// While datagrams wait in DCCP's queue, the session's timers stand still: nothing is sent twice before it is sent
/// once.
///
/// RFC 5238, section 3.3.
#[test]
fn timers_stand_still_while_datagrams_wait() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    net.path = Box::new(|_, _| Vec::new());
    net.take_outputs();
    let now = net.now;
    net.ends[CLIENT].set_waiting(now, true);
    net.run_for(Duration::from_secs(30));
    let now = net.now;
    net.ends[CLIENT]
        .handle_timeout(now)
        .expect("no time has passed");
    net.ends[CLIENT].set_waiting(now, false);
    net.run_for(Duration::from_millis(700));
    assert_eq!(net.sent.len(), 1, "only the first");
    net.run_for(Duration::from_millis(600));
    assert_eq!(net.sent.len(), 2, "and one a second later");
}

/// Datagrams of a handshake that get lost because of their size are cut smaller when they are sent again, at either
/// end.
///
/// RFC 5238, section 3.5, and RFC 9147, section 4.4.
#[test]
fn what_is_lost_because_of_its_size_is_cut_smaller() {
    for trust in [false, true] {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]).identity(identity.clone());
        let mut server = ServerConfig::new(identity.clone());
        if trust {
            server = server.clients(Trust::Fingerprints(vec![identity.fingerprint()]));
        }
        let mut net = Net::new(&client, &server);
        let narrow = |datagram: &[u8]| datagram.len() <= 500;
        net.path = Box::new(move |_, datagram| {
            if narrow(datagram) {
                vec![DELAY]
            } else {
                Vec::new()
            }
        });
        net.run_for(Duration::from_secs(10));
        net.expect_connected();
        let lost = net.sent.iter().filter(|(_, datagram)| !narrow(datagram));
        assert!(
            (1..=2).contains(&lost.count()),
            "a flight is first sent in few datagrams"
        );
    }
}

/// When the limit falls during the handshake, what follows stays below it, and the handshake goes on.
///
/// RFC 5238, section 3.5: no record is larger than DCCP's maximum packet size of now.
#[test]
fn a_limit_that_falls_during_the_handshake_is_kept() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    net.run_for(DELAY * 2);
    for end in &mut net.ends {
        end.set_max_datagram(500);
    }
    let before = net.sent.len();
    assert!(!net.ends[CLIENT].is_connected());
    net.run_for(Duration::from_secs(2));
    net.expect_connected();
    assert!(
        net.sent[before..]
            .iter()
            .all(|(_, datagram)| datagram.len() <= 500)
    );
}

/// When the path gets narrower than the records of a handshake, the session says so instead of sending them.
#[test]
fn a_handshake_that_no_longer_fits_fails() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    net.path = Box::new(|_, _| Vec::new());
    net.take_outputs();
    net.ends[CLIENT].set_max_datagram(400);
    net.run_for(Duration::from_secs(2));
    let error = SessionError::PathTooNarrow {
        needed: 480,
        max_datagram: 400,
    };
    assert_eq!(*net.error(CLIENT), error);
    assert_eq!(net.sent.len(), 1);
}

/// A session can move to another thread, and its `Debug` shows no keys.
#[test]
fn sessions_are_send_and_show_no_secrets() {
    fn send<T: Send>(_: &T) {}
    let identity = identity();
    let secret = identity.key_to_pem();
    let line = secret.lines().nth(1).expect("a line of the key");
    let client = ClientConfig::pinned([identity.fingerprint()]).identity(identity.clone());
    let server = ServerConfig::new(identity.clone());
    let session = Session::server(&server, MAX_DATAGRAM, Instant::START, TODAY).expect("a server");
    send(&session);
    for text in [
        format!("{session:?}"),
        format!("{client:?}"),
        format!("{server:?}"),
        format!("{identity:?}"),
    ] {
        assert!(!text.contains(line), "{text}");
        assert!(text.len() < 800, "{text}");
    }
}

/// Polling an idle session does nothing, and calls with times of the past do no harm.
#[test]
fn idle_sessions_do_nothing() {
    let mut net = Net::connected();
    let before = net.sent.len();
    for end in [CLIENT, SERVER] {
        assert_eq!(net.ends[end].poll(), Output::Idle);
        net.ends[end]
            .handle_timeout(Instant::START)
            .expect("harmless");
        net.ends[end]
            .handle_timeout(Instant::MAX)
            .expect("harmless");
        assert_eq!(net.ends[end].poll(), Output::Idle);
    }
    assert_eq!(net.sent.len(), before);
}
