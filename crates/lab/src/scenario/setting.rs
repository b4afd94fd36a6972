//! What the command line changes in a scenario: `--set path.to.key=value`.

use std::sync::Arc;

use toml::de::DeValue;

use super::place::{COMMAND_LINE, Place, ScenarioError, SourceText};
use super::tree::{Entry, Node, Value};

/// The parts of a key's path on the command line: far more than any key has, far fewer than a stack holds.
const DEEPEST: usize = 64;

/// One change.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// Tables that hold nothing but the value, to be laid over the scenario.
    Value(Node),
    /// The key, or the table, at this path goes.
    Nothing(String, Place),
}

impl Setting {
    /// Reads `path.to.key=value`; a value that is no TOML is a text, and without one the key goes.
    pub(super) fn parse(setting: &str) -> Result<Self, ScenarioError> {
        let source = Arc::new(SourceText {
            name: COMMAND_LINE.into(),
            text: setting.into(),
        });
        let everything = Place::new(&source, 0..setting.len());
        let Some((path, text)) = setting.split_once('=') else {
            let message = "write --set path.to.key=value, as in --set flows.dccp.start=5s";
            return Err(ScenarioError::at(message, &everything));
        };
        if path.split('.').count() > DEEPEST {
            let message = format!("a key's path has at most {DEEPEST} parts");
            return Err(ScenarioError::at(message, &everything));
        }
        let key = Place::new(&source, 0..path.trim_end().len());
        if path.trim().split('.').any(str::is_empty) {
            let message = "a part of the key's path is empty";
            return Err(ScenarioError::at(message, &everything));
        }
        if text.trim().is_empty() {
            return Ok(Self::Nothing(path.trim().to_owned(), key));
        }
        let mut node = Node {
            value: parse_word(text.trim()),
            place: Place::new(&source, path.len() + 1..setting.len()),
            provenance: None,
        };
        for name in path.trim().rsplit('.') {
            let entry = Entry {
                name: name.to_owned(),
                place: key.clone(),
                node,
            };
            node = Node {
                value: Value::Table(vec![entry]),
                place: everything.clone(),
                provenance: None,
            };
        }
        Ok(Self::Value(node))
    }

    /// Changes `tree`; false if a key should go that is not there.
    pub(super) fn apply(&self, tree: &mut Node) -> bool {
        match self {
            Self::Value(node) => {
                tree.lay_over(node);
                true
            }
            Self::Nothing(path, _) => tree.take_at(path),
        }
    }

    /// What to say where its key is in no cell, of which `tree` is one; a value is never missed.
    pub(super) fn missed(&self, tree: &Node) -> Option<ScenarioError> {
        let Self::Nothing(path, place) = self else {
            return None;
        };
        let above = tree.nearest(path).names().join(", ");
        let beside = if above.is_empty() { "nothing" } else { &above };
        let message = format!(
            "there is no '{path}' to take away (a default is not written and cannot be): there is {beside}"
        );
        Some(ScenarioError::at(message, place))
    }
}

/// What `--set` gives: TOML where it is TOML, a text otherwise.
fn parse_word(text: &str) -> Value {
    let source = Arc::new(SourceText {
        name: COMMAND_LINE.into(),
        text: text.into(),
    });
    DeValue::parse(text)
        .ok()
        .and_then(|value| Node::convert(&value, &source, None).ok())
        .map_or_else(|| Value::Text(text.to_owned()), |node| node.value)
}
