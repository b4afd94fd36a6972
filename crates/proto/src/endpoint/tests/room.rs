//! Full accept queues.

use fairwire_wire::{Kind, Seq};

use super::kit::{PORT, Pair, data, ms};
use crate::{Config, Event, InitCookies, Stats};

/// Returns the number of connections that the server's application was told of.
fn accepted(pair: &Pair) -> usize {
    let told = pair.told(1);
    let accepted = told.iter().filter(|e| matches!(e, Event::Accepted { .. }));
    accepted.count()
}

/// Connects ten clients to a server with two places, which are given back one by one.
///
/// Returns the number of packets that the server deferred.
fn ten_clients_for_two_places(policy: InitCookies) -> u64 {
    let mut pair = Pair::new();
    pair.ends[1].config.init_cookies = policy;
    let mut clients = vec![pair.connect(Config::default(), Config::default())];
    pair.ends[1].set_accept_places(PORT, 2);
    clients.extend((1..10).map(|_| pair.connect_only(Config::default())));
    pair.run_for(ms(150));
    let connected = pair
        .told(0)
        .iter()
        .filter(|&e| *e == Event::Connected)
        .count();
    assert_eq!(connected, 10, "{policy:?}: each client has its Response");
    assert_eq!(
        accepted(&pair),
        2,
        "{policy:?}: exactly as many as there is room for"
    );
    let mut taken_over = 0;
    for _ in 0..100 {
        if taken_over < accepted(&pair) {
            taken_over += 1;
            pair.ends[1].free_place(pair.now, PORT);
        }
        pair.run_for(ms(200));
        assert!(accepted(&pair) <= 2 + taken_over, "{policy:?}");
    }
    assert_eq!(accepted(&pair), 10, "{policy:?}: all are served");
    for client in clients {
        let sent = pair.ends[0].send(pair.now, client, vec![7].into());
        assert!(sent.is_ok(), "{policy:?}: {sent:?}");
    }
    pair.run_for(ms(1_000));
    let ends = pair.events[1]
        .iter()
        .filter_map(|(_, id, event)| match event {
            Event::Accepted { .. } => Some(*id),
            _ => None,
        });
    for id in ends.collect::<Vec<_>>() {
        assert_eq!(
            pair.ends[1]
                .stats(id)
                .map(|Stats { data_received, .. }| data_received),
            Some(1)
        );
    }
    let over = |side| {
        pair.told(side)
            .iter()
            .any(|e| matches!(e, Event::Closed { .. }))
    };
    assert!(!over(0) && !over(1), "{policy:?}: nobody is reset");
    let stats = pair.ends[1].endpoint_stats();
    assert_eq!(
        (stats.half_open, stats.refused, stats.cookies_refused),
        (0, 0, 0)
    );
    stats.deferred
}

/// Finding 15; RFC 4340, 8.1.5: a full accept queue ends no handshake.
///
/// A packet that would complete one is dropped. Its client repeats it and is served when there is room. At any moment
/// only as many handshakes complete as there are places, and nobody is reset.
#[test]
fn finding_15_a_full_accept_queue_ends_no_handshake() {
    assert!(ten_clients_for_two_places(InitCookies::Never) >= 8);
    assert!(ten_clients_for_two_places(InitCookies::WhenBusy { half_open: 3 }) >= 8);
}

/// Finding 13: a valid Init Cookie waits for a place too, and is then accepted.
#[test]
fn finding_13_a_cookie_waits_for_a_place() {
    assert!(ten_clients_for_two_places(InitCookies::Always) >= 8);
}

/// Finding 15: waiting clients are asked in order, one for each free place.
///
/// So none depends on its own timer, which doubles each time. The queue stays bounded.
#[test]
fn finding_15_who_waits_is_called() {
    let mut pair = Pair::new();
    pair.ends[1].config.init_cookies = InitCookies::Never;
    pair.connect(Config::default(), Config::default());
    pair.ends[1].set_accept_places(PORT, 1);
    for _ in 0..99 {
        pair.connect_only(Config::default());
    }
    pair.run_for(ms(1_400));
    assert_eq!(accepted(&pair), 1);
    for taken_over in 1..100 {
        pair.ends[1].free_place(pair.now, PORT);
        pair.run_for(ms(41));
        assert_eq!(accepted(&pair), 1 + taken_over, "a round trip later");
    }
    let line = pair.ends[1].listeners.waiting(PORT).expect("it listens");
    assert!(line.len() <= 64, "{}", line.len());
}

/// Finding 15: the sender of a forged Request gets no place in the queue, where it would delay others.
///
/// It knows no number of ours. Its next packet has no acknowledgement or a guessed one.
#[test]
fn finding_15_a_forger_does_not_wait_for_a_place() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(25));
    pair.ends[1].set_accept_places(PORT, 0);
    let guess = Seq::new(4_340);
    let kinds = [Kind::Data, Kind::Ack { ack: guess.into() }];
    for kind in kinds {
        let forged = pair.forge(0, 1, |_| kind, |_| {}, data(1));
        pair.deliver(1, &forged);
    }
    assert_eq!(pair.ends[1].endpoint_stats().deferred, 0);
    let line = pair.ends[1].listeners.waiting(PORT).expect("it listens");
    assert!(line.is_empty());
}

/// A place that is given back twice counts once.
#[test]
fn places_do_not_multiply() {
    let mut pair = Pair::new();
    pair.connect(Config::default(), Config::default());
    pair.ends[1].set_accept_places(PORT, 1);
    for _ in 0..5 {
        pair.ends[1].free_place(pair.now, PORT);
    }
    pair.connect_only(Config::default());
    pair.run_for(ms(1_000));
    assert_eq!(accepted(&pair), 1);
}
