//! Defaults of checks: a check takes what it does not state from its claim, and a claim from its file.
//!
//! Flow, link, metric and window apply to the quantities of checks and isolating runs; a unit applies to the checks and
//! isolating runs themselves. A check without a kind takes kind, tolerance and reason together from its claim. `flow =
//! "all"` and `window = "judged"` remove a default.

use fairwire_scenario::ScenarioError;
use fairwire_scenario::shorten::{QUOTED, shorten};
use fairwire_scenario::tree::{Entry, Node, Value};

/// The keys that select a value.
const ABOUT: [&str; 4] = ["flow", "link", "metric", "window"];

/// The values that remove a default.
const NONE: [(&str, &str); 2] = [("flow", "all"), ("window", "judged")];

/// The keys that say how a check judges.
const JUDGES: [&str; 3] = ["kind", "tolerance", "why"];

const UNIT: &str = "unit";

/// The keys of a quantity that combines others.
const MADE_OF: [&str; 5] = ["ratio", "difference", "sum", "jain", "least"];

/// Refuses a default that no check uses.
pub(super) fn check(defaults: &Node) -> Result<(), ScenarioError> {
    let Value::Table(entries) = &defaults.value else {
        return Ok(());
    };
    let Some(entry) = entries.iter().find(|it| keys().all(|key| key != it.name)) else {
        return Ok(());
    };
    let known: Vec<&str> = keys().collect();
    let message = format!(
        "claims cannot have a default '{}': write one of {}",
        shorten(&entry.name, QUOTED),
        known.join(", ")
    );
    Err(ScenarioError::at(message, &entry.place))
}

/// Returns all keys that can have a default.
fn keys() -> impl Iterator<Item = &'static str> {
    ABOUT.into_iter().chain(JUDGES).chain([UNIT])
}

/// Applies the defaults of the file and of `claim` to all of its checks and isolating runs.
pub(super) fn apply_defaults(claim: &mut Node, defaults: &Node) {
    let mut own = Node::empty(&claim.place);
    for key in keys() {
        if let Some(node) = claim.take(key) {
            put(&mut own, key, node);
        }
    }
    let mut all = inherited(defaults, &own);
    copy(&own, &mut all, UNIT);
    copy(defaults, &mut all, UNIT);
    copy_kind(&mut all, &own);
    copy_kind(&mut all, defaults);
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
    let here = inherited(all, check);
    for key in ABOUT {
        check.take(key);
    }
    if is_judged {
        copy_kind(check, all);
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

/// Gives `node` the kind of `above` unless it has its own. Tolerance and reason come with the kind.
fn copy_kind(node: &mut Node, above: &Node) {
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
        let here = inherited(above, quantity);
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
    let here = inherited(above, quantity);
    let own: Vec<String> = quantity.names().into_iter().map(str::to_owned).collect();
    let is_printed = own.iter().any(|name| name == "published");
    for key in ABOUT {
        quantity.take(key);
    }
    // Published numbers are found by cell, flow and metric, and have no window.
    let reaches = |key: &str| !is_printed || key == "flow" || own.iter().any(|name| name == key);
    put_all(quantity, &here, reaches);
}

/// Returns the values that hold for `node`: its own, then those of `above`.
///
/// Its own flow replaces a link of `above`, and its own link replaces a flow.
fn inherited(above: &Node, node: &Node) -> Node {
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

/// Copies into `node` the values of `here` whose keys reach it, except values that remove a default.
fn put_all(node: &mut Node, here: &Node, reaches: impl Fn(&str) -> bool) {
    for key in ABOUT.into_iter().filter(|key| reaches(key)) {
        let is_none = |(of, none): &(&str, &str)| *of == key && here.text(key) == Some(none);
        if !NONE.iter().any(is_none) {
            copy(here, node, key);
        }
    }
}

/// Copies `key` from one table to another unless that has it already.
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
