//! Axes and parts that nothing uses.

use std::collections::BTreeSet;

use super::pattern::matches;
use super::placeholder::{Part, parts, placeholders};
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Node, Value};

/// The key for the names of what is extended.
const EXTENDS: &str = "extends";

/// The name of an axis or of a part, where it is stated.
pub(super) type Declared = (String, Place);

/// The axes that placeholders in some files name, and the parts that these files extend.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    axes: BTreeSet<String>,
    /// Names, with a star for each placeholder.
    extended: BTreeSet<String>,
}

impl Uses {
    /// Adds the uses in `node`, a file as it is written.
    pub(super) fn add(&mut self, node: &Node) {
        let note = node.provenance.as_ref().and_then(|it| it.note.as_ref());
        if let Some(note) = note {
            self.add_text(note);
        }
        match &node.value {
            Value::Text(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Table(entries) => {
                for entry in entries {
                    self.add_text(&entry.name);
                    self.add(&entry.node);
                    if entry.name == EXTENDS {
                        self.add_extended(&entry.node);
                    }
                }
            }
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
        }
    }

    /// Adds the uses in other files.
    pub(super) fn add_all(&mut self, others: Self) {
        self.axes.extend(others.axes);
        self.extended.extend(others.extended);
    }

    fn add_text(&mut self, text: &str) {
        let names = placeholders(text).map(|placeholder| placeholder.name.to_owned());
        self.axes.extend(names);
    }

    fn add_extended(&mut self, names: &Node) {
        match &names.value {
            Value::Text(name) => {
                let parts = parts(name).into_iter().map(|part| match part {
                    Part::Text(text) | Part::Literal(text) => text,
                    Part::Placeholder(_) => "*",
                });
                self.extended.insert(parts.collect());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_extended(item)),
            _ => {}
        }
    }

    fn has_axis(&self, name: &str) -> bool {
        self.axes.contains(name)
    }

    fn has_part(&self, name: &str) -> bool {
        let mut extended = self.extended.iter();
        extended.any(|pattern| matches(pattern, name))
    }

    /// Refuses the first of these `axes` and `parts` of a paper's files that none of its files uses.
    pub(super) fn refuse_unused(
        &self,
        axes: &[Declared],
        parts: &[Declared],
    ) -> Result<(), ScenarioError> {
        if let Some((name, place)) = axes.iter().find(|(name, _)| !self.has_axis(name)) {
            let name = shorten(name, QUOTED);
            let message = format!(
                "nothing uses the axis '{name}': write {{{name}}} into the name of a cell or into a value, or take the \
                 axis away"
            );
            return Err(ScenarioError::at(message, place));
        }
        if let Some((name, place)) = parts.iter().find(|(name, _)| !self.has_part(name)) {
            let name = shorten(name, QUOTED);
            let message = format!(
                "no file that paper.toml lists extends the part '{name}': write extends = \"{name}\", or take the part away"
            );
            return Err(ScenarioError::at(message, place));
        }
        Ok(())
    }

    /// Returns notes on those of these `axes` and `parts` of a scenario that it does not use itself. Files that extend it
    /// may use them. `is_family` says that the axes make its cells.
    pub(super) fn notes(
        &self,
        (axes, is_family): (&[&str], bool),
        parts: &[Declared],
    ) -> Vec<String> {
        let axes = axes.iter().filter(|name| !self.has_axis(name));
        let axes = axes.map(|name| {
            let short = shorten(name, QUOTED);
            let effect = if is_family {
                "so cells that differ only in it are equal: write it into a value"
            } else {
                "so it has no effect: write it into the name of a cell or into a value"
            };
            format!("nothing in this file or in those that it extends uses {{{short}}}, the value of an axis, {effect}")
        });
        let parts = parts.iter().filter(|(name, _)| !self.has_part(name));
        let parts = parts.map(|(name, _)| {
            let name = shorten(name, QUOTED);
            format!("nothing in this file extends the part '{name}', so its keys are not checked and have no effect")
        });
        axes.chain(parts).collect()
    }
}
