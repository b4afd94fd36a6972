//! Nodes, links between them, and the two shapes most experiments have.

mod shapes;
mod wireless;

use crate::air::Air;
use crate::host::Server;
use crate::link::Link;
use crate::routing::Routes;
use crate::{HostSpec, LinkId, LinkSpec, NodeId};

pub use shapes::{Access, Chain, Dumbbell, Side, Towards};

/// A network on paper: add nodes and one-directional links, then make a
/// [`Network`](crate::Network) of it.
#[derive(Debug, Default)]
pub struct Topology {
    nodes: u32,
    ends: Vec<(NodeId, NodeId)>,
    links: Vec<Link>,
    air: Air,
    hosts: Vec<(NodeId, HostSpec)>,
}

/// What a topology comes to.
pub(crate) struct Parts {
    pub(crate) nodes: usize,
    pub(crate) routes: Routes,
    pub(crate) ends: Vec<(NodeId, NodeId)>,
    pub(crate) links: Vec<Link>,
    pub(crate) air: Air,
    pub(crate) hosts: Vec<Server>,
}

impl Topology {
    /// No nodes and no links.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new node. Numbers are given from zero up.
    pub fn node(&mut self) -> NodeId {
        let node = NodeId(self.nodes);
        self.nodes += 1;
        node
    }

    /// A new link, one way. Numbers are given from zero up.
    ///
    /// # Panics
    /// If one of the nodes is not of this topology, or there are stations already: wires come first.
    pub fn link(&mut self, from: NodeId, to: NodeId, spec: LinkSpec) -> LinkId {
        assert!(self.air.is_empty(), "wires come before stations");
        assert!(from.0 < self.nodes, "{from:?} is not of this topology");
        assert!(to.0 < self.nodes, "{to:?} is not of this topology");
        let id = LinkId(u32::try_from(self.links.len()).expect("fewer than 2^32 links"));
        self.ends.push((from, to));
        self.links.push(Link::new(id, to, spec));
        id
    }

    /// Two links, there and back, each with its own description.
    ///
    /// # Panics
    /// If one of the nodes is not of this topology.
    pub fn duplex(
        &mut self,
        a: NodeId,
        b: NodeId,
        (there, back): (LinkSpec, LinkSpec),
    ) -> (LinkId, LinkId) {
        (self.link(a, b, there), self.link(b, a, back))
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Where each link begins and ends, by link number.
    pub fn ends(&self) -> &[(NodeId, NodeId)] {
        &self.ends
    }

    pub(crate) fn into_parts(self) -> Parts {
        let nodes = self.nodes as usize;
        let hosts = self.hosts.into_iter();
        Parts {
            nodes,
            routes: Routes::new(nodes, &self.air.active(&self.ends)),
            ends: self.ends,
            links: self.links,
            air: self.air,
            hosts: hosts.map(|(node, spec)| Server::new(node, spec)).collect(),
        }
    }
}
