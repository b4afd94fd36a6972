//! The sending half of CCID 2: a pipe, a round-trip estimate and a controller (RFC 4341).

use fairwire_cc::{
    Controller, Feedback, Flight, Gauges, Growth, NewReno, Permit, RtoConfig, RttEstimator,
    ThresholdWindow, WindowLaw, Windowed, rfc3390_window,
};
use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::{Packet, Seq};

use super::pipe::{Outcome, Pipe};
use super::vector::Report;
use crate::config::{Ccid2Config, Law};
use crate::half::{Sent, Told, Tx};

/// An Ack Ratio of one suits windows up to this many packets, if they stay that small ...
const SMALL_WINDOW: f64 = 2.0;

/// ... and is no longer allowed from this many on (RFC 4341, section 6.1.2).
const LARGE_WINDOW: f64 = 4.0;

/// A receiver may wait for this many packets before it acknowledges (RFC 4340, section 11.3) ...
const DELAYED_BELOW: u32 = 2;

/// ... for so long.
const ACK_DELAY: Duration = Duration::from_millis(200);

/// Reports in a row with a small window that make it a persistent one.
const PERSISTENT: u32 = 4;

/// Sends data under CCID 2.
#[derive(Debug)]
pub(crate) struct Sender {
    controller: Box<dyn Controller>,
    pipe: Pipe,
    rtt: RttEstimator,
    newest_sent: Option<Seq>,
    /// Packets from this one on may give the next round-trip sample.
    sample_from: Option<Seq>,
    /// When the retransmission timer expires; it runs while something is in flight.
    timer: Option<Instant>,
    /// Data packets acknowledged since we last acknowledged the acknowledgements.
    acked_unacknowledged: u32,
    /// Mean size of the data packets sent, bytes.
    mean_size: f64,
    ack_ratio: u16,
    small_reports: u32,
}

impl Sender {
    /// A sender for packets of about `size_hint` application bytes, with the round-trip time that
    /// the handshake measured.
    pub(crate) fn new(
        now: Instant,
        config: &Ccid2Config,
        size_hint: u32,
        initial_rtt: Option<Duration>,
    ) -> Self {
        let rto = RtoConfig::CCID2.with_min(config.min_rto);
        let mut sender = Self {
            controller: controller(config, rto, size_hint),
            pipe: Pipe::default(),
            rtt: RttEstimator::new(rto),
            newest_sent: None,
            sample_from: None,
            timer: None,
            acked_unacknowledged: 0,
            mean_size: f64::from(size_hint),
            ack_ratio: 2,
            small_reports: 0,
        };
        if let Some(rtt) = initial_rtt {
            sender.on_rtt_sample(now, rtt);
        }
        sender
    }

    fn flight_with(&self, waiting: u32) -> Flight {
        Flight {
            waiting,
            ..self.flight()
        }
    }

    fn cwnd(&self) -> f64 {
        self.controller.gauges().cwnd_packets.unwrap_or(1.0)
    }

    /// When the retransmission timer expires.
    fn deadline(&self) -> Option<Instant> {
        self.timer.filter(|_| self.pipe.in_flight() > 0)
    }

    /// Starts the retransmission timer.
    ///
    /// A packet alone in flight may be held back by the receiver, and that time is not part of
    /// our round-trip samples: without waiting for it, each would be taken for lost.
    fn start_timer(&mut self, now: Instant) {
        let alone = self.pipe.in_flight() < DELAYED_BELOW;
        let delay = if alone { ACK_DELAY } else { Duration::ZERO };
        self.timer = Some(now + self.rtt.rto() + delay);
    }

    /// A data packet left. RFC 6298, 5.1: the timer is started if it does not run; and the packet
    /// after a lone one makes the receiver answer without delay.
    fn send_timer(&mut self, now: Instant) {
        let in_flight = self.pipe.in_flight();
        if in_flight == 1 {
            self.start_timer(now);
        } else if in_flight == DELAYED_BELOW {
            let undelayed = now + self.rtt.rto();
            self.timer = self.timer.map(|timer| timer.min(undelayed));
        }
    }

    /// RFC 4341, 5: at most one sample per window of data.
    fn sample(
        &mut self,
        now: Instant,
        report: Report<'_>,
        ackno: Seq,
        outcome: &Outcome,
    ) -> Option<Duration> {
        let sent_at = outcome.acked_sent_at?;
        if self.sample_from.is_some_and(|from| ackno.is_before(from)) {
            return None;
        }
        let raw = now.saturating_since(sent_at);
        // An elapsed time beyond the whole round trip is not believed.
        let held = report.elapsed.filter(|&held| held < raw);
        let rtt = raw - held.unwrap_or(Duration::ZERO);
        self.rtt.on_sample(rtt);
        self.sample_from = self.newest_sent.map(Seq::next);
        Some(rtt)
    }

    /// RFC 4341, 6.1.2: two, or one while the window stays at one or two packets.
    fn choose_ack_ratio(&mut self) {
        let cwnd = self.cwnd();
        if cwnd > SMALL_WINDOW {
            self.small_reports = 0;
        } else {
            self.small_reports = self.small_reports.saturating_add(1);
        }
        if cwnd >= LARGE_WINDOW {
            self.ack_ratio = 2;
        } else if self.small_reports >= PERSISTENT {
            self.ack_ratio = 1;
        }
    }
}

fn controller(config: &Ccid2Config, rto: RtoConfig, size_hint: u32) -> Box<dyn Controller> {
    let initial_window = config
        .initial_window
        // RFC 4341, 5: at most four packets, as RFC 3390 has it.
        .unwrap_or_else(|| rfc3390_window(size_hint));
    match config.law {
        Law::NewReno => windowed(NewReno, initial_window, config, rto),
        Law::ThresholdWindow { cut } => {
            let ssthresh = config.initial_ssthresh.unwrap_or(f64::INFINITY);
            windowed(
                ThresholdWindow::new(ssthresh, cut),
                initial_window,
                config,
                rto,
            )
        }
    }
}

fn windowed<L: WindowLaw + 'static>(
    law: L,
    initial_window: f64,
    config: &Ccid2Config,
    rto: RtoConfig,
) -> Box<dyn Controller> {
    let window = Windowed::new(law, initial_window)
        .with_growth(Growth::CCID2)
        .with_rto(rto);
    match config.initial_ssthresh {
        Some(packets) => Box::new(window.with_initial_ssthresh(packets)),
        None => Box::new(window),
    }
}

impl Tx for Sender {
    fn flight(&self) -> Flight {
        Flight {
            packets: self.pipe.in_flight(),
            bytes: self.pipe.bytes(),
            waiting: 0,
        }
    }

    fn permit(&self, now: Instant, waiting: u32, size: u32) -> Permit {
        self.controller.permit(now, self.flight_with(waiting), size)
    }

    fn ccval(&mut self, _now: Instant) -> u8 {
        // RFC 4340, 5.1: zero where the CCID gives it no meaning.
        0
    }

    fn on_sent(&mut self, now: Instant, sent: Sent, waiting: u32) {
        self.newest_sent = Some(sent.seq);
        let Some(size) = sent.data else {
            return;
        };
        self.pipe.push(sent.seq, now, size, sent.id);
        self.send_timer(now);
        self.mean_size += (f64::from(size) - self.mean_size) / 8.0;
        self.controller
            .on_sent(now, self.flight_with(waiting), size);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        ackno: Seq,
        waiting: u32,
        told: &mut Told,
    ) {
        // What was never sent was never received, whatever the peer says.
        if self.newest_sent.is_none_or(|newest| ackno.is_after(newest)) {
            return;
        }
        let Some(report) = Report::read(packet.options, ackno) else {
            return;
        };
        let outcome = self.pipe.take(report, ackno, &mut told.fates);
        let rtt = self.sample(now, report, ackno, &outcome);
        if outcome.acked > 0 {
            told.progress = true;
            self.rtt.clear_back_off();
            self.start_timer(now);
            self.acked_unacknowledged = self.acked_unacknowledged.saturating_add(outcome.acked);
        }
        if outcome.acked == 0 && outcome.congestion.is_none() {
            return;
        }
        let feedback = Feedback {
            rtt,
            newly_acked: outcome.acked,
            newly_acked_bytes: outcome.acked_bytes,
            congestion: outcome.congestion,
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.flight_with(waiting), &feedback);
        self.choose_ack_ratio();
    }

    fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(rtt);
        let feedback = Feedback {
            rtt: Some(rtt),
            ..Feedback::default()
        };
        self.controller.on_feedback(now, self.flight(), &feedback);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.controller.next_timeout();
        [self.deadline(), own].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, waiting: u32, told: &mut Told) {
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller
                .handle_timeout(now, self.flight_with(waiting));
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        // RFC 4341, 5: a transmit timeout empties the pipe; the timer backs off as TCP's does.
        self.pipe.lose_all(&mut told.fates);
        self.rtt.back_off();
        self.sample_from = self.newest_sent.map(Seq::next);
        let feedback = Feedback {
            timeout: true,
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.flight_with(waiting), &feedback);
        self.choose_ack_ratio();
    }

    fn wants_ack_of_ack(&self) -> bool {
        // RFC 4341, 6.2: once per congestion window.
        f64::from(self.acked_unacknowledged) >= self.cwnd()
    }

    fn on_feedback_acknowledged(&mut self, _now: Instant) {
        self.acked_unacknowledged = 0;
    }

    fn wanted_ack_ratio(&self) -> Option<u16> {
        Some(self.ack_ratio)
    }

    fn packets_per_rtt(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a window is positive, and a cast saturates"
        )]
        let cwnd = self.cwnd() as u64;
        cwnd.max(u64::from(self.pipe.in_flight()))
    }

    fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    fn allowed_rate(&self) -> Option<Rate> {
        let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let window_bytes = self.cwnd() * self.mean_size;
        Some(Rate::from_bytes_per_s(window_bytes / srtt.as_secs_f64()))
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            srtt: self.rtt.srtt(),
            ..self.controller.gauges()
        }
    }

    fn finish(&mut self, told: &mut Told) {
        self.pipe.finish(&mut told.fates);
    }
}

#[cfg(test)]
mod tests;
