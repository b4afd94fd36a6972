//! The execution of a plan: hosts with endpoints and applications around a middlebox, over simulated links.
//!
//! - [`host`]: an endpoint, its host's clock and the network below it; [`app`] and [`acts`]: the applications above.
//! - [`keys`]: the certificates and keys of connections with DTLS.
//! - [`middle`]: the faults between the hosts; [`attack`]: forged packets.
//! - [`layout`] and [`surgery`]: reading and changing the bytes of packets without the codec under test.
//! - [`places`]: times and addresses.
//! - [`store`]: packets in flight; [`watch`]: the log, the counts and the oracle; [`narrow`]: the queues of links.

mod acts;
mod app;
mod attack;
mod host;
mod keys;
mod layout;
mod middle;
mod narrow;
mod places;
mod store;
mod surgery;
pub(crate) mod watch;

use std::sync::Arc;

use fairwire_net::{Agent, LinkSpec, Network, NodeId, Packet, Topology};
use fairwire_units::{Duration, Instant, Rate};

use crate::plan::Plan;
use crate::seen::Seen;
use host::Host;
use middle::Middle;
use narrow::Narrow;
use places::at_ms;
use store::Store;
use watch::Watch;

/// The agent at a node.
#[derive(Debug)]
enum Node {
    Host(Box<Host>),
    Middle(Box<Middle>),
}

impl Agent for Node {
    type Store = Store;

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        match self {
            Self::Host(host) => host.handle_packet(now, packet, store),
            Self::Middle(middle) => middle.handle_packet(now, packet, store),
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        match self {
            Self::Host(host) => host.poll_transmit(now, store),
            Self::Middle(middle) => middle.poll_transmit(),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Host(host) => host.next_timeout(),
            Self::Middle(middle) => middle.next_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        match self {
            Self::Host(host) => host.handle_timeout(now, store),
            Self::Middle(middle) => middle.handle_timeout(now, store),
        }
    }
}

/// Runs a plan to its end or to the first failure. The returned watch has the result.
pub(crate) fn run(plan: &Arc<Plan>, watch: Watch) -> Watch {
    let mut topology = Topology::new();
    let middle = topology.node();
    let healed = at_ms(plan.healed_ms);
    let mut nodes = Vec::new();
    for host in &plan.hosts {
        let node = topology.node();
        let link = || {
            LinkSpec::new(
                Rate::from_bits_per_s(host.rate_kbit_per_s * 1_000),
                Duration::from_micros(host.delay_us),
            )
            .queue(Narrow::new(host.queue_packets, healed))
        };
        topology.duplex(node, middle, (link(), link()));
        nodes.push(node);
    }
    let mut network: Network<Node> = Network::new(topology, Store::new(watch), ());
    let agent = Node::Middle(Box::new(Middle::new(plan, middle, &nodes)));
    network.place(middle, agent);
    for (number, &node) in nodes.iter().enumerate() {
        let host = Host::new(plan, number, node, middle, network.store_mut());
        network.place(node, Node::Host(Box::new(host)));
    }
    advance(&mut network, healed);
    heal(&mut network, middle);
    let end = at_ms(plan.end_ms());
    advance(&mut network, end);
    let store = network.store_mut();
    store.watch.see(end, 0, &Seen::Ended);
    let (_, store, ()) = network.into_parts();
    store.watch
}

/// Runs until `until`, or until a failure.
fn advance(network: &mut Network<Node>, until: Instant) {
    while let Some(at) = network.next_event() {
        if at >= until || network.store().watch.is_over() {
            break;
        }
        network.run_until(at + Duration::from_nanos(1));
    }
    if !network.store().watch.is_over() {
        network.run_until(until);
    }
}

fn heal(network: &mut Network<Node>, middle: NodeId) {
    network.with_agent(middle, |node, now, store| {
        if let Node::Middle(middle) = node {
            middle.heal();
        }
        store.watch.see(now, 0, &Seen::Healed);
    });
}
