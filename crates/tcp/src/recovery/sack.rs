//! The beginning and the end of a recovery with selective acknowledgements (RFC 6675, section 5).
//!
//! The scoreboard decides what is lost, what to send next and how much is in the network.

use super::{Answer, DUPLICATES, Sequence};

#[derive(Debug, Default)]
pub(crate) struct Sack {
    /// `RecoveryPoint`: a recovery ends when this number is acknowledged, and none begins before that.
    pub(super) recover: u64,
    active: bool,
}

impl Sack {
    /// Processes the `count`th acknowledgement in a row that selects new data.
    pub(super) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        if self.active {
            return Answer::Stay;
        }
        // RFC 6675, 5, steps 1 and 2; 5.1 for data outstanding at a timeout.
        if at.una < self.recover || (count < DUPLICATES && !at.is_lost) {
            return Answer::Continue;
        }
        self.recover = at.max;
        self.active = true;
        Answer::Begin
    }

    pub(super) fn on_new_ack(&mut self, at: Sequence) -> Answer {
        if !self.active {
            return Answer::Continue;
        }
        if at.una < self.recover {
            return Answer::Stay;
        }
        self.active = false;
        Answer::End
    }

    pub(super) fn on_timeout(&mut self, at: Sequence) {
        self.recover = at.max;
        self.active = false;
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }
}
