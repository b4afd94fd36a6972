//! Nodes, the links between them, and common shapes.

mod shapes;
mod wireless;

use crate::air::Air;
use crate::host::Server;
use crate::link::Link;
use crate::routing::Routes;
use crate::{HostSpec, LinkId, LinkSpec, NodeId};

pub use shapes::{Access, Chain, Dumbbell, Side, Towards};

/// The description of a network: add nodes and one-directional links, then make a [`Network`](crate::Network) of it.
#[derive(Debug, Default)]
pub struct Topology {
    nodes: u32,
    ends: Vec<(NodeId, NodeId)>,
    links: Vec<Link>,
    air: Air,
    hosts: Vec<(NodeId, HostSpec)>,
}

/// The parts of a network built from a topology.
pub(crate) struct Parts {
    pub(crate) nodes: usize,
    pub(crate) routes: Routes,
    pub(crate) ends: Vec<(NodeId, NodeId)>,
    pub(crate) links: Vec<Link>,
    pub(crate) air: Air,
    pub(crate) hosts: Vec<Server>,
}

impl Topology {
    /// Creates a topology without nodes and links.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node. Nodes are numbered from zero.
    pub fn node(&mut self) -> NodeId {
        let node = NodeId(self.nodes);
        self.nodes += 1;
        node
    }

    /// Adds a link in one direction. Links are numbered from zero.
    ///
    /// # Panics
    /// If one of the nodes is not of this topology, or if there already are stations. Add all wires first.
    pub fn link(&mut self, from: NodeId, to: NodeId, spec: LinkSpec) -> LinkId {
        assert!(self.air.is_empty(), "wires come before stations");
        assert!(from.0 < self.nodes, "{from:?} is not of this topology");
        assert!(to.0 < self.nodes, "{to:?} is not of this topology");
        let id = LinkId(u32::try_from(self.links.len()).expect("fewer than 2^32 links"));
        self.ends.push((from, to));
        self.links.push(Link::new(id, to, spec));
        id
    }

    /// Adds two links, there and back, each with its own settings.
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

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns the nodes at the beginning and end of each link, by link number.
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
