//! The result of a check.

use std::fmt;

/// A violated invariant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The name of the invariant, which never changes. Two runs violate the same invariant if the names are equal.
    pub invariant: &'static str,
    /// What was observed instead, with numbers.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.text)
    }
}

impl std::error::Error for Violation {}

/// The result of a check.
pub(crate) type Verdict = Result<(), Violation>;
