//! ECN at the sender of data (RFC 3168, section 6.1.2; RFC 8257, section 3.3).

use fairwire_cc::{Congestion, Delivery, Feedback, Signal};
use fairwire_units::{Ecn, Instant};

use super::Sender;
use super::outstanding::Selected;
use crate::config::EcnMode;
use crate::segment::Flags;

impl Sender {
    /// Adds to `feedback` what arrived, and the marks that the acknowledgement up to `ack` reports.
    pub(super) fn add_marks(
        &mut self,
        now: Instant,
        (flags, ack): (Flags, u64),
        delivery: Delivery,
        feedback: &mut Feedback,
    ) {
        feedback.delivery = delivery;
        if !(self.marks.agreed && flags.ece) {
            return;
        }
        self.stats.echoes += 1;
        if ack > self.marks.reduced_at {
            self.marks.on_reduced(self.outstanding.max());
            let window = self.controller.limit().window();
            // RFC 3168, 6.1.2: a window of one segment cannot be reduced, so the next segment waits for a timeout. The
            // accurate marks of RFC 8257 mostly have no such windows.
            if self.marks.mode == EcnMode::Classic && window.is_some_and(|window| window < 2.0) {
                self.paced_until = Some(now + self.rtt.rto());
            }
        }
        feedback.delivery.marked = delivery.packets;
        feedback.congestion = Some(Congestion {
            signal: Signal::Marked,
            // What was sent twice was not ECN-capable, so any marked packet was sent earlier.
            newest_sent: delivery.newest_sent.unwrap_or(Instant::START),
            packets: delivery.packets.max(1),
        });
    }

    /// Reports to the controller what else a duplicate acknowledgement contains: selected segments and marks.
    pub(super) fn report_duplicate(&mut self, now: Instant, flags: Flags, selected: Selected) {
        if selected.segments == 0 && !flags.ece {
            return;
        }
        // Without SACK it is only known that the marked segment is not older than the oldest outstanding one.
        let oldest = self.outstanding.first().map(|first| first.at);
        let delivery = Delivery {
            packets: selected.segments,
            bytes: selected.bytes,
            marked: 0,
            newest_sent: selected
                .newest_sent
                .or(oldest.filter(|_| selected.segments == 0)),
        };
        let mut feedback = Feedback {
            path: self.rtt.known(),
            ..Feedback::default()
        };
        let flight = self.flight_size();
        self.add_marks(now, (flags, self.una), delivery, &mut feedback);
        self.controller.on_feedback(now, flight, &feedback);
    }

    /// Returns the ECN field and the CWR flag of a data segment; `again` means that it is a retransmission.
    pub(super) fn data_ecn(&mut self, again: bool) -> (Ecn, bool) {
        // RFC 3168, 6.1.2 and 6.1.5: neither on retransmissions.
        if !self.marks.agreed || again {
            return (Ecn::NotEct, false);
        }
        let cwr = std::mem::take(&mut self.marks.cwr_due);
        (self.controller.ecn(), cwr)
    }
}
