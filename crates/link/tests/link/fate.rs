//! What happens to datagrams on a link.

use std::time::{Duration, Instant};

use fairwire_link::{Options, Relay, RelayError};

use crate::world::{Running, all, echo, options, pause, socket};

#[expect(clippy::disallowed_methods, reason = "the link runs in real time")]
/// A datagram and its answer take the delay of both directions, and what the rate makes of their size.
#[test]
fn datagrams_take_their_time() {
    // 1,000 bytes with 28 of headers take 8.2 ms at 1 Mbit/s.
    let link = Running::start(options("rate 1mbit delay 30ms back delay 50ms", echo()));
    let client = socket();
    let begin = Instant::now();
    client.send_to(&[7; 1_000], link.addr).expect("sent");
    let mut buffer = [0; 2_000];
    let (len, from) = client.recv_from(&mut buffer).expect("an answer");
    let took = begin.elapsed();
    assert_eq!((len, from), (1_000, link.addr));
    assert!(took >= Duration::from_micros(96_400), "{took:?}");
    let report = link.end();
    assert_eq!((report.there.delivered, report.back.delivered), (1, 1));
    assert_eq!(report.there.bytes, 1_028);
}

/// The same seed loses, doubles and damages the same datagrams, whenever they come; another seed others.
#[test]
fn the_same_seed_is_the_same_fate() {
    let arrived = |seed: u64| {
        let words =
            "loss gemodel 5% 30% duplicate 10% corrupt 5% back loss none duplicate 0% corrupt 0%";
        let link = Running::start(Options {
            seed,
            ..options(words, echo())
        });
        let client = socket();
        for number in 0..200_u8 {
            client.send_to(&[number], link.addr).expect("sent");
            // So that no buffer fills.
            pause(Duration::from_micros(200));
        }
        let got: Vec<u8> = all(&client).into_iter().map(|one| one[0]).collect();
        let report = link.end();
        let drops = report.there.drops;
        assert_eq!(
            report.there.offered + report.there.duplicated - drops.lost - drops.corrupted,
            got.len() as u64,
            "{report:?}"
        );
        got
    };
    let first = arrived(7);
    assert!((130..210).contains(&first.len()), "{}", first.len());
    assert_eq!(arrived(7), first);
    assert_ne!(arrived(8), first);
}

/// Clients are kept apart, and get their own answers, from the link's address.
#[test]
fn clients_are_kept_apart() {
    let link = Running::start(options("delay 5ms", echo()));
    let clients = [socket(), socket(), socket()];
    for round in 0..20_u8 {
        for (number, client) in (0..).zip(&clients) {
            client.send_to(&[number, round], link.addr).expect("sent");
        }
    }
    for (number, client) in (0..).zip(&clients) {
        let rounds: Vec<Vec<u8>> = (0..20).map(|round| vec![number, round]).collect();
        assert_eq!(all(client), rounds, "client {number}");
    }
    assert_eq!(link.end().clients, 3);
}

/// A full queue drops what comes last, and says so; the packets of a slow link come one after the other.
#[test]
fn a_queue_is_as_long_as_it_says() {
    // 100 bytes with headers take 8 ms: one is in transmission, five wait, and the rest is dropped.
    let words = "rate 100kbit limit 5 back rate none limit 1000";
    let link = Running::start(options(words, echo()));
    let client = socket();
    for number in 0..50_u8 {
        client.send_to(&[number; 72], link.addr).expect("sent");
    }
    let got: Vec<u8> = all(&client).into_iter().map(|one| one[0]).collect();
    let report = link.end();
    assert_eq!(got[..6], [0, 1, 2, 3, 4, 5]);
    assert_eq!(report.there.drops.queue_full + got.len() as u64, 50);
    assert_eq!(report.there.longest_queue, 5);
}

/// A client that is silent is forgotten, and comes back as a new one.
#[test]
fn silent_clients_are_forgotten() {
    let link = Running::start(Options {
        idle: Duration::from_millis(100),
        ..options("delay 1ms", echo())
    });
    let client = socket();
    client.send_to(b"first", link.addr).expect("sent");
    assert_eq!(all(&client).len(), 1);
    pause(Duration::from_millis(2_500));
    client.send_to(b"second", link.addr).expect("sent");
    assert_eq!(all(&client), [b"second"]);
    assert!(link.end().clients <= 1);
}

/// What is still on the link for a client that was forgotten reaches no other client.
#[test]
fn nobody_gets_the_answers_of_a_forgotten_client() {
    let link = Running::start(Options {
        idle: Duration::from_millis(100),
        ..options("delay 1ms back delay 4s", echo())
    });
    socket().send_to(b"secret", link.addr).expect("sent");
    pause(Duration::from_millis(2_500));
    let other = socket();
    for _ in 0..8 {
        other.send_to(b"mine", link.addr).expect("sent");
        pause(Duration::from_millis(250));
    }
    assert!(all(&other).iter().all(|one| one == b"mine"));
    let report = link.end();
    assert_eq!(report.unsent, 1, "{report:?}");
}

/// Datagrams of any size that UDP has pass, the empty one included.
#[test]
fn sizes_are_kept() {
    let link = Running::start(options("delay 1ms", echo()));
    let client = socket();
    let sizes = [0, 1, 1_472, 1_473, 9_000, 65_507];
    for size in sizes {
        client.send_to(&vec![1; size], link.addr).expect("sent");
        let mut buffer = vec![0; 65_536];
        let len = client.recv(&mut buffer).expect("an answer");
        assert_eq!(len, size);
    }
    link.end();
}

/// A link to itself is refused, however its address is written.
#[test]
fn a_loop_is_refused() {
    let free = socket().local_addr().expect("an address");
    for listen in [free, ([0, 0, 0, 0], free.port()).into()] {
        let link = Relay::bind(Options {
            listen,
            ..options("delay 1ms", free)
        });
        assert!(matches!(link, Err(RelayError::Loop(_))), "{link:?}");
    }
}

/// A port that is in use is named.
#[test]
fn a_port_in_use_is_named() {
    let taken = socket();
    let addr = taken.local_addr().expect("an address");
    let link = Relay::bind(Options {
        listen: addr,
        ..options("delay 1ms", echo())
    });
    let error = link.expect_err("in use").to_string();
    assert!(error.contains(&addr.to_string()), "{error}");
}
