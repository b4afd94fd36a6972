//! Tahoe (Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988).
//!
//! Three duplicates mean a loss, and each loss means slow start from the first outstanding segment. Retransmitted
//! segments may have arrived before and cause duplicates, which begin nothing. Only duplicates for segments sent later
//! do (ns-2's `bugFix_`); the original Tahoe had no such check.

use super::{Answer, DUPLICATES, Sequence};

#[derive(Debug, Default)]
pub(crate) struct Tahoe {
    pub(super) recover: u64,
}

impl Tahoe {
    pub(super) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        if count != DUPLICATES || at.una <= self.recover {
            return Answer::Continue;
        }
        self.recover = at.max;
        Answer::StartOver
    }

    pub(super) fn on_timeout(&mut self, at: Sequence) {
        self.recover = at.max;
    }
}
