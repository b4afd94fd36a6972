//! ICMP errors that say that packets do not reach the peer.

use fairwire_kit::{PORT, Pair, SERVICE, data, ms, reseal};
use fairwire_units::Duration;
use fairwire_wire::PacketType;

use fairwire_proto::{
    CloseReason, Config, ConnectionId, Encapsulation, Event, IcmpError, IcmpQuote, Unreachable,
};

const ALL: [Unreachable; 7] = [
    Unreachable::Network,
    Unreachable::Host,
    Unreachable::HopLimit,
    Unreachable::NotPermitted,
    Unreachable::Prohibited,
    Unreachable::Protocol,
    Unreachable::Port,
];

fn ended(pair: &Pair) -> Option<CloseReason> {
    pair.told(0).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    })
}

/// Delivers an ICMP error to the client about a packet of which `head` is quoted.
fn icmp(pair: &mut Pair, why: Unreachable, head: &[u8]) {
    let error = IcmpError::Unreachable { why };
    let path = pair.path(0);
    pair.ends[0].handle_icmp(pair.now, path, IcmpQuote { error, head });
    pair.drain();
}

/// Returns the header of the last packet that the client sent.
fn last_head(pair: &Pair) -> Vec<u8> {
    let mut sent = pair.log.iter().rev().filter(|wire| wire.from == 0);
    sent.next().expect("it has sent something").head.clone()
}

/// Returns a pair whose client has sent a Request that was lost.
fn attempt(encapsulation: Encapsulation) -> Pair {
    let mut pair = Pair::along(encapsulation, ms(20));
    pair.lose(|_| true);
    pair.connect(Config::default(), Config::default());
    pair
}

/// An attempt ends when its own Requests come back, as from an echo service, and they are not answered.
///
/// They come from the same DCCP port or another, also to an endpoint that listens on that port. The attempt ends with
/// `Reflected` when a second Request comes back. The first alone, or copies of it, end nothing, because an attacker may
/// send them. A Request of another host does not count.
#[test]
fn finding_22_our_own_request_is_not_answered() {
    for (port, listens) in [(None, false), (None, true), (Some(PORT), false)] {
        let mut pair = Pair::along(Encapsulation::Udp, ms(20));
        pair.lose(|_| true);
        if listens {
            let listening = pair.ends[0].listen(PORT, &[SERVICE], Config::default());
            assert_eq!(listening, Ok(()));
        }
        let (now, path, config) = (pair.now, pair.path(0), Config::default());
        let begun = pair.ends[0].connect(now, path, port, PORT, SERVICE, config);
        begun.expect("there is room");
        pair.drain();
        let echo = pair.log[0].clone();
        let mut foreign = echo.clone();
        foreign.head[12] ^= 1;
        reseal(&mut foreign, &path);
        if port.is_none() && !listens {
            pair.deliver(0, &foreign);
            pair.drain();
            assert_eq!(ended(&pair), None);
        }
        let before = pair.log.len();
        pair.deliver(0, &echo);
        pair.deliver(0, &echo);
        pair.drain();
        assert_eq!(ended(&pair), None, "{port:?} {listens}");
        assert_eq!(pair.log.len(), before, "no answer");
        pair.run_for(ms(1_100));
        let second = pair.log[before].clone();
        assert_eq!(second.packet_type(), PacketType::Request);
        let before = pair.log.len();
        pair.deliver(0, &second);
        pair.drain();
        assert_eq!(
            ended(&pair),
            Some(CloseReason::Reflected),
            "{port:?} {listens}"
        );
        pair.run_for(ms(5_000));
        assert!(pair.log[before..].iter().all(|wire| wire.reset().is_some()));
        assert!(pair.log.len() <= before, "nothing that would come back");
    }
}

/// Returns an open connection with a packet in flight, whose server has died: all its packets are lost from now on.
fn dying() -> (Pair, ConnectionId) {
    let mut pair = Pair::along(Encapsulation::Udp, ms(20));
    let (client, _) = pair.open(Config::default(), Config::default());
    pair.lose(|_| true);
    pair.ends[0]
        .send(pair.now, client, data(100))
        .expect("open");
    pair.drain();
    (pair, client)
}

/// RFC 1122, 4.2.3.9, and RFC 5461: a soft error ends no attempt, however long its quote is.
///
/// Requests continue, and the connection opens if the route comes back.
#[test]
fn finding_12_a_soft_error_ends_no_attempt() {
    for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
        for why in ALL.into_iter().filter(|why| !why.is_hard()) {
            let mut pair = attempt(encapsulation);
            for len in [0, 4, 8, 16, 24] {
                let quote = last_head(&pair);
                icmp(&mut pair, why, &quote[..len.min(quote.len())]);
            }
            assert_eq!(ended(&pair), None, "{why:?}");
            pair.rule(|_| None);
            pair.run_for(ms(1_500));
            assert_eq!(pair.told(0), [Event::Connected], "{why:?}");
        }
    }
}

/// If nobody answers an attempt, the close reason is the ICMP error; without one it is the connect timeout.
#[test]
fn finding_12_a_timeout_tells_what_the_network_said() {
    for says in [None, Some(Unreachable::Host)] {
        let mut pair = attempt(Encapsulation::Udp);
        let begun = pair.now;
        if let Some(why) = says {
            let quote = last_head(&pair);
            icmp(&mut pair, why, &quote);
        }
        pair.run_for(Duration::from_secs(11));
        let reason = says.map_or(CloseReason::ConnectTimeout, |why| {
            CloseReason::Unreachable { why }
        });
        let [(at, _, Event::Closed { reason: told })] = &pair.events[0][..] else {
            panic!("{:?}", pair.events[0]);
        };
        assert_eq!((told, *at - begun), (&reason, Duration::from_secs(10)));
        let requests = pair.types(0);
        assert_eq!(requests[..4], [PacketType::Request; 4], "{says:?}");
    }
}

/// A hard error that quotes the number of a Request ends the attempt at once.
///
/// One whose quote is too short for a number (RFC 6773, 3.6) ends nothing, however often it arrives, because anybody
/// can forge it. It becomes the close reason if nobody answers in time.
#[test]
fn finding_12_a_hard_error_must_prove_itself() {
    for why in ALL.into_iter().filter(|why| why.is_hard()) {
        let reason = Some(CloseReason::Unreachable { why });
        let mut pair = attempt(Encapsulation::Udp);
        let quote = last_head(&pair);
        icmp(&mut pair, why, &quote[..16]);
        assert_eq!(ended(&pair), reason);
        for (encapsulation, len) in [
            (Encapsulation::Udp, 0),
            (Encapsulation::Udp, 4),
            (Encapsulation::Udp, 8),
            (Encapsulation::Native, 8),
        ] {
            let mut pair = attempt(encapsulation);
            let quote = last_head(&pair);
            for _ in 0..9 {
                icmp(&mut pair, why, &quote[..len]);
                pair.run_for(ms(1_000));
                assert_eq!(ended(&pair), None, "{encapsulation:?} {len}");
            }
            pair.run_for(ms(2_000));
            assert_eq!(ended(&pair), reason, "{encapsulation:?} {len}");
        }
        // Natively every error quotes at least eight bytes.
        let mut pair = attempt(Encapsulation::Native);
        for _ in 0..3 {
            let quote = last_head(&pair);
            icmp(&mut pair, why, &quote[..4]);
            pair.run_for(ms(3_000));
        }
        assert_eq!(ended(&pair), None);
    }
}

/// An error that quotes no DCCP port concerns only the attempts along its path.
///
/// It costs as many steps as there are such attempts.
#[test]
fn finding_12_a_short_quote_is_about_its_path_only() {
    let mut pair = attempt(Encapsulation::Udp);
    let mut elsewhere = pair.path(0);
    elsewhere.remote.set_port(6_512);
    let config = Config::default();
    let other = pair.ends[0].connect(pair.now, elsewhere, None, PORT, SERVICE, config);
    let other = other.expect("there is room");
    pair.drain();
    icmp(&mut pair, Unreachable::Port, &[]);
    pair.run_for(ms(12_000));
    let why = Unreachable::Port;
    for (_, id, event) in &pair.events[0] {
        let expected = if *id == other {
            CloseReason::ConnectTimeout
        } else {
            CloseReason::Unreachable { why }
        };
        if let Event::Closed { reason } = event {
            assert_eq!(*reason, expected);
        }
    }
    assert_eq!(pair.told(0).len(), 2, "both ended");
}

/// Two errors of the peer's host that quote packets in flight end an open connection.
///
/// The first causes a Sync, and the second is about that Sync.
#[test]
fn finding_20_a_vanished_peer_is_noticed() {
    for why in [Unreachable::Port, Unreachable::Protocol] {
        let (mut pair, client) = dying();
        let quote = last_head(&pair);
        icmp(&mut pair, why, &quote);
        assert_eq!(ended(&pair), None);
        pair.run_for(ms(10));
        assert_eq!(pair.types(0).last(), Some(&PacketType::Sync));
        let quote = last_head(&pair);
        icmp(&mut pair, why, &quote);
        assert_eq!(ended(&pair), Some(CloseReason::Unreachable { why }));
        assert_eq!(pair.types(0).last(), Some(&PacketType::Reset));
        pair.ends[0].release(client);
        assert_eq!(pair.ends[0].endpoint_stats().connections, 0);
    }
}

/// The same rule holds for a closing connection: two Closes that met a closed port end it.
#[test]
fn finding_20_a_close_ends_where_nobody_is() {
    let (mut pair, client) = dying();
    pair.ends[0].close(pair.now, client);
    for expected in [false, true] {
        pair.drain();
        while pair.types(0).last() != Some(&PacketType::Close) {
            pair.run_for(ms(100));
        }
        let quote = last_head(&pair);
        icmp(&mut pair, Unreachable::Port, &quote);
        assert_eq!(ended(&pair).is_some(), expected);
        pair.run_for(ms(1_500));
    }
}

/// No weaker error ends an open connection.
///
/// Such are soft errors and prohibitions (RFC 5927, 5.2), short quotes, quotes of numbers that are acknowledged, too
/// old or never sent, two errors about the same packet, and an error after which the peer has answered.
#[test]
fn finding_20_weaker_errors_change_nothing() {
    for why in ALL {
        let (mut pair, _) = dying();
        let quote = last_head(&pair);
        let lengths = if matches!(why, Unreachable::Protocol | Unreachable::Port) {
            0..16
        } else {
            0..25
        };
        for len in lengths {
            icmp(&mut pair, why, &quote[..len.min(quote.len())]);
            pair.run_for(ms(130));
        }
        assert_eq!(ended(&pair), None, "{why:?}");
    }
    let why = Unreachable::Port;
    let (mut pair, _) = dying();
    let sent: Vec<_> = pair.log.iter().filter(|wire| wire.from == 0).collect();
    let heads: Vec<_> = sent.iter().map(|wire| wire.head.clone()).collect();
    let (newest, acknowledged) = heads.split_last().expect("it has sent");
    for head in acknowledged {
        icmp(&mut pair, why, head);
        icmp(&mut pair, why, head);
    }
    let syncs = |pair: &Pair| {
        pair.types(0)
            .iter()
            .filter(|&&t| t == PacketType::Sync)
            .count()
    };
    assert_eq!((ended(&pair), syncs(&pair)), (None, 0), "acknowledged");
    for ahead in 1..100 {
        let mut head = newest.clone();
        head[15] = head[15].wrapping_add(ahead);
        icmp(&mut pair, why, &head);
    }
    assert_eq!((ended(&pair), syncs(&pair)), (None, 0), "never sent");
    for _ in 0..100 {
        icmp(&mut pair, why, newest);
    }
    assert_eq!((ended(&pair), syncs(&pair)), (None, 1), "twice the same");
}

/// A firewall that rejects one packet and admits the next causes only one Sync.
#[test]
fn finding_20_a_peer_that_answers_is_alive() {
    let mut pair = Pair::along(Encapsulation::Udp, ms(20));
    let (client, _) = pair.open(Config::default(), Config::default());
    for turn in 0..20 {
        pair.lose(|_| true);
        pair.ends[0]
            .send(pair.now, client, data(100))
            .expect("open");
        pair.drain();
        let quote = last_head(&pair);
        pair.rule(|_| None);
        icmp(&mut pair, Unreachable::Port, &quote);
        pair.run_for(ms(1_000));
        assert_eq!(ended(&pair), None, "{turn}");
    }
}

/// A hundred thousand errors of a blind attacker have no effect: the connection stays, and no packet is sent.
///
/// The attacker knows addresses and ports but no numbers.
#[test]
fn finding_20_blind_errors_get_nowhere() {
    let (mut pair, _) = dying();
    let before = pair.log.len();
    let mut head = last_head(&pair);
    let mut number: u64 = 1;
    for _ in 0..100_000 {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        head[10..16].copy_from_slice(&number.to_be_bytes()[..6]);
        icmp(&mut pair, Unreachable::Port, &head);
    }
    assert_eq!(ended(&pair), None);
    assert_eq!(pair.log.len(), before);
}
