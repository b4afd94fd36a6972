//! Floods of Requests with forged addresses.

use fairwire_kit::{Draft, Fault, PORT, Pair, SERVICE, Wire, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{Encoder, Kind, PacketType, Ports, ResetCode, Seq};

use fairwire_proto::{
    CloseReason, Config, Encapsulation, EndpointConfig, Event, InitCookies, Payload,
};

/// Delivers the `n`th of many Requests to the server, from the address `source`.
fn forged_request(pair: &mut Pair, n: u32, source: u32) {
    forged_request_with(pair, n, source, |_| {});
}

fn forged_request_with(
    pair: &mut Pair,
    n: u32,
    source: u32,
    options: impl FnOnce(&mut Encoder<'_>),
) {
    let ports = Ports {
        source: (n % 60_000) as u16,
        destination: PORT,
    };
    let kind = Kind::Request { service: SERVICE };
    let draft = Draft::new(ports, Seq::new(u64::from(n) << 16), kind);
    pair.knock(
        std::net::Ipv4Addr::from_bits(source).into(),
        &draft,
        options,
    );
}

/// Returns a listening server with a one-way delay of `delay`. Answers to forged addresses are lost.
fn listening(policy: InitCookies, delay: Duration) -> Pair {
    let mut pair = Pair::along(Encapsulation::Udp, delay);
    pair.record = false;
    pair.ends[1].reconfigure(|config| config.init_cookies = policy);
    let client = pair.path(0).local;
    pair.rule(move |wire| {
        let astray = wire.from == 1 && wire.transmit.path.remote != client;
        astray.then_some(Fault::Lose)
    });
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    pair
}

/// How many honest clients a flood let through.
struct Outcome {
    tried: usize,
    accepted: usize,
    /// The largest number of half-open connections.
    half_open: usize,
}

/// Sends 100,000 forged Requests a second for two seconds, with one honest client every 10 ms.
fn flood(policy: InitCookies, delay: Duration) -> (Pair, Outcome) {
    let mut pair = listening(policy, delay);
    let (mut n, mut tried, mut half_open) = (0u32, 0, 0);
    for tick in 0..20_000 {
        if tick % 100 == 0 && tick < 16_000 {
            pair.connect_only(Config::default());
            tried += 1;
        }
        for _ in 0..10 {
            n += 1;
            forged_request(&mut pair, n, 0x0A00_0000 + n);
        }
        pair.run_for(Duration::from_micros(100));
        half_open = half_open.max(pair.ends[1].endpoint_stats().half_open);
    }
    let is_accepted = |event: &&Event| matches!(event, Event::Accepted { .. });
    let accepted = pair.told(1).iter().filter(is_accepted).count();
    let outcome = Outcome {
        tried,
        accepted,
        half_open,
    };
    (pair, outcome)
}

/// RFC 4340, 8.1.5: a server answers Acks only until its client is known to have left PARTOPEN.
///
/// An attacker who provokes Syncs in each round trip does not prolong this.
#[test]
fn syncs_do_not_keep_a_server_answering_acks() {
    let acks = |attacked: bool| {
        let mut pair = Pair::along(Encapsulation::Native, ms(150));
        let client = pair.connect(Config::default(), Config::default());
        let mut syncs = 0;
        for _ in 0..100 {
            if attacked && let Some(server) = pair.server {
                // Its number is outside all windows, and it acknowledges nothing.
                let wire = pair.forge(0, 1 << 40, |_| Kind::Data, |_| {}, Payload::EMPTY);
                pair.deliver(1, &wire);
                syncs = pair.ends[1].stats(server).expect("open").syncs_sent;
            }
            if let Some(server) = pair.server
                && pair.ends[1].can_send(server, 100)
            {
                let sent = pair.ends[1].send(pair.now, server, data(100));
                assert!(sent.is_ok(), "{sent:?}");
            }
            pair.run_for(ms(125));
        }
        assert!(pair.ends[0].stats(client).is_some());
        assert_eq!(syncs > 50, attacked, "{syncs} Syncs");
        let types = pair.types(1);
        types
            .iter()
            .filter(|&&kind| kind == PacketType::Ack)
            .count()
    };
    let (quiet, attacked) = (acks(false), acks(true));
    assert!(
        attacked <= quiet + 4,
        "{attacked} Acks, {quiet} undisturbed"
    );
}

/// Adversarial 16; RFC 4340, 8.1.4: with Init Cookies a flood of forged Requests keeps no honest client out.
///
/// The flood has 100,000 Requests a second; cookies are used by default or always. The state kept is bounded: the full
/// backlog, half of it spare connections, or nothing.
#[test]
fn item_16_with_init_cookies_a_flood_keeps_nobody_out() {
    for (policy, bound) in [(InitCookies::default(), 1_024), (InitCookies::Always, 0)] {
        for delay in [ms(2), ms(100)] {
            let (pair, outcome) = flood(policy, delay);
            assert_eq!(outcome.accepted, outcome.tried, "{policy:?}, {delay}");
            assert_eq!(outcome.half_open, bound, "{policy:?}, {delay}");
            let stats = pair.ends[1].endpoint_stats();
            // All but the Requests that filled the backlog. The honest clients that met it full are included.
            assert!(stats.cookies_sent >= 200_000 - 512);
            assert_eq!(
                stats.evicted, 0,
                "two seconds are no reason to be impatient"
            );
        }
    }
}

/// Adversarial 16: without Init Cookies a flood lets honest clients through at random.
///
/// The backlog is bounded, and a random entry makes room. A client that completes its handshake after n forged Requests
/// is still there with probability (1 - 1/1024)^n. At 100,000 Requests a second and a round trip of 4 ms n is 400, so
/// 68 % get through; at 200 ms none does. When the flood is over, all clients do.
#[test]
fn item_16_without_init_cookies_a_flood_is_survived_by_lot() {
    let (mut pair, near) = flood(InitCookies::Never, ms(2));
    assert_eq!(near.tried, 160);
    // 160 times 0.677, plus or minus three standard deviations of a binomial distribution, 5.9 each.
    assert!((91..=126).contains(&near.accepted), "{}", near.accepted);
    assert_eq!(near.half_open, 1_024);
    pair.events = [Vec::new(), Vec::new()];
    for _ in 0..50 {
        pair.connect_only(Config::default());
        pair.run_for(ms(20));
    }
    assert_eq!(pair.told(1).len(), 50, "after the flood");

    let (_, far) = flood(InitCookies::Never, ms(100));
    // 160 times (1 - 1/1024)^20000 is less than a millionth.
    assert_eq!(far.accepted, 0);
    assert_eq!(far.half_open, 1_024);
}

/// The backlog holds exactly its limit; one more Request removes one entry.
///
/// The removed client gets a Reset when it continues (RFC 4340, 8.5, step 3).
#[test]
fn a_full_backlog_makes_room() {
    let mut pair = listening(InitCookies::Never, ms(20));
    pair.ends[1].reconfigure(|config| config.max_half_open = 2);
    for (n, evicted) in [(1, 0), (2, 0), (3, 1)] {
        forged_request(&mut pair, n, n);
        let stats = pair.ends[1].endpoint_stats();
        let expected = (u64::from(n).min(2), evicted);
        assert_eq!((stats.half_open as u64, stats.evicted), expected);
        assert_eq!(stats.connections, stats.half_open);
    }
    let mut pair = listening(InitCookies::Never, ms(20));
    pair.ends[1].reconfigure(|config| config.max_half_open = 1);
    pair.connect_only(Config::default());
    pair.run_for(ms(30));
    forged_request(&mut pair, 1, 1);
    pair.run_for(ms(100));
    let reason = CloseReason::Reset {
        code: ResetCode::NoConnection,
        data: [0; 3],
        text: None,
    };
    assert_eq!(pair.told(0), [Event::Connected, Event::Closed { reason }]);
}

/// A burst that fills the backlog affects other clients for ten seconds only.
///
/// Without this, its entries would stay for eight minutes. After ten seconds one of them makes room for each new
/// client.
#[test]
fn a_burst_is_soon_forgotten() {
    let mut pair = listening(InitCookies::WhenBusy { half_open: 100 }, ms(20));
    for n in 0..100 {
        forged_request(&mut pair, n, n);
    }
    let begun = |pair: &mut Pair| {
        pair.connect_only(Config::default());
        pair.run_for(ms(100));
        let stats = pair.ends[1].endpoint_stats();
        (stats.cookies_sent, stats.evicted)
    };
    assert_eq!(begun(&mut pair), (1, 0));
    pair.run_for(ms(9_800));
    assert_eq!(begun(&mut pair), (2, 0));
    pair.run_for(ms(100));
    assert_eq!(begun(&mut pair), (2, 1));
    assert_eq!(pair.told(1).len(), 3, "all were accepted");
}

/// One IPv4 address, or one IPv6 network of 64 bits, fills only its share of the backlog.
///
/// Beyond it, its Requests are answered without state if cookies are allowed, and refused if not. Others are not
/// affected.
#[test]
fn one_source_has_its_share() {
    for (policy, refused) in [(InitCookies::default(), 0), (InitCookies::Never, 7)] {
        let mut pair = listening(policy, ms(20));
        pair.ends[1].reconfigure(|config| config.max_half_open_per_source = 3);
        for n in 0..10 {
            forged_request(&mut pair, n, 99);
        }
        let stats = pair.ends[1].endpoint_stats();
        assert_eq!((stats.half_open, stats.refused), (3, refused));
        assert_eq!(stats.cookies_sent, 7 - refused);
        pair.connect_only(Config::default());
        pair.run_for(ms(30));
        assert_eq!(pair.ends[1].endpoint_stats().half_open, 4);
    }
}

/// RFC 4340, 8.1.3: refusals for lack of room are limited to 1,024 a second, with a burst of a sixteenth of that.
#[test]
fn item_16_too_busy_is_said_at_a_limited_rate() {
    let mut pair = listening(InitCookies::Never, ms(2));
    pair.ends[1].reconfigure(|config| config.max_connections = 0);
    pair.record = true;
    for n in 0..20_000 {
        forged_request(&mut pair, n, n);
        pair.run_for(Duration::from_micros(100));
    }
    let resets = pair.log.iter().filter_map(Wire::reset);
    let busy = resets.filter(|&(code, _)| code == ResetCode::TooBusy);
    let count = busy.count();
    assert!(
        (2 * 1_024 - 64..=2 * 1_024 + 64).contains(&count),
        "{count}"
    );
    let other = |wire: &&Wire| wire.packet_type() != PacketType::Reset;
    assert_eq!(pair.log.iter().filter(other).count(), 0);
    assert_eq!(pair.ends[1].endpoint_stats().refused, 20_000);
}

/// RFC 4340, 8.1.3: Requests that are refused for their options get no more Resets than other refused Requests.
///
/// Here an unknown option follows Mandatory. It holds with state and with cookies.
#[test]
fn item_16_bad_options_are_no_reflector() {
    for policy in [InitCookies::Never, InitCookies::Always] {
        let mut pair = listening(policy, ms(2));
        pair.record = true;
        for n in 0..20_000 {
            forged_request_with(&mut pair, n, n, |encoder| {
                encoder.raw_option(1, &[]).unwrap();
                encoder.raw_option(99, &[7]).unwrap();
            });
            pair.run_for(Duration::from_micros(100));
        }
        let resets = pair.log.iter().filter_map(Wire::reset);
        let refused = resets.filter(|&(code, _)| code == ResetCode::MandatoryError);
        let count = refused.count();
        assert_eq!(count, pair.log.len(), "nothing else is sent");
        assert!(
            (2 * 1_024 - 64..=2 * 1_024 + 64).contains(&count),
            "{policy:?}: {count}"
        );
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    }
}

/// Half-open connections of a crowded source make room after ten seconds, before they time out.
///
/// Forged Requests fill the share of an address. An honest client of that address is refused at first, and accepted ten
/// seconds later.
#[test]
fn a_crowded_source_makes_room() {
    let mut pair = listening(InitCookies::Never, ms(20));
    let std::net::IpAddr::V4(address) = pair.path(0).local.ip() else {
        panic!("the pair speaks IPv4");
    };
    for n in 1..=256 {
        forged_request(&mut pair, n, address.to_bits());
    }
    pair.connect_only(Config::default());
    pair.run_for(ms(500));
    let refused = CloseReason::Reset {
        code: ResetCode::TooBusy,
        data: [0; 3],
        text: None,
    };
    assert_eq!(pair.told(0), [Event::Closed { reason: refused }]);
    pair.run_for(ms(10_000));
    pair.connect_only(Config::default());
    pair.run_for(ms(500));
    assert!(pair.told(0).contains(&Event::Connected));
}

/// A Request that is refused for its options costs its source as much as any Reset: four answers.
#[test]
fn refusals_for_options_count_as_resets() {
    let mut pair = listening(InitCookies::Never, ms(20));
    let share = u64::from(EndpointConfig::default().max_answers_per_source_per_s);
    for n in 0..2_000 {
        forged_request_with(&mut pair, n, 7, |encoder| {
            encoder.raw_option(1, &[]).unwrap();
            encoder.raw_option(99, &[7]).unwrap();
        });
    }
    // Four seconds' worth at once; each costs four.
    assert_eq!(pair.ends[1].endpoint_stats().rate_limited, 2_000 - share);
}
