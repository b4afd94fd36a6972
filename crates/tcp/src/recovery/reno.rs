//! Reno (RFC 2581, section 3.2): fast recovery up to the first acknowledgement of something new.
//!
//! One loss in a window is repaired in a round trip. A second one begins a second recovery, if
//! three more duplicates come, and cuts the window again; or waits for the timeout, where the
//! recovery is told to begin once per window.

use super::{Answer, DUPLICATES, Sequence};

#[derive(Debug)]
pub(crate) struct Reno {
    once_per_window: bool,
    /// A recovery begins only once this number has been passed: the end of what was outstanding at the
    /// last timeout or, once per window, at the last recovery.
    recover: u64,
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
        // Duplicates of what the timeout sends again show no new loss.
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
