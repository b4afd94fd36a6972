//! Hosts that handle only so many packets a second.

use crate::support::{Cells, Host, at_ms, ms, run};
use fairwire_net::{HostSpec, Network};
use fairwire_units::{Duration, Instant, Packets};

const SLOW: HostSpec = HostSpec {
    per_packet: Duration::from_micros(400),
    per_kilobyte: Duration::from_micros(200),
    backlog: Packets(5),
};

/// 500 bytes take 400 + 100 us: of ten packets a millisecond, two are sent, whatever the network
/// could bear; the others are dropped at the node.
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
    // 2,000 in a second, less the one at work at its end.
    assert!(
        (1_998..=2_000).contains(&received.len()),
        "{}",
        received.len()
    );
    let gap = received[100].0 - received[99].0;
    assert_eq!(gap, Duration::from_micros(500));
}

/// What it receives takes its turn behind what it sends: at 2,000 packets a second in all,
/// 1,500 that come and 1,500 that it wants to send get two thirds of their way between them.
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

/// A host with time enough only delays: 30 us a packet, and nothing is lost.
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
    // Two wires of 8 us serialisation and 5 us, then 30 us.
    assert_eq!(received[0].0, Instant::from_nanos(2 * 13_000 + 30_000));
}
