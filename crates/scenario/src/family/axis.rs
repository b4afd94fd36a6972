//! Axes: a name, its values, and the attributes of each value.

use std::sync::Arc;

use super::placeholder::is_name;
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node, Value};

/// The axis of the members of a family of flows.
pub(super) const NUMBER: &str = "n";

/// The name of the table of shared values in placeholders.
pub(super) const SHARED: &str = "shared";

/// The most values that an axis has.
const MOST_VALUES: usize = 10_000;

/// One value of an axis.
#[derive(Debug)]
pub(super) struct AxisValue {
    /// The value: a text, a number, or true or false.
    pub(super) node: Node,
    pub(super) attributes: Vec<Entry>,
}

/// A name with its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: Arc<str>,
    pub(super) values: Vec<Arc<AxisValue>>,
    /// Whether its values are the keys of a table, so that cells cannot use other values.
    is_table: bool,
}

/// Values of axes by the names of the axes.
pub(super) type Values = Vec<(Arc<str>, Arc<AxisValue>)>;

/// Returns the value of the axis `name` among `values`.
pub(super) fn find<'a>(values: &'a Values, name: &str) -> Option<&'a AxisValue> {
    let found = values.iter().find(|(known, _)| **known == *name);
    found.map(|(_, value)| &**value)
}

impl AxisValue {
    /// Returns the value as text.
    pub(super) fn text(&self) -> String {
        text(&self.node.value).unwrap_or_default()
    }
}

/// Returns `value` as text, unless it is a list or table.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.clone()),
        Value::Array(_) | Value::Table(_) => None,
    }
}

impl Axis {
    /// Makes the axis `name` with these values.
    pub(super) fn of(name: &str, values: Vec<Arc<AxisValue>>) -> Self {
        Self {
            name: name.into(),
            values,
            is_table: false,
        }
    }

    /// Returns its values as texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.values.iter().map(|value| value.text())
    }

    /// Reads `entry`, whose name is that of the axis. `known` is the axis of that name that exists already. Attributes
    /// in `entry` override those of the same value in `known`.
    pub(super) fn read(entry: &Entry, known: Option<&Self>) -> Result<Self, ScenarioError> {
        let short = shorten(&entry.name, QUOTED);
        if !is_name(&entry.name) || [NUMBER, SHARED].contains(&&*entry.name) {
            let message = format!(
                "an axis cannot be called '{short}': write letters, digits, '-' and '_', a letter first; \
                 '{NUMBER}' and '{SHARED}' mean something else"
            );
            return Err(ScenarioError::at(message, &entry.place));
        }
        let place = || entry.node.place.clone();
        let (values, is_table) = match &entry.node.value {
            Value::Table(values) => (of_table(values, known)?, true),
            Value::Array(values) => (of_list(values, known)?, false),
            _ => (of_list(std::slice::from_ref(&entry.node), known)?, false),
        };
        if values.is_empty() || values.len() > MOST_VALUES {
            let message = format!("an axis has 1 to {MOST_VALUES} values");
            return Err(ScenarioError::at(message, &place()).or_at(&entry.place));
        }
        let mut texts: Vec<(String, &Place)> = Vec::with_capacity(values.len());
        texts.extend(values.iter().map(|value| (value.text(), &value.node.place)));
        texts.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some([_, (text, place)]) = texts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let message = format!("the axis '{short}' has '{}' twice", shorten(text, QUOTED));
            return Err(ScenarioError::at(message, place));
        }
        Ok(Self {
            name: entry.name.as_str().into(),
            is_table: is_table || known.is_some_and(|known| known.is_table),
            values,
        })
    }
}

/// Reads values that are the keys of a table, each with a table of its attributes.
fn of_table(entries: &[Entry], known: Option<&Axis>) -> Result<Vec<Arc<AxisValue>>, ScenarioError> {
    let value = |entry: &Entry| {
        let Value::Table(own) = &entry.node.value else {
            let message = "an axis is a list of values, or a table in which each value has a table of its attributes, \
                           as in 96k = { text = \"96 kbit/s\" }";
            return Err(ScenarioError::at(message, &entry.node.place));
        };
        let old = known.and_then(|known| known.values.iter().find(|it| it.text() == entry.name));
        let mut attributes = old.map(|old| old.attributes.clone()).unwrap_or_default();
        attributes.retain(|old| own.iter().all(|new| new.name != old.name));
        attributes.extend(own.iter().cloned());
        Ok(Arc::new(AxisValue {
            node: Node {
                value: Value::Text(entry.name.clone()),
                place: entry.place.clone(),
                ..Node::empty(&entry.place)
            },
            attributes,
        }))
    };
    entries.iter().map(value).collect()
}

/// Reads the values in a list. If the known axis is a table, they must be among its values.
fn of_list(items: &[Node], known: Option<&Axis>) -> Result<Vec<Arc<AxisValue>>, ScenarioError> {
    let known = known.filter(|known| known.is_table);
    let value = |item: &Node| {
        let Some(text) = text(&item.value) else {
            let message = "a value of an axis is a text, a number, or true or false";
            return Err(ScenarioError::at(message, &item.place));
        };
        let Some(known) = known else {
            return Ok(Arc::new(AxisValue {
                node: item.clone(),
                attributes: Vec::new(),
            }));
        };
        if let Some(value) = known.values.iter().find(|value| value.text() == text) {
            return Ok(Arc::clone(value));
        }
        let names: Vec<String> = known.values.iter().map(|value| value.text()).collect();
        let names = names.iter().map(String::as_str);
        let message = format!(
            "the axis '{}' has no value '{}': {}",
            known.name,
            shorten(&text, QUOTED),
            name_hint(&text, names)
        );
        Err(ScenarioError::at(message, &item.place))
    };
    items.iter().map(value).collect()
}
