//! Errors that point at the place of a value.

use crate::place::ScenarioError;
use crate::tree::Node;

/// Reports errors by dotted path, at the nearest place that the tree has.
pub(crate) struct Checker<'a> {
    pub(crate) tree: &'a Node,
}

impl Checker<'_> {
    pub(crate) fn refuse<T>(
        &self,
        path: &str,
        message: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError::at(message, &self.tree.nearest(path).place))
    }

    pub(crate) fn require(
        &self,
        holds: bool,
        path: &str,
        message: &str,
    ) -> Result<(), ScenarioError> {
        if holds {
            return Ok(());
        }
        self.refuse(path, message)
    }
}

/// The longest name: names become parts of file names.
const LONGEST_NAME: usize = 100;

/// Returns what is wrong with a name. Names go into dotted paths, file names and columns.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Some("a name is made of letters, digits, '-' and '_'".to_owned());
    }
    let is_long = name.len() > LONGEST_NAME;
    is_long.then(|| format!("a name has at most {LONGEST_NAME} characters"))
}

/// Refuses an invalid name.
pub(crate) fn plain_name(
    checker: &Checker<'_>,
    name: &str,
    path: &str,
) -> Result<(), ScenarioError> {
    name_problem(name).map_or(Ok(()), |message| checker.refuse(path, message))
}
