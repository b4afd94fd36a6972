//! What attackers who forge the address of a victim can make us send there.

use fairwire_kit::{Dice, Draft, PORT, Pair, SERVICE, Wire, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{
    Ccid, DccpOption, Encoder, HeadBuf, Kind, PacketType, Ports, Seq, ServiceCode,
};

use fairwire_proto::{Config, Encapsulation, Endpoint, InitCookies, Payload};

/// Returns a listening server over UDP.
fn listening(policy: InitCookies) -> Pair {
    let mut pair = Pair::along(Encapsulation::Udp, ms(20));
    pair.ends[1].reconfigure(|config| config.init_cookies = policy);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    pair
}

/// Delivers a packet of an unknown source to the server. Returns its size as the payload of a UDP datagram, in bytes.
///
/// `n` selects its port and number.
fn hand_over(
    pair: &mut Pair,
    (n, source): (u32, u32),
    kind: &Kind,
    options: impl FnOnce(&mut Encoder<'_>),
) -> usize {
    let ports = Ports {
        source: (n % 60_000) as u16,
        destination: PORT,
    };
    let draft = Draft::new(ports, Seq::new(u64::from(n) << 16), *kind);
    pair.knock(
        std::net::Ipv4Addr::from_bits(source).into(),
        &draft,
        options,
    )
}

/// Returns the number of UDP datagrams that an endpoint wants to send now, and the bytes of their payloads.
fn answers(end: &mut Endpoint, pair_now: fairwire_units::Instant) -> (usize, usize) {
    let mut head = HeadBuf::new();
    let (mut count, mut bytes) = (0, 0);
    while let Some(transmit) = end.poll_transmit(pair_now, &mut head) {
        count += 1;
        bytes += head.len() + transmit.payload.len();
    }
    (count, bytes)
}

/// The answer to a packet of an unknown source is one datagram with at most three times its bytes.
///
/// This is the limit of RFC 9000, 8.1, for the payloads of UDP datagrams. It holds for all packet types, with and
/// without options, and whether the packet is accepted with state, answered with a cookie, or refused.
#[test]
fn finding_8_an_answer_has_at_most_three_times_the_bytes() {
    let ack = Seq::new(99).into();
    let kinds = [
        Kind::Request { service: SERVICE },
        Kind::Request {
            service: ServiceCode(77),
        },
        Kind::Data,
        Kind::Ack { ack },
        Kind::Sync { ack },
        Kind::Close { ack },
        Kind::Response {
            ack,
            service: SERVICE,
        },
    ];
    for policy in [InitCookies::Never, InitCookies::Always] {
        let mut pair = listening(policy);
        let mut dice = Dice::new(8);
        for n in 0..6_000u32 {
            let kind = &kinds[n as usize % kinds.len()];
            let options = |encoder: &mut Encoder<'_>| {
                for _ in 0..dice.next() % 12 {
                    let feature = (dice.next() >> 9) as u8 % 14;
                    let value = [(dice.next() >> 11) as u8 % 5, 2, 3, 0, 4, 1];
                    let value = &value[..=(dice.next() >> 13) as usize % 6];
                    let option = match dice.next() >> 17 & 7 {
                        0..3 => DccpOption::ChangeL { feature, value },
                        3..5 => DccpOption::ChangeR { feature, value },
                        5 => DccpOption::Timestamp(7),
                        6 => DccpOption::Padding,
                        _ => DccpOption::ChangeR {
                            feature: 100 + feature,
                            value: &[],
                        },
                    };
                    encoder.option(&option).unwrap();
                }
            };
            let asked = hand_over(&mut pair, (n, n), kind, options);
            let (count, bytes) = answers(&mut pair.ends[1], pair.now);
            assert!(count <= 1, "{count} answers to {kind:?}");
            assert!(
                bytes <= 3 * asked,
                "{bytes} for {asked}: {kind:?} {policy:?}"
            );
            pair.now += ms(10);
        }
        let stats = pair.ends[1].endpoint_stats();
        assert!(stats.resets_sent > 1_000);
    }
}

/// A Request without options gets a short Response, and the connection still opens, with and without cookies.
///
/// Both ends negotiate the rest in later packets. Data flows both ways, with each CCID.
#[test]
fn finding_8_a_bare_request_opens_a_connection_too() {
    for policy in [InitCookies::Never, InitCookies::Always] {
        for ccid in [2, 3] {
            let mut pair = Pair::along(Encapsulation::Udp, ms(20));
            pair.ends[1].reconfigure(|config| config.init_cookies = policy);
            pair.lose(|_| true);
            let mut config = Config::default();
            config.send_ccids = vec![Ccid::new(ccid)];
            let client = pair.connect(config.clone(), config);
            let kind = |_| Kind::Request { service: SERVICE };
            let request = pair.forge(0, 0, kind, |_| {}, Payload::EMPTY);
            pair.rule(|_| None);
            let response = pair.answers_to(&request);
            assert_eq!(response[0].packet_type(), PacketType::Response);
            assert!(response[0].head.len() <= 3 * request.head.len());
            pair.run_for(ms(900));
            let server = pair.server.expect("accepted");
            for (side, id) in [(0, client), (1, server)] {
                pair.ends[side].send(pair.now, id, data(300)).unwrap();
            }
            pair.run_for(ms(1_000));
            assert!(pair.ends[0].recv(client).is_some(), "{policy:?}, {ccid}");
            assert!(pair.ends[1].recv(server).is_some(), "{policy:?}, {ccid}");
            let stats = pair.ends[1].stats(server).unwrap();
            assert_eq!(
                (stats.send_ccid, stats.receive_ccid),
                (Some(Ccid::new(ccid)), Some(Ccid::new(ccid)))
            );
        }
    }
}

/// Our own Requests are long enough to get a complete Response.
///
/// It includes the server's Changes and the timestamp, so that a handshake takes one round trip.
#[test]
fn finding_8_our_own_handshakes_lose_nothing() {
    for policy in [InitCookies::Never, InitCookies::Always] {
        let mut pair = Pair::along(Encapsulation::Udp, ms(20));
        pair.ends[1].reconfigure(|config| config.init_cookies = policy);
        pair.open(Config::default(), Config::default());
        let of_type = |wanted| move |wire: &&Wire| wire.packet_type() == wanted;
        let request = pair.log.iter().find(of_type(PacketType::Request)).unwrap();
        let response = pair.log.iter().find(of_type(PacketType::Response)).unwrap();
        let (asked, sent) = (request.head.len(), response.head.len());
        assert!(sent <= 3 * asked, "{sent} for {asked}");
        let options = response.packet().options;
        let has = |wanted: fn(&DccpOption<'_>) -> bool| {
            let decoded = options.iter().filter_map(|raw| raw.decode().ok());
            decoded.filter(wanted).count()
        };
        assert!(has(|option| matches!(option, DccpOption::Timestamp(_))) == 1);
        assert!(has(|option| matches!(option, DccpOption::TimestampEcho { .. })) == 1);
        assert!(has(|option| matches!(option, DccpOption::ChangeL { .. })) >= 1);
        assert!(has(|option| matches!(option, DccpOption::ConfirmR { .. })) >= 1);
    }
}

/// One source gets a limited number of answers per second, for Responses with state or cookies and for Resets.
///
/// This limits attackers who forge its address. Repeated Requests of one client count too. Other sources are still
/// answered.
#[test]
fn finding_8_one_source_has_its_share_of_answers() {
    let request = Kind::Request { service: SERVICE };
    let stray = Kind::Ack {
        ack: Seq::new(5).into(),
    };
    for (policy, kind, same, rate) in [
        (InitCookies::Never, request, false, 100),
        (InitCookies::Always, request, false, 100),
        (InitCookies::Never, request, true, 100),
        (InitCookies::Always, stray, false, 25),
    ] {
        let mut pair = listening(policy);
        pair.ends[1].reconfigure(|config| config.max_half_open_per_source = 10_000);
        pair.ends[1].reconfigure(|config| config.max_half_open = 10_000);
        pair.ends[1].reconfigure(|config| config.max_answers_per_source_per_s = 100);
        let mut count = 0;
        for n in 0..20_000 {
            let n = if same { 1 } else { n };
            hand_over(&mut pair, (n, 1), &kind, |_| {});
            count += answers(&mut pair.ends[1], pair.now).0;
            pair.now += Duration::from_millis(1);
        }
        // A burst of four seconds' worth, then twenty seconds at the rate.
        assert!(
            (23 * rate..=25 * rate).contains(&count),
            "{count}: {kind:?}"
        );
        let rate_limited = pair.ends[1].endpoint_stats().rate_limited;
        assert_eq!(rate_limited, 20_000 - count as u64);
        hand_over(&mut pair, (7, 2), &kind, |_| {});
        assert_eq!(answers(&mut pair.ends[1], pair.now).0, 1);
    }
}

/// Clients that complete the handshake do not use up the share of their address.
///
/// Within a second, many more clients than one burst allows connect from one address, one after the other.
#[test]
fn finding_8_honest_clients_share_an_address() {
    for policy in [InitCookies::Never, InitCookies::Always] {
        let mut pair = Pair::along(Encapsulation::Udp, ms(1));
        pair.record = false;
        pair.ends[1].reconfigure(|config| config.init_cookies = policy);
        pair.ends[1].reconfigure(|config| config.max_answers_per_source_per_s = 2);
        pair.ends[1]
            .listen(PORT, &[SERVICE], Config::default())
            .unwrap();
        for _ in 0..100 {
            pair.connect_only(Config::default());
            pair.run_for(ms(8));
        }
        let stats = pair.ends[1].endpoint_stats();
        assert_eq!(
            (stats.connections, stats.rate_limited),
            (100, 0),
            "{policy:?}"
        );
    }
}
