//! A scenario file as a tree that remembers where each value is written and where it comes from.
//!
//! Two things happen here, before anything is understood: `{ value = ..., source = ... }` becomes
//! a value with a [`Provenance`], and overrides (cells, `--set`) are laid over the base.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::place::{Place, ScenarioError, SourceText};
use crate::transport::TRANSPORTS;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The paper states it.
    Paper,
    /// It follows from what the paper states.
    Derived,
    /// The paper is silent, and this is what its authors most likely had.
    Assumed,
    /// Chosen to meet a published result; no claim about that result is then *reproduced*.
    Fitted,
}

impl Source {
    const ALL: [Self; 4] = [Self::Paper, Self::Derived, Self::Assumed, Self::Fitted];

    /// The word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Fitted => "fitted",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Where a value comes from, and why.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Provenance {
    /// Its source.
    pub source: Source,
    /// The reason, if one is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A value with its place and provenance.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
    pub(crate) provenance: Option<Provenance>,
}

/// What TOML can say, dates excepted.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key and its value, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// Keys of a flow of which one at most makes sense: an override of one takes the others away.
const OF_FLOW: &[&[&str]] = &[&["wire", "payload"], TRANSPORTS];

/// The same of its traffic.
const OF_TRAFFIC: &[&[&str]] = &[&["rate", "every"]];

/// The same for a link.
const OF_LINK: &[&[&str]] = &[&["rate", "trace"]];

/// Where in a scenario a table is, as far as overrides care.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Level {
    Top,
    Flows,
    Flow,
    Traffic,
    Topology,
    Links,
    Link,
    Elsewhere,
}

impl Level {
    fn below(self, name: &str) -> Self {
        match self {
            Self::Top if name == "flows" => Self::Flows,
            Self::Flows => Self::Flow,
            Self::Flow if name == "traffic" => Self::Traffic,
            Self::Top if name == "topology" => Self::Topology,
            Self::Topology if name == "links" => Self::Links,
            Self::Topology if ["access", "bottleneck"].contains(&name) => Self::Link,
            Self::Links => Self::Link,
            Self::Link if name == "back" => Self::Link,
            _ => Self::Elsewhere,
        }
    }

    /// Keys at this level of which one takes the others away.
    fn alternatives(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Flow => OF_FLOW,
            Self::Traffic => OF_TRAFFIC,
            Self::Link => OF_LINK,
            _ => &[],
        }
    }
}

impl Node {
    /// Reads a TOML document.
    pub(crate) fn parse(source: &Arc<SourceText>) -> Result<Self, ScenarioError> {
        let table = DeTable::parse(&source.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ScenarioError::at(error.message().trim(), &Place::new(source, span))
        })?;
        let place = Place::new(source, 0..0);
        Self::table(table.get_ref(), place, source, None)
    }

    /// Takes the value at a dotted path out; false if there is none.
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

    /// The path of the list that `path` leads into, if it does.
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

    /// The node below this table at the names of `path`.
    pub(crate) fn below_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let entry = entries.iter_mut().find(|entry| entry.name == *name)?;
        entry.node.below_mut(rest)
    }

    /// The names in this table, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        match &self.value {
            Value::Table(entries) => entries.iter().map(|entry| entry.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The `kind` that this table states.
    pub(super) fn kind(&self) -> Option<&str> {
        self.text("kind")
    }

    /// The text at `key` of this table.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.below(&[key])?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The node below this table at the names of `path`.
    pub(super) fn below(&self, path: &[&str]) -> Option<&Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let Value::Table(entries) = &self.value else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.name == *name)?;
        entry.node.below(rest)
    }

    pub(super) fn convert(
        spanned: &Spanned<DeValue<'_>>,
        source: &Arc<SourceText>,
        inherited: Option<&Provenance>,
    ) -> Result<Self, ScenarioError> {
        let place = Place::new(source, spanned.span());
        let value = match spanned.get_ref() {
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                let value = i64::from_str_radix(&digits, number.radix())
                    .map_err(|_| ScenarioError::at("this number is too large", &place))?;
                Value::Integer(value)
            }
            DeValue::Float(number) => match number.as_str().replace('_', "").parse::<f64>() {
                Ok(value) if value.is_finite() => Value::Float(value),
                _ => return Err(ScenarioError::at("this is not a finite number", &place)),
            },
            DeValue::Datetime(_) => {
                let message = "no date belongs in a scenario: write a text in quotes";
                return Err(ScenarioError::at(message, &place));
            }
            DeValue::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| Self::convert(item, source, inherited))
                    .collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => return Self::table(table, place, source, inherited),
        };
        Ok(Self {
            value,
            place,
            provenance: inherited.cloned(),
        })
    }

    /// A table, or the value inside `{ value = ..., source = ..., note = ... }`.
    fn table(
        table: &DeTable<'_>,
        place: Place,
        source: &Arc<SourceText>,
        inherited: Option<&Provenance>,
    ) -> Result<Self, ScenarioError> {
        let own = provenance(table, source, inherited)?;
        let provenance = own.as_ref().or(inherited);
        if let Some(value) = table.get("value") {
            for key in table.keys() {
                if !["value", "source", "note"].contains(&&**key.get_ref()) {
                    let message = "beside 'value' may stand 'source' and 'note' only";
                    let place = Place::new(source, key.span());
                    return Err(ScenarioError::at(message, &place));
                }
            }
            return Self::convert(value, source, provenance);
        }
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let name = key.get_ref();
            if name == "source" || name == "note" {
                continue;
            }
            entries.push(Entry {
                name: name.to_string(),
                place: Place::new(source, key.span()),
                node: Self::convert(value, source, provenance)?,
            });
        }
        entries.sort_by_key(|entry| entry.place.span.start);
        Ok(Self {
            value: Value::Table(entries),
            place,
            provenance: provenance.cloned(),
        })
    }

    /// Takes `name` out of this table.
    pub(crate) fn take(&mut self, name: &str) -> Option<Self> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.name == name)?;
        Some(entries.remove(at).node)
    }

    /// The node at a dotted path, or the nearest one above it; a number is a place in a list.
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

    /// It as TOML in one line: what `--set` takes.
    pub(crate) fn inline(&self) -> String {
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

    /// Lays `over` over this node: tables merge key by key, everything else is replaced. A table that states
    /// another `kind` replaces what was there.
    pub(crate) fn lay_over(&mut self, over: &Self) {
        self.lay(over, Level::Top);
    }

    /// The same for a part of a scenario that is at `level`.
    pub(super) fn lay(&mut self, over: &Self, level: Level) {
        let (Value::Table(_), Value::Table(_)) = (&self.value, &over.value) else {
            *self = over.clone();
            return;
        };
        // Another alternative has keys of its own.
        if let (Some(old), Some(new)) = (self.kind(), over.kind())
            && old != new
        {
            *self = over.clone();
            return;
        }
        let (Value::Table(entries), Value::Table(new)) = (&mut self.value, &over.value) else {
            return;
        };
        for entry in new {
            let groups = level.alternatives().iter();
            for group in groups.filter(|group| group.contains(&entry.name.as_str())) {
                // What the override states itself stays: two of a group are refused later.
                let is_other = |old: &Entry| {
                    group.contains(&old.name.as_str()) && new.iter().all(|it| it.name != old.name)
                };
                entries.retain(|old| !is_other(old));
            }
            match entries.iter_mut().find(|old| old.name == entry.name) {
                Some(old) => old.node.lay(&entry.node, level.below(&entry.name)),
                None => entries.push(entry.clone()),
            }
        }
    }

    /// Calls `visit` with the dotted path of each value that is no table.
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

/// A key as TOML: in quotes where it needs them.
fn key(name: &str) -> String {
    let line = toml::to_string(&BTreeMap::from([(name, true)])).unwrap_or_default();
    let key = line.trim_end().strip_suffix(" = true");
    key.unwrap_or(name).to_owned()
}

/// The `source` and `note` of a table; a note alone explains what is inherited.
fn provenance(
    table: &DeTable<'_>,
    text: &Arc<SourceText>,
    inherited: Option<&Provenance>,
) -> Result<Option<Provenance>, ScenarioError> {
    let note = table
        .get("note")
        .map(|note| words(note, text))
        .transpose()?;
    let Some(source) = table.get("source") else {
        let explained = note.and_then(|note| {
            inherited.map(|above| Provenance {
                source: above.source,
                note: Some(note),
            })
        });
        return Ok(explained);
    };
    let word = source.get_ref().as_str().unwrap_or_default();
    let Some(source) = Source::ALL.into_iter().find(|known| known.word() == word) else {
        let message = "a source is one of \"paper\", \"derived\", \"assumed\", \"fitted\"";
        return Err(ScenarioError::at(message, &Place::new(text, source.span())));
    };
    Ok(Some(Provenance { source, note }))
}

fn words(note: &Spanned<DeValue<'_>>, text: &Arc<SourceText>) -> Result<String, ScenarioError> {
    let place = Place::new(text, note.span());
    let words = note.get_ref().as_str().map(str::to_owned);
    words.ok_or_else(|| ScenarioError::at("a note is a text in quotes", &place))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Node, SourceText};

    /// What is written in one line reads back, keys that need quotes included.
    #[test]
    fn inline_reads_back() {
        let text = "list = [{ plain-1 = 1, \"with.dot\" = \"a\", \"\" = 2, \"a b\" = true, \"q\\\"'\\n\" = 1.5 }]";
        let read = |text: String| {
            let name = "a test".to_owned();
            Node::parse(&Arc::new(SourceText { name, text })).expect("reads")
        };
        let list = |mut node: Node| node.take("list").expect("there").inline();
        let once = list(read(text.to_owned()));
        assert!(
            once.starts_with("[{ plain-1 = 1, \"with.dot\" = \"a\""),
            "{once}"
        );
        assert_eq!(list(read(format!("list = {once}"))), once);
    }
}
