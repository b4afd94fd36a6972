//! The TOML files of a paper as trees, with their families expanded.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use fairwire_scenario::hint::name_hint;
use fairwire_scenario::place::{Place, SourceText};
use fairwire_scenario::read::Reader;
use fairwire_scenario::shorten::{QUOTED, shorten};
use fairwire_scenario::tree::{Node, Value};
use fairwire_scenario::{Families, ScenarioError};

/// A file of a paper.
#[derive(Debug)]
pub(super) struct Document {
    root: Node,
}

impl Document {
    /// Reads `text`, which messages call `name`.
    pub(super) fn read(name: String, text: &str) -> Result<Self, ScenarioError> {
        let text = text.to_owned();
        let root = Node::parse_plain(&Arc::new(SourceText { name, text }))?;
        Ok(Self { root })
    }

    /// Removes the required list of texts `name` and returns it, each text with its place.
    pub(super) fn take_texts(&mut self, name: &str) -> Result<Vec<(String, Place)>, ScenarioError> {
        let list = self.root.take(name);
        let list = list.ok_or_else(|| self.missing(name, "write a list of names in quotes"))?;
        let texts = Vec::<String>::deserialize(Reader(&list))?;
        let places = match list.value {
            Value::Array(items) => items.into_iter().map(|item| item.place).collect(),
            _ => Vec::new(),
        };
        Ok(texts.into_iter().zip(places).collect())
    }

    /// Returns the error `message` about the file, at the place of the first text that it quotes.
    pub(super) fn refuse(&self, message: &str) -> ScenarioError {
        refuse(&self.root, message)
    }

    /// Refuses the first key of its table `name` that is not `known` as it is `looked_up`.
    pub(super) fn check_keys<'a>(
        &self,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
        looked_up: impl Fn(&str) -> &str,
    ) -> Result<(), ScenarioError> {
        let Some(Value::Table(entries)) = self.root.below(&[name]).map(|node| &node.value) else {
            return Ok(());
        };
        let is_known = |word: &str| known.clone().any(|one| one == word);
        let Some(entry) = entries
            .iter()
            .find(|entry| !is_known(looked_up(&entry.name)))
        else {
            return Ok(());
        };
        let message = format!(
            "no cell has '{}', which [{name}] names: {}",
            shorten(&entry.name, QUOTED),
            name_hint(&entry.name, known)
        );
        Err(ScenarioError::at(message, &entry.place))
    }

    /// Returns the error that `name` is missing, with advice on what to write.
    pub(super) fn missing(&self, name: &str, advice: &str) -> ScenarioError {
        ScenarioError::at(format!("'{name}' is missing: {advice}"), &self.root.place)
    }

    /// Expands its families and adds the families that it defines to `families`.
    pub(super) fn expand_families(&mut self, families: &mut Families) -> Result<(), ScenarioError> {
        families.take(&mut self.root)?;
        self.root = families.written_out(&self.root)?;
        Ok(())
    }

    /// Adds all its texts to `found`.
    pub(super) fn texts(&self, found: &mut BTreeSet<String>) {
        texts(&self.root, found);
    }

    /// Removes the table `name` and returns it, or an empty table if there is none.
    pub(super) fn take_table(&mut self, name: &str) -> Result<Node, ScenarioError> {
        match self.root.take(name) {
            None => Ok(Node::empty(&self.root.place)),
            Some(table) if matches!(table.value, Value::Table(_)) => Ok(table),
            Some(other) => {
                let message = format!("'{name}' is a table: write [{name}]");
                Err(ScenarioError::at(message, &other.place))
            }
        }
    }

    /// Removes the list `name` and returns it, if there is one.
    pub(super) fn take_list(&mut self, name: &str) -> Result<Option<Vec<Node>>, ScenarioError> {
        match self.root.take(name) {
            None => Ok(None),
            Some(Node {
                value: Value::Array(items),
                ..
            }) => Ok(Some(items)),
            Some(other) => {
                let message = format!("'{name}' is a list of tables: write [[{name}]]");
                Err(ScenarioError::at(message, &other.place))
            }
        }
    }

    /// Deserializes everything that has not been removed.
    pub(super) fn rest<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        T::deserialize(Reader(&self.root))
    }
}

fn texts(node: &Node, found: &mut BTreeSet<String>) {
    match &node.value {
        Value::Text(text) => {
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Table(entries) => entries.iter().for_each(|entry| texts(&entry.node, found)),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
    }
}

/// Returns the error that `item` is wrong. It points at the first text that `message` quotes and `item` contains, or at
/// the first key of `item` that it quotes.
pub(super) fn refuse(item: &Node, message: &str) -> ScenarioError {
    let words = || message.split('\'').skip(1).step_by(2);
    let text = words().find_map(|word| found(item, word));
    let place = text.or_else(|| words().find_map(|word| item.below(&[word])));
    ScenarioError::at(message, &place.unwrap_or(item).place)
}

/// Returns the first node in `node` whose text is `word`.
fn found<'a>(node: &'a Node, word: &str) -> Option<&'a Node> {
    match &node.value {
        Value::Text(text) => (text == word).then_some(node),
        Value::Array(items) => items.iter().find_map(|item| found(item, word)),
        Value::Table(entries) => entries.iter().find_map(|entry| found(&entry.node, word)),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) => None,
    }
}
