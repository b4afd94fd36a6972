//! Reno (RFC 2581, section 3.2): fast recovery until the first acknowledgement of new data.
//!
//! One loss in a window is repaired in a round trip. If three more duplicates arrive, a second loss begins a second
//! recovery and cuts the window again. With `once_per_window` the second loss waits for the timeout.

use super::{Answer, DUPLICATES, Sequence};

#[derive(Debug)]
pub(crate) struct Reno {
    once_per_window: bool,
    /// The number that must be passed before a recovery begins: the end of the data outstanding at the last timeout or,
    /// with `once_per_window`, at the last recovery.
    pub(super) recover: u64,
    inflation: Option<i64>,
}

impl Reno {
    pub(super) fn new(once_per_window: bool) -> Self {
        Self {
            once_per_window,
            recover: 0,
            inflation: None,
        }
    }

    pub(super) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        if let Some(inflation) = &mut self.inflation {
            *inflation = inflation.saturating_add(1);
            return Answer::Stay;
        }
        if count != DUPLICATES || at.una <= self.recover {
            return Answer::Continue;
        }
        if self.once_per_window {
            self.recover = at.max;
        }
        self.inflation = Some(i64::from(DUPLICATES));
        Answer::Begin
    }

    pub(super) fn on_new_ack(&mut self) -> Answer {
        match self.inflation.take() {
            Some(_) => Answer::End,
            None => Answer::Continue,
        }
    }

    pub(super) fn on_timeout(&mut self, at: Sequence) {
        // Duplicates caused by the retransmissions after a timeout show no new loss.
        self.recover = at.max;
        self.inflation = None;
    }

    pub(super) fn is_active(&self) -> bool {
        self.inflation.is_some()
    }

    pub(super) fn inflation(&self) -> i64 {
        self.inflation.unwrap_or(0)
    }
}
