//! Static routes: fewest hops, and of equally short ways the link that was made first.

use std::collections::VecDeque;

use crate::{LinkId, NodeId};

const NONE: u32 = u32::MAX;

/// The next link from each node towards each other.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: usize,
    next: Vec<u32>,
}

impl Routes {
    /// Routes over `nodes` nodes joined by `links`, each `(from, to)`, in the order of their ids.
    pub(crate) fn new(nodes: usize, links: &[(NodeId, NodeId)]) -> Self {
        let mut into = vec![Vec::new(); nodes];
        for (link, (from, to)) in (0u32..).zip(links) {
            into[to.0 as usize].push((link, from.0 as usize));
        }
        let mut routes = Self {
            nodes,
            next: vec![NONE; nodes * nodes],
        };
        for destination in 0..nodes {
            routes.towards(destination, &into);
        }
        routes
    }

    /// The link that leads from `at` towards `destination`, if one does.
    #[inline]
    pub(crate) fn next(&self, at: NodeId, destination: NodeId) -> Option<LinkId> {
        let destination = destination.0 as usize;
        if destination >= self.nodes {
            return None;
        }
        let link = self.next[at.0 as usize * self.nodes + destination];
        (link != NONE).then_some(LinkId(link))
    }

    /// Walks backwards from `destination`, nearest nodes first.
    fn towards(&mut self, destination: usize, into: &[Vec<(u32, usize)>]) {
        let mut distance = vec![usize::MAX; self.nodes];
        distance[destination] = 0;
        let mut nearest = VecDeque::from([destination]);
        while let Some(node) = nearest.pop_front() {
            for &(link, from) in &into[node] {
                let way = &mut self.next[from * self.nodes + destination];
                if distance[from] == usize::MAX {
                    distance[from] = distance[node] + 1;
                    *way = link;
                    nearest.push_back(from);
                } else if distance[from] == distance[node] + 1 {
                    *way = link.min(*way);
                }
            }
        }
    }
}
