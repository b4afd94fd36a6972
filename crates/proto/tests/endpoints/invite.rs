//! Simultaneous open (RFC 5596): Listens, and the NATs that they open.

use std::cell::RefCell;
use std::rc::Rc;

use fairwire_kit::{Draft, Fault, PORT, Pair, SERVICE, Wire, data, kind_of, ms};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{DccpOption, Kind, PacketType, ResetCode, Seq, SeqNo};

use fairwire_proto::{
    CloseReason, Config, ConnectionId, Event, IcmpError, IcmpQuote, Payload, StartError,
    Unreachable,
};

/// The client's port in all these tests.
const CLIENT_PORT: u16 = 6_001;

fn invite(pair: &mut Pair) -> ConnectionId {
    let (now, path) = (pair.now, pair.path(1));
    let invited =
        pair.ends[1].listen_towards(now, path, PORT, CLIENT_PORT, SERVICE, Config::default());
    let id = invited.expect("a free port");
    pair.server = Some(id);
    pair.drain();
    id
}

fn connect(pair: &mut Pair) -> ConnectionId {
    let (now, path) = (pair.now, pair.path(0));
    let end = &mut pair.ends[0];
    let begun = end.connect(
        now,
        path,
        Some(CLIENT_PORT),
        PORT,
        SERVICE,
        Config::default(),
    );
    pair.drain();
    begun.expect("a free port")
}

/// Puts a NAT or firewall in front of each end. It admits packets after one has left that end.
fn between_nats(pair: &mut Pair) {
    let open = Rc::new(RefCell::new([false; 2]));
    pair.rule(move |wire| {
        let mut open = open.borrow_mut();
        open[wire.from] = true;
        (!open[1 - wire.from]).then_some(Fault::Lose)
    });
}

/// Returns the times, in milliseconds, at which one end sent packets of one type.
fn times(pair: &Pair, from: usize, packet_type: PacketType, since: Instant) -> Vec<u64> {
    let sent = pair
        .log
        .iter()
        .filter(|wire| wire.from == from && wire.packet_type() == packet_type);
    sent.map(|wire| (wire.at - since).as_millis()).collect()
}

/// RFC 5596, 2.2.1 and 2.2.2: three Listens are sent 200 ms apart, and no more.
///
/// Each is a bare header with number zero and the service. If no client comes, the connection ends with an event.
#[test]
fn three_listens_and_then_patience() {
    let mut pair = Pair::new();
    let start = pair.now;
    pair.lose(|_| true);
    let id = invite(&mut pair);
    pair.run_for(Duration::from_secs(20));
    assert_eq!(times(&pair, 1, PacketType::Listen, start), [0, 200, 400]);
    assert_eq!(pair.log.len(), 3);
    for wire in &pair.log {
        let packet = wire.packet();
        assert_eq!(packet.seq, SeqNo::Long(Seq::ZERO));
        assert_eq!(packet.kind, Kind::Listen { service: SERVICE });
        assert_eq!((packet.ccval, packet.cscov), (0, 0));
        assert_eq!(
            (packet.ports.source, packet.ports.destination),
            (PORT, CLIENT_PORT)
        );
        assert_eq!((wire.head.len(), wire.transmit.payload.len()), (20, 0));
        assert_eq!(wire.head[8] & 1, 1, "X");
    }
    let reason = CloseReason::ConnectTimeout;
    let end = start + Config::default().connect_timeout.into();
    assert_eq!(pair.events[1], [(end, id, Event::Closed { reason })]);
    pair.ends[1].release(id);
    assert_eq!(pair.ends[1].states().count(), 0);
}

/// RFC 5596, 2.3: between two NATs a client reaches a server that invites it, but not one that only listens.
///
/// It holds whichever end begins and whichever Listen is lost.
#[test]
fn through_nats_at_both_ends() {
    let mut pair = Pair::new();
    between_nats(&mut pair);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    connect(&mut pair);
    pair.run_for(Duration::from_secs(20));
    let reason = CloseReason::ConnectTimeout;
    assert_eq!(pair.told(0), [Event::Closed { reason }]);
    assert_eq!(pair.told(1), []);

    for (server_first, wait) in [
        (true, 5),
        (true, 700),
        (true, 5_000),
        (false, 5),
        (false, 300),
    ] {
        let mut pair = Pair::new();
        between_nats(&mut pair);
        let start = pair.now;
        let (client, server);
        if server_first {
            server = invite(&mut pair);
            pair.run_for(ms(wait));
            client = connect(&mut pair);
        } else {
            client = connect(&mut pair);
            pair.run_for(ms(wait));
            server = invite(&mut pair);
        }
        // One and a half round trips, and half of one for a Listen if the client came too early.
        let early = if server_first { 0 } else { 20 };
        pair.run_for(ms(60 + early));
        assert_eq!(pair.told(0), [Event::Connected], "{server_first} {wait}");
        assert_eq!(pair.told(1), [Event::Connected], "{server_first} {wait}");
        let taken = (pair.now - start).as_millis();
        assert_eq!(taken, wait + 60 + early);
        pair.ends[1].send(pair.now, server, data(9)).unwrap();
        pair.ends[0].send(pair.now, client, data(8)).unwrap();
        pair.run_for(ms(100));
        assert!(pair.ends[0].recv(client).is_some());
        assert!(pair.ends[1].recv(server).is_some());
        pair.ends[1].close(pair.now, server);
        pair.run_for(ms(1_000));
        assert_eq!(pair.ends[0].endpoint_stats().connections, 0);
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    }
}

/// RFC 5596, 2.2.3.1: the first Listen in REQUEST makes the client repeat its Request at once.
///
/// The client then waits longer for the next Request; further Listens have no effect. The options and data of a Listen
/// are ignored, but its service must match.
#[test]
fn a_listen_triggers_one_request() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    let start = pair.now;
    connect(&mut pair);
    pair.run_for(ms(30));
    invite(&mut pair);
    pair.run_for(ms(9_000));
    // Listens arrive at 50, 250 and 450 ms; the wait of two seconds starts again at 50 ms.
    let at = times(&pair, 0, PacketType::Request, start);
    assert_eq!(at, [0, 50, 2_050, 6_050]);
    let seqs: Vec<_> = pair.log.iter().filter(|w| w.from == 0).collect();
    let first = seqs[0].packet().seq.long().unwrap();
    assert_eq!(seqs[1].packet().seq, first.next().into());

    let mut pair = Pair::new();
    connect(&mut pair);
    pair.lose(|_| true);
    let ports = pair.log[0].packet().ports.swapped();
    let mut listen = |service, options: &[DccpOption<'_>], payload: Payload| {
        let kind = Kind::Listen { service };
        let draft = Draft::new(ports, Seq::new(77), kind).with(payload);
        let wire = pair.make(1, draft, |encoder| {
            for option in options {
                encoder.option(option).unwrap();
            }
        });
        let answers = pair.answers_to(&wire);
        answers.iter().map(Wire::packet_type).collect::<Vec<_>>()
    };
    let other = fairwire_wire::ServiceCode(43);
    assert_eq!(listen(other, &[], Payload::EMPTY), []);
    let (feature, value) = (1, &[9][..]);
    let change = DccpOption::ChangeL { feature, value };
    let answers = listen(SERVICE, &[change], data(100));
    assert_eq!(answers, [PacketType::Request]);
    assert_eq!(listen(SERVICE, &[], Payload::EMPTY), []);
}

/// RFC 5596, 2.2.3 and 2.2.3.1: a Listen to any end but a client in REQUEST is dropped without an answer.
///
/// It holds before and after the connection is open at both ends.
#[test]
fn a_listen_means_nothing_elsewhere() {
    // RESPOND; PARTOPEN with the Ack in flight; OPEN.
    for wait in [25, 45, 300] {
        let mut pair = Pair::new();
        pair.connect(Config::default(), Config::default());
        pair.run_for(ms(wait));
        for side in 0..2 {
            if wait == 25 && side == 0 {
                continue;
            }
            let before = pair.told(side);
            let packet = pair.log[0].packet();
            let ports = if side == 1 {
                packet.ports
            } else {
                packet.ports.swapped()
            };
            let kind = Kind::Listen { service: SERVICE };
            let wire = pair.forged(1 - side, ports, Seq::ZERO, &kind);
            assert!(pair.answers_to(&wire).is_empty(), "{wait} ms, side {side}");
            assert_eq!(pair.told(side), before);
        }
        pair.run_for(ms(300));
        assert_eq!(pair.told(0), [Event::Connected]);
        assert_eq!(pair.told(1), [Event::Accepted { port: PORT }]);
    }
}

/// RFC 5596, 2.2.2: an ICMP error about a Listen does not end the attempt.
#[test]
fn errors_about_a_listen_are_soft() {
    let mut pair = Pair::new();
    invite(&mut pair);
    let listen = pair.log[0].head.clone();
    for head in [&listen[..], &listen[..8], &[]] {
        let error = IcmpError::Unreachable {
            why: Unreachable::Port,
        };
        let quote = IcmpQuote { error, head };
        pair.ends[1].handle_icmp(pair.now, pair.path(1), quote);
    }
    pair.run_for(ms(2_000));
    assert_eq!(pair.told(1), []);
    connect(&mut pair);
    pair.run_for(ms(100));
    assert_eq!(pair.told(1), [Event::Connected]);
}

/// RFC 5596, 2.2.2, steps 2a and 2b: INVITED and LISTEN1 accept only the Request of the invited client.
///
/// Its service must match. A Listen and a Reset get no answer; all other packets get a Reset.
#[test]
fn only_the_request_counts() {
    for waited in [0, 1_000] {
        let mut pair = Pair::new();
        pair.lose(|_| true);
        invite(&mut pair);
        pair.run_for(ms(waited));
        let ports = pair.log[0].packet().ports.swapped();
        for packet_type in PacketType::ALL {
            if packet_type == PacketType::Request {
                continue;
            }
            let kind = kind_of(packet_type, Seq::new(5).into());
            let wire = pair.forged(0, ports, Seq::new(77), &kind);
            let answers: Vec<_> = pair.answers_to(&wire).iter().map(Wire::reset).collect();
            let silent = matches!(packet_type, PacketType::Listen | PacketType::Reset);
            let expected = (!silent).then_some(Some((ResetCode::NoConnection, [0; 3])));
            assert_eq!(answers, Vec::from_iter(expected), "{packet_type}");
        }
        let service = fairwire_wire::ServiceCode(43);
        let wire = pair.forged(0, ports, Seq::new(77), &Kind::Request { service });
        let answers: Vec<_> = pair.answers_to(&wire).iter().map(Wire::reset).collect();
        assert_eq!(answers, [Some((ResetCode::BadServiceCode, [0; 3]))]);
        let mut stranger = ports;
        stranger.source += 1;
        let kind = Kind::Request { service: SERVICE };
        let wire = pair.forged(0, stranger, Seq::new(77), &kind);
        let answers: Vec<_> = pair.answers_to(&wire).iter().map(Wire::reset).collect();
        assert_eq!(answers, [Some((ResetCode::ConnectionRefused, [0; 3]))]);

        pair.rule(|_| None);
        connect(&mut pair);
        pair.run_for(ms(100));
        assert_eq!(pair.told(1), [Event::Connected], "after {waited} ms");
    }
}

/// An invitation can be given up: silently before the Request arrives, with a Reset after it.
///
/// A port can invite each client once at a time.
#[test]
fn waiting_can_be_given_up() {
    let mut pair = Pair::new();
    pair.lose(|_| true);
    let id = invite(&mut pair);
    let (now, path) = (pair.now, pair.path(1));
    let again =
        pair.ends[1].listen_towards(now, path, PORT, CLIENT_PORT, SERVICE, Config::default());
    assert_eq!(again, Err(StartError::NoPort));
    pair.ends[1].close(now, id);
    pair.run_for(ms(1_000));
    let aborted = Event::Closed {
        reason: CloseReason::Aborted,
    };
    assert_eq!(pair.told(1), std::slice::from_ref(&aborted));
    assert_eq!(pair.types(1), [PacketType::Listen]);

    let mut pair = Pair::new();
    let id = invite(&mut pair);
    connect(&mut pair);
    pair.run_for(ms(25));
    pair.ends[1].close(pair.now, id);
    pair.run_for(ms(500));
    assert_eq!(pair.told(1), [aborted]);
    let (code, data) = (ResetCode::Aborted, [0; 3]);
    let reset = CloseReason::Reset {
        code,
        data,
        text: None,
    };
    assert!(pair.told(0).contains(&Event::Closed { reason: reset }));
}
