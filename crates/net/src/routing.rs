//! Static routes: fewest hops, and of equally short paths the one whose link was added first.

use std::collections::VecDeque;

use crate::{LinkId, NodeId};

const NONE: u32 = u32::MAX;

/// The next link from each node towards each other node.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: usize,
    next: Vec<u32>,
}

impl Routes {
    /// Computes the routes over `nodes` nodes joined by `links`, each `(from, to)`, in the order of their ids.
    pub(crate) fn new(nodes: usize, links: &[(NodeId, NodeId)]) -> Self {
        let into = links_into(nodes, links);
        let mut routes = Self {
            nodes,
            next: vec![NONE; nodes * nodes],
        };
        for destination in 0..nodes {
            for (from, link) in towards(destination, &into).into_iter().enumerate() {
                routes.next[from * nodes + destination] = link;
            }
        }
        routes
    }

    /// Returns the link that leads from `at` towards `destination`, if there is one.
    #[inline]
    pub(crate) fn next(&self, at: NodeId, destination: NodeId) -> Option<LinkId> {
        let destination = destination.0 as usize;
        if destination >= self.nodes {
            return None;
        }
        let link = self.next[at.0 as usize * self.nodes + destination];
        (link != NONE).then_some(LinkId(link))
    }
}

/// Returns the links that a packet crosses from `from` to `to`, or `None` if there is no path.
///
/// There are `nodes` nodes, joined by `links`, each `(from, to)`. A [`Network`](crate::Network) with the same nodes and
/// links sends packets the same way.
///
/// # Panics
/// If an end of a link, `from` or `to` is not a node below `nodes`.
pub fn route(
    nodes: u32,
    links: &[(NodeId, NodeId)],
    from: NodeId,
    to: NodeId,
) -> Option<Vec<LinkId>> {
    let next = towards(to.0 as usize, &links_into(nodes as usize, links));
    let mut way = Vec::new();
    let mut at = from;
    while at != to {
        let link = next[at.0 as usize];
        if link == NONE {
            return None;
        }
        way.push(LinkId(link));
        at = links[link as usize].1;
    }
    Some(way)
}

/// Returns for each node the links that lead to it, and the nodes where they begin.
fn links_into(nodes: usize, links: &[(NodeId, NodeId)]) -> Vec<Vec<(u32, usize)>> {
    let mut into = vec![Vec::new(); nodes];
    for (link, (from, to)) in (0u32..).zip(links) {
        into[to.0 as usize].push((link, from.0 as usize));
    }
    into
}

/// Returns the next link from each node to `destination`, or [`NONE`] if there is no path.
///
/// It searches backwards from the destination, nearest nodes first.
fn towards(destination: usize, into: &[Vec<(u32, usize)>]) -> Vec<u32> {
    let mut next = vec![NONE; into.len()];
    let mut distance = vec![usize::MAX; into.len()];
    distance[destination] = 0;
    let mut nearest = VecDeque::from([destination]);
    while let Some(node) = nearest.pop_front() {
        for &(link, from) in &into[node] {
            if distance[from] == usize::MAX {
                distance[from] = distance[node] + 1;
                next[from] = link;
                nearest.push_back(from);
            } else if distance[from] == distance[node] + 1 {
                next[from] = link.min(next[from]);
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::route;
    use crate::{LinkId, NodeId};

    /// A route has the fewest hops; of two such routes it has the link that was added first; an isolated node has none.
    #[test]
    fn routes_take_the_fewest_hops() {
        let links = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)].map(|(a, b)| (NodeId(a), NodeId(b)));
        let way = |from, to| route(5, &links, NodeId(from), NodeId(to));
        assert_eq!(way(0, 3), Some(vec![LinkId(3)]));
        assert_eq!(way(1, 3), Some(vec![LinkId(1), LinkId(2)]));
        assert_eq!(way(2, 2), Some(vec![]));
        assert_eq!(way(3, 0), None);
        assert_eq!(way(0, 4), None);
        let square = [(0, 1), (0, 2), (2, 3), (1, 3)].map(|(a, b)| (NodeId(a), NodeId(b)));
        let way = route(4, &square, NodeId(0), NodeId(3));
        assert_eq!(way, Some(vec![LinkId(0), LinkId(3)]));
    }
}
