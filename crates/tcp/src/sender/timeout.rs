//! The retransmission timeout (RFC 6298, section 5; RFC 5681, section 3.1).

use fairwire_cc::Feedback;
use fairwire_units::Instant;

use super::{Phase, Sender};
use crate::event::Event;

impl Sender {
    pub(super) fn time_out(&mut self, now: Instant) {
        self.retransmit_at = None;
        match self.phase {
            Phase::SynSent { .. } => {
                self.phase = Phase::SynDue { again: true };
                self.back_off(now);
            }
            Phase::Established if !self.outstanding.is_empty() => {
                self.time_out_data(now);
                self.retransmit_at = Some(now + self.rtt.rto());
            }
            Phase::Closed | Phase::SynDue { .. } | Phase::Established => {}
        }
    }

    /// Counts all outstanding data as lost, to be sent again from the front, window by window.
    fn time_out_data(&mut self, now: Instant) {
        let flight = self.flight_size();
        self.begin_frto();
        self.recovery.on_timeout(self.sequence(now));
        self.outstanding.give_up(self.config.sack_after_timeout);
        self.duplicates = 0;
        self.limited_sent = 0;
        self.retransmit_first = false;
        self.burst_left = None;
        self.paced_until = None;
        self.rtt.stop();
        let feedback = Feedback {
            timeout: true,
            path: self.rtt.known(),
            ..Feedback::default()
        };
        self.controller.on_feedback(now, flight, &feedback);
        self.marks.on_reduced(self.outstanding.max());
        self.back_off(now);
    }

    fn back_off(&mut self, now: Instant) {
        self.rtt.back_off();
        self.stats.timeouts += 1;
        let rto = self.rtt.rto();
        self.record(now, Event::TimedOut { rto });
    }
}
