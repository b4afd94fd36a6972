//! Axes of the command line: `--axes NAME=VALUE,VALUE`.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::de::DeValue;

use super::argument::{command_line, parse_word, plain_path};
use super::place::{Place, ScenarioError};
use super::shorten::{QUOTED, shorten};
use super::tree::{Entry, Node, Overlay, Value};

/// The option that names an axis.
const AXES: &str = "--axes ";

/// The usage that error messages show.
const USAGE: &str =
    "write --axes NAME=VALUE,VALUE, as in --axes ccid=2,3 or --axes flows.dccp.start=0s,5s";

/// An axis of the command line with its values.
#[derive(Clone, Debug)]
pub(super) struct ArgumentAxis {
    /// The name of an axis of the file, or the dotted path of a key.
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) values: Vec<ArgumentValue>,
}

/// One value of an axis of the command line.
#[derive(Clone, Debug)]
pub(super) struct ArgumentValue {
    /// The value in words.
    pub(super) text: String,
    pub(super) node: Node,
}

/// The axes that the command line states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandLineAxes<'a> {
    pub(super) axes: &'a [ArgumentAxis],
    /// Whether cells are named after these axes alone. The other axes then have one value each.
    pub(super) is_short: bool,
}

impl ArgumentAxis {
    /// Parses `NAME=VALUE,VALUE`. The values may be a TOML list. A comma within quotes, brackets or braces does not
    /// separate values.
    pub(super) fn parse(argument: &str) -> Result<Self, ScenarioError> {
        let source = command_line(format!("{AXES}{argument}"));
        let place = |range: Range<usize>| {
            Place::new(&source, AXES.len() + range.start..AXES.len() + range.end)
        };
        let whole = place(0..argument.len());
        let Some((name, text)) = argument.split_once('=') else {
            return Err(ScenarioError::at(USAGE, &whole));
        };
        plain_path(name).map_err(|message| ScenarioError::at(message, &whole))?;
        let begin = argument.len() - text.len();
        let values = match list(text) {
            Some(values) => values
                .into_iter()
                .map(|value| (value, begin..argument.len()))
                .collect(),
            None if text.trim().is_empty() => Vec::new(),
            None => words(text)
                .into_iter()
                .map(|range| (parse_word(text[range.clone()].trim()), range))
                .map(|(value, range)| (value, begin + range.start..begin + range.end))
                .collect(),
        };
        if values.is_empty() {
            let message = format!("this axis has no value: {USAGE}");
            return Err(ScenarioError::at(message, &whole));
        }
        let mut all: Vec<ArgumentValue> = Vec::with_capacity(values.len());
        for ((value, overlay), range) in values {
            let node = Node {
                value,
                place: place(range),
                provenance: None,
                overlay: Overlay::Merge,
            };
            if overlay != Overlay::Merge {
                let message = "the values of an axis neither remove nor replace keys: write cells in the file, or --set";
                return Err(ScenarioError::at(message, &node.place));
            }
            let text = words_of(&node);
            let wrong = if text.is_empty() {
                Some("a value is missing between two commas".to_owned())
            } else if all.iter().any(|known| known.text == text) {
                Some(format!("this axis has '{}' twice", shorten(&text, QUOTED)))
            } else {
                None
            };
            if let Some(message) = wrong {
                return Err(ScenarioError::at(message, &node.place));
            }
            all.push(ArgumentValue { text, node });
        }
        Ok(Self {
            name: name.trim().to_owned(),
            place: place(0..name.len()),
            values: all,
        })
    }

    /// Returns the axis as an entry of a file's `axes` table.
    pub(super) fn entry(&self) -> Entry {
        let values = self.values.iter().map(|value| value.node.clone());
        Entry {
            name: self.name.clone(),
            place: self.place.clone(),
            node: Node {
                value: Value::Array(values.collect()),
                place: self.place.clone(),
                provenance: None,
                overlay: Overlay::Merge,
            },
        }
    }

    /// Returns the dotted paths of the keys that any of its values gives a value to, if its name is such a path.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for value in &self.values {
            let mut add = |path: &str, _: &_| keys.extend([path.to_owned()]);
            value.node.leaves(&self.name, &mut add);
        }
        keys
    }

    /// Returns the last part of its path.
    pub(super) fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}

/// Returns the values of `text` if it is a list.
fn list(text: &str) -> Option<Vec<(Value, Overlay)>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let source = command_line(text.to_owned());
    let list = DeValue::parse(text.trim()).ok()?;
    match Node::convert(&list, &source, None).ok()?.value {
        Value::Array(items) => {
            let items = items.into_iter();
            Some(items.map(|item| (item.value, item.overlay)).collect())
        }
        _ => None,
    }
}

/// Returns the ranges of the values in `text`, separated by commas outside of quotes, brackets and braces.
fn words(text: &str) -> Vec<Range<usize>> {
    let (mut all, mut from) = (Vec::new(), 0);
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                all.push(from..at);
                from = at + 1;
            }
            (Some(_) | None, _) => {}
        }
    }
    all.push(from..text.len());
    all
}

/// Returns a value in words.
fn words_of(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        _ => node.inline(),
    }
}
