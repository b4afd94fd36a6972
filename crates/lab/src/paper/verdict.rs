//! Verdicts: what can become of a claim.

/// What became of a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It holds wherever it is judged.
    Reproduced,
    /// It holds, under this condition.
    Condition(String),
    /// It holds, with values that were chosen so that it would.
    Fitted,
    /// It does not hold.
    NotReproduced,
    /// The paper says two things that cannot both be.
    Contradiction,
    /// Nothing here can show it.
    NotTestable,
    /// Its cells did not run, or not to their end.
    NotRun,
}

impl Verdict {
    /// One of each kind, in the order in which they are counted.
    pub const KINDS: [Self; 7] = [
        Self::Reproduced,
        Self::Condition(String::new()),
        Self::Fitted,
        Self::NotReproduced,
        Self::Contradiction,
        Self::NotTestable,
        Self::NotRun,
    ];

    /// The verdict in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Condition(_) => "reproduced under a condition",
            Self::Fitted => "fitted",
            Self::NotReproduced => "not reproduced",
            Self::Contradiction => "the paper contradicts itself",
            Self::NotTestable => "not testable here",
            Self::NotRun => "not run",
        }
    }

    /// The verdict in words that follow a number of claims.
    pub(crate) fn counted(&self) -> &'static str {
        match self {
            Self::Contradiction => "contradicted by the paper itself",
            _ => self.words(),
        }
    }
}

/// What is said of a verdict that chance decides.
pub(crate) const CLOSE: &str =
    "a limit lies within a 95 % interval, so that other seeds, or more, could turn this verdict.";
