//! Acknowledgements.

use fairwire_cc::{Congestion, Feedback, Flight, Signal};
use fairwire_units::{Duration, Instant};

use super::{Phase, Sender};
use crate::event::Event;
use crate::recovery::Answer;
use crate::segment::TcpSegment;

impl Sender {
    /// The SYN-ACK came; `sent_at` is when the SYN left, if it left once.
    pub(super) fn establish(
        &mut self,
        now: Instant,
        answer: &TcpSegment,
        sent_at: Option<Instant>,
    ) {
        self.phase = Phase::Established;
        self.retransmit_at = None;
        self.ack_due = true;
        self.peer_window = answer.window;
        if answer.mss > 0 {
            self.mss = self.mss.min(u32::from(answer.mss));
        }
        if let Some(at) = sent_at {
            let rtt = now.saturating_since(at);
            self.rtt.on_sample(rtt);
            let feedback = Feedback {
                rtt: Some(rtt),
                ..Feedback::default()
            };
            let flight = self.flight();
            self.controller.on_feedback(now, flight, &feedback);
        } else {
            // RFC 6298, 5.7: a lost SYN makes data start with three seconds; RFC 5681, 3.1: and
            // with one segment.
            self.rtt.raise_initial(Duration::from_secs(3));
            self.flight_limit = Some(1);
        }
        self.record(now, Event::Established);
    }

    pub(super) fn handle_ack(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.ack > self.outstanding.max() {
            self.stats.discarded += 1;
        } else if segment.ack > self.una {
            self.peer_window = segment.window;
            self.handle_new_ack(now, segment.ack);
        } else if segment.ack == self.una {
            // RFC 5681, 2: a duplicate has no data, changes no window, and something is outstanding.
            let same_window = segment.window == self.peer_window;
            self.peer_window = segment.window;
            if same_window && segment.len == 0 && !self.outstanding.is_empty() {
                self.handle_duplicate(now);
            }
        }
    }

    fn handle_new_ack(&mut self, now: Instant, ack: u64) {
        // Whether data waited for the window is a question about the time before this.
        let was_waiting = self.flight().waiting;
        let covered = self.outstanding.acknowledge(ack);
        self.una = ack;
        self.duplicates = 0;
        self.limited_sent = 0;
        self.burst_left = None;
        self.flight_limit = None;
        self.stats.acks += 1;
        self.stats.bytes_acked = self.stats.bytes_acked.saturating_add(covered.bytes);
        let mut feedback = Feedback {
            rtt: self.measure(now, ack),
            ..Feedback::default()
        };
        match self.recovery.on_new_ack(self.sequence(), covered.segments) {
            Answer::Again { restart_timer } => {
                self.again = true;
                if restart_timer {
                    self.restart_timer(now);
                }
                self.record(now, Event::PartialAck { ack });
            }
            Answer::End => {
                // RFC 6582, 3.2, step 3: the window stays at the threshold until further news.
                self.burst_left = Some(self.config.max_burst.max(1));
                self.restart_timer(now);
                self.record(now, Event::RecoveryEnded);
            }
            Answer::Continue | Answer::Stay | Answer::Begin => {
                feedback.newly_acked = covered.segments;
                feedback.newly_acked_bytes = covered.bytes;
                self.restart_timer(now);
            }
        }
        let mut flight = self.flight();
        flight.waiting = was_waiting;
        self.controller.on_feedback(now, flight, &feedback);
        self.record(now, Event::Acked { ack });
    }

    fn handle_duplicate(&mut self, now: Instant) {
        self.duplicates = self.duplicates.saturating_add(1);
        self.stats.duplicate_acks += 1;
        let flight = self.flight_size();
        let sequence = self.sequence();
        let count = self.duplicates;
        if self.recovery.on_duplicate(sequence, count) == Answer::Begin {
            self.begin_recovery(now, flight);
        }
        self.record(now, Event::DuplicateAck { count });
    }

    /// Fast retransmit (RFC 5681, section 3.2).
    fn begin_recovery(&mut self, now: Instant, flight: Flight) {
        let Some(lost) = self.outstanding.first() else {
            return;
        };
        let congestion = Congestion {
            signal: Signal::Lost,
            newest_sent: lost.left_at,
            packets: 1,
        };
        let feedback = Feedback {
            congestion: Some(congestion),
            ..Feedback::default()
        };
        self.controller.on_feedback(now, flight, &feedback);
        self.again = true;
        self.limited_sent = 0;
        self.stats.fast_recoveries += 1;
        let recover = self.outstanding.max();
        self.record(now, Event::RecoveryBegan { recover });
    }

    /// The round trip of the timed segment, if `ack` covers it.
    fn measure(&mut self, now: Instant, ack: u64) -> Option<Duration> {
        let timed = self.timed.filter(|timed| timed.end <= ack)?;
        self.timed = None;
        let rtt = now.saturating_since(timed.sent_at);
        self.rtt.on_sample(rtt);
        Some(rtt)
    }

    /// RFC 6298, 5.2 and 5.3: off when nothing is outstanding, else a whole timeout from now.
    fn restart_timer(&mut self, now: Instant) {
        self.retransmit_at = (!self.outstanding.is_empty()).then(|| now + self.rtt.rto());
    }
}
