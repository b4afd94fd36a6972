//! Verdicts: the possible outcomes of a claim.

/// The outcome of a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It holds in every window in which it is judged.
    Reproduced,
    /// It holds under this condition.
    Condition(String),
    /// It holds, but a value of its cells was chosen so that it would.
    Fitted,
    /// Its checks hold, but also in a control: they do not show what the claim is about.
    Unspecific,
    /// It does not hold.
    NotReproduced,
    /// The paper makes two statements that cannot both be true.
    Contradiction,
    /// It cannot be tested here.
    NotTestable,
    /// One of its cells was not run, or not to its end.
    NotRun,
}

impl Verdict {
    /// One of each kind, in the order in which they are counted.
    pub const KINDS: [Self; 8] = [
        Self::Reproduced,
        Self::Condition(String::new()),
        Self::Fitted,
        Self::Unspecific,
        Self::NotReproduced,
        Self::Contradiction,
        Self::NotTestable,
        Self::NotRun,
    ];

    /// Returns the verdict in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Condition(_) => "reproduced under a condition",
            Self::Fitted => "fitted",
            Self::Unspecific => "not specific",
            Self::NotReproduced => "not reproduced",
            Self::Contradiction => "the paper contradicts itself",
            Self::NotTestable => "not testable here",
            Self::NotRun => "not run",
        }
    }

    /// Returns the condition under which the claim is reproduced; empty if there is none.
    pub fn condition(&self) -> &str {
        match self {
            Self::Condition(condition) => condition,
            _ => "",
        }
    }

    /// Returns the verdict in words that follow a number of claims.
    pub fn counted(&self) -> &'static str {
        match self {
            Self::Contradiction => "contradicted by the paper itself",
            _ => self.words(),
        }
    }
}

/// The explanation of a close verdict.
pub const CLOSE: &str = "a limit lies within a 95 % interval, so other seeds, or more of them, could change this verdict.";
