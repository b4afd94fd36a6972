//! What a check says.

use std::fmt;

/// An invariant that does not hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// Its name, which never changes: two runs break the same invariant if the names are equal.
    pub invariant: &'static str,
    /// What was seen instead, with its numbers.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.text)
    }
}

impl std::error::Error for Violation {}

/// What a check says.
pub(crate) type Verdict = Result<(), Violation>;
