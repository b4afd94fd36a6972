//! A scenario file together with the files that it extends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::axis::{Axis, Values};
use super::fill::{Shared, fill_shared};
use super::groups::Group;
use super::placeholder::placeholders;
use super::template::{Instance, MOST_CELLS, Reference, Template, entries, references};
use super::unused::{Declared, Uses};
use crate::argument_axis::CommandLineAxes;
use crate::files::Files;
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError, SourceText};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node};

/// The longest scenario file, bytes.
pub(crate) const LONGEST_FILE: u64 = 4 << 20;

/// The end of the name of a file that is extended. Other names are those of cells and parts.
pub(super) const FILE: &str = ".toml";

/// The most files of a scenario, counting the file itself and all that it extends.
const MOST_FILES: usize = 64;

/// The name of the only cell of a file without cells and axes.
pub(crate) const BASE: &str = "base";

/// Everything that cells are made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    /// The files, with the contents of each outside its cells and parts, in the order in which they are laid.
    pub(super) bases: Vec<(String, Arc<Node>)>,
    /// The cells and parts that are laid over the bases in each cell.
    pub(super) common: Vec<Reference>,
    pub(super) axes: Vec<Axis>,
    pub(super) shared: Shared,
    /// The cells and parts of all files that can be extended, by name.
    pub(super) known: BTreeMap<String, Arc<Instance>>,
    /// The cells of the file itself, in its order.
    pub(super) own: Vec<Arc<Instance>>,
    pub(super) groups: Vec<Group>,
    /// The axes that the file itself states beside its cells. Without cells they make its cells.
    pub(super) declared: Vec<Declared>,
    /// The parts of all files.
    pub(super) parts: Vec<Declared>,
    /// What is used in all files.
    pub(super) uses: Uses,
}

impl Sheet {
    /// Reads `source` and the files that it extends, which are found by `beside`. Axes of the command line get their
    /// values.
    pub(crate) fn read(
        source: &Arc<SourceText>,
        beside: &Files,
        command_line: CommandLineAxes<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut chain = vec![file_name(&source.name)];
        Self::file((source, command_line), beside, &mut chain, &mut 1)
    }

    /// Returns notes on the axes and parts of the file `source` that nothing in its files uses. There are none on a
    /// paper's scenario, because the paper's other files may use them.
    pub(crate) fn notes(&self, source: &SourceText) -> Vec<String> {
        let of_paper = |(_, base): &(String, Arc<Node>)| base.below(&["paper"]).is_some();
        if self.bases.iter().any(of_paper) {
            return Vec::new();
        }
        let is_family = self.own.iter().all(|cell| cell.template.is_of_file());
        let axes: Vec<&str> = if is_family {
            let axes = self.axes.iter().filter(|axis| axis.values.len() > 1);
            axes.map(|axis| &*axis.name).collect()
        } else {
            self.declared.iter().map(|(name, _)| &**name).collect()
        };
        let mut parts = self.parts.clone();
        parts.retain(|(_, place)| *place.source == *source);
        self.uses.notes((&axes, is_family), &parts)
    }

    /// Returns whether it has an axis called `name`.
    pub(crate) fn has_axis(&self, name: &str) -> bool {
        self.axes.iter().any(|axis| *axis.name == *name)
    }

    fn file(
        (source, command_line): (&Arc<SourceText>, CommandLineAxes<'_>),
        beside: &Files,
        chain: &mut Vec<String>,
        count: &mut usize,
    ) -> Result<Self, ScenarioError> {
        let mut base = Node::parse(source)?;
        let mut sheet = Self::default();
        sheet.uses.add(&base);
        let mut common = Vec::new();
        for reference in references(base.take("extends"))? {
            if reference.text.ends_with(FILE) {
                sheet.add(parent(&reference, source, beside, chain, count)?);
            } else {
                common.push(reference);
            }
        }
        sheet.common.extend(common);
        sheet.take_tables(&mut base, command_line)?;
        let name = chain.last().cloned().unwrap_or_default();
        sheet.bases.push((name, Arc::new(base)));
        Ok(sheet)
    }

    /// Adds an extended file. Its cells can be extended, but are not run.
    fn add(&mut self, parent: Self) {
        for (name, base) in parent.bases {
            // A file that two others extend is laid once.
            if self.bases.iter().all(|(known, _)| *known != name) {
                self.bases.push((name, base));
            }
        }
        self.parts.extend(parent.parts);
        self.uses.add_all(parent.uses);
        self.common.extend(parent.common);
        for axis in parent.axes {
            self.put_axis(axis);
        }
        self.shared.extend(parent.shared);
        self.known.extend(parent.known);
    }

    fn put_axis(&mut self, axis: Axis) {
        match self.axes.iter_mut().find(|old| old.name == axis.name) {
            Some(old) => *old = axis,
            None => self.axes.push(axis),
        }
    }

    /// Takes everything out of `base` that is not part of a scenario.
    fn take_tables(
        &mut self,
        base: &mut Node,
        command_line: CommandLineAxes<'_>,
    ) -> Result<(), ScenarioError> {
        let mut table = |name: &str, message: &str| {
            let table = base.take(name).map(|node| entries(node, message));
            table.transpose()
        };
        let axes = table("axes", "axes must be a table: write axes.NAME = [...]")?;
        let shared = table("shared", "shared values must be a table: write [shared]")?;
        let parts = table("parts", "parts are tables: write [parts.NAME]")?;
        let cells = table("cells", "cells are tables: write [cells.NAME]")?;
        let groups = table(
            "groups",
            "groups must be a table: write groups.NAME = [...]",
        )?;
        let shared = shared.unwrap_or_default().into_iter();
        self.shared
            .extend(shared.map(|entry| (entry.name, entry.node)));
        let axes = axes.unwrap_or_default();
        if cells.as_ref().is_some_and(|cells| !cells.is_empty()) {
            let declared = axes.iter();
            let declared = declared.map(|entry| (entry.name.clone(), entry.place.clone()));
            self.declared = declared.collect();
        }
        for mut entry in axes {
            entry.node = fill_shared(&entry.node, &self.shared)?;
            let known = self.axes.iter().find(|axis| *axis.name == *entry.name);
            self.put_axis(Axis::read(&entry, known)?);
        }
        self.override_axes(command_line)?;
        self.take_cells(
            parts.unwrap_or_default(),
            cells.unwrap_or_default(),
            (&base.place, command_line),
        )?;
        let names: BTreeSet<&str> = self.own.iter().map(|it| it.name.as_str()).collect();
        for entry in groups.unwrap_or_default() {
            let group = Group::read(entry)?;
            group.check(&names, &self.axes)?;
            self.groups.push(group);
        }
        Ok(())
    }

    /// Gives its axes the values of the command line. A name with dots that is no axis is the path of a key.
    fn override_axes(&mut self, command_line: CommandLineAxes<'_>) -> Result<(), ScenarioError> {
        for axis in command_line.axes {
            let known = self.axes.iter().find(|known| *known.name == *axis.name);
            if known.is_some() {
                self.put_axis(Axis::read(&axis.entry(), known)?);
            } else if !axis.name.contains('.') {
                let known = self.axes.iter().map(|axis| &*axis.name);
                let message = format!(
                    "no axis is called '{}': {}; a key is given by its path, as in flows.dccp.start=0s,5s",
                    shorten(&axis.name, QUOTED),
                    name_hint(&axis.name, known)
                );
                return Err(ScenarioError::at(message, &axis.place));
            }
        }
        Ok(())
    }

    /// Returns the axes that go into a cell's name, and the values of the others.
    fn named_axes(&self, command_line: CommandLineAxes<'_>) -> (Vec<Axis>, Values) {
        let is_told = |axis: &Axis| {
            command_line
                .axes
                .iter()
                .any(|told| *told.name == *axis.name)
        };
        let axes = self.axes.iter().cloned();
        let (named, others): (Vec<Axis>, Vec<Axis>) =
            axes.partition(|axis| !command_line.is_short || is_told(axis));
        let others = others.into_iter().filter_map(|axis| {
            let value = axis.values.first()?;
            Some((axis.name, Arc::clone(value)))
        });
        (named, others.collect())
    }

    /// Makes the parts and cells of the file, which begins at `place`.
    fn take_cells(
        &mut self,
        parts: Vec<Entry>,
        cells: Vec<Entry>,
        (place, command_line): (&Place, CommandLineAxes<'_>),
    ) -> Result<(), ScenarioError> {
        // The names in this file. They may hide names of the files that it extends.
        let mut names = BTreeSet::new();
        for entry in parts {
            self.parts.push((entry.name.clone(), entry.place.clone()));
            let part = Template::part(entry)?.only();
            self.register(Arc::new(part), &mut names)?;
        }
        let mut templates = Vec::with_capacity(cells.len());
        for entry in cells {
            templates.push(Template::cells(entry, &self.axes, &self.shared)?);
        }
        self.declared.retain(|(name, _)| {
            let mut templates = templates.iter();
            !templates.any(|template: &Template| template.has_constant(name))
        });
        let is_written = !templates.is_empty();
        if templates.is_empty() {
            templates.push(Template::of_file(
                self.named_axes(command_line),
                BASE,
                place,
            ));
        }
        for template in templates {
            let room = MOST_CELLS.saturating_sub(self.own.len());
            for instance in template.all(room)? {
                let instance = Arc::new(instance);
                self.own.push(Arc::clone(&instance));
                // A generated name yields to a part of that name, and the only cell `base` cannot be extended.
                let is_taken = names.contains(&instance.name) || self.axes.is_empty();
                if is_written || !is_taken {
                    self.register(instance, &mut names)?;
                }
            }
        }
        Ok(())
    }

    /// Registers `instance`, so that it can be extended. Refuses a second one of the same name in the file.
    fn register(
        &mut self,
        instance: Arc<Instance>,
        names: &mut BTreeSet<String>,
    ) -> Result<(), ScenarioError> {
        let place = &instance.template.place;
        if !names.insert(instance.name.clone()) {
            let message = format!(
                "two cells or parts are called '{}'",
                shorten(&instance.name, QUOTED)
            );
            let other = self.known.get(&instance.name);
            let error = ScenarioError::at(message, place);
            return Err(match other {
                Some(other) => {
                    error.with_note(format!("the other at {}", other.template.place.words()))
                }
                None => error,
            });
        }
        if self.known.len() > 2 * MOST_CELLS {
            let message = format!(
                "a file and those that it extends have {} cells and parts at most",
                2 * MOST_CELLS
            );
            return Err(ScenarioError::at(message, place));
        }
        self.known.insert(instance.name.clone(), instance);
        Ok(())
    }
}

/// Reads the file that `reference` in `source` names.
fn parent(
    reference: &Reference,
    source: &SourceText,
    beside: &Files,
    chain: &mut Vec<String>,
    count: &mut usize,
) -> Result<Sheet, ScenarioError> {
    let Reference { text: name, place } = reference;
    let refuse = |message: String| Err(ScenarioError::at(message, place));
    let short = shorten(name, QUOTED);
    if let Some(placeholder) = placeholders(name).next() {
        return refuse(format!(
            "the name of a file has no placeholder as {}",
            placeholder.whole
        ));
    }
    if file_name(name) != *name {
        return refuse(format!(
            "'{short}' is in another folder: a scenario can only extend files in its own folder"
        ));
    }
    if chain.contains(name) {
        let chain = shorten(&chain.join(" extends "), 3 * QUOTED);
        return refuse(format!(
            "{chain} extends {short}: files extend each other in a circle"
        ));
    }
    *count += 1;
    if *count > MOST_FILES {
        return refuse(format!(
            "a scenario and the files that it extends are {MOST_FILES} files at most"
        ));
    }
    let read = beside.read(name, "scenario", LONGEST_FILE);
    let (_, text) = read.map_err(|error| {
        let folder = beside.folder(name);
        ScenarioError::at(format!("cannot read '{short}'{folder}: {error}"), place)
    })?;
    let path = Path::new(&source.name).with_file_name(name);
    let source = Arc::new(SourceText {
        name: path.display().to_string(),
        text,
    });
    chain.push(name.clone());
    let sheet = Sheet::file((&source, CommandLineAxes::default()), beside, chain, count);
    chain.pop();
    sheet
}

/// Returns the last part of a path.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.unwrap_or_default().to_string_lossy().into_owned()
}
