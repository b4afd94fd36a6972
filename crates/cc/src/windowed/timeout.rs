//! Timeouts, and those that turn out to be spurious.

use fairwire_units::Instant;

use super::before_timeout::BeforeTimeout;
use super::unit::WindowUnit;
use super::{MIN_SSTHRESH, Windowed, at_least};
use crate::law::WindowLaw;
use crate::{Feedback, Flight};

impl<L: WindowLaw> Windowed<L> {
    /// Starts again from the smallest window, because nothing came back for a whole timeout (RFC 5681, section 3.1; RFC
    /// 4341, section 5).
    pub(super) fn time_out(&mut self, now: Instant, flight: Flight) {
        if !self.silent {
            self.before_timeout = Some(BeforeTimeout {
                pipe: self.ssthresh.max(self.held(flight)),
                last_cut: self.last_cut,
                hystart: self.hystart,
            });
        }
        // As under CCID 2, other packets are sent each time.
        let sends_others = self.unit != WindowUnit::Packets;
        if !self.silent || sends_others || self.growth.each_timeout_lowers_threshold() {
            let window = self.window_to_cut(now, flight, 0.0);
            let left = self.law.after_timeout(&window);
            let left = self.rounded(left);
            self.ssthresh = at_least(MIN_SSTHRESH, left);
        }
        self.cwnd = self.unit.least();
        self.credit = 0.0;
        self.end_first_slow_start();
        self.silent = true;
        self.last_cut = Some(now);
        self.timeouts += 1;
    }

    /// Undoes a timeout that was spurious (RFC 4015, section 3, steps 7 and 8).
    ///
    /// The window continues with what is in flight, so that no burst leaves; slow start leads back to the threshold.
    pub(super) fn undo_timeout(&mut self, flight: Flight, feedback: &Feedback) {
        let Some(before) = self.before_timeout.take() else {
            return;
        };
        let acked = self
            .unit
            .amount(feedback.newly_acked, feedback.newly_acked_bytes);
        let cwnd = self.held(flight) + acked.min(self.initial_window);
        self.cwnd = at_least(self.unit.least(), cwnd).min(self.max_cwnd);
        self.ssthresh = at_least(MIN_SSTHRESH, before.pipe);
        (self.last_cut, self.hystart) = (before.last_cut, before.hystart);
        self.law.undo_timeout();
        self.silent = false;
    }
}
