//! How connections begin.

use fairwire_kit::{Dice, Draft, Fault, PORT, Pair, SERVICE, Wire, data, kind_of, ms};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, DccpOption, Kind, PacketType, ResetCode, Seq, SeqNo, ServiceCode};

use fairwire_proto::{
    CloseReason, Config, Event, IcmpError, IcmpQuote, ListenError, StartError, Unreachable,
};

fn closed(reason: CloseReason) -> Event {
    Event::Closed { reason }
}

fn refused(code: ResetCode) -> Event {
    let data = [0; 3];
    closed(CloseReason::Reset {
        code,
        data,
        text: None,
    })
}

/// RFC 4340, 8.1: after Request, Response and Ack, one and a half round trips, both ends are open.
#[test]
fn three_packets_open_both_ends() {
    let (pair, [client, server]) = Pair::opened();
    assert_eq!(pair.types(0)[..2], [PacketType::Request, PacketType::Ack]);
    assert_eq!(pair.types(1)[0], PacketType::Response);
    assert!(pair.told(0).contains(&Event::Connected));
    assert!(pair.told(1).contains(&Event::Accepted { port: PORT }));
    let stats = pair.ends[0].stats(client).unwrap();
    assert_eq!(
        (stats.send_ccid, stats.receive_ccid),
        (Some(Ccid::TCP_LIKE), Some(Ccid::TCP_LIKE))
    );
    assert_eq!(stats.srtt, Some(ms(40).into()));
    let stats = pair.ends[1].stats(server).unwrap();
    assert_eq!(
        (stats.send_ccid, stats.receive_ccid),
        (Some(Ccid::TCP_LIKE), Some(Ccid::TCP_LIKE))
    );
    assert_eq!(stats.sequence_window, 1_024);
}

/// Returns when each packet left, in milliseconds since the first.
fn times(pair: &Pair) -> Vec<u64> {
    let after = |at: Instant| (at - pair.log[0].at).as_millis();
    pair.log.iter().map(|wire| after(wire.at)).collect()
}

/// RFC 4340, 8.1.1: an unanswered Request is repeated after 1, 2 and 4 seconds, and the attempt ends with a Reset.
///
/// Each has the next number and the same service. The Reset, after ten seconds, acknowledges nothing.
#[test]
fn requests_back_off_and_end_with_a_reset() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(60_000));
    assert_eq!(times(&pair), [0, 1_000, 3_000, 7_000, 10_000]);
    let first = pair.log[0].packet().seq.long().unwrap();
    for (i, wire) in pair.log[..4].iter().enumerate() {
        let packet = wire.packet();
        assert_eq!(packet.seq.long(), Some(first.add(i as u64)));
        assert_eq!(packet.kind, Kind::Request { service: SERVICE });
    }
    let reset = Kind::Reset {
        ack: Seq::ZERO.into(),
        code: ResetCode::Aborted,
        data: [0; 3],
    };
    assert_eq!(pair.log[4].packet().kind, reset);
    assert_eq!(pair.told(0), [closed(CloseReason::ConnectTimeout)]);
}

/// RFC 8305, 5: the profiles of sockets repeat an unanswered Request after a quarter of a second, and back off then.
#[test]
fn the_first_request_waits_as_long_as_set() {
    for profile in [Config::interactive(), Config::live(), Config::bulk()] {
        let mut pair = Pair::new();
        pair.lose(|wire| wire.from == 0);
        pair.connect(profile, Config::default());
        pair.run_for(ms(5_000));
        assert_eq!(times(&pair), [0, 250, 750, 1_750, 3_750]);
    }
}

/// The handshake completes whichever packet is lost.
#[test]
fn completes_whatever_is_lost() {
    for lost in 0..4 {
        let mut pair = Pair::new();
        let mut count = 0;
        pair.rule(move |_| {
            count += 1;
            (count == lost + 1).then_some(Fault::Lose)
        });
        let client = pair.connect(Config::default(), Config::default());
        pair.run_for(ms(4_000));
        let server = pair.server.unwrap_or_else(|| panic!("packet {lost}"));
        pair.ends[0].send(pair.now, client, data(10)).unwrap();
        pair.ends[1].send(pair.now, server, data(10)).unwrap();
        pair.run_for(ms(500));
        assert!(pair.ends[0].recv(client).is_some(), "packet {lost}");
        assert!(pair.ends[1].recv(server).is_some(), "packet {lost}");
        let connected = pair
            .told(0)
            .iter()
            .filter(|&e| *e == Event::Connected)
            .count();
        assert_eq!(connected, 1);
    }
}

/// With 40 % loss, copies and reordering, an attempt opens or fails in time; an open connection carries data.
#[test]
fn survives_a_terrible_path() {
    let mut opened = 0;
    for seed in 0..60 {
        let mut pair = Pair::new();
        let mut dice = Dice::new(seed);
        pair.rule(move |_| match dice.next() >> 60 {
            0..6 => Some(Fault::Lose),
            6..8 => Some(Fault::Copy),
            8..10 => Some(Fault::Delay(ms(300))),
            _ => None,
        });
        let client = pair.connect(Config::default(), Config::default());
        pair.run_for(ms(11_000));
        let connected = pair.told(0).contains(&Event::Connected);
        if !connected {
            assert_eq!(
                pair.told(0),
                [closed(CloseReason::ConnectTimeout)],
                "seed {seed}"
            );
            continue;
        }
        opened += 1;
        for _ in 0..20 {
            let _full = pair.ends[0].send(pair.now, client, data(10));
            pair.run_for(ms(300));
        }
        let server = pair.server.unwrap_or_else(|| panic!("seed {seed}"));
        assert!(pair.ends[1].recv(server).is_some(), "seed {seed}");
    }
    assert!(opened > 40, "{opened}");
}

/// RFC 4340, 8.1.3: each kind of refusal has its own Reset code, which the client gets at once.
///
/// The causes are a port without a listener, a service that is not offered, the invalid service, and a full server.
#[test]
fn refusals_have_their_codes() {
    let mut pair = Pair::new();
    pair.connect_only(Config::default());
    pair.run_for(ms(100));
    assert_eq!(pair.told(0), [refused(ResetCode::ConnectionRefused)]);

    let mut pair = Pair::new();
    let other = ServiceCode(43);
    pair.ends[1]
        .listen(PORT, &[other], Config::default())
        .unwrap();
    pair.connect_only(Config::default());
    pair.run_for(ms(100));
    assert_eq!(pair.told(0), [refused(ResetCode::BadServiceCode)]);

    let mut pair = Pair::new();
    pair.ends[1].reconfigure(|config| config.max_connections = 0);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(100));
    assert_eq!(pair.told(0), [refused(ResetCode::TooBusy)]);
    assert_eq!(pair.ends[1].endpoint_stats().refused, 1);
}

/// RFC 4340, 8.1.3: the server resets a half-open connection after four segment lifetimes.
///
/// Its client has vanished, and the application never learns of it.
#[test]
fn half_open_connections_end() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.packet_type() != PacketType::Request);
    pair.connect(Config::default(), Config::default());
    pair.run_for(Duration::from_secs(470));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    let last = pair.log.iter().rev().find(|wire| wire.from == 1);
    assert_eq!(
        last.and_then(Wire::reset),
        Some((ResetCode::Aborted, [0; 3]))
    );
    assert_eq!(pair.told(1), []);
}

/// RFC 4340, 8.5, step 4 (adversarial: REQUEST termination): blind packets do not end an attempt.
///
/// In REQUEST a packet of any type that does not acknowledge our Request changes nothing.
#[test]
fn item_12_blind_packets_do_not_end_an_attempt() {
    for packet_type in PacketType::ALL {
        let mut pair = Pair::new();
        pair.lose(|wire| wire.from == 0);
        pair.connect(Config::default(), Config::default());
        let request = pair.log[0].packet();
        let (ports, iss) = (request.ports.swapped(), request.seq.long().unwrap());
        for ack in [iss.next(), iss.prev(), iss.add(1 << 40)] {
            let before = pair.log.len();
            let kind = kind_of(packet_type, ack.into());
            let wire = pair.forged(1, ports, Seq::new(77), &kind);
            pair.deliver(0, &wire);
            pair.drain();
            let answers: Vec<_> = pair.log[before..].iter().map(Wire::reset).collect();
            if packet_type == PacketType::Reset {
                assert_eq!(answers, [], "a Reset is not answered");
            } else if packet_type != PacketType::Listen {
                let error = (ResetCode::PacketError, [packet_type.number(), 0, 0]);
                assert_eq!(answers, [Some(error)], "{packet_type}");
            }
        }
        assert_eq!(pair.told(0), [], "{packet_type}");
        pair.rule(|_| None);
        // A Listen caused a new Request at once, so that the next one follows after two seconds.
        pair.run_for(ms(3_000));
        assert!(pair.told(0).contains(&Event::Connected), "{packet_type}");
    }
}

/// RFC 4340, 7.5.6: a peer that still has an older connection on our flow gets two Resets.
///
/// It answers the Request with a Sync. One Reset is sent at once and one just before the next Request, because the
/// peer's answer to a number outside its window may have been suppressed by its limit of eight Syncs a second (7.5.4).
#[test]
fn an_older_connection_is_reset_twice() {
    use PacketType::{Request, Reset};
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 0);
    pair.connect(Config::default(), Config::default());
    let request = pair.log[0].packet();
    let (ports, iss) = (request.ports.swapped(), request.seq.long().unwrap());
    let kind = Kind::Sync { ack: iss.into() };
    let sync = pair.forged(1, ports, Seq::new(77), &kind);
    pair.deliver(0, &sync);
    pair.run_for(ms(4_000));
    let sent: Vec<_> = pair.log.iter().map(Wire::packet_type).collect();
    assert_eq!(sent, [Request, Reset, Reset, Request, Request]);
    for wire in &pair.log[1..3] {
        let packet = wire.packet();
        let numbers = (packet.seq.long(), packet.ack().and_then(SeqNo::long));
        assert_eq!(numbers, (Some(iss.next()), Some(Seq::new(77))), "8.3.1");
        let error = (ResetCode::PacketError, [PacketType::Sync.number(), 0, 0]);
        assert_eq!(wire.reset(), Some(error));
    }
    assert_eq!(pair.log[2].at, pair.log[3].at, "just ahead of the Request");
}

/// RFC 4340, 5.6: a port without a free place refuses Requests with Reset 9, and accepts them when it has one.
#[test]
fn a_busy_port_says_so() {
    let mut pair = Pair::new();
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(1_000));
    assert!(pair.told(0).contains(&Event::Connected));
    for (busy, expected) in [
        (true, refused(ResetCode::TooBusy)),
        (false, Event::Connected),
    ] {
        pair.ends[1].set_accept_places(PORT, usize::from(!busy));
        pair.connect_only(Config::default());
        pair.run_for(ms(1_000));
        assert!(pair.told(0).contains(&expected), "busy: {busy}");
    }
}

/// Adversarial 18; RFC 4340, 8.1.2, 8.1.3 and 8.5, step 7: misplaced Requests and Responses have defined answers.
///
/// A Request for an invalid service, or one that is not offered, gets Reset 8. One for a port without a listener gets
/// Reset 7; as a client we also accept Reset 3 there, which Linux sends. A Request to a client, a Response to a server,
/// or either with a new number to an open end gets one Sync, within the limit on Syncs.
#[test]
fn item_18_requests_and_responses_out_of_place() {
    let (mut pair, [client, _]) = Pair::opened();
    let ports = pair.log[0].packet().ports;
    let strange = |service, port| {
        let ports = fairwire_wire::Ports {
            source: ports.source ^ 1,
            destination: port,
        };
        (ports, Kind::Request { service })
    };
    let refusals = [
        (
            strange(ServiceCode::INVALID, PORT),
            ResetCode::BadServiceCode,
        ),
        (strange(ServiceCode(43), PORT), ResetCode::BadServiceCode),
        (strange(SERVICE, PORT + 1), ResetCode::ConnectionRefused),
        (
            strange(ServiceCode::INVALID, PORT + 1),
            ResetCode::ConnectionRefused,
        ),
    ];
    for ((ports, kind), code) in refusals {
        let wire = pair.forged(0, ports, Seq::new(9), &kind);
        let answers = pair.answers_to(&wire);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].reset(), Some((code, [0; 3])), "{kind:?}");
    }
    for code in [ResetCode::ConnectionRefused, ResetCode::NoConnection] {
        let mut pair = Pair::new();
        pair.lose(|_| true);
        pair.connect_only(Config::default());
        let ack = pair.log[0].packet().seq;
        let kind = Kind::Reset {
            ack,
            code,
            data: [0; 3],
        };
        let ports = pair.log[0].packet().ports.swapped();
        let wire = pair.forged(1, ports, Seq::ZERO, &kind);
        pair.answers_to(&wire);
        assert_eq!(pair.told(0), [refused(code)]);
    }

    let service = SERVICE;
    for (from, is_request) in [(0, false), (0, true), (1, false), (1, true)] {
        let kind = |ack| {
            if is_request {
                Kind::Request { service }
            } else {
                Kind::Response { ack, service }
            }
        };
        pair.run_for(ms(1_000));
        let first = pair.inject(from, 1, kind, |_| {});
        assert_eq!(first.len(), 1);
        assert!(matches!(first[0].packet().kind, Kind::Sync { .. }));
        // RFC 4340, 7.5.4: eight Syncs a second at most.
        let syncs: usize = (2..30)
            .map(|n| pair.inject(from, n, kind, |_| {}).len())
            .sum();
        assert_eq!(syncs, 0);
    }
    pair.run_for(ms(1_000));
    pair.ends[0].send(pair.now, client, data(5)).unwrap();
    pair.run_for(ms(500));
    let server = pair.server.expect("accepted");
    assert!(pair.ends[1].recv(server).is_some(), "and all goes on");
}

/// RFC 4340, 5.3: a Response with another Service Code than that of the Request is dropped.
#[test]
fn a_response_for_another_service_is_dropped() {
    let mut pair = Pair::new();
    pair.connect(Config::default(), Config::default());
    let request = pair.log[0].packet();
    let kind = Kind::Response {
        ack: request.seq,
        service: ServiceCode(1),
    };
    let wire = pair.forged(1, request.ports.swapped(), Seq::new(5), &kind);
    assert!(pair.answers_to(&wire).is_empty());
    assert_eq!(pair.told(0), []);
}

/// RFC 4340, 8.1.4: the client echoes the Init Cookies of the Response, in order, on each packet of PARTOPEN.
///
/// It sends no data meanwhile.
#[test]
fn init_cookies_are_echoed() {
    let mut pair = Pair::new();
    let client = pair.connect_only(Config::default());
    let request = pair.log[0].packet();
    let kind = Kind::Response {
        ack: request.seq,
        service: SERVICE,
    };
    let ports = request.ports.swapped();
    let cookies = [
        DccpOption::InitCookie(&[1; 100]),
        DccpOption::InitCookie(&[2; 50]),
    ];
    let wire = pair.make(1, Draft::new(ports, Seq::new(5), kind), |encoder| {
        for cookie in cookies {
            encoder.option(&cookie).unwrap();
        }
    });
    pair.lose(|_| true);
    let mut answers = pair.answers_to(&wire);
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    let before = pair.log.len();
    pair.run_for(ms(1_500));
    answers.extend(pair.log[before..].iter().filter(|w| w.from == 0).cloned());
    assert!(answers.len() >= 3, "the first Ack and its repetitions");
    for answer in answers {
        assert_eq!(answer.packet_type(), PacketType::Ack);
        let options = answer
            .packet()
            .options
            .iter()
            .map(|raw| raw.decode().unwrap());
        let echoed: Vec<_> = options
            .filter(|option| matches!(option, DccpOption::InitCookie(_)))
            .collect();
        assert_eq!(echoed, cookies);
    }
}

/// RFC 4340, 12.1: an ECN-incapable end drops data until the peer has confirmed that it knows.
///
/// The application learns that a datagram is missing.
#[test]
fn data_before_ecn_incapable_is_confirmed_is_missing() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    let mut blind = Config::default();
    blind.ecn = false;
    pair.connect(Config::default(), blind);
    pair.run_for(ms(25));
    let kind = |ack| Kind::DataAck { ack };
    let early = pair.forge(0, 1, kind, |_| {}, data(7));
    pair.answers_to(&early);
    let server = pair.server.expect("accepted");
    assert!(pair.ends[1].recv(server).is_none());
    let confirm = |encoder: &mut fairwire_wire::Encoder<'_>| {
        let (feature, value) = (4, &[1, 1][..]);
        let confirm = DccpOption::ConfirmR { feature, value };
        encoder.option(&confirm).unwrap();
    };
    let wire = pair.forge(0, 2, kind, confirm, data(9));
    pair.answers_to(&wire);
    let received = pair.ends[1].recv(server).expect("confirmed");
    assert_eq!((received.payload.len(), received.lost_before), (9, 1));
    let stats = pair.ends[1].stats(server).unwrap();
    assert_eq!((stats.dropped_locally[0], stats.receive_drops), (1, 0));
}

/// Adversarial 16; RFC 4340, 8.1.3: each Request in RESPOND gets a Response with the next number.
///
/// The data of at most one Request reaches the application.
#[test]
fn item_16_repeated_requests_get_new_responses() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(25));
    let kind = |_| Kind::Request { service: SERVICE };
    for ahead in [1, 2] {
        let wire = pair.forge(0, ahead, kind, |_| {}, data(7));
        assert_eq!(pair.answers_to(&wire).len(), 1);
    }
    let seqs: Vec<_> = pair
        .log
        .iter()
        .filter(|w| w.from == 1)
        .map(|w| w.packet().seq)
        .collect();
    let first = seqs[0].long().unwrap();
    assert_eq!(seqs, [0, 1, 2].map(|n| first.add(n).into()));
    pair.inject(0, 3, |ack| Kind::Ack { ack }, |_| {});
    let server = pair.server.unwrap();
    assert_eq!(
        pair.told(1),
        [Event::Accepted { port: PORT }, Event::Readable]
    );
    assert_eq!(pair.ends[1].recv(server).map(|r| r.payload.len()), Some(7));
    assert!(pair.ends[1].recv(server).is_none());
}

/// RFC 5927 and RFC 4340, 14.1: a hard ICMP error that quotes our Request's number ends the attempt at once.
///
/// It never ends an open connection. A short quote is used as far as it goes.
#[test]
fn item_30_unreachable_ends_an_attempt_only() {
    let unreachable = |head: &[u8]| {
        let mut pair = Pair::new();
        pair.lose(|_| true);
        pair.connect(Config::default(), Config::default());
        let mut quote = pair.log[0].head.clone();
        for (byte, new) in quote.iter_mut().zip(head) {
            *byte ^= new;
        }
        quote.truncate(head.len());
        let error = IcmpError::Unreachable {
            why: Unreachable::Port,
        };
        let quote = IcmpQuote {
            error,
            head: &quote,
        };
        pair.ends[0].handle_icmp(pair.now, pair.path(0), quote);
        pair.drain();
        pair.told(0)
            == [closed(CloseReason::Unreachable {
                why: Unreachable::Port,
            })]
    };
    for len in [0, 1, 2, 3, 4, 7, 8, 15, 16, 20] {
        let proves_itself = len >= 16;
        assert_eq!(unreachable(&vec![0; len]), proves_itself, "{len} bytes");
    }
    let mut other_port = [0; 8];
    other_port[3] = 1;
    assert!(!unreachable(&other_port));
    let mut other_number = [0; 16];
    other_number[12] = 1;
    assert!(!unreachable(&other_number));
    let mut short_number = [0; 16];
    short_number[8] = 1;
    assert!(!unreachable(&short_number));

    let (mut pair, [client, _]) = Pair::opened();
    for error in [
        IcmpError::Unreachable {
            why: Unreachable::Port,
        },
        IcmpError::TooBig { mtu: 68 },
    ] {
        let quote = IcmpQuote { error, head: &[] };
        pair.ends[0].handle_icmp(pair.now, pair.path(0), quote);
        let head = &pair.log[0].head.clone();
        let quote = IcmpQuote { error, head };
        pair.ends[0].handle_icmp(pair.now, pair.path(0), quote);
    }
    pair.drain();
    assert!(
        !pair
            .told(0)
            .iter()
            .any(|e| matches!(e, Event::Closed { .. }))
    );
    assert_eq!(
        pair.ends[0].max_datagram_size(client),
        Some(1_500 - 20 - 64)
    );
}

/// Impossible calls of `listen` and `connect` return an error at once.
#[test]
fn impossible_wishes_are_refused() {
    let mut pair = Pair::new();
    let path = pair.path(0);
    let end = &mut pair.ends[0];
    assert_eq!(
        end.listen(1, &[], Config::default()),
        Err(ListenError::InvalidService)
    );
    let invalid = [ServiceCode::INVALID];
    assert_eq!(
        end.listen(1, &invalid, Config::default()),
        Err(ListenError::InvalidService)
    );
    end.listen(1, &[SERVICE], Config::default()).unwrap();
    let again = end.listen(1, &[SERVICE], Config::default());
    assert_eq!(again, Err(ListenError::PortInUse { port: 1 }));
    let now = Instant::START;
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(5)];
    let unknown = end.connect(now, path, None, PORT, SERVICE, config);
    assert!(matches!(unknown, Err(StartError::Config { .. })));
    let service = ServiceCode::INVALID;
    let invalid = end.connect(now, path, None, PORT, service, Config::default());
    assert_eq!(invalid, Err(StartError::InvalidService));
    end.connect(now, path, Some(9), PORT, SERVICE, Config::default())
        .unwrap();
    let taken = end.connect(now, path, Some(9), PORT, SERVICE, Config::default());
    assert_eq!(taken, Err(StartError::NoPort));
}

/// RFC 4340, 8.1.5: a Sync does not end PARTOPEN.
///
/// A late copy of its own Request brought the client a Sync, and the server's Ack was lost. The server answers the
/// client's Acks until the client knows that the connection is open.
#[test]
fn a_sync_does_not_confirm_the_handshake() {
    let mut pair = Pair::new();
    let mut acks = 0;
    let mut requests = 0;
    pair.rule(move |wire| match (wire.from, wire.packet_type()) {
        (0, PacketType::Request) => {
            requests += 1;
            // The first arrives after the second, when the server is open.
            (requests == 1).then_some(Fault::Delay(ms(1_080)))
        }
        (1, PacketType::Ack) => {
            acks += 1;
            (acks == 1).then_some(Fault::Lose)
        }
        _ => None,
    });
    let client = pair.connect(Config::default(), Config::default());
    pair.run_for(Duration::from_secs(60));
    assert!(pair.types(1).contains(&PacketType::Sync), "it came late");
    assert_eq!(pair.told(0), [Event::Connected]);
    assert_eq!(pair.states(), ["OPEN"; 2]);
    assert!(pair.ends[0].stats(client).is_some());
}
