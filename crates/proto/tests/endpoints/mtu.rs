//! Path MTU discovery between two endpoints: black holes, Too Big errors of routers, and forged ones.

use std::cell::RefCell;
use std::rc::Rc;

use fairwire_kit::{Dice, Fault, Pair, Wire, config_of, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{Kind, PacketType};

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Event, Fate, IcmpError, IcmpQuote, PathMtuDiscovery,
    SendError, Stats,
};

/// Returns the size of the IPv4 packet, in bytes.
fn ip_len(wire: &Wire) -> usize {
    let udp = match wire.transmit.path.encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 8,
    };
    20 + udp + wire.head.len() + wire.transmit.payload.len()
}

/// Makes the path drop packets of more than `mtu` bytes silently from now on.
fn takes(pair: &mut Pair, mtu: usize) {
    pair.rule(move |wire| (ip_len(wire) > mtu).then_some(Fault::Lose));
}

/// A configuration with one CCID in both directions.
fn config(ccid: u8, discovery: PathMtuDiscovery) -> Config {
    let mut config = config_of(ccid);
    config.report_fates = true;
    config.path_mtu_discovery = discovery;
    config
}

fn open(pair: &mut Pair, ccid: u8, discovery: PathMtuDiscovery) -> (ConnectionId, ConnectionId) {
    pair.open(config(ccid, discovery), config(ccid, discovery))
}

/// Sends datagrams of the largest size from the client, whenever there is room, for `time`.
fn fill(pair: &mut Pair, id: ConnectionId, time: Duration) {
    send_sizes(pair, id, time, |max| max);
}

fn send_sizes(
    pair: &mut Pair,
    id: ConnectionId,
    time: Duration,
    mut size: impl FnMut(usize) -> usize,
) {
    let until = pair.now + time;
    let server = pair.server.expect("open");
    loop {
        while let Some(max) = pair.ends[0].max_datagram_size(id)
            && pair.ends[0].can_send(id, max)
        {
            let sent = pair.ends[0].send(pair.now, id, data(size(max) as u32));
            assert!(sent.is_ok(), "{sent:?}");
        }
        pair.drain();
        while pair.ends[1].recv(server).is_some() {}
        if !pair.step(until) {
            break;
        }
    }
    pair.now = until;
}

fn stats(pair: &Pair, id: ConnectionId) -> Stats {
    pair.ends[0].stats(id).expect("it is there")
}

fn too_big(pair: &mut Pair, mtu: u32, head: &[u8]) {
    let error = IcmpError::TooBig { mtu };
    let path = pair.path(0);
    pair.ends[0].handle_icmp(pair.now, path, IcmpQuote { error, head });
    pair.drain();
}

/// Returns the path MTUs that the client's application was told, in order.
fn told_sizes(pair: &Pair) -> Vec<u16> {
    let told = pair.told(0);
    let sizes = told.iter().filter_map(|event| match event {
        Event::PathMtu { mtu, .. } => Some(*mtu),
        _ => None,
    });
    sizes.collect()
}

/// RFC 8899, 4.3, and RFC 4340, 14.1: where large packets are lost silently, Syncs find the size that passes.
///
/// After that data gets through, and the application is told the size.
#[test]
fn a_black_hole_is_found() {
    for ccid in [2, 3] {
        for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
            let mut pair = Pair::along(encapsulation, ms(20));
            pair.bottleneck = Some((ms(1), 30));
            let (client, server) = open(&mut pair, ccid, PathMtuDiscovery::Probe);
            takes(&mut pair, 1_400);
            // Three seconds each for 1,500, 1,440 and 1,420, and a round trip for each other size.
            fill(&mut pair, client, ms(12_000));
            let found = stats(&pair, client);
            assert_eq!(found.path_mtu, 1_400, "CCID {ccid}: {found:?}");
            assert_eq!(told_sizes(&pair), [1_280, 1_400]);
            let udp = usize::from(encapsulation == Encapsulation::Udp) * 8;
            let max = pair.ends[0].max_datagram_size(client);
            assert_eq!(max, Some(1_400 - 20 - udp - 64));
            let before = pair.ends[1].stats(server).unwrap().data_received;
            fill(&mut pair, client, ms(5_000));
            let after = pair.ends[1].stats(server).unwrap().data_received;
            // The losses of the first seconds make CCID 3 slow at first, but it recovers.
            assert!(after > before + 100, "CCID {ccid}: {before} to {after}");
        }
    }
}

/// RFC 5348, 4.3, 4.4 and 6.2: behind a black hole a flow is soon as fast as before it.
///
/// Nofeedback timers halve the rate while nothing gets through. Each lasts twice the time between two packets at most,
/// so that time is no longer than the outage, and so is the wait for the first datagram that fits. Its report brings
/// the rate back: no receive rate is below a packet for each round trip. That holds whichever value the window counter
/// has reached meanwhile (RFC 4342, 8.1).
#[test]
fn the_rate_grows_again_behind_a_black_hole() {
    for ccid in [2, 3, 4] {
        // The more often the timers expire, the more packets are lost.
        for delay in [100, 150, 250, 400, 700, 1_000, 1_500, 2_500, 4_000] {
            let mut pair = Pair::along(Encapsulation::Udp, Duration::from_micros(delay));
            let (client, server) = open(&mut pair, ccid, PathMtuDiscovery::Probe);
            let received = |pair: &Pair| pair.ends[1].stats(server).unwrap().data_received;
            let send_each_10_ms = |pair: &mut Pair| {
                let max = pair.ends[0].max_datagram_size(client).unwrap();
                if pair.ends[0].can_send(client, max) {
                    let sent = pair.ends[0].send(pair.now, client, data(max as u32));
                    assert!(sent.is_ok(), "{sent:?}");
                }
                pair.run_for(ms(10));
                while pair.ends[1].recv(server).is_some() {}
            };
            // These packets carry the window counter through some of its values.
            let earlier = 5;
            for _ in 0..earlier {
                pair.ends[0].send(pair.now, client, data(100)).unwrap();
                pair.run_for(Duration::from_micros(delay * 2 / 3));
            }
            pair.run_for(ms(20));
            while pair.ends[1].recv(server).is_some() {}
            takes(&mut pair, 1_400);
            let begin = pair.now;
            while stats(&pair, client).path_mtu == 1_500 {
                send_each_10_ms(&mut pair);
            }
            let outage = pair.now - begin;
            assert!(outage < ms(3_500), "CCID {ccid}: {outage}");
            assert_eq!(received(&pair), earlier, "nothing passes");
            while received(&pair) == earlier {
                send_each_10_ms(&mut pair);
            }
            let first = pair.now - begin;
            assert!(first <= outage * 2, "CCID {ccid}: {first} of {outage}");
            // Within a second the queue is empty, and every datagram gets through.
            for _ in 0..100 {
                send_each_10_ms(&mut pair);
            }
            let before = received(&pair);
            for _ in 0..100 {
                send_each_10_ms(&mut pair);
            }
            let through = received(&pair) - before;
            assert!(through >= 99, "CCID {ccid}, {delay} us: {through}");
            let after = stats(&pair, client);
            let Some(x_recv) = after.gauges.x_recv_bytes_per_s else {
                continue; // CCID 2 has none.
            };
            // Half a packet for each round trip: the steps of the counter are rounded down, so that four of them may
            // take two round trips.
            let max = pair.ends[0].max_datagram_size(client).unwrap();
            let packets = x_recv * Duration::from_micros(2 * delay).as_secs_f64() / max as f64;
            assert!(packets >= 0.5, "CCID {ccid}, {delay} us: {after:?}");
        }
    }
}

/// A path whose MTU shrinks is noticed from the reported losses of large packets alone.
///
/// Small packets still pass. It holds for CCID 2 and CCID 3.
#[test]
fn a_path_that_shrinks_is_noticed() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        pair.bottleneck = Some((ms(2), 50));
        let (client, _) = open(&mut pair, ccid, PathMtuDiscovery::Probe);
        let mut turn = 0;
        let mut mixed = |max: usize| {
            turn += 1;
            if turn % 3 == 0 { max } else { 100 }
        };
        send_sizes(&mut pair, client, ms(3_000), &mut mixed);
        assert_eq!(stats(&pair, client).path_mtu, 1_500);
        takes(&mut pair, 1_400);
        send_sizes(&mut pair, client, ms(40_000), &mut mixed);
        let found = stats(&pair, client);
        assert_eq!(found.path_mtu, 1_400, "CCID {ccid}: {found:?}");
    }
}

/// RFC 8899, 3: neither CCID takes a lost probe for congestion.
///
/// Datagrams that are small enough for every path cause no probes.
#[test]
fn lost_probes_are_no_congestion() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        pair.bottleneck = Some((ms(10), 1_000));
        let mut config = config(ccid, PathMtuDiscovery::Probe);
        // Skipped numbers would look like losses.
        config.check_feedback = false;
        let (client, server) = pair.open(config.clone(), config);
        takes(&mut pair, 1_280);
        let mut sent = 0;
        for (size, probes) in [(500, false), (600, true)] {
            for _ in 0..300 {
                pair.ends[0].send(pair.now, client, data(size)).unwrap();
                sent += 1;
                pair.run_for(ms(40));
            }
            let found = stats(&pair, client);
            assert_eq!(found.mtu_probes_sent > 0, probes, "CCID {ccid}: {found:?}");
            assert_eq!(found.mtu_probes_lost > 0, probes, "CCID {ccid}: {found:?}");
            assert_eq!(found.syncs_sent, found.mtu_probes_sent);
            assert_eq!((found.lost, found.gauges.cuts), (0, 0));
            assert_eq!(found.gauges.p.unwrap_or(0.0), 0.0);
        }
        let received = pair.ends[1].stats(server).unwrap();
        assert_eq!(
            (received.data_received, received.loss_events_seen),
            (sent, 0)
        );
    }
}

/// RFC 4340, 14.1, 7.5.4, and RFC 8899, 3 and 4.1: a probe is a Sync, padded to its size, that must not be fragmented.
///
/// At most eight are sent in a second, at least a round trip apart. The padding is not delivered.
#[test]
fn probes_are_rare_padded_syncs() {
    for delay in [1, 150] {
        let mut pair = Pair::along(Encapsulation::Native, ms(delay));
        let (client, server) = open(&mut pair, 2, PathMtuDiscovery::Probe);
        takes(&mut pair, 1_300);
        pair.log.clear();
        pair.ends[0].send(pair.now, client, data(1_000)).unwrap();
        pair.run_for(ms(60_000));
        let probes: Vec<_> = pair
            .log
            .iter()
            .filter(|wire| wire.packet_type() == PacketType::Sync)
            .filter(|wire| !wire.transmit.payload.is_empty())
            .collect();
        assert!(probes.len() > 10, "{}", probes.len());
        for probe in &probes {
            assert!(probe.transmit.dont_fragment);
            assert!(ip_len(probe) >= 1_280, "{probe:?}");
        }
        let apart = ms(125).max(ms(2 * delay));
        for two in probes.windows(2) {
            assert!(two[1].at - two[0].at >= apart, "{two:?}");
        }
        assert_eq!(pair.ends[1].stats(server).unwrap().data_received, 1);
        assert_eq!(stats(&pair, client).path_mtu, 1_280);
    }
}

/// A probe that is lost because of its size does not count as silence of the peer.
#[test]
fn a_lost_probe_ends_no_connection() {
    let mut pair = Pair::new();
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Probe);
    takes(&mut pair, 1_480);
    pair.ends[0].send(pair.now, client, data(1_000)).unwrap();
    pair.run_for(ms(300_000));
    assert!(stats(&pair, client).mtu_probes_lost > 0);
    let closed = |event: &Event| matches!(event, Event::Closed { .. });
    assert!(!pair.told(0).iter().any(closed), "{:?}", pair.told(0));
}

/// Fills the path behind a router that sends a Too Big 5 ms after each packet that did not fit.
fn fill_past_router(pair: &mut Pair, id: ConnectionId, mtu: u16, time: Duration) {
    let refused = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&refused);
    pair.rule(move |wire| {
        let refuses = wire.from == 0 && ip_len(wire) > usize::from(mtu);
        if refuses {
            log.borrow_mut().push(wire.head.clone());
        }
        refuses.then_some(Fault::Lose)
    });
    let until = pair.now + time;
    while pair.now < until {
        fill(pair, id, ms(5));
        let heads: Vec<_> = refused.borrow_mut().drain(..).collect();
        for head in heads {
            let quoted = head.len().min(28);
            too_big(pair, u32::from(mtu), &head[..quoted]);
        }
    }
}

/// RFC 4340, 14.1: a Too Big lowers the path MTU to its value, with and without probes.
///
/// Queued datagrams that no longer fit get the fate `TooLarge` and are never sent.
#[test]
fn a_router_is_believed() {
    for ccid in [2, 3] {
        for discovery in [PathMtuDiscovery::Icmp, PathMtuDiscovery::Probe] {
            let mut pair = Pair::new();
            pair.bottleneck = Some((ms(1), 30));
            let (client, server) = open(&mut pair, ccid, discovery);
            fill_past_router(&mut pair, client, 1_372, ms(3_000));
            let found = stats(&pair, client);
            assert_eq!(found.path_mtu, 1_372, "{discovery:?}: {found:?}");
            assert_eq!(told_sizes(&pair), [1_372]);
            let told = pair.told(0);
            let too_large = told.iter().filter(|event| {
                let fate = Fate::TooLarge;
                matches!(event, Event::Fate { fate: told, .. } if *told == fate)
            });
            // The queue holds 256, and the first window of three or four had been sent.
            assert!(too_large.count() >= 250, "{discovery:?}");
            let received = pair.ends[1].stats(server).unwrap().data_received;
            assert!(received > 300, "{discovery:?}: {received}");
            let probes = discovery == PathMtuDiscovery::Probe;
            assert_eq!(found.mtu_probes_sent > 0, probes);
            let max = pair.ends[0].max_datagram_size(client).unwrap();
            let larger = pair.ends[0].send(pair.now, client, data(max as u32 + 1));
            let size = max + 1;
            assert_eq!(larger, Err(SendError::TooLarge { size, max }));
        }
    }
}

/// Adversarial item 30: a Too Big that does not prove itself changes nothing.
///
/// Its quote is shorter than a header, names another connection, or has a number that was never sent or is long
/// acknowledged. Or it gives a size that no path has, or one no smaller than the packet. RFC 4340, 14.1; RFC 8899,
/// 4.6.1; RFC 5927, 7.
#[test]
fn item_30_too_big_is_checked() {
    for discovery in [
        PathMtuDiscovery::Off,
        PathMtuDiscovery::Icmp,
        PathMtuDiscovery::Probe,
    ] {
        let mut pair = Pair::new();
        pair.bottleneck = Some((ms(1), 30));
        let (client, _) = open(&mut pair, 2, discovery);
        fill(&mut pair, client, ms(2_000));
        let large = |wire: &&Wire| wire.from == 0 && ip_len(wire) > 1_400;
        let newest = pair.log.iter().rev().find(large).unwrap().head.clone();
        let oldest = pair.log[0].head.clone();
        let before = stats(&pair, client);
        // Quotes of every length without a complete number.
        for len in 0..16 {
            too_big(&mut pair, 1_300, &newest[..len]);
        }
        // The ports of another connection.
        for place in 0..4 {
            let mut head = newest.clone();
            head[place] ^= 1;
            too_big(&mut pair, 1_300, &head);
        }
        // Numbers far ahead, far behind, and that of the first packet, sent long before.
        for flip in [0x80, 0x01] {
            let mut head = newest.clone();
            head[12] ^= flip;
            too_big(&mut pair, 1_300, &head);
        }
        too_big(&mut pair, 1_300, &oldest);
        // A short number: 24 bits can be guessed.
        let mut head = newest.clone();
        head[8] &= !1;
        too_big(&mut pair, 1_300, &head);
        // Invalid sizes: below the minimum, and no smaller than the packet.
        for mtu in [1, 8, 28, 68, 575, 1_500, 1_501, 65_535, 65_536, u32::MAX] {
            too_big(&mut pair, mtu, &newest);
        }
        pair.drain();
        let after = stats(&pair, client);
        assert_eq!(after.path_mtu, 1_500, "{discovery:?}: {after:?}");
        assert_eq!(told_sizes(&pair), [0_u16; 0]);
        assert_eq!(after.lost, before.lost, "no reaction to loss");
        assert_eq!(after.gauges.cuts, before.gauges.cuts);
        // With probes it may cause one Sync, however many errors arrive.
        assert!(after.mtu_probes_sent <= before.mtu_probes_sent + 1);
        if discovery == PathMtuDiscovery::Off {
            too_big(&mut pair, 1_300, &newest);
            assert_eq!(stats(&pair, client).path_mtu, 1_500);
        } else {
            assert!(after.too_big_ignored >= 20, "{after:?}");
            too_big(&mut pair, 1_300, &newest);
            assert_eq!(stats(&pair, client).path_mtu, 1_300, "this one is true");
        }
    }
}

/// RFC 8899, 4.6.2: a Too Big about a packet that would have fitted is ignored.
#[test]
fn a_small_packet_is_not_too_big() {
    let mut pair = Pair::new();
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Icmp);
    pair.ends[0].send(pair.now, client, data(1_000)).unwrap();
    pair.drain();
    let sent = pair.log.iter().rfind(|wire| wire.from == 0).unwrap();
    let (head, len) = (sent.head.clone(), u32::try_from(ip_len(sent)).unwrap());
    too_big(&mut pair, len, &head);
    assert_eq!(stats(&pair, client).path_mtu, 1_500);
    too_big(&mut pair, len - 1, &head);
    assert_eq!(u32::from(stats(&pair, client).path_mtu), len - 1);
}

/// RFC 4340, 14.1, after RFC 1191, 7: a Too Big without a size selects the next smaller common MTU.
#[test]
fn a_router_that_names_no_size() {
    let mut pair = Pair::new();
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Icmp);
    for expected in [1_006, 576, 576] {
        let max = pair.ends[0].max_datagram_size(client).unwrap();
        pair.ends[0]
            .send(pair.now, client, data(max as u32))
            .unwrap();
        pair.run_for(ms(100));
        let sent = pair.log.iter().rfind(|wire| wire.transmit.id.is_some());
        let head = sent.unwrap().head.clone();
        too_big(&mut pair, 0, &head);
        assert_eq!(stats(&pair, client).path_mtu, expected);
    }
}

/// RFC 4340, 14.1: after more than three odd errors and more than three losses, a confused router is obeyed.
///
/// Three of either are not enough.
#[test]
fn a_confused_router_is_obeyed() {
    let mut pair = Pair::new();
    pair.bottleneck = Some((ms(1), 30));
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Icmp);
    fill(&mut pair, client, ms(1_000));
    let newest = pair.log.iter().rfind(|wire| wire.from == 0).unwrap();
    let head = newest.head.clone();
    for _ in 0..5 {
        too_big(&mut pair, 1_400, &head[..12]);
    }
    assert_eq!(
        stats(&pair, client).path_mtu,
        1_500,
        "nothing was lost since"
    );
    let before = stats(&pair, client).lost;
    let mut dice = Dice::new(30);
    pair.rule(move |wire| (wire.from == 0 && dice.chance(20)).then_some(Fault::Lose));
    fill(&mut pair, client, ms(10_000));
    assert!(stats(&pair, client).lost > before + 3);
    too_big(&mut pair, 1_400, &head[..12]);
    assert_eq!(stats(&pair, client).path_mtu, 1_400);
}

/// RFC 4340, 14.1: the application may restart path MTU discovery once in two seconds.
///
/// Without probes the path MTU is then that of the interface again.
#[test]
fn asked_for_again() {
    let mut pair = Pair::new();
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Icmp);
    pair.ends[0].send(pair.now, client, data(1_000)).unwrap();
    pair.drain();
    let sent = pair.log.iter().rfind(|wire| wire.from == 0).unwrap();
    let head = sent.head.clone();
    too_big(&mut pair, 600, &head);
    assert_eq!(stats(&pair, client).path_mtu, 600);
    assert!(pair.ends[0].rediscover_path_mtu(pair.now, client));
    assert_eq!(stats(&pair, client).path_mtu, 1_500);
    too_big(&mut pair, 600, &head);
    pair.run_for(ms(1_999));
    assert!(!pair.ends[0].rediscover_path_mtu(pair.now, client));
    assert_eq!(stats(&pair, client).path_mtu, 600);
    pair.run_for(ms(1));
    assert!(pair.ends[0].rediscover_path_mtu(pair.now, client));
    assert_eq!(stats(&pair, client).path_mtu, 1_500);
}

/// A first hop whose MTU is below that of every path is not believed for ever.
///
/// The system may have the value from an unchecked ICMP error (RFC 8899, 4.5).
#[test]
fn a_poisoned_route_is_found_out() {
    let mut pair = Pair::new();
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Probe);
    pair.ends[0].limit_path_mtu(pair.now, client, 68);
    assert_eq!(stats(&pair, client).path_mtu, 576);
    fill(&mut pair, client, ms(1_000));
    assert_eq!(stats(&pair, client).path_mtu, 1_500);
}

/// RFC 8899, 4.1: only a `SyncAck` that repeats the number of a probe confirms a size.
///
/// One that acknowledges another packet, as an answer to an ordinary Sync does, confirms none.
#[test]
fn a_sync_ack_that_names_no_probe_confirms_nothing() {
    let mut pair = Pair::new();
    pair.bottleneck = Some((ms(1), 30));
    let (client, _) = open(&mut pair, 2, PathMtuDiscovery::Probe);
    takes(&mut pair, 1_400);
    for _ in 0..120 {
        fill(&mut pair, client, ms(100));
        let data = pair.log.iter().rfind(|wire| {
            wire.from == 0 && matches!(wire.packet_type(), PacketType::Data | PacketType::Ack)
        });
        let named = data.expect("it has sent data").packet().seq;
        pair.inject(1, 0, |_| Kind::SyncAck { ack: named }, |_| {});
    }
    let found = stats(&pair, client);
    assert!(found.mtu_probes_lost >= 3, "{found:?}");
    assert_eq!(found.path_mtu, 1_400, "{found:?}");
}
