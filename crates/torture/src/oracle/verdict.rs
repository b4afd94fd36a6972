//! The result of a check.

/// A violated invariant.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{invariant}: {text}")]
pub struct Violation {
    /// The name of the invariant, which never changes. Two runs violate the same invariant if the names are equal.
    pub invariant: &'static str,
    /// What was observed instead, with numbers.
    pub text: String,
}

/// The result of a check.
pub(crate) type Verdict = Result<(), Violation>;
