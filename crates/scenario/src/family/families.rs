//! Families in files beside scenarios: the axes and groups of the scenarios, and what such files add to them.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::fill::{Shared, fill_shared};
use super::sheet::Sheet;
use super::template::entries;
use super::unused::{Declared, Uses};
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::Node;

/// The meaning of placeholders, `for` and `extends` in the files of a paper.
#[derive(Clone, Debug, Default)]
pub struct Families {
    axes: Vec<Axis>,
    /// Axes that have other values in another scenario.
    ambiguous: Vec<String>,
    pub(super) shared: Shared,
    pub(super) parts: BTreeMap<String, Node>,
    /// The names of cells, by the name of their group.
    pub(super) groups: BTreeMap<String, Vec<String>>,
    /// The axes and the parts that the files state.
    declared: Vec<Declared>,
    stated_parts: Vec<Declared>,
    uses: Uses,
}

impl Families {
    /// Adds the axes and groups of a scenario.
    pub(crate) fn add(&mut self, sheet: &Sheet) -> Result<(), ScenarioError> {
        for axis in &sheet.axes {
            match self.axes.iter().find(|known| known.name == axis.name) {
                None => self.axes.push(axis.clone()),
                Some(known) if known.texts().eq(axis.texts()) => {}
                Some(_) => self.ambiguous.push(axis.name.to_string()),
            }
        }
        self.declared.extend(sheet.declared.iter().cloned());
        self.stated_parts.extend(sheet.parts.iter().cloned());
        self.uses.add_all(sheet.uses.clone());
        for group in &sheet.groups {
            let cells = sheet.select(std::slice::from_ref(&group.name))?;
            let cells = cells.into_iter().map(|cell| cell.name.clone());
            let group = self.groups.entry(group.name.clone()).or_default();
            group.extend(cells);
        }
        Ok(())
    }

    /// Takes the tables `axes`, `shared` and `parts` out of a file and keeps their contents.
    ///
    /// # Errors
    /// If one of these tables is malformed.
    pub fn take(&mut self, file: &mut Node) -> Result<(), ScenarioError> {
        self.uses.add(file);
        let mut table = |name: &str, message: &str| {
            let table = file.take(name).map(|node| entries(node, message));
            table.transpose().map(Option::unwrap_or_default)
        };
        let shared = table("shared", "shared values must be a table: write [shared]")?;
        let parts = table("parts", "parts are tables: write [parts.NAME]")?;
        let axes = table("axes", "axes must be a table: write axes.NAME = [...]")?;
        self.shared
            .extend(shared.into_iter().map(|entry| (entry.name, entry.node)));
        for part in parts {
            self.stated_parts.push((part.name.clone(), part.place));
            self.parts.insert(part.name, part.node);
        }
        for mut entry in axes {
            self.declared
                .push((entry.name.clone(), entry.place.clone()));
            entry.node = fill_shared(&entry.node, &self.shared)?;
            let known = self.axes.iter().position(|axis| *axis.name == *entry.name);
            let axis = Axis::read(&entry, known.map(|at| &self.axes[at]))?;
            self.ambiguous.retain(|name| *name != entry.name);
            match known {
                Some(at) => self.axes[at] = axis,
                None => self.axes.push(axis),
            }
        }
        Ok(())
    }

    /// Refuses an axis or a part that none of the files uses.
    ///
    /// # Errors
    /// If there is one; the error points at it.
    pub fn refuse_unused(&self) -> Result<(), ScenarioError> {
        self.uses.refuse_unused(&self.declared, &self.stated_parts)
    }

    /// Returns the axis `name`, which the text at `place` names.
    pub(super) fn axis(&self, name: &str, place: &Place) -> Result<&Axis, ScenarioError> {
        let short = shorten(name, QUOTED);
        if self.ambiguous.iter().any(|ambiguous| ambiguous == name) {
            let message = format!(
                "the axis '{short}' has other values in one scenario than in another: write those that are meant, as \
                 in for.{short} = [...]"
            );
            return Err(ScenarioError::at(message, place));
        }
        self.known(name).ok_or_else(|| {
            let known = self.axes.iter().map(|axis| &*axis.name);
            let message = format!("no axis is called '{short}': {}", name_hint(name, known));
            ScenarioError::at(message, place)
        })
    }

    /// Returns the axis `name`, if there is one.
    pub(super) fn known(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| *axis.name == *name)
    }
}
