//! The recovery of Vegas (Brakmo and Peterson 1995, section III.A): that of Reno, with a finer clock.
//!
//! If the oldest segment is older than the fine-grained timeout, the first duplicate retransmits it, without waiting
//! for two more. The first and second acknowledgement after a retransmission make the same check, which finds further
//! losses of the window. The window is cut only at the beginning, and only if the lost segment was sent since the last
//! cut; the controller checks this.

use super::{Answer, DUPLICATES, Sequence};

/// The number of acknowledgements after a retransmission that check the clock.
const CHECKS: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct Vegas {
    /// The end of the data outstanding at the last timeout: duplicates for it show no new loss.
    pub(super) recover: u64,
    inflation: Option<i64>,
    checks: u32,
}

impl Vegas {
    pub(super) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        if let Some(inflation) = &mut self.inflation {
            *inflation = inflation.saturating_add(1);
            return Answer::Stay;
        }
        let shows_loss = count == DUPLICATES || (count < DUPLICATES && at.has_expired);
        if !shows_loss || at.una <= self.recover {
            return Answer::Continue;
        }
        self.inflation = Some(i64::from(count));
        self.checks = CHECKS;
        Answer::Begin
    }

    pub(super) fn on_new_ack(&mut self, at: Sequence) -> Answer {
        if self.inflation.is_none() && self.checks == 0 {
            return Answer::Continue;
        }
        let expired = self.checks > 0 && at.has_expired && at.una < at.max;
        self.checks = if expired { self.checks - 1 } else { 0 };
        if expired {
            self.inflation = Some(0);
            return Answer::Again {
                restart_timer: true,
            };
        }
        match self.inflation.take() {
            Some(_) => Answer::End,
            None => Answer::Continue,
        }
    }

    pub(super) fn on_timeout(&mut self, at: Sequence) {
        self.recover = at.max;
        self.inflation = None;
        self.checks = 0;
    }

    pub(super) fn is_active(&self) -> bool {
        self.inflation.is_some()
    }

    pub(super) fn inflation(&self) -> i64 {
        self.inflation.unwrap_or(0)
    }
}
