//! Frames on the shared medium, singly and in large numbers.

use super::support::{Cells, Host, run};
use crate::support::{at_ms, ms};
use fairwire_net::{Network, PhyRate, RateControl};
use fairwire_units::Instant;

/// A frame that finds the medium idle is sent without a backoff in the slot that begins next.
///
/// The medium has been idle since 28 us, and slots are 9 us long. A packet that comes at 1 ms is sent at 1,009 us and
/// arrives 254 us later.
#[test]
fn an_idle_medium_is_used_at_once() {
    let mut cells = Cells::new(1, 10, 1);
    let station = cells.station(10, |spec| spec);
    let ap = cells.aps[0];
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(ap, Host::default());
    let mut host = Host::sending((station, ap), (1, 1_500), (at_ms(1), ms(1)));
    host.until = Some(at_ms(2));
    net.place(station, host);
    let (agents, _) = run(net, at_ms(10));
    let received = &agents[ap.0 as usize]
        .as_ref()
        .expect("placed above")
        .received;
    let at: Vec<u64> = received.iter().map(|(at, _)| at.as_nanos()).collect();
    // 28 + 109 * 9 = 1,009: the slot that begins at 1,000 has already begun.
    assert_eq!(at, [1_009_000 + 254_000]);
}

/// An access point's queue serves all its stations, and its wire takes what comes from them.
///
/// Packets arrive once and in order, in both directions.
#[test]
fn an_access_point_relays_both_ways() {
    let mut cells = Cells::new(1, 100, 2);
    let stations = [
        cells.station(100, |spec| spec),
        cells.station(100, |spec| spec),
    ];
    let server = cells.server;
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    let until = Some(at_ms(1_000));
    for station in stations {
        let mut host = Host::sending((station, server), (1, 800), (Instant::START, ms(3)));
        host.until = until;
        net.place(station, host);
    }
    let mut host = Host::sending((server, stations[1]), (2, 400), (Instant::START, ms(3)));
    host.until = until;
    net.place(server, host);
    let (agents, _) = run(net, at_ms(1_100));
    let received = |node: fairwire_net::NodeId, from: fairwire_net::NodeId| -> Vec<u32> {
        let host = agents[node.0 as usize].as_ref().expect("placed above");
        let packets = host.received.iter();
        let of = packets.filter(|(_, packet)| packet.source == from);
        of.map(|(_, packet)| packet.handle.0).collect()
    };
    for station in stations {
        assert_eq!(received(server, station), (0..334).collect::<Vec<_>>());
    }
    assert_eq!(received(stations[1], server), (0..668).collect::<Vec<_>>());
}

/// Every station gets equally many turns, whatever its rate: a slow one slows all down to about its own throughput
/// (Heusse et al., INFOCOM 2003).
#[test]
fn one_slow_station_slows_all() {
    let mut cells = Cells::new(1, 100, 3);
    let rates = [PhyRate::M54, PhyRate::M54, PhyRate::M6];
    let stations = rates.map(|rate| cells.station(20, |spec| spec.rate(RateControl::Fixed(rate))));
    let ap = cells.aps[0];
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(ap, Host::default());
    for station in stations {
        let clock = (Instant::START, ms(2));
        net.place(station, Host::sending((station, ap), (10, 1_500), clock));
    }
    let (agents, _) = run(net, at_ms(10_000));
    let received = &agents[ap.0 as usize]
        .as_ref()
        .expect("placed above")
        .received;
    let of = |station| {
        received
            .iter()
            .filter(|(_, packet)| packet.source == station)
            .count()
    };
    let counts = stations.map(of);
    // About 3,400 each; four standard deviations of a count that varies like a fair draw among three.
    for count in counts {
        let mean = received.len() as f64 / 3.0;
        assert!((count as f64 / mean - 1.0).abs() < 0.06, "{counts:?}");
    }
    // Two frames of 254 us and one of 2,098 us with 72 to 100 us around each: under 3 ms for the three.
    assert!((3_000..4_200).contains(&counts[0]), "{counts:?}");
}

/// Fallback finds the mode that the signal supports: at 14 dB, 36 Mbit/s is 2 dB above its level and 48 Mbit/s 2 dB
/// below.
///
/// A sender fixed at 54 Mbit/s delivers almost nothing, and one fixed at 6 Mbit/s less than half as much.
#[test]
fn fallback_finds_the_mode_that_works() {
    let carried = |rate| {
        let mut cells = Cells::new(1, 100, 4);
        let streams = cells.streams;
        let noise = |way: &str| streams.stream(&format!("wlan/sta/errors/{way}"));
        let station = cells.station(20, |spec| {
            spec.rate(rate).signal(14.0, noise("up"), noise("down"))
        });
        let ap = cells.aps[0];
        let mut net: Network<Host> = Network::new(cells.topology, (), ());
        net.place(ap, Host::default());
        let clock = (Instant::START, ms(2));
        net.place(station, Host::sending((station, ap), (10, 1_500), clock));
        let (agents, _) = run(net, at_ms(5_000));
        agents[ap.0 as usize]
            .as_ref()
            .expect("placed above")
            .received
            .len()
    };
    let fallback = carried(RateControl::Fallback(PhyRate::M54));
    let (fixed, fast, slow) = (
        carried(RateControl::Fixed(PhyRate::M36)),
        carried(RateControl::Fixed(PhyRate::M54)),
        carried(RateControl::Fixed(PhyRate::M6)),
    );
    // The probes of the next mode cost about a tenth.
    assert!(fallback * 10 > fixed * 7, "{fallback} of {fixed}");
    assert!(fallback > 2 * slow && slow > 100 * fast, "{slow} {fast}");
}

/// The same seed gives the same frames; another seed gives others.
#[test]
fn same_seed_same_frames() {
    let frames = |seed| {
        let mut cells = Cells::new(1, 10, seed);
        let stations = [
            cells.station(20, |spec| spec),
            cells.station(20, |spec| spec),
        ];
        let ap = cells.aps[0];
        let mut net: Network<Host> = Network::new(cells.topology, (), ());
        net.place(ap, Host::default());
        for station in stations {
            let clock = (Instant::START, ms(2));
            net.place(station, Host::sending((station, ap), (10, 700), clock));
        }
        let (mut agents, _) = run(net, at_ms(200));
        agents[ap.0 as usize].take().expect("placed above").received
    };
    assert_eq!(frames(1), frames(1));
    assert_ne!(frames(1), frames(2));
}
