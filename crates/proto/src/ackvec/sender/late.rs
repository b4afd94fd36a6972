//! Losses by time: a packet that left longer ago than a round trip, and a later one has arrived (RFC 9002, section 6.1.2).

use fairwire_cc::Feedback;
use fairwire_units::{Duration, Instant};

use super::super::pipe::Outcome;
use super::Sender;
use crate::half::FeedbackOutcome;

/// The shortest time after which a packet is lost (RFC 9002, section 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);

impl Sender {
    /// Returns how long ago a packet must have left to be lost, if a later one has arrived; `None` if losses are found by
    /// counting alone. RFC 9002, 6.1.2: an eighth more than the round trip, which leaves room for reordering.
    pub(super) fn reordering(&self) -> Option<Duration> {
        if !self.losses_by_time {
            return None;
        }
        let rtt = self.rtt.srtt()?.max(self.rtt.latest()?);
        Some((rtt + rtt / 8).max(GRANULARITY))
    }

    /// Returns when the oldest packet in flight is lost by time.
    pub(super) fn loss_timer(&self) -> Option<Instant> {
        self.pipe.lost_at(self.reordering()?)
    }

    /// Settles what is lost by time, and passes it to the controller.
    pub(super) fn lose_late(&mut self, now: Instant, waiting: u32, outcome: &mut FeedbackOutcome) {
        let Some(wait) = self.reordering() else {
            return;
        };
        let mut late = Outcome::default();
        self.pipe
            .settle_late(now, wait, &mut late, &mut outcome.fates);
        let feedback = Feedback {
            path: self.rtt.round_trip(),
            congestion: late.congestion,
            ack_ratio: Some(u32::from(self.agreed_ratio)),
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.flight_with(waiting), &feedback);
    }
}
