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
}

/// Returns the links that a packet crosses from `from` to `to`, among `nodes` nodes that are joined
/// by `links`, each `(from, to)`; `None` if no path leads there. A [`Network`](crate::Network) of the
/// same nodes and links sends packets the same way.
///
/// # Panics
/// If an end of a link, `from` or `to` is no node below `nodes`.
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

/// For each node the links that lead to it, and where they come from.
fn links_into(nodes: usize, links: &[(NodeId, NodeId)]) -> Vec<Vec<(u32, usize)>> {
    let mut into = vec![Vec::new(); nodes];
    for (link, (from, to)) in (0u32..).zip(links) {
        into[to.0 as usize].push((link, from.0 as usize));
    }
    into
}

/// The next link from each node to `destination`, [`NONE`] where no path leads there. Walks
/// backwards from the destination, nearest nodes first.
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

    /// The way with the fewest hops; of two, the link that was made first; and none to an island.
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
