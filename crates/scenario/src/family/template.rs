//! Cells and parts as they are written. The placeholders in a cell's name determine the axes of its family.

use std::sync::Arc;

use super::axis::{Axis, Values, find, text};
use super::fill::{Shared, fill_shared};
use super::name;
use super::placeholder::{Part, parts, placeholders};
use crate::check::checker::name_problem;
use crate::choices;
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node, Value};

/// The most cells of a file, including those of the files that it extends.
pub(crate) const MOST_CELLS: usize = 10_000;

/// The longest name that is made of values, in characters.
const LONGEST_NAME: usize = 200;

/// A reference to a cell, part or file that is extended.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) text: String,
    pub(super) place: Place,
}

/// A cell or a part as it is written.
#[derive(Debug)]
pub(super) struct Template {
    /// Its name, with the placeholders of its axes.
    pub(super) name: String,
    pub(super) place: Place,
    /// The axes of its name, the outermost first.
    axes: Vec<Axis>,
    /// Axes with one value that are not in its name.
    constants: Values,
    /// Whether its name is made of the values alone.
    is_joined: bool,
    pub(super) extends: Vec<Reference>,
    pub(super) node: Node,
}

/// One cell of a template, or a part.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(super) template: Arc<Template>,
    pub(super) values: Values,
}

impl Template {
    /// Reads the part that `entry` states.
    pub(super) fn part(entry: Entry) -> Result<Self, ScenarioError> {
        let message = "a part is a table of overrides: write [parts.NAME]";
        let mut one = Self::of(entry, message)?;
        if let Some(placeholder) = placeholders(&one.name).next() {
            let message = format!(
                "a part's name has no {}: a part is filled with the values of the cell that extends it",
                placeholder.whole
            );
            return Err(ScenarioError::at(message, &one.place));
        }
        if let Some(axes) = one.node.take("axes") {
            let message =
                "a part has no axes: it is filled with the values of the cell that extends it";
            return Err(ScenarioError::at(message, &axes.place).or_at(&one.place));
        }
        Ok(one)
    }

    /// Reads the cells that `entry` states, in a file with these `axes` and these `shared` values.
    pub(super) fn cells(
        entry: Entry,
        axes: &[Axis],
        shared: &Shared,
    ) -> Result<Self, ScenarioError> {
        let message = "a cell is a table of overrides: write [cells.NAME]";
        let mut one = Self::of(entry, message)?;
        let own = one.node.take("axes");
        let own = own.map(|own| entries(own, "axes must be a table: write axes.NAME = [...]"));
        let mut known: Vec<(Axis, Option<Place>)> =
            axes.iter().map(|axis| (axis.clone(), None)).collect();
        for mut entry in own.transpose()?.unwrap_or_default() {
            entry.node = fill_shared(&entry.node, shared)?;
            let of_file = axes.iter().find(|axis| *axis.name == *entry.name);
            let axis = Axis::read(&entry, of_file)?;
            known.retain(|(old, _)| old.name != axis.name);
            known.push((axis, Some(entry.place)));
        }
        for placeholder in placeholders(&one.name) {
            let Some((axis, _)) = known
                .iter()
                .find(|(axis, _)| *axis.name == *placeholder.name)
            else {
                let names = known.iter().map(|(axis, _)| &*axis.name);
                let message = format!(
                    "no axis is called '{}': {}",
                    shorten(placeholder.name, QUOTED),
                    name_hint(placeholder.name, names)
                );
                return Err(ScenarioError::at(message, &one.place));
            };
            if one.axes.iter().all(|it| it.name != axis.name) {
                one.axes.push(axis.clone());
            }
        }
        for (axis, place) in known {
            let Some(place) = place.filter(|_| one.axes.iter().all(|it| it.name != axis.name))
            else {
                continue;
            };
            let [value] = &axis.values[..] else {
                let message = format!(
                    "the axis '{0}' has {1} values here and is not in the name of the cell, so {1} cells would have one \
                     name: write {{{0}}} into it, or one value here",
                    axis.name,
                    axis.values.len()
                );
                return Err(ScenarioError::at(message, &place));
            };
            one.constants.push((axis.name, Arc::clone(value)));
        }
        Ok(one)
    }

    /// Returns whether it states the only value of the axis `name`, which is not in its name.
    pub(super) fn has_constant(&self, name: &str) -> bool {
        find(&self.constants, name).is_some()
    }

    /// Returns whether a file without cells made it.
    pub(super) fn is_of_file(&self) -> bool {
        self.is_joined
    }

    /// Makes the family of all `axes` of a file without cells, with `constants` beside them. Without axes it is the
    /// single cell called `alone`.
    pub(super) fn of_file(
        (axes, constants): (Vec<Axis>, Values),
        alone: &str,
        place: &Place,
    ) -> Self {
        let names: Vec<String> = axes
            .iter()
            .map(|axis| format!("{{{}}}", axis.name))
            .collect();
        Self {
            name: if names.is_empty() {
                alone.to_owned()
            } else {
                names.join("-")
            },
            place: place.clone(),
            axes,
            constants,
            is_joined: true,
            extends: Vec::new(),
            node: Node::empty(place),
        }
    }

    fn of(entry: Entry, message: &str) -> Result<Self, ScenarioError> {
        let Entry {
            name,
            place,
            mut node,
        } = entry;
        if !matches!(node.value, Value::Table(_)) {
            return Err(ScenarioError::at(message, &place));
        }
        Ok(Self {
            extends: references(node.take("extends"))?,
            name,
            place,
            axes: Vec::new(),
            constants: Values::new(),
            is_joined: false,
            node,
        })
    }

    /// Returns the instance of a part.
    pub(super) fn only(self) -> Instance {
        Instance {
            name: self.name.clone(),
            template: Arc::new(self),
            values: Values::new(),
        }
    }

    /// Returns all of its cells. More than `room` cells are an error.
    pub(super) fn all(self, room: usize) -> Result<Vec<Instance>, ScenarioError> {
        let one = Arc::new(self);
        let count = count(&one.axes);
        if count > room {
            let name = shorten(&one.name, QUOTED);
            let message = format!(
                "'{name}' is {count} cells, and a file has {MOST_CELLS} at most, those of files that it extends included"
            );
            return Err(ScenarioError::at(message, &one.place));
        }
        let mut all = Vec::with_capacity(count);
        for mut values in product(&one.axes) {
            let name = one.named(&values)?;
            if let Some(message) = name_problem(&name) {
                let message = if values.is_empty() {
                    message
                } else {
                    format!("'{}': {message}", shorten(&name, QUOTED))
                };
                return Err(ScenarioError::at(message, &one.place));
            }
            values.extend(one.constants.iter().cloned());
            all.push(Instance {
                name,
                template: Arc::clone(&one),
                values,
            });
        }
        Ok(all)
    }

    fn named(&self, values: &Values) -> Result<String, ScenarioError> {
        if !self.is_joined {
            return filled(&self.name, &self.place, values);
        }
        if values.is_empty() {
            return Ok(self.name.clone());
        }
        let words = values.iter().map(|(axis, value)| (&**axis, value.text()));
        bounded(name::joined(words), &self.place)
    }
}

/// Returns the number of combinations of the values of `axes`.
pub(super) fn count(axes: &[Axis]) -> usize {
    choices::count(axes.iter().map(|axis| axis.values.len()))
}

/// Returns all combinations of the values of `axes`. The first axis changes last.
pub(super) fn product(axes: &[Axis]) -> impl Iterator<Item = Values> {
    let counts = axes.iter().map(|axis| axis.values.len());
    choices::choices(counts.collect()).map(|choice| {
        let chosen = axes.iter().zip(choice);
        let chosen =
            chosen.map(|(axis, at)| (Arc::clone(&axis.name), Arc::clone(&axis.values[at])));
        chosen.collect()
    })
}

/// Returns the name `template`, which is written at `place`, filled with these values.
pub(super) fn filled(
    template: &str,
    place: &Place,
    values: &Values,
) -> Result<String, ScenarioError> {
    let mut all = String::new();
    for part in parts(template) {
        let placeholder = match part {
            Part::Text(text) | Part::Literal(text) => {
                all += text;
                continue;
            }
            Part::Placeholder(placeholder) => placeholder,
        };
        let Some(value) = find(values, placeholder.name) else {
            all += placeholder.whole;
            continue;
        };
        let Some(attribute) = placeholder.attribute else {
            all += &name::plain(&value.text());
            continue;
        };
        let mut attributes = value.attributes.iter();
        let known = attributes.find(|entry| entry.name == attribute);
        let Some(word) = known.and_then(|entry| text(&entry.node.value)) else {
            let known = value.attributes.iter().map(|entry| entry.name.as_str());
            let message = format!(
                "the {} {} has no text '{attribute}': {}",
                placeholder.name,
                shorten(&value.text(), QUOTED),
                name_hint(attribute, known)
            );
            return Err(ScenarioError::at(message, place));
        };
        all += &name::plain(&word);
    }
    bounded(all, place)
}

fn bounded(name: String, place: &Place) -> Result<String, ScenarioError> {
    if name.chars().count() <= LONGEST_NAME {
        return Ok(name);
    }
    let short = shorten(&name, QUOTED);
    let message = format!("the name '{short}' is longer than {LONGEST_NAME} characters");
    Err(ScenarioError::at(message, place))
}

/// Returns the references in a text or a list of texts.
pub(super) fn references(node: Option<Node>) -> Result<Vec<Reference>, ScenarioError> {
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    let items = match node.value {
        Value::Array(items) => items,
        _ => vec![node],
    };
    let one = |item: Node| {
        let Value::Text(text) = item.value else {
            let message = "'extends' is a name, or a list of names, in quotes";
            return Err(ScenarioError::at(message, &item.place));
        };
        Ok(Reference {
            text,
            place: item.place,
        })
    };
    items.into_iter().map(one).collect()
}

/// Returns the entries of a table, or an error with `message`.
pub(super) fn entries(node: Node, message: &str) -> Result<Vec<Entry>, ScenarioError> {
    match node.value {
        Value::Table(entries) => Ok(entries),
        _ => Err(ScenarioError::at(message, &node.place)),
    }
}
