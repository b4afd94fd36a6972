//! Chains and dumbbells.

use super::Topology;
use crate::{LinkId, LinkSpec, NodeId};

/// Nodes in a row.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The nodes, from the first to the last.
    pub nodes: Vec<NodeId>,
    /// The links in the direction of the last node.
    pub forward: Vec<LinkId>,
    /// The links back. `backward[i]` connects the same nodes as `forward[i]`.
    pub backward: Vec<LinkId>,
}

/// Pairs of hosts that share one link in each direction.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The hosts on the left; the partner of `left[i]` is `right[i]`.
    pub left: Vec<NodeId>,
    /// The hosts on the right.
    pub right: Vec<NodeId>,
    /// The left and the right router.
    pub routers: [NodeId; 2],
    /// The shared link from left to right.
    pub forward: LinkId,
    /// The shared link from right to left.
    pub backward: LinkId,
    /// The links between hosts and routers, in the order in which `access` was called for them.
    pub access: Vec<(Access, LinkId)>,
}

/// A side of a dumbbell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The side where forward traffic starts.
    Left,
    /// The side where forward traffic ends.
    Right,
}

/// The direction of an access link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Towards {
    /// From the host to its router.
    Router,
    /// From the router to the host.
    Host,
}

/// The position of an access link in a dumbbell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// The number of the pair of hosts, from zero.
    pub pair: usize,
    /// The side of the dumbbell.
    pub side: Side,
    /// The direction.
    pub towards: Towards,
}

impl Topology {
    /// Adds a chain. Each item gives the forward and the backward link of a hop.
    pub fn chain(&mut self, hops: impl IntoIterator<Item = (LinkSpec, LinkSpec)>) -> Chain {
        let mut last = self.node();
        let mut chain = Chain {
            nodes: vec![last],
            forward: Vec::new(),
            backward: Vec::new(),
        };
        for hop in hops {
            let next = self.node();
            let (there, back) = self.duplex(last, next, hop);
            chain.nodes.push(next);
            chain.forward.push(there);
            chain.backward.push(back);
            last = next;
        }
        chain
    }

    /// Adds a dumbbell of `pairs` pairs.
    ///
    /// `bottleneck` gives the shared link from left to right and the one back. `access` is called for each of the other
    /// links.
    pub fn dumbbell(
        &mut self,
        pairs: usize,
        bottleneck: (LinkSpec, LinkSpec),
        mut access: impl FnMut(Access) -> LinkSpec,
    ) -> Dumbbell {
        let routers = [self.node(), self.node()];
        let (forward, backward) = self.duplex(routers[0], routers[1], bottleneck);
        let mut dumbbell = Dumbbell {
            left: Vec::new(),
            right: Vec::new(),
            routers,
            forward,
            backward,
            access: Vec::new(),
        };
        for pair in 0..pairs {
            for (side, router) in [(Side::Left, routers[0]), (Side::Right, routers[1])] {
                let host = self.node();
                match side {
                    Side::Left => dumbbell.left.push(host),
                    Side::Right => dumbbell.right.push(host),
                }
                for (towards, from, to) in [
                    (Towards::Router, host, router),
                    (Towards::Host, router, host),
                ] {
                    let which = Access {
                        pair,
                        side,
                        towards,
                    };
                    let link = self.link(from, to, access(which));
                    dumbbell.access.push((which, link));
                }
            }
        }
        dumbbell
    }
}
