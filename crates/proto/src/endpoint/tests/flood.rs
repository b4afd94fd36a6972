//! Requests with forged addresses, many of them.

use fairwire_units::{Duration, Ecn};
use fairwire_wire::{Encoder, HeadBuf, Kind, PacketType, Ports, ResetCode, Seq};

use super::pair::{Fault, PORT, Pair, SERVICE, data, ms};
use crate::seal::seal;
use crate::{CloseReason, Config, Encapsulation, Event, InitCookies, Meta, Path, Payload};

/// Hands the server the `n`th of many Requests, each from another address.
fn forged_request(pair: &mut Pair, n: u32, source: u32) {
    forged_request_with(pair, n, source, |_| {});
}

fn forged_request_with(
    pair: &mut Pair,
    n: u32,
    source: u32,
    options: impl FnOnce(&mut Encoder<'_>),
) {
    let to = pair.path(1);
    let path = Path {
        remote: (std::net::Ipv4Addr::from_bits(source), 6_511).into(),
        ..to
    };
    let ports = Ports {
        source: (n % 60_000) as u16,
        destination: PORT,
    };
    let kind = Kind::Request { service: SERVICE };
    let mut head = HeadBuf::new();
    let seq = Seq::new(u64::from(n) << 16).into();
    let mut encoder = Encoder::new(&mut head, ports, seq, &kind, 0, 0);
    options(&mut encoder);
    seal(encoder, &path, &Payload::EMPTY, 0);
    let meta = Meta {
        path,
        ecn: Ecn::NotEct,
    };
    pair.ends[1].handle_datagram(pair.now, meta, head.as_slice(), Payload::EMPTY);
}

/// A server `delay` away; answers to forged addresses go nowhere.
fn listening(policy: InitCookies, delay: Duration) -> Pair {
    let mut pair = Pair::along(Encapsulation::Udp, delay);
    pair.record = false;
    pair.ends[1].config.init_cookies = policy;
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

/// What a flood left of the honest clients.
struct Outcome {
    tried: usize,
    accepted: usize,
    /// Half-open connections at most.
    half_open: usize,
}

/// 100,000 forged Requests a second for two seconds, and one honest client every 10 ms.
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

/// RFC 4340, 8.1.5: a server answers Acks until its client is known to have left PARTOPEN. Syncs that
/// strangers provoke in each round trip do not keep it at that.
#[test]
fn syncs_do_not_keep_a_server_answering_acks() {
    let acks = |attacked: bool| {
        let mut pair = Pair::along(Encapsulation::Native, ms(150));
        let client = pair.connect(Config::default(), Config::default());
        let mut syncs = 0;
        for _ in 0..100 {
            if attacked && let Some(server) = pair.server {
                // Far from all windows, and acknowledging nothing.
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

/// Adversarial 16; RFC 4340, 8.1.4: under 100,000 forged Requests a second, with Init Cookies, by
/// default or always, every honest client is served, and what is held has its bound: the backlog,
/// half of it to spare, or nothing.
#[test]
fn item_16_with_init_cookies_a_flood_keeps_nobody_out() {
    for (policy, bound) in [(InitCookies::default(), 1_024), (InitCookies::Always, 0)] {
        for delay in [ms(2), ms(100)] {
            let (pair, outcome) = flood(policy, delay);
            assert_eq!(outcome.accepted, outcome.tried, "{policy:?}, {delay}");
            assert_eq!(outcome.half_open, bound, "{policy:?}, {delay}");
            let stats = pair.ends[1].endpoint_stats();
            // All but those that filled the backlog, with the honest ones that met it full.
            assert!(stats.cookies_sent >= 200_000 - 512);
            assert_eq!(
                stats.evicted, 0,
                "two seconds are no reason to be impatient"
            );
        }
    }
}

/// Adversarial 16: without Init Cookies the backlog is bounded, and whoever is in it has to make
/// room at random. A client that completes its handshake after n forged Requests is still there
/// with probability (1 - 1/1024)^n. At 100,000 a second and 4 ms of round trip n is 400, so 68 %
/// get through; at 200 ms none does. As soon as the flood is over, everybody does.
#[test]
fn item_16_without_init_cookies_a_flood_is_survived_by_lot() {
    let (mut pair, near) = flood(InitCookies::Never, ms(2));
    assert_eq!(near.tried, 160);
    // 160 times 0.677, give or take three standard deviations of a binomial distribution, 5.9.
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

/// The backlog takes exactly as many as it may; one more pushes one out, who hears of it when it
/// goes on (RFC 4340, 8.5, step 3).
#[test]
fn a_full_backlog_makes_room() {
    let mut pair = listening(InitCookies::Never, ms(20));
    pair.ends[1].config.max_half_open = 2;
    for (n, evicted) in [(1, 0), (2, 0), (3, 1)] {
        forged_request(&mut pair, n, n);
        let stats = pair.ends[1].endpoint_stats();
        let expected = (u64::from(n).min(2), evicted);
        assert_eq!((stats.half_open as u64, stats.evicted), expected);
        assert_eq!(stats.connections, stats.half_open);
    }
    let mut pair = listening(InitCookies::Never, ms(20));
    pair.ends[1].config.max_half_open = 1;
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

/// A burst that fills the backlog does not decide for eight minutes how others are answered: after
/// ten seconds those in it make room, one for each that comes.
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

/// One address, or one IPv6 network of 64 bits, fills no more than its share of the backlog: with
/// cookies it is then answered without state, without them it is refused, and others are not.
#[test]
fn one_source_has_its_share() {
    for (policy, refused) in [(InitCookies::default(), 0), (InitCookies::Never, 7)] {
        let mut pair = listening(policy, ms(20));
        pair.ends[1].config.max_half_open_per_source = 3;
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

/// RFC 4340, 8.1.3: refusals for want of room are rationed: 1,024 a second at most, and a burst of
/// a sixteenth of that.
#[test]
fn item_16_too_busy_is_said_at_a_limited_rate() {
    let mut pair = listening(InitCookies::Never, ms(2));
    pair.ends[1].config.max_connections = 0;
    pair.record = true;
    for n in 0..20_000 {
        forged_request(&mut pair, n, n);
        pair.run_for(Duration::from_micros(100));
    }
    let resets = pair.log.iter().filter_map(super::Wire::reset);
    let busy = resets.filter(|&(code, _)| code == ResetCode::TooBusy);
    let count = busy.count();
    assert!(
        (2 * 1_024 - 64..=2 * 1_024 + 64).contains(&count),
        "{count}"
    );
    let other = |wire: &&super::Wire| wire.packet_type() != PacketType::Reset;
    assert_eq!(pair.log.iter().filter(other).count(), 0);
    assert_eq!(pair.ends[1].endpoint_stats().refused, 20_000);
}

/// RFC 4340, 8.1.3: Requests that are refused for their options, here a Mandatory before what nobody
/// knows, get no more Resets than others that are refused, with state or with cookies.
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
        let resets = pair.log.iter().filter_map(super::Wire::reset);
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

/// Forged Requests fill the half-open connections that one address may have. An honest client of that
/// address is told to come again, and ten seconds later the forged ones make room for it; it need not
/// wait until they time out.
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

/// A Request that is refused for its options costs its source as much as any other Reset does: four
/// answers of its share.
#[test]
fn refusals_for_options_count_as_resets() {
    let mut pair = listening(InitCookies::Never, ms(20));
    let share = u64::from(pair.ends[1].config.max_answers_per_source_per_s);
    for n in 0..2_000 {
        forged_request_with(&mut pair, n, 7, |encoder| {
            encoder.raw_option(1, &[]).unwrap();
            encoder.raw_option(99, &[7]).unwrap();
        });
    }
    // Four seconds' worth at once, four for each.
    assert_eq!(pair.ends[1].endpoint_stats().rationed, 2_000 - share);
}
