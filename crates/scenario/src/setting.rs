//! Changes of the command line to a scenario: `--set path.to.key=value`, and options with a name.

use std::collections::BTreeSet;

use super::argument::{WrittenDuration, command_line, parse_word, plain_path};
use super::argument_axis::ArgumentAxis;
use super::family::Filling;
use super::place::{Place, SET, ScenarioError};
use super::tree::{Entry, Node, Overlay, REMOVE, REPLACE, Value};

/// One change.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// Nested tables that hold only the value, to be laid over the scenario.
    Value(Node),
    /// The path of a key or table that is removed.
    Nothing(Removal),
}

/// A key or table that is removed.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    path: String,
    place: Place,
    /// Whether the way back of a link does not have it from its link, either.
    is_inherited_too: bool,
}

impl Setting {
    /// Parses `path.to.key=value`. A value that is not TOML is a text. Without a value the key is removed, and with
    /// `remove = true`, in the path or as the value, it is not inherited, either.
    pub(super) fn parse(setting: &str) -> Result<Self, ScenarioError> {
        let source = command_line(format!("{SET}{setting}"));
        let whole = Place::new(&source, SET.len()..source.text.len());
        let Some((path, text)) = setting.split_once('=') else {
            let message = "write --set path.to.key=value, as in --set flows.dccp.start=5s";
            return Err(ScenarioError::at(message, &whole));
        };
        plain_path(path).map_err(|message| ScenarioError::at(message, &whole))?;
        let end = SET.len() + path.len();
        let key = Place::new(&source, SET.len()..end);
        let place = Place::new(&source, end + 1..source.text.len());
        let (path, text) = (path.trim(), text.trim());
        let removal = |path: &str, is_inherited_too| {
            Self::Nothing(Removal {
                path: path.to_owned(),
                place: key.clone(),
                is_inherited_too,
            })
        };
        if text.is_empty() {
            return Ok(removal(path, false));
        }
        let (value, overlay) = parse_word(text);
        let (path, value, overlay) = match path.rsplit_once('.') {
            Some((path, word)) if [REMOVE, REPLACE].contains(&word) => {
                if !matches!(value, Value::Bool(true)) {
                    let message = format!("write {word}=true, or leave '{word}' out");
                    return Err(ScenarioError::at(message, &place));
                }
                let overlay = if word == REMOVE {
                    Overlay::Remove
                } else {
                    Overlay::Replace
                };
                (path, Value::Table(Vec::new()), overlay)
            }
            _ => (path, value, overlay),
        };
        if overlay == Overlay::Remove {
            return Ok(removal(path, true));
        }
        Ok(Self::at(path, (value, place, overlay), &[key, whole]))
    }

    /// Returns the change that `--duration` makes.
    pub(super) fn duration(time: &WrittenDuration) -> Self {
        let option = "--duration ";
        let source = command_line(format!("{option}{}", time.text));
        let place = Place::new(&source, option.len()..source.text.len());
        let text = Value::Text(time.value.to_string());
        let value = (text, place.clone(), Overlay::Merge);
        Self::at("run.duration", value, &[place.clone(), place])
    }

    /// Returns the change that value number `value` of `axis` makes. The axis is a dotted path.
    pub(super) fn of_axis(axis: &ArgumentAxis, value: usize) -> Self {
        let node = &axis.values[value].node;
        let value = (node.value.clone(), node.place.clone(), node.overlay);
        Self::at(&axis.name, value, &[axis.place.clone(), node.place.clone()])
    }

    /// Returns the tables down to the value; the places are those of their keys and of the tables.
    fn at(
        path: &str,
        (value, place, overlay): (Value, Place, Overlay),
        [key, table]: &[Place; 2],
    ) -> Self {
        let mut node = Node {
            value,
            place,
            provenance: None,
            overlay,
        };
        for name in path.rsplit('.') {
            let entry = Entry {
                name: name.to_owned(),
                place: key.clone(),
                node,
            };
            node = Node {
                value: Value::Table(vec![entry]),
                place: table.clone(),
                provenance: None,
                overlay: Overlay::Merge,
            };
        }
        Self::Value(node)
    }

    /// Returns whether it gives a value to a key that `axis`, a dotted path, gives values to.
    pub(super) fn is_of(&self, axis: &ArgumentAxis) -> bool {
        let mut own = BTreeSet::new();
        match self {
            Self::Nothing(removal) => own.extend([removal.path.clone()]),
            Self::Value(node) => node.leaves("", &mut |path, _| own.extend([path.to_owned()])),
        }
        !own.is_disjoint(&axis.keys())
    }

    /// Changes `tree`, with the value filled in by `filling`. Returns false if a key to remove does not exist.
    pub(super) fn apply(
        &self,
        (tree, filling): (&mut Node, Filling<'_>),
    ) -> Result<bool, ScenarioError> {
        match self {
            Self::Value(node) => tree.lay_over(&filling.layer(node)?).map(|()| true),
            Self::Nothing(removal) if removal.is_inherited_too => {
                let is_taken = tree.take_at(&removal.path);
                let is_left_out = tree.leave_out_of_back(&removal.path, &removal.place)?;
                Ok(is_taken || is_left_out)
            }
            Self::Nothing(removal) => Ok(tree.take_at(&removal.path)),
        }
    }

    /// Returns the error if the key to remove is in no cell, of which `tree` is one; `None` for a change that sets a
    /// value.
    pub(super) fn missed(&self, tree: &Node) -> Option<ScenarioError> {
        let Self::Nothing(Removal { path, place, .. }) = self else {
            return None;
        };
        if let Some(list) = tree.list_above(path) {
            let message = format!(
                "'{list}' is a list, and an item of a list cannot be taken away: write the list that is to stay, as in '{list}=[...]'"
            );
            return Some(ScenarioError::at(message, place));
        }
        if tree.is_inherited_by_back(path) {
            let message = format!(
                "the way back has this from its link: write --set {path}.{REMOVE}=true for a way back without it"
            );
            return Some(ScenarioError::at(message, place));
        }
        let above = tree.nearest(path).names().join(", ");
        let stated = if above.is_empty() { "nothing" } else { &above };
        let message = format!(
            "nothing states '{path}', so it cannot be taken away: stated there is {stated}"
        );
        Some(ScenarioError::at(message, place))
    }
}
