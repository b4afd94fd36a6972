//! The network of a run, without agents.

use fairwire_net::{LinkId, LinkSpec, NodeId, Streams, Topology};
use fairwire_units::{Duration, Rate};

use super::link_spec::spec;
use fairwire_scenario::{Flow, Link, Side, Wiring};

/// The nodes and links of a scenario.
pub(super) struct RunNetwork {
    pub(super) topology: Topology,
    /// The left and right node of each flow.
    pub(super) hosts: Vec<(NodeId, NodeId)>,
    /// The links that are measured: number, name, and description.
    pub(super) watched: Vec<(LinkId, String, Link)>,
    /// Every link and its name, in the order of their numbers.
    pub(super) links: Vec<(LinkId, String)>,
}

impl RunNetwork {
    /// Builds a wired network; `None` if an end of a flow is not one of its nodes.
    pub(super) fn of_wires(
        wiring: &Wiring<'_>,
        flows: &[(&str, &Flow)],
        streams: Streams,
    ) -> Option<Self> {
        let mut topology = Topology::new();
        // Nodes have the same numbers as in the wiring, because they are the first nodes here.
        for number in 0..wiring.nodes.len() {
            let node = topology.node();
            debug_assert_eq!(node.0 as usize, number);
        }
        let hosts = flows.iter().map(|(name, flow)| wiring.ends_of(name, flow));
        let hosts = hosts.collect::<Option<Vec<_>>>()?;
        let (mut links, mut watched) = (Vec::new(), Vec::new());
        for wire in &wiring.wires {
            let (a, b) = wire.ends;
            let (there, back) = both_ways(&wire.name, wire.link, streams);
            let (there, back) = if wire.is_reversed {
                let (back, there) = topology.duplex(a, b, (back, there));
                (there, back)
            } else {
                topology.duplex(a, b, (there, back))
            };
            let back_name = format!("{}/back", wire.name);
            for (id, name, link) in [
                (there, wire.name.clone(), wire.link),
                (back, back_name, wire.link.reversed()),
            ] {
                links.push((id, name.clone()));
                if wire.is_measured {
                    watched.push((id, name, link.clone()));
                }
            }
        }
        Some(Self {
            topology,
            hosts,
            watched,
            links,
        })
    }

    /// Puts the sender of each flow with an `extra_delay` behind a link of its own.
    pub(super) fn add_extra_delays(&mut self, flows: &[(&str, &Flow)]) {
        for ((name, flow), (left, right)) in flows.iter().zip(&mut self.hosts) {
            let Some(delay) = flow.extra_delay else {
                continue;
            };
            let sender = match flow.from {
                Side::Left => left,
                Side::Right => right,
            };
            let host = self.topology.node();
            let (there, back) =
                self.topology
                    .duplex(host, *sender, (unlimited(delay), unlimited(delay)));
            *sender = host;
            self.links.push((there, format!("extra/{name}")));
            self.links.push((back, format!("extra/{name}/back")));
        }
    }
}

/// Returns the two directions of the link called `name`.
pub(super) fn both_ways(name: &str, link: &Link, streams: Streams) -> (LinkSpec, LinkSpec) {
    let back = spec(link.reversed(), &format!("{name}/back"), streams);
    (spec(link, name, streams), back)
}

/// Returns a link that only delays.
fn unlimited(delay: Duration) -> LinkSpec {
    LinkSpec::new(Rate::from_bits_per_s(u64::MAX), delay)
}
