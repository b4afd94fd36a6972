//! Networks of kind "graph": nodes, links between them, and what is wrong with either.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fairwire_net::{LinkId, NodeId, route};
use fairwire_units::registry::nearest;

use super::flow::{Flow, Side};
use super::shorten::{QUOTED, shorten};
use super::topology::{Topology, TopologyKind};

/// More links than this are refused: routes take time and memory.
const MAX_LINKS: usize = 1_000;
/// A message names so many nodes at most.
const NAMED: usize = 20;

/// The dotted path of what is wrong, and what to tell about it.
pub(super) type Problem = (String, String);

/// The nodes of a graph, and what its links join.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    /// In the order in which the links name them.
    pub(crate) nodes: Vec<&'a str>,
    numbers: BTreeMap<&'a str, NodeId>,
    /// Link number `n` of the scenario is number `2 n` there and `2 n + 1` back.
    ends: Vec<(NodeId, NodeId)>,
}

impl<'a> Graph<'a> {
    /// The graph of `topology`; links that do not join two nodes are left out.
    pub(crate) fn of(topology: &'a Topology) -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            numbers: BTreeMap::new(),
            ends: Vec::new(),
        };
        for (_, link) in topology.links.iter() {
            let [a, b] = link.between.as_slice() else {
                continue;
            };
            let (a, b) = (graph.number(a), graph.number(b));
            graph.ends.push((a, b));
            graph.ends.push((b, a));
        }
        graph
    }

    fn number(&mut self, name: &'a str) -> NodeId {
        let nodes = &mut self.nodes;
        *self.numbers.entry(name).or_insert_with(|| {
            nodes.push(name);
            NodeId(u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The number of the node called `name`: its place among the nodes.
    pub(crate) fn node(&self, name: &str) -> Option<NodeId> {
        self.numbers.get(name).copied()
    }

    /// Where each link begins and ends, there and back.
    pub(crate) fn ends(&self) -> &[(NodeId, NodeId)] {
        &self.ends
    }

    /// The links from one node to another over the fewest hops.
    pub(super) fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        route(nodes, &self.ends, from, to)
    }
}

/// What is wrong with the links of `topology`, or with one that names nodes and is not in a graph.
pub(super) fn link_problem(topology: &Topology) -> Option<Problem> {
    let all = topology.links.iter();
    let links = all.map(|(name, link)| (format!("topology.links.{name}"), link));
    if topology.kind != TopologyKind::Graph {
        let access = topology.access.iter().map(|link| ("access", link));
        let middle = topology.bottleneck.iter().map(|link| ("bottleneck", link));
        let others = access.chain(middle);
        let others = others.map(|(name, link)| (format!("topology.{name}"), link));
        let mut named = links
            .chain(others)
            .filter(|(_, link)| !link.between.is_empty());
        let (path, _) = named.next()?;
        let message = "only a link of kind = \"graph\" says which nodes it joins";
        return Some((format!("{path}.between"), message.to_owned()));
    }
    let problem = |path: &str, message: &str| Some((path.to_owned(), message.to_owned()));
    if topology.links.is_empty() {
        let message =
            "a graph needs links: write [topology.links.NAME] with 'between', 'rate' and 'delay'";
        return problem("topology", message);
    }
    if topology.links.iter().count() > MAX_LINKS {
        let message = format!("a graph has at most {MAX_LINKS} links");
        return problem("topology.links", &message);
    }
    let message = "a graph has 'links'; 'access' and 'bottleneck' make a dumbbell";
    if topology.access.is_some() {
        return problem("topology.access", message);
    }
    if topology.bottleneck.is_some() {
        return problem("topology.bottleneck", message);
    }
    for (path, link) in links {
        match link.between.as_slice() {
            [a, b] if a != b => {}
            [_, _] => {
                let message = "a link joins two different nodes";
                return problem(&format!("{path}.between"), message);
            }
            [] => {
                let message =
                    "a link of a graph says which nodes it joins: between = [\"a\", \"b\"]";
                return problem(&path, message);
            }
            _ => {
                let message = "a link joins two nodes: between = [\"a\", \"b\"]";
                return problem(&format!("{path}.between"), message);
            }
        }
        if link.reversed().between != link.between {
            let message = "the way back joins the same nodes: leave 'between' out of it";
            return problem(&format!("{path}.back.between"), message);
        }
    }
    None
}

/// What is wrong with the ends of `flow`, called `name`, in `graph`.
pub(super) fn flow_problem(graph: &Graph<'_>, name: &str, flow: &Flow) -> Option<Problem> {
    let path = format!("flows.{name}");
    if flow.from != Side::Left {
        let message = "a flow in a graph has no side: 'sender' and 'receiver' name its nodes";
        return Some((format!("{path}.from"), message.to_owned()));
    }
    let (Some(sender), Some(receiver)) = (&flow.sender, &flow.receiver) else {
        let message = format!(
            "a flow in a graph needs a 'sender' and a 'receiver': two of the nodes {}",
            list(&graph.nodes)
        );
        return Some((path, message));
    };
    let mut ends = Vec::new();
    for (key, name) in [("sender", sender), ("receiver", receiver)] {
        let Some(node) = graph.node(name) else {
            let hint = nearest(name, graph.nodes.iter().copied())
                .map(|one| format!("did you mean '{one}'? "))
                .unwrap_or_default();
            let (name, nodes) = (shorten(name, QUOTED), list(&graph.nodes));
            let message = format!("there is no node '{name}': {hint}the nodes are {nodes}");
            return Some((format!("{path}.{key}"), message));
        };
        ends.push(node);
    }
    let receiver_path = format!("{path}.receiver");
    if ends[0] == ends[1] {
        let message = "a flow goes from one node to another".to_owned();
        return Some((receiver_path, message));
    }
    if graph.route(ends[0], ends[1]).is_none() {
        let message = format!(
            "no path leads from '{sender}' to '{receiver}': add a link between their parts of the graph"
        );
        return Some((receiver_path, message));
    }
    None
}

/// `a, b, c`, and how many more there are.
fn list(nodes: &[&str]) -> String {
    let shown = nodes.iter().take(NAMED).map(|name| shorten(name, QUOTED));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
