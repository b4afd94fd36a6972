//! Static routes: fewest hops, and of equally short paths the one whose link was added first.

use std::collections::VecDeque;

use crate::{LinkId, NodeId};

const NONE: u32 = u32::MAX;

/// The next link from each node towards each other node.
///
/// Most nodes are hosts at the edge, which have one neighbour. Every route to them ends like the one to this neighbour,
/// so there is a table for the inner nodes only.
#[derive(Debug)]
pub(crate) struct Routes {
    places: Vec<Place>,
    /// The number of inner nodes.
    inner: usize,
    /// The next link from each inner node to each other.
    next: Vec<u32>,
}

/// The place of a node in the network.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its number among the inner nodes, or that of its only neighbour.
    inner: u32,
    /// The links to its only neighbour and back; [`NONE`] if it is an inner node itself.
    up: u32,
    down: u32,
}

impl Place {
    const INNER: Self = Self {
        inner: NONE,
        up: NONE,
        down: NONE,
    };
}

impl Routes {
    /// Computes the routes over `nodes` nodes joined by `links`, each `(from, to)`, in the order of their ids.
    pub(crate) fn new(nodes: usize, links: &[(NodeId, NodeId)]) -> Self {
        let mut places = edges(nodes, links);
        let mut inner = 0;
        for place in places.iter_mut().filter(|place| place.up == NONE) {
            place.inner = inner;
            inner += 1;
        }
        for node in 0..nodes {
            if places[node].up != NONE {
                let (_, neighbour) = links[places[node].up as usize];
                places[node].inner = places[neighbour.0 as usize].inner;
            }
        }
        let inner = inner as usize;
        let mut into = vec![Vec::new(); inner];
        for (link, (from, to)) in (0u32..).zip(links) {
            let (from, to) = (places[from.0 as usize], places[to.0 as usize]);
            if from.up == NONE && to.up == NONE {
                into[to.inner as usize].push((link, from.inner as usize));
            }
        }
        let mut next = vec![NONE; inner * inner];
        for destination in 0..inner {
            for (from, link) in towards(destination, &into).into_iter().enumerate() {
                next[from * inner + destination] = link;
            }
        }
        Self {
            places,
            inner,
            next,
        }
    }

    /// Returns the link that leads from `at` towards `destination`, if there is one.
    #[inline]
    pub(crate) fn next(&self, at: NodeId, destination: NodeId) -> Option<LinkId> {
        let to = self.places.get(destination.0 as usize)?;
        let from = self.places[at.0 as usize];
        let is_same = from.inner == to.inner;
        let between = self.next[from.inner as usize * self.inner + to.inner as usize];
        let link = if from.up == NONE {
            if is_same { to.down } else { between }
        } else if at != destination && (is_same || between != NONE) {
            from.up
        } else {
            NONE
        };
        (link != NONE).then_some(LinkId(link))
    }
}

/// Returns the places of all nodes, without their numbers. At the edge are nodes with one link out and one back, whose
/// neighbour is not at the edge.
fn edges(nodes: usize, links: &[(NodeId, NodeId)]) -> Vec<Place> {
    let mut out = vec![(0, NONE); nodes];
    let mut back = vec![(0, NONE); nodes];
    for (link, (from, to)) in (0u32..).zip(links) {
        let (out, back) = (&mut out[from.0 as usize], &mut back[to.0 as usize]);
        (*out, *back) = ((out.0 + 1, link), (back.0 + 1, link));
    }
    let mut places = vec![Place::INNER; nodes];
    for (node, place) in places.iter_mut().enumerate() {
        let ((1, up), (1, down)) = (out[node], back[node]) else {
            continue;
        };
        let (neighbour, origin) = (links[up as usize].1, links[down as usize].0);
        let (ways_on, _) = out[neighbour.0 as usize];
        if neighbour == origin && neighbour.0 as usize != node && ways_on > 1 {
            (place.up, place.down) = (up, down);
        }
    }
    places
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
    use super::{Routes, route};
    use crate::{LinkId, NodeId, Streams};

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

    /// The table for the inner nodes gives the first link of every route, whatever the network looks like.
    #[test]
    fn the_table_gives_the_first_link_of_each_route() {
        let mut draw = Streams::new(3).stream("routes");
        for _ in 0..300 {
            let nodes = 1 + draw.below(9);
            let mut links = Vec::new();
            for _ in 0..draw.below(12) {
                let [a, b] = [0; 2].map(|_| u32::try_from(draw.below(nodes)).expect("fits"));
                links.push((NodeId(a), NodeId(b)));
                if draw.bool(0.8) {
                    links.push((NodeId(b), NodeId(a)));
                }
            }
            let nodes = u32::try_from(nodes).expect("fits");
            let routes = Routes::new(nodes as usize, &links);
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (NodeId(a), NodeId(b)))) {
                let first = route(nodes, &links, a, b).and_then(|way| way.first().copied());
                assert_eq!(routes.next(a, b), first, "{a:?} to {b:?} over {links:?}");
            }
        }
    }
}
