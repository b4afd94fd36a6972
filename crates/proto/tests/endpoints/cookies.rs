//! Listeners that keep no state (RFC 4340, section 8.1.4).

use fairwire_kit::{Draft, Fault, PORT, Pair, SERVICE, Wire, data, ms, plain, reseal};
use fairwire_units::Duration;
use fairwire_wire::{
    Ccid, DccpOption, Encoder, Kind, PacketType, ResetCode, Seq, data_checksum, option_type,
};

use fairwire_proto::{CloseReason, Config, Event, InitCookies, Path, Payload};

/// Returns a pair whose server keeps no state before the handshake is complete.
fn stateless() -> Pair {
    let mut pair = Pair::new();
    pair.ends[1].reconfigure(|config| config.init_cookies = InitCookies::Always);
    pair
}

/// Returns such a pair and the client's Ack with the cookie, which is not delivered.
fn with_cookie_out(options: impl FnOnce(&mut Encoder<'_>)) -> (Pair, Wire) {
    let mut pair = stateless();
    pair.lose(|_| true);
    pair.connect(Config::default(), Config::default());
    let kind = |_| Kind::Request { service: SERVICE };
    let request = pair.forge(0, 0, kind, options, Payload::EMPTY);
    let response = pair.answers_to(&request);
    assert_eq!(response[0].packet_type(), PacketType::Response);
    let ack = pair.answers_to(&response[0]);
    assert_eq!(ack[0].packet_type(), PacketType::Ack);
    (pair, ack[0].clone())
}

/// Returns the Init Cookies of a packet, in order.
fn cookies(wire: &Wire) -> Vec<Vec<u8>> {
    let options = wire.packet().options;
    let cookies = options
        .iter()
        .filter(|raw| raw.option_type == option_type::INIT_COOKIE);
    cookies.map(|raw| raw.data.to_vec()).collect()
}

/// Returns a packet of type `kind` with the ports and number of `like` and other cookies.
fn with_cookies(pair: &Pair, like: &Wire, kind: &Kind, cookies: &[Vec<u8>]) -> Wire {
    let packet = like.packet();
    let draft = Draft::new(packet.ports, packet.seq, *kind);
    let head = draft.head(&pair.path(0), |encoder| {
        for cookie in cookies {
            encoder.option(&DccpOption::InitCookie(cookie)).unwrap();
        }
    });
    Wire {
        head,
        ..like.clone()
    }
}

/// Returns the code of the Reset that answers `wire`. The server keeps no connection, and there is no other answer.
fn refusal(pair: &mut Pair, wire: &Wire) -> Option<ResetCode> {
    let answers = pair.answers_to(wire);
    assert!(answers.len() <= 1);
    assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    let (code, data) = answers.first()?.reset()?;
    assert_eq!(data, [0; 3]);
    Some(code)
}

/// RFC 4340, 8.1.4: a connection that begins with a cookie is the same as one that began with the Request.
///
/// Until the client's first Ack the listener keeps nothing. Numbers, features, echoes and timing of all packets are
/// equal; only the cookies are added.
#[test]
fn the_same_connection_as_with_state() {
    for ccid in [2, 3] {
        let run = |policy| {
            let mut pair = Pair::new();
            pair.ends[1].reconfigure(|config| config.init_cookies = policy);
            pair.ends[1].set_first_sequence(Some(Seq::new(7_000)));
            let mut config = Config::default();
            config.send_ccids = vec![Ccid::new(ccid), Ccid::new(5 - ccid)];
            config.receive_ccids = vec![Ccid::new(ccid), Ccid::new(5 - ccid)];
            let mut server = Config::default();
            server.send_ccids = vec![Ccid::new(5 - ccid), Ccid::new(ccid)];
            server.sequence_window = 700;
            let client = pair.connect(config, server);
            pair.run_for(ms(35));
            let held = pair.ends[1].endpoint_stats().connections;
            pair.run_for(ms(400));
            let server = pair.server.expect("accepted");
            for side in [(0, client), (1, server)] {
                pair.ends[side.0].send(pair.now, side.1, data(99)).unwrap();
            }
            pair.run_for(ms(400));
            assert!(pair.ends[0].recv(client).is_some());
            assert!(pair.ends[1].recv(server).is_some());
            pair.ends[0].close(pair.now, client);
            pair.run_for(ms(200));
            (held, pair)
        };
        let (held, kept) = run(InitCookies::Never);
        assert_eq!(held, 1);
        let (held, forgotten) = run(InitCookies::Always);
        assert_eq!(held, 0);
        let story = |pair: &Pair| {
            let packets = pair.log.iter().map(|wire| {
                let packet = wire.packet();
                let options = packet.options.iter();
                let options: Vec<_> = options
                    .filter(|raw| {
                        !matches!(
                            raw.option_type,
                            option_type::INIT_COOKIE | option_type::PADDING
                        )
                    })
                    .map(|raw| (raw.option_type, raw.data.to_vec()))
                    .collect();
                (wire.at, wire.from, packet.seq, packet.kind, options)
            });
            packets.collect::<Vec<_>>()
        };
        assert_eq!(story(&kept), story(&forgotten), "CCID {ccid}");
        let carry = |wire: &&Wire| !cookies(wire).is_empty();
        assert_eq!(kept.log.iter().filter(carry).count(), 0);
        let carrying: Vec<_> = forgotten.log.iter().filter(carry).collect();
        let types: Vec<_> = carrying.iter().map(|wire| wire.packet_type()).collect();
        assert_eq!(types, [PacketType::Response, PacketType::Ack]);
        assert_eq!(cookies(carrying[0]), cookies(carrying[1]));
        let stats = forgotten.ends[1].endpoint_stats();
        assert_eq!((stats.cookies_sent, stats.cookies_accepted), (1, 1));
    }
}

/// Adversarial 17: a bad cookie causes Reset 10 and begins no connection.
///
/// It has a flipped bit, is from another flow, is too old, or is missing where one was sent. The right one, in time,
/// begins a connection.
#[test]
fn item_17_a_bad_init_cookie_is_reset_10() {
    let (mut pair, ack) = with_cookie_out(|_| {});
    let (kind, true_cookies) = (ack.packet().kind, cookies(&ack));
    let bad = Some(ResetCode::BadInitCookie);
    for byte in 0..true_cookies[0].len() {
        let mut other = true_cookies.clone();
        other[0][byte] ^= 0x10;
        let wire = with_cookies(&pair, &ack, &kind, &other);
        assert_eq!(refusal(&mut pair, &wire), bad, "byte {byte}");
        pair.now += ms(2);
    }
    let missing = with_cookies(&pair, &ack, &kind, &[]);
    assert_eq!(refusal(&mut pair, &missing), bad);

    // Another DCCP port, and another address.
    let mut moved = ack.clone();
    moved.head[1] ^= 1;
    let path = pair.path(0);
    reseal(&mut moved, &path);
    assert_eq!(refusal(&mut pair, &moved), bad);
    let elsewhere = Path {
        remote: "192.0.2.77:0".parse().unwrap(),
        ..pair.path(1)
    };
    let mut moved = ack.clone();
    let away = Path {
        local: elsewhere.remote,
        ..pair.path(0)
    };
    reseal(&mut moved, &away);
    let meta = plain(elsewhere);
    pair.ends[1].handle_datagram(pair.now, meta, &moved.head, Payload::EMPTY);
    pair.drain();
    assert_eq!(
        pair.log.last().and_then(Wire::reset),
        bad.map(|c| (c, [0; 3]))
    );

    // RFC 4340, 8.1.4: the cookie belongs to the Response that the packet acknowledges.
    let Kind::Ack { ack: number } = kind else {
        panic!("an Ack");
    };
    let other = Kind::Ack {
        ack: number.extend(Seq::ZERO).next().into(),
    };
    let wire = with_cookies(&pair, &ack, &other, &true_cookies);
    assert_eq!(refusal(&mut pair, &wire), bad);

    let born = ack.at;
    pair.now = born + Duration::from_nanos(64_000_000_000);
    assert_eq!(refusal(&mut pair, &ack), bad);
    let stats = pair.ends[1].endpoint_stats();
    assert_eq!(
        stats.cookies_refused,
        true_cookies[0].len() as u64 + 5,
        "each counted"
    );

    // The client learns the reason.
    let reset = pair.log.last().expect("the Reset").clone();
    pair.deliver(0, &reset);
    pair.drain();
    let reason = CloseReason::Reset {
        code: ResetCode::BadInitCookie,
        data: [0; 3],
        text: None,
    };
    assert_eq!(pair.told(0), [Event::Connected, Event::Closed { reason }]);

    let (mut pair, ack) = with_cookie_out(|_| {});
    pair.now = ack.at + Duration::from_nanos(63_999_999_999);
    pair.answers_to(&ack);
    assert_eq!(pair.told(1), [Event::Accepted { port: PORT }]);
}

/// A busy listener serves clients that do not echo cookies (such as Linux) while it has room.
///
/// The connection is kept as a spare, and a Sync that it sends carries no cookie. When other connections have taken the
/// room, such clients get Reset 10. A client that echoes the cookie is always served, also after a repeated Request.
#[test]
fn a_busy_listener_has_room_to_spare() {
    for (room, repeated, echoes, served) in [
        (1, false, false, true),
        (1, true, false, true),
        (0, false, false, false),
        (0, false, true, true),
        (1, true, true, true),
    ] {
        let mut pair = Pair::new();
        pair.ends[1]
            .reconfigure(|config| config.init_cookies = InitCookies::WhenBusy { half_open: 0 });
        pair.ends[1].reconfigure(|config| config.max_half_open = room);
        pair.lose(|_| true);
        pair.connect(Config::default(), Config::default());
        let kind = |_| Kind::Request { service: SERVICE };
        for ahead in 0..=u64::from(repeated) {
            let request = pair.forge(0, ahead, kind, |_| {}, Payload::EMPTY);
            assert_eq!(cookies(&pair.answers_to(&request)[0]).len(), 1);
            assert_eq!(pair.ends[1].endpoint_stats().half_open, room);
            pair.now += ms(300);
        }
        let responses = pair.log.iter().filter(|wire| wire.from == 1);
        let response = responses.last().expect("one").clone();
        // The client has sent one Request and acknowledges the Response to the other.
        let name = format!("{room} {repeated} {echoes}");
        if repeated {
            pair.ends[0].skip_numbers(pair.client.unwrap(), 1);
        }
        let ack = pair.answers_to(&response);
        assert_eq!(ack[0].packet_type(), PacketType::Ack, "{name}");
        let (kind, all) = (ack[0].packet().kind, cookies(&ack[0]));
        let echoed = if echoes { &all[..] } else { &[] };
        if room > 0 && !echoes {
            let data = with_cookies(&pair, &ack[0], &Kind::Data, &[]);
            let answers = pair.answers_to(&data);
            assert_eq!(answers[0].packet_type(), PacketType::Sync);
            assert_eq!(cookies(&answers[0]), Vec::<Vec<u8>>::new(), "{name}");
        }
        let wire = with_cookies(&pair, &ack[0], &kind, echoed);
        let answers = pair.answers_to(&wire);
        let accepted = pair.told(1) == [Event::Accepted { port: PORT }];
        assert_eq!(accepted, served, "{name}");
        let refused = answers.first().and_then(Wire::reset);
        let bad = (ResetCode::BadInitCookie, [0; 3]);
        assert_eq!(refused, (!served).then_some(bad), "{name}");
        let stats = pair.ends[1].endpoint_stats();
        assert_eq!(stats.connections, usize::from(served), "{name}");
        assert_eq!(stats.half_open, 0, "{name}");
        assert_eq!(stats.cookies_accepted, u64::from(echoes), "{name}");
    }
}

/// Spare connections are removed at random when new Requests or returned cookies need the room.
#[test]
fn room_to_spare_is_taken_back() {
    let mut pair = Pair::new();
    pair.ends[1].reconfigure(|config| config.init_cookies = InitCookies::WhenBusy { half_open: 0 });
    pair.ends[1].reconfigure(|config| config.max_half_open = 3);
    pair.ends[1].reconfigure(|config| config.max_connections = 3);
    pair.lose(|_| true);
    pair.connect(Config::default(), Config::default());
    let kind = |_| Kind::Request { service: SERVICE };
    let mut acks = Vec::new();
    for n in 0..8u8 {
        let mut request = pair.forge(0, 0, kind, |_| {}, Payload::EMPTY);
        request.head[1] = n;
        let path = pair.path(0);
        reseal(&mut request, &path);
        let response = pair.answers_to(&request)[0].clone();
        let packet = response.packet();
        let ack = packet.seq;
        let all = cookies(&response);
        let mut like = request.clone();
        like.head[15] += 1;
        acks.push(with_cookies(&pair, &like, &Kind::Ack { ack }, &all));
        let stats = pair.ends[1].endpoint_stats();
        assert_eq!(stats.half_open, usize::from(n + 1).min(3));
        assert_eq!((stats.connections, stats.evicted), (stats.half_open, 0));
    }
    for ack in &acks[..3] {
        pair.answers_to(ack);
    }
    let stats = pair.ends[1].endpoint_stats();
    assert_eq!((stats.connections, stats.half_open), (3, 0));
    assert_eq!(stats.cookies_accepted, 3);
}

/// Adversarial 17; RFC 4340, 8.1.4: a cookie on a Request or on Data is ignored, even a valid one.
///
/// The Request is treated like any other, and the Data belongs to no connection.
#[test]
fn item_17_cookies_on_request_and_data_are_ignored() {
    let (mut pair, ack) = with_cookie_out(|_| {});
    let mut cookies = cookies(&ack);
    let wire = with_cookies(&pair, &ack, &Kind::Data, &cookies);
    assert_eq!(refusal(&mut pair, &wire), Some(ResetCode::NoConnection));
    let request = Kind::Request { service: SERVICE };
    for _ in 0..2 {
        let wire = with_cookies(&pair, &ack, &request, &cookies);
        let answers = pair.answers_to(&wire);
        assert_eq!(answers[0].packet_type(), PacketType::Response);
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
        cookies[0][9] ^= 1;
    }
    assert_eq!(pair.ends[1].endpoint_stats().cookies_refused, 0);
}

/// Adversarial 17; RFC 4340, 8.1.4: a cookie in two options is accepted only in its original order.
#[test]
fn item_17_the_order_of_cookies_counts() {
    let filler = |encoder: &mut Encoder<'_>| encoder.raw_option(200, &[7; 227]).unwrap();
    let (mut pair, ack) = with_cookie_out(filler);
    let mut cookies = cookies(&ack);
    assert_eq!(cookies.len(), 2);
    let kind = ack.packet().kind;
    cookies.reverse();
    let wire = with_cookies(&pair, &ack, &kind, &cookies);
    assert_eq!(refusal(&mut pair, &wire), Some(ResetCode::BadInitCookie));
    pair.answers_to(&ack);
    assert_eq!(pair.told(1), [Event::Accepted { port: PORT }]);
}

/// RFC 4340, 8.5, step 3: a packet of no connection gets Reset 3, not Reset 10, if no cookie was sent.
///
/// The same holds for a packet that acknowledges a number that no Response had.
#[test]
fn strangers_are_not_asked_for_cookies() {
    let (mut pair, ack) = with_cookie_out(|_| {});
    let other = Kind::Ack {
        ack: Seq::new(1 << 40).into(),
    };
    let wire = with_cookies(&pair, &ack, &other, &[]);
    assert_eq!(refusal(&mut pair, &wire), Some(ResetCode::NoConnection));

    let mut pair = Pair::new();
    pair.lose(|_| true);
    pair.connect(Config::default(), Config::default());
    let wire = pair.forge(0, 1, |ack| Kind::Ack { ack }, |_| {}, Payload::EMPTY);
    assert_eq!(refusal(&mut pair, &wire), Some(ResetCode::NoConnection));
}

/// An old copy of the Ack with the cookie begins no second connection.
///
/// It does not while the first connection lives, nor after its end, nor when the cookie is too old.
#[test]
fn a_cookie_begins_one_connection() {
    let mut pair = stateless();
    let (client, server) = pair.open(Config::default(), Config::default());
    let is_ack = |wire: &&Wire| wire.from == 0 && wire.packet_type() == PacketType::Ack;
    let ack = pair.log.iter().find(is_ack).expect("an Ack").clone();
    pair.deliver(1, &ack);
    pair.run_for(ms(200));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    pair.ends[1].release(server);
    for wait in [ms(0), ms(10_000), Duration::from_secs(100)] {
        pair.run_for(wait);
        let answers = pair.answers_to(&ack);
        let code = answers[0].reset().map(|(code, _)| code);
        assert_eq!(code, Some(ResetCode::NoConnection), "in TIMEWAIT");
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    }
}

/// A second Response, to a Request repeated a second later, is independent of the first.
///
/// The client takes the one that arrives first; the other changes nothing.
#[test]
fn a_late_second_response_does_no_harm() {
    let mut pair = stateless();
    let mut responses = 0;
    pair.rule(move |wire| match wire.packet_type() {
        PacketType::Response => {
            responses += 1;
            (responses == 1).then_some(Fault::Delay(ms(1_100)))
        }
        _ => None,
    });
    let client = pair.connect(Config::default(), Config::default());
    pair.run_for(ms(3_000));
    assert_eq!(pair.told(0), [Event::Connected]);
    assert_eq!(pair.told(1), [Event::Accepted { port: PORT }]);
    pair.ends[0].send(pair.now, client, data(5)).unwrap();
    pair.run_for(ms(500));
    let server = pair.server.expect("accepted");
    assert!(pair.ends[1].recv(server).is_some());
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
}

/// Makes a Request so long that its Response has room for everything.
fn lengthen(encoder: &mut Encoder<'_>) {
    encoder.raw_option(200, &[7; 40]).unwrap();
}

/// RFC 4340, 8.1.3: the Response reports the data of a forgotten Request with Drop Code 0.
///
/// The application gets only later data.
#[test]
fn forgotten_data_is_reported() {
    for (len, expected) in [(7, vec![0x80]), (0, vec![])] {
        let mut pair = stateless();
        pair.lose(|_| true);
        pair.connect(Config::default(), Config::default());
        let kind = |_| Kind::Request { service: SERVICE };
        let request = pair.forge(0, 0, kind, lengthen, data(len));
        let response = pair.answers_to(&request);
        let options = response[0].packet().options;
        let dropped = options
            .iter()
            .filter(|raw| raw.option_type == option_type::DATA_DROPPED);
        let blocks: Vec<u8> = dropped.flat_map(|raw| raw.data.to_vec()).collect();
        assert_eq!(blocks, expected, "{len} bytes");
        let ack = pair.answers_to(&response[0]);
        pair.answers_to(&ack[0]);
        assert_eq!(pair.told(1), [Event::Accepted { port: PORT }]);
        let server = pair.server.expect("accepted");
        assert!(pair.ends[1].recv(server).is_none());
    }
}

/// RFC 4340, 8.1.3 and 9.3: forgotten data with a right Data Checksum is not reported as corrupt.
///
/// The Response reports Drop Code 0, as without a checksum, and a Mandatory option before it is satisfied.
#[test]
fn forgotten_data_is_not_called_damaged() {
    for mandatory in [false, true] {
        let mut pair = stateless();
        pair.lose(|_| true);
        pair.connect(Config::default(), Config::default());
        let kind = |_| Kind::Request { service: SERVICE };
        let bytes = Payload::from(vec![3; 20]);
        let checksum = DccpOption::DataChecksum(data_checksum::of(&[3; 20]));
        let options = |encoder: &mut Encoder<'_>| {
            lengthen(encoder);
            if mandatory {
                encoder.option(&DccpOption::Mandatory).unwrap();
            }
            encoder.option(&checksum).unwrap();
        };
        let request = pair.forge(0, 0, kind, options, bytes.clone());
        let response = pair.answers_to(&request);
        assert_eq!(response[0].packet_type(), PacketType::Response);
        let options = response[0].packet().options;
        let dropped = options
            .iter()
            .filter(|raw| raw.option_type == option_type::DATA_DROPPED);
        let blocks: Vec<u8> = dropped.flat_map(|raw| raw.data.to_vec()).collect();
        assert_eq!(blocks, [0x80], "Drop Code 0, one packet");
    }
}

/// A Request with more options than fit into a cookie is kept as a half-open connection.
#[test]
fn too_long_for_a_cookie() {
    let mut pair = stateless();
    pair.lose(|_| true);
    pair.connect(Config::default(), Config::default());
    let kind = |_| Kind::Request { service: SERVICE };
    for (bytes, kept) in [(228, 0), (229, 1)] {
        let options = |encoder: &mut Encoder<'_>| {
            encoder.raw_option(200, &vec![7; bytes]).unwrap();
        };
        let request = pair.forge(0, 0, kind, options, data(3));
        let answers = pair.answers_to(&request);
        assert_eq!(answers[0].packet_type(), PacketType::Response);
        assert_eq!(pair.ends[1].endpoint_stats().half_open, kept, "{bytes}");
    }
}

/// RFC 4340, 8.1.4: the cookies of a newer Response replace those of the first.
///
/// A client echoes the cookies of the Response that it acknowledges.
#[test]
fn a_newer_response_brings_newer_cookies() {
    let mut pair = Pair::new();
    pair.lose(|_| true);
    pair.connect_only(Config::default());
    let ack = pair.log[0].packet().seq;
    let ports = pair.log[0].packet().ports.swapped();
    let mut respond = |seq, cookie: Option<u8>| {
        let service = SERVICE;
        let kind = Kind::Response { ack, service };
        let wire = pair.make(1, Draft::new(ports, Seq::new(seq), kind), |encoder| {
            if let Some(cookie) = cookie {
                encoder.option(&DccpOption::InitCookie(&[cookie])).unwrap();
            }
        });
        cookies(&pair.answers_to(&wire)[0])
    };
    assert_eq!(respond(100, Some(1)), [[1]]);
    assert_eq!(respond(102, Some(2)), [[2]]);
    assert_eq!(respond(101, Some(3)), [[2]], "older");
    assert_eq!(respond(103, None), Vec::<Vec<u8>>::new());
}

/// RFC 4340, 5.8.2: Mandatory before Padding has no effect, also for options restored from a cookie.
///
/// A cookie contains no Padding. The option after it must not become mandatory.
#[test]
fn mandatory_padding_is_left_out_of_cookies() {
    let (mut pair, ack) = with_cookie_out(|encoder| {
        for (option, data) in [(1, &[][..]), (0, &[]), (99, &[7])] {
            encoder.raw_option(option, data).unwrap();
        }
    });
    pair.answers_to(&ack);
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
}
