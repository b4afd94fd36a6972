//! Families of flows: `[flows."web{n}"]` with `count = 5` stands for `web1` to `web5`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::axis::{Axis, AxisValue, NUMBER, Values};
use super::fill::{Budget, Filling, Shared};
use super::placeholder::{Placeholder, placeholders};
use super::template::filled;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Level, Node, Value};

/// The key for the number of members. Their `{n}` is 1, 2 and so on.
const COUNT: &str = "count";

/// The key for an axis of the author's own, with a member for each of its values.
const FOR: &str = "for";

/// The most members of a family.
const MOST: i64 = 1_000;

/// Replaces each family in `tree` by its members. A flow with the name of a member is laid over that member.
pub(super) fn expand(tree: &mut Node, budget: &Budget) -> Result<(), ScenarioError> {
    let Some(Value::Table(flows)) = tree.below_mut(&["flows"]).map(|flows| &mut flows.value) else {
        return Ok(());
    };
    let is_family = |flow: &Entry| placeholders(&flow.name).next().is_some();
    let mut others = flows.iter().filter(|flow| !is_family(flow));
    others.try_for_each(refuse_family_keys)?;
    if !flows.iter().any(is_family) {
        return Ok(());
    }
    let mut families = Vec::with_capacity(flows.len());
    for flow in flows.drain(..) {
        let members = members(&flow, budget)?;
        families.push((flow, members));
    }
    let made = families.iter().filter_map(|(_, members)| members.as_ref());
    let made: BTreeSet<String> = made.flatten().map(|member| member.name.clone()).collect();
    // Overrides of single members.
    let mut alone = BTreeMap::new();
    for (flow, members) in &families {
        if members.is_none() && made.contains(&flow.name) {
            alone.insert(flow.name.clone(), flow.node.clone());
        }
    }
    refuse_none(&families)?;
    let mut seen = BTreeSet::new();
    for (flow, members) in families {
        let Some(members) = members else {
            if !made.contains(&flow.name) {
                flows.push(flow);
            }
            continue;
        };
        for mut member in members {
            if !seen.insert(member.name.clone()) {
                let name = shorten(&member.name, QUOTED);
                let message = format!("two families of flows make '{name}'");
                return Err(ScenarioError::at(message, &flow.place));
            }
            if let Some(own) = alone.get(&member.name) {
                member.node.lay(own, Level::Flow)?;
            }
            flows.push(member);
        }
    }
    Ok(())
}

/// Refuses families without a member where no other flow is.
fn refuse_none(families: &[(Entry, Option<Vec<Entry>>)]) -> Result<(), ScenarioError> {
    let has_flow = |members: &Option<Vec<Entry>>| members.as_ref().is_none_or(|it| !it.is_empty());
    if families.iter().any(|(_, members)| has_flow(members)) {
        return Ok(());
    }
    let mut counts = families.iter().filter_map(|(flow, _)| {
        let count = flow.node.below(&[COUNT])?;
        Some((&flow.name, &count.place))
    });
    let Some((name, place)) = counts.next() else {
        return Ok(());
    };
    let message = format!(
        "'{COUNT}' is 0, so '{}' makes no flow, and there is no other: write at least 1, or another flow",
        shorten(name, QUOTED)
    );
    Err(ScenarioError::at(message, place))
}

/// Refuses the keys of a family in a flow whose name has no placeholder.
fn refuse_family_keys(flow: &Entry) -> Result<(), ScenarioError> {
    let Value::Table(entries) = &flow.node.value else {
        return Ok(());
    };
    let Some(key) = entries
        .iter()
        .find(|entry| [COUNT, FOR].contains(&&*entry.name))
    else {
        return Ok(());
    };
    let message = format!(
        "'{}' belongs to a family of flows, whose name has a placeholder: write [flows.\"{}{{{NUMBER}}}\"]",
        key.name,
        shorten(&flow.name, QUOTED)
    );
    Err(ScenarioError::at(message, &key.place))
}

/// Returns the members if `flow` is a family.
fn members(flow: &Entry, budget: &Budget) -> Result<Option<Vec<Entry>>, ScenarioError> {
    let Some(placeholder) = placeholders(&flow.name).next() else {
        return Ok(None);
    };
    let mut family = flow.node.clone();
    let (count, list) = (family.take(COUNT), family.take(FOR));
    let axis = match (count, list) {
        (Some(count), None) => of_count(&count)?,
        (None, Some(list)) => of_list(&list)?,
        _ => {
            let message = format!(
                "state the members of '{}' exactly once: {COUNT} = 5 for {{{NUMBER}}} = 1 to 5, or \
                 {FOR}.{} = [...] for values of your own",
                shorten(&flow.name, QUOTED),
                if placeholder.name == NUMBER {
                    "name"
                } else {
                    placeholder.name
                }
            );
            return Err(ScenarioError::at(message, &flow.place));
        }
    };
    check_placeholder(placeholder, &axis, flow)?;
    let shared = Shared::new();
    let mut all = Vec::with_capacity(axis.values.len());
    for value in &axis.values {
        let values: Values = vec![(Arc::clone(&axis.name), Arc::clone(value))];
        budget.take(&family)?;
        let filling = Filling {
            own: &values,
            all: &values,
            shared: &shared,
            budget,
        };
        all.push(Entry {
            name: filled(&flow.name, &flow.place, &values)?,
            place: flow.place.clone(),
            node: filling.filled(&family)?,
        });
    }
    Ok(Some(all))
}

/// Checks that the placeholder in the flow's name is that of the family's axis.
fn check_placeholder(
    placeholder: Placeholder<'_>,
    axis: &Axis,
    flow: &Entry,
) -> Result<(), ScenarioError> {
    if *axis.name == *placeholder.name {
        return Ok(());
    }
    let message = format!(
        "nothing fills {}: the members of this family are named by {{{}}}",
        placeholder.whole, axis.name
    );
    Err(ScenarioError::at(message, &flow.place))
}

fn of_count(count: &Node) -> Result<Axis, ScenarioError> {
    let members = count.integer().filter(|it| (0..=MOST).contains(it));
    let members = members.ok_or_else(|| {
        let message = format!("'{COUNT}' is a whole number from 0 to {MOST}");
        ScenarioError::at(message, &count.place)
    })?;
    let value = |number: i64| {
        Arc::new(AxisValue {
            node: Node {
                value: Value::Integer(number),
                ..Node::empty(&count.place)
            },
            attributes: Vec::new(),
        })
    };
    Ok(Axis::of(NUMBER, (1..=members).map(value).collect()))
}

fn of_list(list: &Node) -> Result<Axis, ScenarioError> {
    let refuse = |place: &Place| {
        let message =
            format!("write {FOR}.NAME = [...], as in {FOR}.size = [\"500 B\", \"1500 B\"]");
        Err(ScenarioError::at(message, place))
    };
    let Value::Table(entries) = &list.value else {
        return refuse(&list.place);
    };
    match &entries[..] {
        [entry] => Axis::read(entry, None),
        _ => refuse(&list.place),
    }
}
