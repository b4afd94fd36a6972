//! A scenario file as a tree that remembers where each value is written and where it comes from.
//!
//! The tree is made before the format is checked. `{ value = ..., source = ... }` becomes a value with a
//! [`Provenance`]. Overrides (cells, `--set`) are laid over the base key by key, unless they state `remove = true` or
//! `replace = true`.

mod lay;
mod provenance;
mod written;

use std::collections::BTreeMap;

use serde::de::Unexpected;

use super::place::Place;

pub(super) use lay::Level;
pub use provenance::{Provenance, Source};
pub(super) use written::{REMOVE, REPLACE};

/// A value with its place and provenance.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
    pub(crate) provenance: Option<Provenance>,
    /// How it is laid over another value.
    pub(crate) overlay: Overlay,
}

/// The effect of an override on the value below it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Overlay {
    /// A table is merged key by key; any other value replaces the one below.
    Merge,
    /// It replaces the value below.
    Replace,
    /// It removes the value below.
    Remove,
}

/// A TOML value. Dates are not supported.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Node>),
    /// A table, in the order of its keys.
    Table(Vec<Entry>),
}

/// Returns `number` as an integer if it is a whole number, as programs may write `2.0`.
pub(super) fn whole(number: f64) -> Option<i64> {
    // Greater ones may be rounded.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.trunc() == number && number.abs() <= MOST;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and within the range"
    )]
    is_whole.then_some(number as i64)
}

impl Value {
    /// Returns what it is, for messages.
    pub(super) fn found(&self) -> Unexpected<'_> {
        match self {
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Integer(number) => Unexpected::Signed(*number),
            Self::Float(number) => Unexpected::Float(*number),
            Self::Text(text) => Unexpected::Str(text),
            Self::Array(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        }
    }
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Returns a table without entries.
    pub fn empty(place: &Place) -> Self {
        Self {
            value: Value::Table(Vec::new()),
            place: place.clone(),
            provenance: None,
            overlay: Overlay::Merge,
        }
    }

    /// Removes the value at a dotted path; returns false if there is none.
    pub(crate) fn take_at(&mut self, path: &str) -> bool {
        let Some((name, rest)) = path.split_once('.') else {
            return self.take(path).is_some();
        };
        let Value::Table(entries) = &mut self.value else {
            return false;
        };
        let entry = entries.iter_mut().find(|entry| entry.name == name);
        entry.is_some_and(|entry| entry.node.take_at(rest))
    }

    /// Returns the path of the list that `path` leads into, if it does.
    pub(crate) fn list_above<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut node = self;
        let mut end = 0_usize;
        for name in path.split('.') {
            match &node.value {
                Value::Array(_) => return Some(&path[..end.saturating_sub(1)]),
                Value::Table(entries) => {
                    node = &entries.iter().find(|entry| entry.name == name)?.node;
                }
                _ => return None,
            }
            end += name.len() + 1;
        }
        None
    }

    /// Returns the node below this table at the names of `path`.
    pub fn below_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let entry = entries.iter_mut().find(|entry| entry.name == *name)?;
        entry.node.below_mut(rest)
    }

    /// Returns the names in this table, in order.
    pub fn names(&self) -> Vec<&str> {
        match &self.value {
            Value::Table(entries) => entries.iter().map(|entry| entry.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the `kind` that this table states.
    pub(super) fn kind(&self) -> Option<&str> {
        self.text("kind")
    }

    /// Returns the text at `key` of this table.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.below(&[key])?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the node below this table at the names of `path`.
    pub fn below(&self, path: &[&str]) -> Option<&Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let Value::Table(entries) = &self.value else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.name == *name)?;
        entry.node.below(rest)
    }

    /// Removes `name` from this table and returns its value.
    pub fn take(&mut self, name: &str) -> Option<Self> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.name == name)?;
        Some(entries.remove(at).node)
    }

    /// Returns the node at a dotted path, or the nearest one above it. A number is an index into a list.
    pub(crate) fn nearest(&self, path: &str) -> &Self {
        let mut node = self;
        for name in path.split('.') {
            let below = match &node.value {
                Value::Table(entries) => {
                    let entry = entries.iter().find(|entry| entry.name == name);
                    entry.map(|entry| &entry.node)
                }
                Value::Array(items) => name.parse().ok().and_then(|at: usize| items.get(at)),
                _ => None,
            };
            let Some(below) = below else {
                break;
            };
            node = below;
        }
        node
    }

    /// Returns the value as an integer if it is one: written as such, as a float such as `2.0`, or as a text that fills
    /// a placeholder.
    pub(crate) fn integer(&self) -> Option<i64> {
        match &self.value {
            Value::Integer(number) => Some(*number),
            Value::Float(number) => whole(*number),
            Value::Text(_) => whole(self.filled_number()?),
            _ => None,
        }
    }

    /// Returns the number in a text that fills a placeholder.
    pub(crate) fn filled_number(&self) -> Option<f64> {
        let Value::Text(text) = &self.value else {
            return None;
        };
        let number = self.place.is_filling().then(|| text.parse().ok())?;
        number.filter(|number: &f64| number.is_finite())
    }

    /// Returns the value as TOML in one line, as `--set` takes it.
    pub fn inline(&self) -> String {
        let list = |items: Vec<String>| items.join(", ");
        match &self.value {
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => toml::Value::Float(*value).to_string(),
            Value::Text(value) => toml::Value::String(value.clone()).to_string(),
            Value::Array(items) => format!("[{}]", list(items.iter().map(Self::inline).collect())),
            Value::Table(entries) => {
                let entry =
                    |entry: &Entry| format!("{} = {}", key(&entry.name), entry.node.inline());
                format!("{{ {} }}", list(entries.iter().map(entry).collect()))
            }
        }
    }

    /// Calls `visit` with the dotted path of each value that is not a table.
    pub(crate) fn leaves<'a>(&'a self, path: &str, visit: &mut impl FnMut(&str, &'a Self)) {
        let Value::Table(entries) = &self.value else {
            visit(path, self);
            return;
        };
        for entry in entries {
            let path = if path.is_empty() {
                entry.name.clone()
            } else {
                format!("{path}.{}", entry.name)
            };
            entry.node.leaves(&path, visit);
        }
    }
}

/// Returns a key as TOML, quoted if needed.
fn key(name: &str) -> String {
    let line = toml::to_string(&BTreeMap::from([(name, true)])).unwrap_or_default();
    let key = line.trim_end().strip_suffix(" = true");
    key.unwrap_or(name).to_owned()
}
