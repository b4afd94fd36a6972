//! What follows from what a scenario states, laid under it before it is read.

use std::sync::Arc;

use super::place::{Place, SourceText};
use super::preset;
use super::tree::{Entry, Node, Value};

/// What texts are called that nobody wrote.
pub(super) const FOLLOWS: &str = "what follows from the scenario";

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
    }
}

/// More seeds than there are at most by default are as many at most.
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

/// States `key` in `table` unless it is stated.
fn lay_under(table: &mut Node, key: &str, value: Value) {
    let Value::Table(entries) = &mut table.value else {
        return;
    };
    if entries.iter().any(|entry| entry.name == key) {
        return;
    }
    let source = Arc::new(SourceText {
        name: FOLLOWS.into(),
        text: String::new(),
    });
    let place = Place::new(&source, 0..0);
    entries.push(Entry {
        name: key.to_owned(),
        place: place.clone(),
        node: Node {
            value,
            place,
            provenance: None,
        },
    });
}
