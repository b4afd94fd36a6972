//! What a sender knows of its receiver's honesty (RFC 4340, section 12.3; RFC 4342, section 9).

/// Lies, less the checks that were passed since, after which the connection ends.
///
/// RFC 4340, 12.3: a last resort. A single forged Data packet spoils a nonce echo for as long as
/// vectors speak of it, a few round trips.
pub(crate) const PATIENCE: u32 = 8;

/// Lies found, less the checks that were passed since.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Suspicion {
    strikes: u32,
}

impl Suspicion {
    /// A lie was found.
    pub(crate) fn on_lie(&mut self) {
        self.strikes = self.strikes.saturating_add(1);
    }

    /// A check was passed.
    pub(crate) fn on_truth(&mut self) {
        self.strikes = self.strikes.saturating_sub(1);
    }

    /// Is there more than nothing?
    pub(crate) const fn exists(self) -> bool {
        self.strikes > 0
    }

    /// Has the peer lied so often that the connection should end?
    pub(crate) const fn is_aggression(self) -> bool {
        self.strikes >= PATIENCE
    }
}
