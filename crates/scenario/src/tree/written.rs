//! Conversion of TOML to a tree.

use std::sync::Arc;

use fairwire_units::registry::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::provenance::{Provenance, provenance};
use super::{Entry, Node, Overlay, Value};
use crate::place::{Place, ScenarioError, SourceText};
use crate::shorten::{QUOTED, shorten};

/// The key that removes what is inherited under the name of its table.
pub(crate) const REMOVE: &str = "remove";

/// The key that removes everything that is inherited in its table.
pub(crate) const REPLACE: &str = "replace";

impl Node {
    /// Parses a TOML document.
    pub(crate) fn parse(source: &Arc<SourceText>) -> Result<Self, ScenarioError> {
        let table = document(source)?;
        let place = Place::new(source, 0..0);
        Self::table(table.get_ref(), place, source, None)
    }

    /// Parses a TOML document that is not a scenario: `value`, `source`, `note`, `remove` and `replace` are ordinary
    /// keys.
    ///
    /// # Errors
    /// If it is no TOML, or has a date; the error points at it.
    pub fn parse_plain(source: &Arc<SourceText>) -> Result<Self, ScenarioError> {
        let table = document(source)?;
        Self::plain_table(table.get_ref(), &Place::new(source, 0..0), source)
    }

    fn plain(
        spanned: &Spanned<DeValue<'_>>,
        source: &Arc<SourceText>,
    ) -> Result<Self, ScenarioError> {
        let place = Place::new(source, spanned.span());
        let value = match spanned.get_ref() {
            DeValue::Array(items) => {
                let items = items.iter().map(|item| Self::plain(item, source));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => return Self::plain_table(table, &place, source),
            other => scalar(other, &place)?,
        };
        Ok(Self {
            value,
            ..Self::empty(&place)
        })
    }

    fn plain_table(
        table: &DeTable<'_>,
        place: &Place,
        source: &Arc<SourceText>,
    ) -> Result<Self, ScenarioError> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            entries.push(Entry {
                name: key.get_ref().to_string(),
                place: Place::new(source, key.span()),
                node: Self::plain(value, source)?,
            });
        }
        entries.sort_by_key(|entry| entry.place.span.start);
        Ok(Self {
            value: Value::Table(entries),
            ..Self::empty(place)
        })
    }

    pub(crate) fn convert(
        spanned: &Spanned<DeValue<'_>>,
        source: &Arc<SourceText>,
        inherited: Option<&Provenance>,
    ) -> Result<Self, ScenarioError> {
        let place = Place::new(source, spanned.span());
        let value = match spanned.get_ref() {
            DeValue::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| Self::convert(item, source, inherited))
                    .collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => return Self::table(table, place, source, inherited),
            other => scalar(other, &place)?,
        };
        Ok(Self {
            value,
            place,
            provenance: inherited.cloned(),
            overlay: Overlay::Merge,
        })
    }

    /// Converts a table, or the value inside `{ value = ..., source = ..., note = ... }`.
    fn table(
        table: &DeTable<'_>,
        place: Place,
        source: &Arc<SourceText>,
        inherited: Option<&Provenance>,
    ) -> Result<Self, ScenarioError> {
        let own = provenance(table, source, inherited)?;
        let provenance = own.as_ref().or(inherited);
        if is_set(table, REMOVE, source)? {
            only(table, &[REMOVE, "source", "note"], source)?;
            return Ok(Self {
                value: Value::Table(Vec::new()),
                place,
                provenance: None,
                overlay: Overlay::Remove,
            });
        }
        if let Some(value) = table.get("value") {
            only(table, &["value", "source", "note"], source)?;
            return Self::convert(value, source, provenance);
        }
        let overlay = if is_set(table, REPLACE, source)? {
            Overlay::Replace
        } else {
            Overlay::Merge
        };
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let name = key.get_ref();
            if ["source", "note", REPLACE].contains(&&**name) {
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
            overlay,
        })
    }
}

/// Parses the document in `source`.
fn document(source: &Arc<SourceText>) -> Result<Spanned<DeTable<'_>>, ScenarioError> {
    DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        ScenarioError::at(error.message().trim(), &Place::new(source, span))
    })
}

/// Converts a value that is neither a list nor a table.
fn scalar(value: &DeValue<'_>, place: &Place) -> Result<Value, ScenarioError> {
    match value {
        DeValue::Boolean(value) => Ok(Value::Bool(*value)),
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            let value = i64::from_str_radix(&digits, number.radix());
            value
                .map(Value::Integer)
                .map_err(|_| ScenarioError::at("this number is too large", place))
        }
        DeValue::Float(number) => match number.as_str().replace('_', "").parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Value::Float(value)),
            _ => Err(ScenarioError::at("this is not a finite number", place)),
        },
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            let message = "no date belongs here: write a text in quotes";
            Err(ScenarioError::at(message, place))
        }
    }
}

/// Returns whether `table` has `key = true`; any other value of `key` is an error.
fn is_set(table: &DeTable<'_>, key: &str, source: &Arc<SourceText>) -> Result<bool, ScenarioError> {
    let Some(value) = table.get(key) else {
        return Ok(false);
    };
    if value.get_ref().as_bool() == Some(true) {
        return Ok(true);
    }
    let message = format!("write {key} = true, or leave '{key}' out");
    Err(ScenarioError::at(
        message,
        &Place::new(source, value.span()),
    ))
}

/// Refuses keys of `table` other than `keys`, the first of which is the reason.
fn only(table: &DeTable<'_>, keys: &[&str], source: &Arc<SourceText>) -> Result<(), ScenarioError> {
    let others = table.keys().filter(|key| !keys.contains(&&**key.get_ref()));
    let Some(first) = others.min_by_key(|key| key.span().start) else {
        return Ok(());
    };
    let (reason, others) = (keys[0], &keys[1..]);
    let hint = nearest(first.get_ref(), others.iter().copied())
        .map(|one| format!("did you mean '{one}'? "))
        .unwrap_or_default();
    let message = format!(
        "unknown key '{}' beside '{reason}': {hint}only '{}' are allowed there",
        shorten(first.get_ref(), QUOTED),
        others.join("' and '")
    );
    Err(ScenarioError::at(
        message,
        &Place::new(source, first.span()),
    ))
}
