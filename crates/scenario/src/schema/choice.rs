//! Groups of keys of which a table may hold at most one, or must hold at least one.

use serde_json::{Value, json};

use super::super::place::{MISSING, ScenarioError};
use super::super::tree::{Entry, Node};
use super::layers::Layers;

/// The attribute of a type that has such keys: `extend("choices" = [{ "keys": ["a", "b"], "least": 1, "most": 1,
/// "advice": "..." }])`. `least` and `most` are 1 where there is a bound, and absent otherwise.
pub(super) const CHOICES: &str = "choices";

/// A group of keys with a bound on how many of them a table may hold.
#[derive(Clone, Debug)]
pub(in super::super) struct Choice {
    keys: Vec<String>,
    one_at_least: bool,
    one_at_most: bool,
    advice: String,
}

impl Choice {
    /// Returns the choices that `schema` states.
    pub(super) fn all(schema: &Layers<'_>) -> Vec<Self> {
        let choices = schema.get(CHOICES).and_then(Value::as_array);
        choices.into_iter().flatten().map(Self::of).collect()
    }

    fn of(choice: &Value) -> Self {
        let keys = choice["keys"].as_array().into_iter().flatten();
        Self {
            keys: keys.filter_map(Value::as_str).map(str::to_owned).collect(),
            one_at_least: choice["least"] == 1,
            one_at_most: choice["most"] == 1,
            advice: choice["advice"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Refuses `entries` of `table` that hold too many or too few of the keys.
    pub(super) fn check(&self, table: &Node, entries: &[Entry]) -> Result<(), ScenarioError> {
        let find = |key: &String| entries.iter().find(|entry| entry.name == *key);
        let stated: Vec<&Entry> = self.keys.iter().filter_map(find).collect();
        match stated.as_slice() {
            [] if self.one_at_least => {
                let message = format!("{} {MISSING}: {}", self.names(), self.advice);
                Err(ScenarioError::new(message).or_at(&table.place))
            }
            [first, second, ..] if self.one_at_most => {
                let message = format!(
                    "'{}' and '{}' do not go together: {}",
                    first.name, second.name, self.advice
                );
                Err(ScenarioError::at(message, &second.place))
            }
            _ => Ok(()),
        }
    }

    /// Returns the keys in words: `'a', 'b' or 'c'`.
    fn names(&self) -> String {
        let names: Vec<String> = self.keys.iter().map(|key| format!("'{key}'")).collect();
        match names.split_last() {
            Some((last, before)) if !before.is_empty() => {
                format!("{} or {last}", before.join(", "))
            }
            _ => names.concat(),
        }
    }

    /// Returns the same rule as JSON Schema. An override may lack keys that the base states.
    pub(super) fn rules(choice: &Value, is_whole: bool) -> Vec<Value> {
        let choice = Self::of(choice);
        let required = |keys: &[&String]| json!({ "required": keys });
        let mut rules = Vec::new();
        if choice.one_at_least && is_whole {
            let any: Vec<Value> = choice.keys.iter().map(|key| required(&[key])).collect();
            rules.push(json!({ "anyOf": any }));
        }
        if choice.one_at_most {
            for (number, first) in choice.keys.iter().enumerate() {
                let others = choice.keys.iter().skip(number + 1);
                rules.extend(others.map(|other| json!({ "not": required(&[first, other]) })));
            }
        }
        rules
    }
}
