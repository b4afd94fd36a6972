//! The filling of placeholders with the values of a cell's axes and with shared values.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::axis::{SHARED, Values, find, text};
use super::placeholder::{Part, Placeholder, only, parts, placeholders};
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::schema;
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node, Value};

/// The deepest nesting of placeholders in the values that fill placeholders.
const DEEPEST: usize = 8;

/// The most values, and the most bytes of text, by which a cell may grow.
const MOST_ITEMS: usize = 100_000;
const MOST_BYTES: usize = 4 << 20;

/// Values that several places share, by name.
pub(super) type Shared = BTreeMap<String, Node>;

/// The values and bytes by which a cell may still grow.
#[derive(Debug)]
pub(super) struct Budget {
    items: Cell<usize>,
    bytes: Cell<usize>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            items: Cell::new(MOST_ITEMS),
            bytes: Cell::new(MOST_BYTES),
        }
    }

    /// Takes a copy of `node` from the budget.
    pub(super) fn take(&self, node: &Node) -> Result<(), ScenarioError> {
        let (items, bytes) = size(node);
        self.take_all(items, bytes, &node.place)
    }

    fn take_all(&self, items: usize, bytes: usize, place: &Place) -> Result<(), ScenarioError> {
        let left = self
            .items
            .get()
            .checked_sub(items)
            .zip(self.bytes.get().checked_sub(bytes));
        let Some((items, bytes)) = left else {
            let message = format!(
                "a family makes {MOST_ITEMS} values and {MOST_BYTES} bytes of text at most"
            );
            return Err(ScenarioError::at(message, place));
        };
        self.items.set(items);
        self.bytes.set(bytes);
        Ok(())
    }
}

/// Returns the number of values in `node` and the bytes of their texts.
fn size(node: &Node) -> (usize, usize) {
    let note = node
        .provenance
        .as_ref()
        .and_then(|known| known.note.as_ref());
    let note = note.map_or(0, String::len);
    let sum = |sizes: &mut dyn Iterator<Item = (usize, usize)>| {
        sizes.fold((1, note), |all, one| (all.0 + one.0, all.1 + one.1))
    };
    match &node.value {
        Value::Text(text) => (1, text.len() + note),
        Value::Array(items) => sum(&mut items.iter().map(size)),
        Value::Table(entries) => sum(&mut entries.iter().map(|entry| {
            let (items, bytes) = size(&entry.node);
            (items, bytes + entry.name.len())
        })),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) => (1, note),
    }
}

/// The values that fill the placeholders of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'a> {
    /// The values of the cell or part that the layer belongs to.
    pub(super) own: &'a Values,
    /// The values of the cell that is made.
    pub(super) all: &'a Values,
    pub(super) shared: &'a Shared,
    pub(super) budget: &'a Budget,
}

impl Filling<'_> {
    /// Returns a copy of `node` that is ready to be laid over the layers below: filled in, and with short forms
    /// expanded.
    pub(crate) fn layer(&self, node: &Node) -> Result<Node, ScenarioError> {
        let mut node = node.clone();
        self.fill(&mut node, 0)?;
        schema::expand(&mut node, &schema::form());
        Ok(node)
    }

    /// Returns a copy of `node` filled in, with short forms as they are.
    pub(super) fn filled(&self, node: &Node) -> Result<Node, ScenarioError> {
        let mut node = node.clone();
        self.fill(&mut node, 0)?;
        Ok(node)
    }

    fn fill(&self, node: &mut Node, depth: usize) -> Result<(), ScenarioError> {
        if let Some(note) = node
            .provenance
            .as_mut()
            .and_then(|known| known.note.as_mut())
        {
            self.replace(note, &node.place, depth)?;
        }
        match &mut node.value {
            Value::Text(text) => match only(text) {
                Some(placeholder) => {
                    if let Some(found) = self.lookup(placeholder, &node.place)? {
                        *node = self.inserted(found, node, depth)?;
                    }
                }
                None => self.replace(text, &node.place, depth)?,
            },
            Value::Array(items) => {
                let mut all = Vec::with_capacity(items.len());
                for mut item in items.drain(..) {
                    let was_text = matches!(item.value, Value::Text(_));
                    self.fill(&mut item, depth)?;
                    match item.value {
                        // A list in place of an item adds all its items.
                        Value::Array(more) if was_text => all.extend(more),
                        _ => all.push(item),
                    }
                }
                *items = all;
            }
            Value::Table(entries) => {
                for entry in &mut *entries {
                    self.replace(&mut entry.name, &entry.place, depth)?;
                    self.fill(&mut entry.node, depth)?;
                }
                check_distinct(entries)?;
            }
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
        }
        Ok(())
    }

    /// Returns `found` in place of the placeholder `at`. It has the source of that place, unless it has its own.
    fn inserted(&self, found: &Node, at: &Node, depth: usize) -> Result<Node, ScenarioError> {
        self.budget.take(found)?;
        let mut node = found.clone();
        inherit_source(&mut node, at);
        node.overlay = at.overlay;
        check_depth(depth, &at.place)?;
        self.fill(&mut node, depth + 1)?;
        Ok(node)
    }

    /// Fills the placeholders in `text`, which is written at `place`.
    fn replace(&self, text: &mut String, place: &Place, depth: usize) -> Result<(), ScenarioError> {
        if text.contains('{') {
            *text = self.text(text, place, depth)?;
        }
        Ok(())
    }

    /// Returns `text`, which is written at `place`, with its placeholders filled in.
    pub(super) fn text(
        &self,
        text: &str,
        place: &Place,
        depth: usize,
    ) -> Result<String, ScenarioError> {
        let mut all = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => all += text,
                // Literals keep double braces until the end, when no placeholder is left.
                Part::Literal(placeholder) => {
                    all.push('{');
                    all += placeholder;
                    all.push('}');
                }
                Part::Placeholder(placeholder) => {
                    let Some(found) = self.lookup(placeholder, place)? else {
                        all += placeholder.whole;
                        continue;
                    };
                    let Some(mut word) = as_text(found) else {
                        let whole = placeholder.whole;
                        let message = format!(
                            "{whole} is a list or a table here, so it cannot be part of a text: write it alone"
                        );
                        return Err(ScenarioError::at(message, place));
                    };
                    if word.contains('{') {
                        check_depth(depth, place)?;
                        word = self.text(&word, place, depth + 1)?;
                    }
                    self.budget.take_all(0, word.len(), place)?;
                    all += &word;
                }
            }
        }
        Ok(all)
    }

    /// Returns the value that fills `placeholder`, if there is one.
    fn lookup(
        &self,
        placeholder: Placeholder<'_>,
        place: &Place,
    ) -> Result<Option<&Node>, ScenarioError> {
        if let (SHARED, Some(name)) = (placeholder.name, placeholder.attribute) {
            let known = self.shared.keys().map(String::as_str);
            return self.shared.get(name).map(Some).ok_or_else(|| {
                let message = format!(
                    "nothing shared is called '{name}': {}",
                    name_hint(name, known)
                );
                ScenarioError::at(message, place)
            });
        }
        let Some(value) =
            find(self.own, placeholder.name).or_else(|| find(self.all, placeholder.name))
        else {
            return Ok(None);
        };
        let Some(name) = placeholder.attribute else {
            return Ok(Some(&value.node));
        };
        let attributes = &value.attributes;
        let known = attributes.iter().find(|entry| entry.name == name);
        known.map(|entry| Some(&entry.node)).ok_or_else(|| {
            let known = attributes.iter().map(|entry| entry.name.as_str());
            let message = format!(
                "the {} {} has no '{name}': {}",
                placeholder.name,
                shorten(&value.text(), QUOTED),
                name_hint(name, known)
            );
            ScenarioError::at(message, place)
        })
    }

    /// Finishes the filling of a whole scenario: refuses placeholders that are left, and writes `{{name}}` as `{name}`.
    pub(crate) fn finish(&self, node: &mut Node) -> Result<(), ScenarioError> {
        if let Some(note) = node
            .provenance
            .as_mut()
            .and_then(|known| known.note.as_mut())
        {
            self.finish_text(note, &node.place)?;
        }
        match &mut node.value {
            Value::Text(text) => self.finish_text(text, &node.place),
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.finish(item)),
            Value::Table(entries) => entries.iter_mut().try_for_each(|entry| {
                self.finish_text(&mut entry.name, &entry.place)?;
                self.finish(&mut entry.node)
            }),
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => Ok(()),
        }
    }

    fn finish_text(&self, text: &mut String, place: &Place) -> Result<(), ScenarioError> {
        if !text.contains('{') {
            return Ok(());
        }
        if let Some(placeholder) = placeholders(text).next() {
            let known = self.all.iter().map(|(name, _)| &**name);
            let message = format!(
                "nothing fills {}: there is no such axis here: {}; if the braces belong to the text, write {{{}}}",
                placeholder.whole,
                name_hint(placeholder.name, known),
                placeholder.whole
            );
            return Err(ScenarioError::at(message, place));
        }
        let plain = parts(text).into_iter().map(|part| match part {
            Part::Text(text) | Part::Literal(text) => text,
            Part::Placeholder(placeholder) => placeholder.whole,
        });
        *text = plain.collect();
        Ok(())
    }
}

/// Returns `node` with shared values filled in, and nothing else.
pub(super) fn fill_shared(node: &Node, shared: &Shared) -> Result<Node, ScenarioError> {
    let (none, budget) = (Values::new(), Budget::new());
    let filling = Filling {
        own: &none,
        all: &none,
        shared,
        budget: &budget,
    };
    filling.filled(node)
}

/// Refuses placeholders that are nested too deeply.
pub(super) fn check_depth(depth: usize, place: &Place) -> Result<(), ScenarioError> {
    if depth < DEEPEST {
        return Ok(());
    }
    let message =
        format!("placeholders are nested more than {DEEPEST} deep: does one contain itself?");
    Err(ScenarioError::at(message, place))
}

/// Returns a value as text, unless it is a list or table.
fn as_text(node: &Node) -> Option<String> {
    text(&node.value)
}

/// Gives `node`, which fills the placeholder `at`, the source of that placeholder where it has none of its own.
pub(super) fn inherit_source(node: &mut Node, at: &Node) {
    node.place = node.place.used_at(&at.place);
    if node.provenance.is_none() {
        node.provenance.clone_from(&at.provenance);
    }
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| inherit_source(item, at)),
        Value::Table(entries) => {
            for entry in entries {
                entry.place = entry.place.used_at(&at.place);
                inherit_source(&mut entry.node, at);
            }
        }
        _ => {}
    }
}

/// Checks that no two keys of a table are the same after they were filled in.
fn check_distinct(entries: &[Entry]) -> Result<(), ScenarioError> {
    let mut names: Vec<(&str, &Place)> = Vec::with_capacity(entries.len());
    names.extend(
        entries
            .iter()
            .map(|entry| (entry.name.as_str(), &entry.place)),
    );
    names.sort_by_key(|(name, _)| *name);
    let Some([_, (name, place)]) = names.windows(2).find(|pair| pair[0].0 == pair[1].0) else {
        return Ok(());
    };
    let message = format!("'{}' stands here twice", shorten(name, QUOTED));
    Err(ScenarioError::at(message, place))
}
