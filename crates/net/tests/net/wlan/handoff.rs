//! Stations that change their access point.

use super::support::{Cells, Host, run};
use crate::support::{at_ms, ms};
use fairwire_net::{HandOff, Network, NodeId, WaitingPackets};
use fairwire_units::{Duration, Instant};

/// Sends one packet every 2 ms for a second, up or down, with a hand-off at 501 ms that takes `outage`.
///
/// Returns the numbers of the packets that arrived, and when.
fn across(
    up: bool,
    outage: Duration,
    (at_station, at_ap): (WaitingPackets, WaitingPackets),
) -> Vec<(u32, Instant)> {
    let mut cells = Cells::new(2, 400, 5);
    let station = cells.station(400, |spec| spec);
    cells.topology.hand_off(HandOff {
        station,
        at: at_ms(501),
        to: cells.aps[1],
        outage,
        at_station,
        at_ap,
    });
    let server = cells.server;
    let (from, to) = if up {
        (station, server)
    } else {
        (server, station)
    };
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    let mut host = Host::sending((from, to), (1, 1_000), (Instant::START, ms(2)));
    host.until = Some(at_ms(1_000));
    net.place(from, host);
    net.place(to, Host::default());
    let (agents, _) = run(net, at_ms(2_000));
    let host = agents[to.0 as usize].as_ref().expect("placed above");
    let packets = host.received.iter();
    packets.map(|(at, packet)| (packet.handle.0, *at)).collect()
}

/// Packets sent from 502 to 600 ms, numbers 251 to 300, meet the outage from 501 to 601 ms.
///
/// If the station drops them they are missing and all others arrive. If it keeps them they arrive late and in order.
#[test]
fn an_outage_on_the_way_up() {
    let lost = across(true, ms(100), (WaitingPackets::Lost, WaitingPackets::Lost));
    let numbers: Vec<u32> = lost.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..251).chain(301..500).collect::<Vec<_>>());
    let kept = across(true, ms(100), (WaitingPackets::Kept, WaitingPackets::Lost));
    let numbers: Vec<u32> = kept.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    let (_, late) = kept[251];
    assert!((at_ms(601)..at_ms(603)).contains(&late), "{late}");
}

/// On the way down the old access point has these packets, and either drops them or sends them on by wire.
#[test]
fn an_outage_on_the_way_down() {
    let lost = across(false, ms(100), (WaitingPackets::Kept, WaitingPackets::Lost));
    let numbers: Vec<u32> = lost.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..251).chain(301..500).collect::<Vec<_>>());
    let kept = across(false, ms(100), (WaitingPackets::Lost, WaitingPackets::Kept));
    let numbers: Vec<u32> = kept.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    let (_, late) = kept[251];
    assert!((at_ms(601)..at_ms(603)).contains(&late), "{late}");
}

/// A hand-off without an outage loses nothing if packets are kept.
#[test]
fn a_seamless_hand_off() {
    for up in [true, false] {
        let kept = across(
            up,
            Duration::ZERO,
            (WaitingPackets::Kept, WaitingPackets::Kept),
        );
        assert_eq!(kept.len(), 500, "up {up}");
    }
}

/// A saturated station finishes its current exchange, and its queue moves with it to the new medium.
///
/// After two hand-offs, there and back, no packet is lost or duplicated, and the other stations continue.
#[test]
fn there_and_back_under_load() {
    let mut cells = Cells::new(2, 1_000, 6);
    let stations = [
        cells.station(1_000, |spec| spec),
        cells.station(1_000, |spec| spec),
    ];
    for (at, to) in [(300, 1), (600, 0)] {
        cells.topology.hand_off(HandOff {
            station: stations[0],
            at: at_ms(at),
            to: cells.aps[to],
            outage: ms(50),
            at_station: WaitingPackets::Kept,
            at_ap: WaitingPackets::Kept,
        });
    }
    let server = cells.server;
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(server, Host::default());
    for station in stations {
        let mut host = Host::sending((station, server), (2, 1_400), (Instant::START, ms(2)));
        host.until = Some(at_ms(900));
        net.place(station, host);
    }
    let (agents, _) = run(net, at_ms(3_000));
    let received = &agents[server.0 as usize]
        .as_ref()
        .expect("placed above")
        .received;
    for station in stations {
        let of = received
            .iter()
            .filter(|(_, packet)| packet.source == station);
        let numbers: Vec<u32> = of.map(|(_, packet)| packet.handle.0).collect();
        assert_eq!(numbers, (0..900).collect::<Vec<_>>(), "{station:?}");
    }
    let quiet = |from, to| {
        let of = received
            .iter()
            .filter(|(_, packet)| packet.source == stations[0]);
        of.filter(|(at, _)| (at_ms(from)..at_ms(to)).contains(at))
            .count()
    };
    assert_eq!((quiet(302, 350), quiet(602, 650)), (0, 0));
}

/// A hand-off to a node that is not an access point is refused when it is added.
#[test]
#[should_panic(expected = "is no access point")]
fn impossible_hand_offs_are_refused() {
    let mut cells = Cells::new(1, 10, 7);
    let station = cells.station(10, |spec| spec);
    cells.topology.hand_off(HandOff {
        station,
        at: at_ms(1),
        to: NodeId(0),
        outage: ms(1),
        at_station: WaitingPackets::Kept,
        at_ap: WaitingPackets::Kept,
    });
}
