//! Groups: names for several cells.

use std::collections::BTreeSet;

use super::axis::Axis;
use super::pattern::matches;
use super::placeholder::placeholders;
use super::template::{MOST_CELLS, Reference, count, filled, product, references};
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Value};

/// A group as it is written: names of cells, in which a placeholder stands for all values of an axis, or patterns of
/// names.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    place: Place,
    items: Vec<Reference>,
}

impl Group {
    pub(super) fn read(entry: Entry) -> Result<Self, ScenarioError> {
        let message = "a group is a list of names of cells, in quotes";
        if !matches!(entry.node.value, Value::Array(_)) {
            return Err(ScenarioError::at(message, &entry.node.place).or_at(&entry.place));
        }
        let place = entry.node.place.clone();
        let items = references(Some(entry.node));
        let items = items.map_err(|_| ScenarioError::at(message, &place))?;
        if items.is_empty() {
            let name = shorten(&entry.name, QUOTED);
            let message = format!("the group '{name}' has no cells: name at least one, in quotes");
            return Err(ScenarioError::at(message, &place));
        }
        Ok(Self {
            name: entry.name,
            place: entry.place,
            items,
        })
    }

    /// Returns the names and patterns of the group in a file with these `axes`, each with its place.
    pub(super) fn patterns<'a>(
        &'a self,
        axes: &'a [Axis],
    ) -> impl Iterator<Item = Result<(String, &'a Place), ScenarioError>> {
        self.items.iter().flat_map(|Reference { text, place }| {
            let mut wanted: Vec<Axis> = Vec::new();
            for placeholder in placeholders(text) {
                let axis = axes.iter().find(|axis| *axis.name == *placeholder.name);
                wanted.extend(
                    axis.filter(|_| wanted.iter().all(|it| *it.name != *placeholder.name))
                        .cloned(),
                );
            }
            let most = count(&wanted).min(MOST_CELLS);
            let values: Vec<_> = product(&wanted).take(most).collect();
            let names = values.into_iter();
            names.map(move |values| Ok((filled(text, place, &values)?, place)))
        })
    }

    /// Checks the group in a file whose cells have these `names`. No cell may have the group's name, and each name in
    /// the group must be that of a cell.
    pub(super) fn check(&self, names: &BTreeSet<&str>, axes: &[Axis]) -> Result<(), ScenarioError> {
        if names.contains(self.name.as_str()) {
            let name = shorten(&self.name, QUOTED);
            let message = format!("a cell is called '{name}', too: call the group something else");
            return Err(ScenarioError::at(message, &self.place));
        }
        for pattern in self.patterns(axes) {
            let (pattern, place) = pattern?;
            let is_there = names.contains(pattern.as_str())
                || (pattern.contains('*') && names.iter().any(|name| matches(&pattern, name)));
            if !is_there {
                let message = format!(
                    "no cell is called '{}': {}",
                    shorten(&pattern, QUOTED),
                    name_hint(&pattern, names.iter().copied())
                );
                return Err(ScenarioError::at(message, place));
            }
        }
        Ok(())
    }
}
