//! Tests of hosts that handle a limited number of packets per second.

use super::support::{Cells, Host, run};
use crate::support::{at_ms, ms};
use fairwire_net::{HostSpec, Network};
use fairwire_units::{Duration, Instant, Packets};

const SLOW: HostSpec = HostSpec {
    per_packet: Duration::from_micros(400),
    per_kilobyte: Duration::from_micros(200),
    backlog: Packets(5),
};

/// A sender that needs 400 + 100 us per 500-byte packet sends two of the ten packets that it has per millisecond.
///
/// The network could carry more. The other packets are dropped at the node.
#[test]
fn a_slow_sender_sends_what_it_can() {
    let mut cells = Cells::new(1, 100, 1);
    let (server, ap) = (cells.server, cells.aps[0]);
    cells.topology.host(server, SLOW);
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(ap, Host::default());
    net.place(
        server,
        Host::sending((server, ap), (10, 500), (Instant::START, ms(1))),
    );
    let (agents, _) = run(net, at_ms(1_000));
    let received = &agents[ap.0 as usize]
        .as_ref()
        .expect("placed above")
        .received;
    // 2,000 in a second, minus the one in service at the end.
    assert!(
        (1_998..=2_000).contains(&received.len()),
        "{}",
        received.len()
    );
    let gap = received[100].0 - received[99].0;
    assert_eq!(gap, Duration::from_micros(500));
}

/// Sent and received packets wait in one queue and share 2,000 packets per second.
///
/// 1,500 packets per second arrive and 1,500 are to be sent, so two thirds of them are handled.
#[test]
fn sending_and_receiving_share_the_time() {
    let mut cells = Cells::new(1, 100, 1);
    let (server, ap) = (cells.server, cells.aps[0]);
    cells.topology.host(server, SLOW);
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(
        ap,
        Host::sending((ap, server), (3, 500), (Instant::START, ms(2))),
    );
    net.place(
        server,
        Host::sending((server, ap), (3, 500), (Instant::START, ms(2))),
    );
    let (agents, _) = run(net, at_ms(1_000));
    let count = |node: fairwire_net::NodeId| {
        agents[node.0 as usize]
            .as_ref()
            .expect("placed above")
            .received
            .len()
    };
    let both = count(ap) + count(server);
    assert!((1_990..=2_000).contains(&both), "{both}");
    assert!(
        count(ap) >= 500 && count(server) >= 500,
        "{} {}",
        count(ap),
        count(server)
    );
}

/// A host that is fast enough only adds delay: 30 us per packet, without loss.
#[test]
fn a_fast_host_loses_nothing() {
    let mut cells = Cells::new(1, 100, 1);
    let (server, ap) = (cells.server, cells.aps[0]);
    let spec = HostSpec {
        per_packet: Duration::from_micros(30),
        per_kilobyte: Duration::ZERO,
        backlog: Packets(0),
    };
    cells.topology.host(ap, spec);
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(ap, Host::default());
    let mut host = Host::sending((server, ap), (1, 1_000), (Instant::START, ms(1)));
    host.until = Some(at_ms(100));
    net.place(server, host);
    let (agents, _) = run(net, at_ms(200));
    let received = &agents[ap.0 as usize]
        .as_ref()
        .expect("placed above")
        .received;
    assert_eq!(received.len(), 100);
    // Two wires with 8 us of serialisation and 5 us of delay each, then 30 us.
    assert_eq!(received[0].0, Instant::from_nanos(2 * 13_000 + 30_000));
}
