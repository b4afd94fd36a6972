//! What a check does not say, its claim says for all of its checks, and what a claim does not say, its file.
//!
//! Flow, link, metric and window reach down to the quantities of checks and isolating runs, and a unit to the checks. A
//! check without a kind has its claim's, with tolerance and reason. `flow = "all"` and `window = "judged"` say that
//! there is none.

use crate::scenario::ScenarioError;
use crate::scenario::shorten::{QUOTED, shorten};
use crate::scenario::tree::{Entry, Node, Value};

/// What a quantity is about.
const ABOUT: [&str; 4] = ["flow", "link", "metric", "window"];

/// What undoes what was said above.
const NONE: [(&str, &str); 2] = [("flow", "all"), ("window", "judged")];

/// How a check judges.
const JUDGES: [&str; 3] = ["kind", "tolerance", "why"];

const UNIT: &str = "unit";

/// Lists of a quantity that is made of others.
const MADE_OF: [&str; 5] = ["ratio", "difference", "sum", "jain", "least"];

/// Refuses defaults of a file that nothing takes.
pub(super) fn check(defaults: &Node) -> Result<(), ScenarioError> {
    let Value::Table(entries) = &defaults.value else {
        return Ok(());
    };
    let Some(entry) = entries.iter().find(|it| keys().all(|key| key != it.name)) else {
        return Ok(());
    };
    let known: Vec<&str> = keys().collect();
    let message = format!(
        "claims have no default of '{}': write one of {}",
        shorten(&entry.name, QUOTED),
        known.join(", ")
    );
    Err(ScenarioError::at(message, &entry.place))
}

/// All that is handed down.
fn keys() -> impl Iterator<Item = &'static str> {
    ABOUT.into_iter().chain(JUDGES).chain([UNIT])
}

/// Hands down what `defaults` and `claim` say for all of its checks and isolating runs.
pub(super) fn hand_down(claim: &mut Node, defaults: &Node) {
    let mut own = Node::empty(&claim.place);
    for key in keys() {
        if let Some(node) = claim.take(key) {
            put(&mut own, key, node);
        }
    }
    let mut all = under(defaults, &own);
    copy(&own, &mut all, UNIT);
    copy(defaults, &mut all, UNIT);
    judge_as(&mut all, &own);
    judge_as(&mut all, defaults);
    let lists: [(&[&str], bool); 4] = [
        (&["checks"], true),
        (&["beyond"], true),
        (&["isolated_by"], false),
        (&["contradiction", "must"], true),
    ];
    for (path, is_judged) in lists {
        let list = claim.below_mut(path).map(|list| &mut list.value);
        if let Some(Value::Array(items)) = list {
            for item in items {
                to_check(item, &all, is_judged);
            }
        }
    }
}

fn to_check(check: &mut Node, all: &Node, is_judged: bool) {
    if !matches!(check.value, Value::Table(_)) {
        return;
    }
    let here = under(all, check);
    for key in ABOUT {
        check.take(key);
    }
    if is_judged {
        judge_as(check, all);
    }
    copy(all, check, UNIT);
    match check.below_mut(&["of"]).map(|list| &mut list.value) {
        Some(Value::Array(items)) => {
            for item in items {
                to_quantity(item, &here);
            }
        }
        _ => put_all(check, &here, |_| true),
    }
}

/// Gives `node` the kind of `above` unless it has one of its own. Tolerance and reason belong to a kind and come with it.
fn judge_as(node: &mut Node, above: &Node) {
    if node.below(&["kind"]).is_none() {
        for key in JUDGES {
            copy(above, node, key);
        }
    }
}

fn to_quantity(quantity: &mut Node, above: &Node) {
    if !matches!(quantity.value, Value::Table(_)) {
        return;
    }
    let made = MADE_OF
        .into_iter()
        .find(|key| quantity.below(&[key]).is_some());
    if let Some(made) = made {
        let here = under(above, quantity);
        for key in ABOUT {
            quantity.take(key);
        }
        if let Some(Value::Array(parts)) = quantity.below_mut(&[made]).map(|it| &mut it.value) {
            for part in parts {
                to_quantity(part, &here);
            }
        }
        return;
    }
    if let Some(tfrc) = quantity.below_mut(&["tfrc"]) {
        for part in ["rtt", "p"] {
            if let Some(part) = tfrc.below_mut(&[part]) {
                to_quantity(part, above);
            }
        }
        return;
    }
    if let Some(distance) = quantity.below_mut(&["distance"]) {
        for key in ["flow", "metric"] {
            copy(above, distance, key);
        }
        return;
    }
    let here = under(above, quantity);
    let own: Vec<String> = quantity.names().into_iter().map(str::to_owned).collect();
    let is_printed = own.iter().any(|name| name == "published");
    for key in ABOUT {
        quantity.take(key);
    }
    // Printed numbers are found by cell, flow and metric, and have no window.
    let reaches = |key: &str| !is_printed || key == "flow" || own.iter().any(|name| name == key);
    put_all(quantity, &here, reaches);
}

/// What holds for `node`: what it says, and what is said `above`; a flow and a link take each other away.
fn under(above: &Node, node: &Node) -> Node {
    let says = |key: &str| node.below(&[key]).is_some();
    let mut here = Node::empty(&node.place);
    for key in ABOUT {
        let is_other = (key == "flow" && says("link")) || (key == "link" && says("flow"));
        copy(node, &mut here, key);
        if !is_other {
            copy(above, &mut here, key);
        }
    }
    here
}

/// Puts what `here` says of keys that reach `node` into it, without what says that there is none.
fn put_all(node: &mut Node, here: &Node, reaches: impl Fn(&str) -> bool) {
    for key in ABOUT.into_iter().filter(|key| reaches(key)) {
        let is_none = |(of, none): &(&str, &str)| *of == key && here.text(key) == Some(none);
        if !NONE.iter().any(is_none) {
            copy(here, node, key);
        }
    }
}

/// Copies `key` of one table to another that does not have it.
fn copy(from: &Node, to: &mut Node, key: &str) {
    if let (Some(node), None) = (from.below(&[key]), to.below(&[key])) {
        let node = node.clone();
        put(to, key, node);
    }
}

fn put(table: &mut Node, key: &str, node: Node) {
    if let Value::Table(entries) = &mut table.value {
        entries.push(Entry {
            name: key.to_owned(),
            place: node.place.clone(),
            node,
        });
    }
}
