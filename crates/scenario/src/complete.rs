//! Values that follow from what a scenario states. They are laid under it before it is read.

use super::link::BETWEEN;
use super::place::{Place, ScenarioError};
use super::preset;
use super::tree::{Entry, Level, Node, Overlay, Value};

/// Completes `tree`.
pub(super) fn complete(tree: &mut Node) {
    seeds(tree);
    let Some(Value::Table(flows)) = tree.below_mut(&["flows"]).map(|flows| &mut flows.value) else {
        return;
    };
    for flow in flows {
        if let Some(tcp) = flow.node.below_mut(&["tcp"]) {
            preset::complete(tcp);
        }
        if let Some(dccp) = flow.node.below_mut(&["dccp"]) {
            preset::complete_dccp(dccp);
        }
    }
}

/// Raises `max_seeds` to `seeds` where the file states only a `seeds` above the default of `max_seeds`.
fn seeds(tree: &mut Node) {
    let Some(run) = tree.below_mut(&["run"]) else {
        return;
    };
    let stated = run.below(&["seeds"]).map(|seeds| seeds.value.clone());
    let most = i64::from(super::thirty());
    if let Some(Value::Integer(seeds)) =
        stated.filter(|it| matches!(it, Value::Integer(n) if *n > most))
    {
        lay_under(run, "max_seeds", Value::Integer(seeds));
    }
}

/// Sets `key` in `table` unless it is stated.
fn lay_under(table: &mut Node, key: &str, value: Value) {
    let Value::Table(entries) = &mut table.value else {
        return;
    };
    if entries.iter().any(|entry| entry.name == key) {
        return;
    }
    let place = Place::nowhere();
    entries.push(Entry {
        name: key.to_owned(),
        place: place.clone(),
        node: Node {
            value,
            place,
            provenance: None,
            overlay: Overlay::Merge,
        },
    });
}

/// Returns `tree` with the way back of each link complete: the link's table with `back` laid over it.
pub(super) fn ways_back(tree: &Node) -> Result<Node, ScenarioError> {
    let mut tree = tree.clone();
    for name in ["access", "bottleneck"] {
        if let Some(link) = tree.below_mut(&["topology", name]) {
            way_back(link)?;
        }
    }
    if let Some(links) = tree.below_mut(&["topology", "links"])
        && let Value::Table(links) = &mut links.value
    {
        for link in links {
            way_back(&mut link.node)?;
        }
    }
    Ok(tree)
}

fn way_back(link: &mut Node) -> Result<(), ScenarioError> {
    let Value::Table(entries) = &mut link.value else {
        return Ok(());
    };
    let Some(at) = entries.iter().position(|entry| entry.name == "back") else {
        return Ok(());
    };
    let mut back = entries.remove(at);
    let mut whole = link.clone();
    // The way back joins the same nodes and may repeat them.
    let joins = whole.take(BETWEEN).map(|node| node.inline());
    if joins.is_some() && back.node.below(&[BETWEEN]).map(Node::inline) == joins {
        back.node.take(BETWEEN);
    }
    whole.lay(&back.node, Level::Link)?;
    whole.place = back.node.place.clone();
    if let Value::Table(entries) = &mut link.value {
        entries.push(Entry {
            node: whole,
            ..back
        });
    }
    Ok(())
}
