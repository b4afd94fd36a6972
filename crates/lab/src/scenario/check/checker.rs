//! Refusals that point at the place a value was written at.

use crate::scenario::place::ScenarioError;
use crate::scenario::tree::Node;

/// Errors by dotted path, pointed at the nearest place that the tree has.
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

/// Names go into dotted paths, file names and columns.
pub(crate) fn plain_name(
    checker: &Checker<'_>,
    name: &str,
    path: &str,
) -> Result<(), ScenarioError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let message = "a name is made of letters, digits, '-' and '_'";
    checker.require(!name.is_empty() && name.chars().all(plain), path, message)
}
