//! Tahoe (Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988): three duplicates mean a loss, and
//! each loss means slow start from the first segment outstanding.
//!
//! What is sent again may have arrived before, and the duplicates that it brings begin nothing: only
//! those of segments sent since do (ns-2's `bugFix_`; the original had no such care).

use super::{Answer, DUPLICATES, Sequence};

#[derive(Debug, Default)]
pub(crate) struct Tahoe {
    recover: u64,
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
