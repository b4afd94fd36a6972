//! The processing of acknowledgements.

use fairwire_cc::{Congestion, Feedback, Flight, Signal};
use fairwire_units::{Duration, Instant};

use super::frto::Finding;
use super::outstanding::Selected;
use super::{Phase, Sender};
use crate::config::SackAfterTimeout;
use crate::event::Event;
use crate::recovery::{Answer, RecoveryKind};
use crate::segment::TcpSegment;

impl Sender {
    /// Completes the handshake by a SYN-ACK; `sent_at` is when the SYN left, if it left only once.
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
        self.marks.on_answer(answer.flags);
        if answer.mss > 0 {
            let room = u32::from(answer.mss).saturating_sub(self.config.options_on_data());
            self.mss = self.mss.min(room.max(1));
        }
        if let Some(at) = sent_at {
            let rtt = now.saturating_since(at);
            let feedback = Feedback {
                rtt: self.rtt.on_handshake(rtt),
                path: self.rtt.known(),
                ..Feedback::default()
            };
            let flight = self.flight();
            self.controller.on_feedback(now, flight, &feedback);
        } else {
            self.rtt.on_handshake_repeated();
            // RFC 5681, 3.1: and the initial window is one segment.
            self.flight_limit = Some(1);
        }
        self.record(now, Event::Established);
    }

    pub(super) fn handle_ack(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.ack > self.outstanding.max() {
            self.stats.discarded += 1;
            return;
        }
        if self.config.recovery.uses_sack() {
            return self.handle_sack(now, segment);
        }
        if segment.ack > self.una {
            self.peer_window = segment.window;
            self.handle_new_ack(now, segment);
        } else if segment.ack == self.una {
            // RFC 5681, 2: a duplicate has no data, changes no window, and something is outstanding.
            let same_window = segment.window == self.peer_window;
            self.peer_window = segment.window;
            if same_window && segment.len == 0 && !self.outstanding.is_empty() {
                self.undo_by_duplicate(now, Selected::default());
                self.handle_duplicate(now);
                self.report_duplicate(now, segment.flags, Selected::default());
            }
        }
    }

    /// Processes an acknowledgement with SACK: a duplicate is one that selects new data (RFC 6675, section 5).
    fn handle_sack(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.ack < self.una {
            return;
        }
        self.peer_window = segment.window;
        // Process the cumulative acknowledgement first: then all blocks are above it.
        if segment.ack > self.una {
            self.handle_new_ack(now, segment);
        } else {
            let selected = self.outstanding.select(&segment.sack);
            if selected.segments > 0 {
                self.undo_by_duplicate(now, selected);
                self.handle_duplicate(now);
                self.report_duplicate(now, segment.flags, selected);
            }
        }
    }

    fn handle_new_ack(&mut self, now: Instant, segment: &TcpSegment) {
        let ack = segment.ack;
        // Whether data waited for the window has to be determined before this acknowledgement changes it.
        let was_waiting = self.held_back();
        let in_order = self.duplicates == 0 && !self.recovery.is_active();
        let stamped = self.stamped(now, segment);
        let covered = self.outstanding.acknowledge(ack);
        let selected = self.outstanding.select(&segment.sack);
        self.una = ack;
        self.duplicates = 0;
        self.limited_sent = 0;
        self.burst_left = None;
        self.flight_limit = None;
        self.stats.acks += 1;
        self.stats.bytes_acked = self.stats.bytes_acked.saturating_add(covered.bytes);
        // A segment that waited behind a hole would measure the repair of the hole.
        let newest = covered.newest_sent.filter(|_| in_order);
        let mut feedback = Feedback {
            rtt: self.rtt.on_ack(now, ack, newest, stamped),
            path: self.rtt.known(),
            ..Feedback::default()
        };
        let delivery = covered.and(selected);
        self.add_marks(now, (segment.flags, ack), delivery, &mut feedback);
        if let Some(marks) = &mut feedback.congestion {
            // RFC 3168, 6.1.2: such an acknowledgement never increases the window.
            marks.packets = marks.packets.max(covered.segments);
        }
        match self
            .recovery
            .on_new_ack(self.sequence(now), covered.segments)
        {
            Answer::Again { restart_timer } => {
                self.retransmit_first = true;
                if restart_timer {
                    self.restart_timer(now);
                }
                self.record(now, Event::PartialAck { ack });
            }
            Answer::End => {
                // RFC 6582, 3.2, step 3: the window stays at the threshold until the next acknowledgement.
                self.burst_left = Some(self.config.max_burst.max(1));
                self.outstanding.end_repair();
                self.restart_timer(now);
                self.record(now, Event::RecoveryEnded);
            }
            Answer::Stay => {
                self.outstanding.find_losses(self.mss);
                self.restart_timer(now);
                self.record(now, Event::PartialAck { ack });
            }
            Answer::Continue | Answer::Begin | Answer::StartOver => {
                feedback.newly_acked = covered.segments;
                feedback.newly_acked_bytes = covered.bytes;
                self.restart_timer(now);
            }
        }
        match self.frto_on_new_ack(now, covered, selected) {
            // While a timeout is examined, slow start takes one step: step 3a allows three segments at most.
            Finding::Probe => feedback.newly_acked = feedback.newly_acked.min(1),
            finding => feedback.spurious_timeout = finding == Finding::Spurious,
        }
        let mut flight = self.flight();
        flight.waiting = was_waiting;
        self.controller.on_feedback(now, flight, &feedback);
        self.record(now, Event::Acked { ack });
        if feedback.spurious_timeout {
            self.record(now, Event::TimeoutWasSpurious);
        }
        if selected.segments > 0 && !self.recovery.is_active() {
            self.handle_duplicate(now);
        }
    }

    /// Returns the sample that an echoed timestamp gives, and the number of samples in a round trip.
    ///
    /// Only an acknowledgement of new data gives a sample (RFC 7323, section 4.1). There is one sample for every second
    /// outstanding segment (section 4.2).
    fn stamped(&self, now: Instant, segment: &TcpSegment) -> Option<(Duration, u32)> {
        let timestamps = segment.timestamps.filter(|it| it.echo != 0)?;
        let passed = self.config.stamp(now).wrapping_sub(timestamps.echo);
        let rtt = Duration::from_millis(u64::from(passed));
        let samples = self.outstanding.in_flight().div_ceil(2);
        // A round trip shorter than a tick counts as one tick.
        Some((rtt.max(self.config.stamp_tick()), samples))
    }

    /// Restores the window if a duplicate acknowledgement shows that the last timeout was spurious.
    fn undo_by_duplicate(&mut self, now: Instant, selected: Selected) {
        if self.frto_on_duplicate(now, selected) == Finding::Spurious {
            let feedback = Feedback {
                spurious_timeout: true,
                path: self.rtt.known(),
                ..Feedback::default()
            };
            let flight = self.flight();
            self.controller.on_feedback(now, flight, &feedback);
            self.record(now, Event::TimeoutWasSpurious);
        }
    }

    fn handle_duplicate(&mut self, now: Instant) {
        self.duplicates = self.duplicates.saturating_add(1);
        self.stats.duplicate_acks += 1;
        let flight = self.flight_size();
        let sequence = self.sequence(now);
        let count = self.duplicates;
        match self.recovery.on_duplicate(sequence, count) {
            Answer::Begin => self.begin_recovery(now, flight, false),
            Answer::StartOver => self.begin_recovery(now, flight, true),
            Answer::Stay if self.config.recovery.uses_sack() => {
                self.outstanding.find_losses(self.mss);
            }
            Answer::Stay | Answer::Continue | Answer::Again { .. } | Answer::End => {}
        }
        self.record(now, Event::DuplicateAck { count });
    }

    /// Begins a fast retransmit (RFC 5681, section 3.2), or Tahoe's new slow start.
    fn begin_recovery(&mut self, now: Instant, flight: Flight, start_over: bool) {
        let Some(lost) = self.outstanding.first() else {
            return;
        };
        let newest_sent = match self.config.recovery {
            // These variants do not remember other losses of the window, so each loss is a new one.
            RecoveryKind::Reno | RecoveryKind::RenoOnce | RecoveryKind::Tahoe => now,
            _ => lost.at,
        };
        let congestion = Congestion {
            signal: Signal::Lost,
            newest_sent,
            packets: 1,
        };
        let feedback = Feedback {
            congestion: Some(congestion),
            start_over,
            path: self.rtt.known(),
            ..Feedback::default()
        };
        self.controller.on_feedback(now, flight, &feedback);
        self.marks.on_reduced(self.outstanding.max());
        if start_over {
            self.frto.on_retransmission_up_to(self.outstanding.max());
            self.outstanding.give_up(SackAfterTimeout::Forget);
            self.rtt.stop();
        } else {
            self.retransmit_first = true;
        }
        if self.config.recovery.uses_sack() {
            self.outstanding.begin_repair(self.mss);
        }
        if self.config.fast_retransmit_restarts_timer {
            self.restart_timer(now);
        }
        self.limited_sent = 0;
        self.stats.fast_recoveries += 1;
        let recover = self.outstanding.max();
        self.record(now, Event::RecoveryBegan { recover });
    }

    /// Restarts the timer with a full timeout, or stops it if nothing is outstanding (RFC 6298, 5.2 and 5.3).
    fn restart_timer(&mut self, now: Instant) {
        self.retransmit_at = (!self.outstanding.is_empty()).then(|| now + self.rtt.rto());
    }
}
