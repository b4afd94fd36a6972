//! The network of a run before anybody is in it.

use fairwire_net::{LinkId, LinkSpec, NodeId, Streams, Topology};
use fairwire_units::{Duration, Rate};

use super::link_spec::spec;
use crate::scenario::{Flow, Link, Side};

/// Nodes and links of a scenario.
pub(super) struct Ground {
    pub(super) topology: Topology,
    /// Left and right node of each flow.
    pub(super) hosts: Vec<(NodeId, NodeId)>,
    /// The links that are measured: number, name, the link as described.
    pub(super) watched: Vec<(LinkId, String, Link)>,
    /// Every link and its name, in the order of a packet's way.
    pub(super) links: Vec<(LinkId, String)>,
}

impl Ground {
    /// A ground whose links are all measured: `pairs` has the name of each link, what it is, and its numbers
    /// there and back.
    pub(super) fn of_links(
        topology: Topology,
        pairs: Vec<(&str, &Link, (LinkId, LinkId))>,
        hosts: Vec<(NodeId, NodeId)>,
    ) -> Self {
        let mut watched = Vec::new();
        for (name, link, (there, back)) in pairs {
            watched.push((there, name.to_owned(), link.clone()));
            watched.push((back, format!("{name}/back"), link.reversed().clone()));
        }
        let links = watched.iter();
        Self {
            topology,
            hosts,
            links: links.map(|(id, name, _)| (*id, name.clone())).collect(),
            watched,
        }
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

/// The two directions of the link called `name`.
pub(super) fn both_ways(name: &str, link: &Link, streams: Streams) -> (LinkSpec, LinkSpec) {
    let back = spec(link.reversed(), &format!("{name}/back"), streams);
    (spec(link, name, streams), back)
}

/// A link that only delays.
fn unlimited(delay: Duration) -> LinkSpec {
    LinkSpec::new(Rate::from_bits_per_s(u64::MAX), delay)
}
