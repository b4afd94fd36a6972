//! Checks of networks of kind "graph" and of the ends of flows in them.

use fairwire_units::registry::nearest;

use super::flow::{Flow, Side};
use super::shorten::{QUOTED, shorten};
use super::topology::Graph;
use super::wiring::Wiring;

/// The most links of a graph: routes take time and memory.
const MAX_LINKS: usize = 1_000;
/// The most nodes that a message names.
const NAMED: usize = 20;

/// The dotted path of the error, and its message.
pub(super) type Problem = (String, String);

/// Returns what is wrong with the links of `graph`, if anything.
pub(super) fn link_problem(graph: &Graph) -> Option<Problem> {
    if graph.links.iter().count() > MAX_LINKS {
        let message = format!("a graph has at most {MAX_LINKS} links");
        return Some(("topology.links".to_owned(), message));
    }
    let mut links = graph.links.iter();
    let (name, _) = links.find(|(_, joined)| joined.between[0] == joined.between[1])?;
    let path = format!("topology.links.{name}.between");
    Some((path, "a link joins two different nodes".to_owned()))
}

/// Returns what is wrong with the ends of `flow`, called `name`, in `wiring`, if anything.
pub(super) fn flow_problem(wiring: &Wiring<'_>, name: &str, flow: &Flow) -> Option<Problem> {
    let path = format!("flows.{name}");
    if flow.from != Side::Left {
        let message = "a flow in a graph has no side: 'sender' and 'receiver' name its nodes";
        return Some((format!("{path}.from"), message.to_owned()));
    }
    let (Some(sender), Some(receiver)) = (&flow.sender, &flow.receiver) else {
        let message = format!(
            "a flow in a graph needs a 'sender' and a 'receiver': two of the nodes {}",
            list(&wiring.nodes)
        );
        return Some((path, message));
    };
    let mut ends = Vec::new();
    for (key, name) in [("sender", sender), ("receiver", receiver)] {
        let Some(node) = wiring.node(name) else {
            let hint = nearest(name, wiring.nodes.iter().map(String::as_str))
                .map(|one| format!("did you mean '{one}'? "))
                .unwrap_or_default();
            let (name, nodes) = (shorten(name, QUOTED), list(&wiring.nodes));
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
    if wiring.route(ends[0], ends[1]).is_none() {
        let message = format!(
            "no path leads from '{sender}' to '{receiver}': add a link between their parts of the graph"
        );
        return Some((receiver_path, message));
    }
    None
}

/// Returns `a, b, c`, and how many more there are.
fn list(nodes: &[String]) -> String {
    let shown = nodes.iter().take(NAMED).map(|name| shorten(name, QUOTED));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
