//! The links that the packets of a flow cross.

use fairwire_net::LinkId;

use super::flow::{Flow, Side};
use super::graph::Graph;
use super::topology::{Link, Topology, TopologyKind};

/// A link on the way of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'a> {
    pub(super) name: &'a str,
    /// Is it crossed from right to left, or from the second of its nodes to the first?
    pub(super) is_back: bool,
    /// The link as it is in that direction.
    pub(super) link: &'a Link,
}

impl Topology {
    /// The links from the sender of `flow` to its receiver, in their order in a graph.
    pub(super) fn data_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Right)
    }

    /// The links from the receiver of `flow` to its sender.
    pub(super) fn ack_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Left)
    }

    fn route(&self, flow: &Flow, is_back: bool) -> Vec<Hop<'_>> {
        if self.kind == TopologyKind::Graph {
            return self.graph_route(flow, is_back).unwrap_or_default();
        }
        let hops = self.path().into_iter();
        hops.map(|(name, link)| Hop::new(name, link, is_back))
            .collect()
    }

    /// In a graph: `None` if `flow` has not the ends that it needs, which a checked scenario rules out.
    fn graph_route(&self, flow: &Flow, is_back: bool) -> Option<Vec<Hop<'_>>> {
        let graph = Graph::of(self);
        let sender = graph.node(flow.sender.as_deref()?)?;
        let receiver = graph.node(flow.receiver.as_deref()?)?;
        let route = if is_back {
            graph.route(receiver, sender)?
        } else {
            graph.route(sender, receiver)?
        };
        let links: Vec<(&str, &Link)> = self.links.iter().collect();
        let hop = |LinkId(number): LinkId| {
            let (name, link) = *links.get(number as usize / 2)?;
            Some(Hop::new(name, link, number % 2 == 1))
        };
        route.into_iter().map(hop).collect()
    }
}

impl<'a> Hop<'a> {
    fn new(name: &'a str, link: &'a Link, is_back: bool) -> Self {
        let link = if is_back { link.reversed() } else { link };
        Self {
            name,
            is_back,
            link,
        }
    }
}
