//! The sending half with Ack Vectors: a pipe, a round-trip time estimate and the controller of its CCID (RFC 4341).

mod late;

use fairwire_cc::{
    Congestion, Controller, Delivery, Feedback, Flight, Gauges, HostLimits, Limit, Permit,
    RtoConfig, RttEstimator, Signal,
};
use fairwire_units::{Duration, Ecn, Instant, Rate};
use fairwire_wire::Seq;

use super::ack_loss::AckLossDetector;
use super::ack_ratio::AckRatio;
use super::host;
use super::in_use::InUse;
use super::nonce_check::NonceCheck;
use super::outage::Outage;
use super::pipe::{Outcome, Pipe};
use super::vector::Report;
use crate::config::{AckRatioFollows, Ccid2Config};
use crate::constants::DEFAULT_ACK_RATIO;
use crate::half::{Ack, Arrival, FeedbackOutcome, Incoming, Sent, Tx};

/// The longest time for which a receiver delays an acknowledgement to wait for more packets (RFC 4340, section 11.3).
const ACK_DELAY: Duration = Duration::from_millis(200);

/// The sender of data under a CCID with Ack Vectors.
#[derive(Debug)]
pub(crate) struct Sender {
    controller: Box<dyn Controller>,
    pipe: Pipe,
    rtt: RttEstimator,
    newest_sent: Option<Seq>,
    /// The first packet that may give the next round-trip time sample.
    sample_from: Option<Seq>,
    /// When the retransmission timer expires; it runs while data is in flight.
    timer: Option<Instant>,
    /// Data packets acknowledged since we last acknowledged an acknowledgement.
    acked_since_ack_of_ack: u32,
    /// The mean size of the data packets sent, bytes.
    mean_size: f64,
    /// The Ack Ratio that this sender wants.
    ack_ratio: AckRatio,
    /// The Ack Ratio that the peer is known to use.
    agreed_ratio: u16,
    /// What leaves within a round trip, if the Ack Ratio depends on it.
    in_use: Option<InUse>,
    acks: AckLossDetector,
    /// Whether a packet was lost that may have been data or an acknowledgement.
    wants_counts: bool,
    /// What the packet being processed says about the peer's host.
    host: HostLimits,
    /// The checks of the peer's reports, if enabled.
    nonces: Option<Box<NonceCheck>>,
    /// The shortest time that an acknowledgement took, whatever it says about how long the peer held it. Used if
    /// reports are checked.
    least: Option<Duration>,
    /// Whether numbers are skipped and Elapsed Times are checked.
    checks: bool,
    /// Whether packets can be lost by time.
    losses_by_time: bool,
    /// Whether the path carries nothing, if outages are probed.
    outage: Option<Outage>,
}

impl Sender {
    /// Creates a sender for packets of about `size_hint` application bytes. Of `config` it reads what concerns the
    /// timeout and the acknowledgements; the controller has read the rest. `initial_rtt` is the round-trip time that
    /// the handshake measured.
    pub(crate) fn new(
        now: Instant,
        config: &Ccid2Config,
        controller: Box<dyn Controller>,
        size_hint: u32,
        initial_rtt: Option<Duration>,
    ) -> Self {
        let rto = RtoConfig::CCID2.with_min(config.min_rto.into());
        let mut sender = Self {
            controller,
            pipe: Pipe::default(),
            rtt: RttEstimator::new(rto),
            newest_sent: None,
            sample_from: None,
            timer: None,
            acked_since_ack_of_ack: 0,
            mean_size: f64::from(size_hint),
            ack_ratio: AckRatio::new(config),
            agreed_ratio: DEFAULT_ACK_RATIO,
            in_use: (config.ack_ratio_follows == AckRatioFollows::Use).then(InUse::default),
            acks: AckLossDetector::default(),
            wants_counts: false,
            host: HostLimits::default(),
            nonces: None,
            least: None,
            checks: false,
            losses_by_time: config.losses_by_time,
            outage: config.probe_outages.then(Outage::default),
        };
        if let Some(rtt) = initial_rtt {
            sender.on_rtt_sample(now, rtt);
        }
        sender
    }

    /// Enables the check of the peer's vectors against ECN nonces (RFC 4340, section 12.2).
    pub(crate) fn checking_nonces(mut self) -> Self {
        self.check_state().with_nonces();
        self
    }

    /// Enables the checks of reports: a number is skipped now and then, to see whether the peer claims to have received
    /// it (RFC 4342, section 9), and an impossible Elapsed Time is not believed.
    pub(crate) fn checking_reports(mut self) -> Self {
        self.check_state().with_skips();
        self.checks = true;
        self
    }

    /// Returns a sender under CCID 2 with these parameters.
    #[cfg(test)]
    pub(super) fn windowed(
        now: Instant,
        config: &Ccid2Config,
        size_hint: u32,
        initial_rtt: Option<Duration>,
    ) -> Self {
        let whole = crate::Config {
            ccid2: config.clone(),
            ..crate::Config::default()
        };
        let controller = crate::ccid::ControllerSetup {
            config: &whole,
            max_datagram: size_hint,
        }
        .window();
        Self::new(now, config, controller, size_hint, initial_rtt)
    }

    fn check_state(&mut self) -> &mut NonceCheck {
        self.nonces
            .get_or_insert_with(|| Box::new(NonceCheck::new()))
    }

    /// Returns whether the peer was recently found lying.
    #[cfg(test)]
    pub(super) fn is_suspicious(&self) -> bool {
        let nonces = self.nonces.as_ref();
        nonces.is_some_and(|nonces| nonces.is_suspicious())
    }

    /// Checks a report against the nonces sent. For a lie, returns the congestion that it counts as.
    fn check(
        &mut self,
        now: Instant,
        report: Report<'_>,
        ackno: Seq,
        outcome: &mut FeedbackOutcome,
    ) -> Option<Congestion> {
        let nonces = self.nonces.as_mut()?;
        let lie = nonces.judge(report, ackno);
        outcome.aggression |= nonces.is_aggressive();
        // RFC 4340, 12.3: treated as if a recent packet had been reported as marked.
        lie.then(|| Congestion {
            signal: Signal::Marked,
            newest_sent: now.saturating_before(self.rtt.srtt().unwrap_or(Duration::ZERO)),
            packets: 0,
        })
    }

    fn flight_with(&self, waiting: u32) -> Flight {
        Flight {
            waiting,
            ..self.flight()
        }
    }

    /// Returns the congestion window, packets. For a controller with a rate, returns the equivalent window.
    fn window(&self) -> f64 {
        let limit = self.controller.limit();
        limit.packets_per_rtt(self.rtt.srtt(), self.mean_size)
    }

    /// Returns the window on which the Ack Ratio depends, packets: if it follows use, no more than leave in a round trip.
    fn window_in_use(&self) -> f64 {
        let window = self.window();
        let used = self.in_use.and_then(InUse::packets);
        used.map_or(window, |used| window.min(f64::from(used)))
    }

    /// Returns the number of packets in flight below which the receiver may delay its acknowledgement.
    fn delayed_below(&self) -> u32 {
        // The receiver may already use a new ratio before its Confirm arrives.
        let ratio = self
            .agreed_ratio
            .max(self.ack_ratio.get(self.window_in_use()));
        u32::from(ratio.max(DEFAULT_ACK_RATIO))
    }

    /// Returns when the retransmission timer expires.
    fn deadline(&self) -> Option<Instant> {
        let waits = self.pipe.in_flight() > 0 || self.pipe.has_left();
        self.timer.filter(|_| waits)
    }

    /// Starts the retransmission timer.
    ///
    /// The receiver may delay the acknowledgement of fewer packets than the Ack Ratio, and round-trip time samples do
    /// not include that delay. Without allowing for it here, each such packet would be taken for lost.
    fn start_timer(&mut self, now: Instant) {
        let few = self.pipe.in_flight() < self.delayed_below();
        let delay = if few { ACK_DELAY } else { Duration::ZERO };
        self.timer = Some(now + self.rtt.rto() + delay);
    }

    /// Updates the retransmission timer for a data packet that left. RFC 6298, 5.1: the timer is started if it does not
    /// run. The packet that completes the Ack Ratio makes the receiver answer without delay, so the timer then expires
    /// earlier.
    fn send_timer(&mut self, now: Instant) {
        let in_flight = self.pipe.in_flight();
        if in_flight == 1 {
            self.start_timer(now);
        } else if in_flight == self.delayed_below() {
            let undelayed = now + self.rtt.rto();
            self.timer = self.timer.map(|timer| timer.min(undelayed));
        }
    }

    /// Takes a round-trip time sample. RFC 4341, 5: at most one per window of data.
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
        // An elapsed time as long as the whole round trip is not believed.
        let held = report.elapsed.filter(|&held| held < raw);
        let held = held.unwrap_or(Duration::ZERO);
        let rtt = if self.checks {
            self.checked_rtt(raw, held, sent_at, ackno)
        } else {
            raw - held
        };
        self.rtt.on_sample(rtt);
        self.sample_from = self.newest_sent.map(Seq::next);
        Some(rtt)
    }
}

impl Sender {
    /// Returns the round-trip time to believe. The peer says that it held packet `ackno`, sent at `sent_at`, for `held`
    /// of the time `raw` that its acknowledgement took.
    ///
    /// Had the next packet arrived while this one was held, it would have been acknowledged instead. So at most the
    /// time between the departures of the two counts as held. The result is at least the shortest time that any
    /// acknowledgement took, which the peer cannot lower by its reports.
    fn checked_rtt(
        &mut self,
        raw: Duration,
        held: Duration,
        sent_at: Instant,
        ackno: Seq,
    ) -> Duration {
        let least = self.least.map_or(raw, |least| least.min(raw));
        self.least = Some(least);
        let apart = self
            .pipe
            .left_after(ackno)
            .map(|next| next.saturating_since(sent_at));
        let held = apart.map_or(held, |apart| held.min(apart));
        (raw - held).max(least)
    }
}

impl Sender {
    /// Handles a packet from the peer, which may show that acknowledgements were lost.
    fn on_arrival(&mut self, arrival: Arrival) {
        let found = self.acks.note(arrival.into());
        // An endpoint without data in flight causes no acknowledgements that could be too many.
        if found.congestion && self.pipe.in_flight() > 0 {
            self.ack_ratio.on_congestion(self.window_in_use());
            self.wants_counts |= found.may_be_data;
        }
    }

    fn on_ack(&mut self, now: Instant, ack: Ack<'_>, waiting: u32, outcome: &mut FeedbackOutcome) {
        let ackno = ack.ackno;
        // A packet that was never sent cannot have been received, whatever the peer says.
        if self.newest_sent.is_none_or(|newest| ackno.is_after(newest)) {
            return;
        }
        let Some(report) = Report::of(ack.options, ackno) else {
            return;
        };
        let lie = self.check(now, report, ackno, outcome);
        let mut taken = self.pipe.take(report, ackno, &mut outcome.fates);
        let rtt = self.sample(now, report, ackno, &taken);
        if let Some(wait) = self.reordering() {
            self.pipe
                .settle_late(now, wait, &mut taken, &mut outcome.fates);
        }
        if taken.acked > 0 {
            outcome.progress = true;
            outcome.largest_arrived = outcome.largest_arrived.max(taken.largest);
            outcome.arrived_bytes += taken.acked_bytes;
            self.rtt.clear_back_off();
            if let Some(outage) = &mut self.outage {
                outage.on_progress();
            }
            self.start_timer(now);
            self.acked_since_ack_of_ack = self.acked_since_ack_of_ack.saturating_add(taken.acked);
        }
        // A false report must not let the window grow.
        let packets = taken.acked.max(1);
        let lie = lie.map(|lie| Congestion { packets, ..lie });
        let congestion = taken.congestion.or(lie);
        if taken.acked == 0 && congestion.is_none() {
            return;
        }
        let feedback = Feedback {
            host: std::mem::take(&mut self.host),
            rtt,
            path: self.rtt.round_trip(),
            delivery: Delivery {
                packets: taken.acked,
                bytes: taken.acked_bytes,
                marked: taken.marked,
                newest_sent: taken.newest_acked_sent,
            },
            newly_acked: taken.acked,
            newly_acked_bytes: taken.acked_bytes,
            oldest_acked_sent: taken.oldest_acked_sent,
            congestion,
            ack_ratio: Some(u32::from(self.agreed_ratio)),
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.flight_with(waiting), &feedback);
        self.ack_ratio
            .on_report(taken.acked, self.window_in_use(), self.agreed_ratio);
    }
}

impl Tx for Sender {
    fn footprint(&self) -> usize {
        let nonces = self
            .nonces
            .as_ref()
            .map_or(0, |nonces| size_of_val(&**nonces));
        size_of::<Self>()
            + size_of_val(&*self.controller)
            + self.controller.memory()
            + self.pipe.footprint()
            + nonces
    }

    fn flight(&self) -> Flight {
        Flight {
            packets: self.pipe.in_flight(),
            bytes: self.pipe.bytes(),
            waiting: 0,
        }
    }

    fn permit(&self, now: Instant, waiting: u32, size: u32) -> Permit {
        let permit = self.controller.permit(now, self.flight_with(waiting), size);
        match (permit, self.outage) {
            (Permit::AwaitFeedback, Some(outage)) => outage.permit(now, self.rtt.srtt()),
            _ => permit,
        }
    }

    fn has_room(&self, now: Instant) -> bool {
        let size = match self.controller.limit() {
            // Some room is left in a window of bytes, but not always for a packet.
            Limit::Bytes { .. } => whole_bytes(self.mean_size),
            Limit::Window(_) | Limit::Rate(_) => 1,
        };
        self.controller.permit(now, self.flight(), size) != Permit::AwaitFeedback
    }

    fn ccval(&mut self, _now: Instant) -> u8 {
        // RFC 4340, 5.1: zero if the CCID does not define a meaning.
        0
    }

    fn on_sent(&mut self, now: Instant, sent: Sent, waiting: u32) {
        self.newest_sent = Some(sent.seq);
        if let Some(nonces) = &mut self.nonces {
            nonces.on_sent(sent.seq, sent.nonce);
        }
        let Some(size) = sent.data else {
            return;
        };
        self.pipe.push(sent.seq, now, size, sent.id);
        if let Some(outage) = &mut self.outage {
            outage.on_sent(now);
        }
        if let Some(in_use) = &mut self.in_use {
            in_use.on_sent(now, self.rtt.srtt());
        }
        self.send_timer(now);
        self.mean_size += (f64::from(size) - self.mean_size) / 8.0;
        self.controller
            .on_sent(now, self.flight_with(waiting), size);
    }

    fn skips_of_65536(&self) -> u32 {
        self.nonces
            .as_ref()
            .map_or(0, |nonces| nonces.skips_of_65536())
    }

    fn on_skipped(&mut self, _now: Instant, seq: Seq) {
        self.newest_sent = Some(seq);
        if let Some(nonces) = &mut self.nonces {
            nonces.on_skipped(seq);
        }
    }

    fn on_packet(
        &mut self,
        now: Instant,
        packet: Incoming<'_>,
        waiting: u32,
        outcome: &mut FeedbackOutcome,
    ) {
        if let Some(arrival) = packet.arrival {
            self.on_arrival(arrival);
        }
        if let Some(report) = packet.host {
            host::on_report(report, &mut self.pipe, &mut self.host);
        }
        if let Some(ack) = packet.ack {
            self.on_ack(now, ack, waiting, outcome);
        }
        if packet.host.is_some() {
            // Passes what no acknowledgement has passed to the controller.
            let flight = self.flight_with(waiting);
            host::apply(now, flight, &mut self.host, &mut *self.controller);
        }
    }

    fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        let feedback = Feedback {
            rtt: Some(rtt),
            path: self.rtt.round_trip(),
            ..Feedback::default()
        };
        self.controller.on_feedback(now, self.flight(), &feedback);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.controller.next_timeout();
        Instant::earliest([self.deadline(), self.loss_timer(), own])
    }

    fn handle_timeout(&mut self, now: Instant, waiting: u32, outcome: &mut FeedbackOutcome) {
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller
                .handle_timeout(now, self.flight_with(waiting));
        }
        if self.loss_timer().is_some_and(|at| at <= now) {
            self.lose_late(now, waiting, outcome);
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        let was_in_flight = self.pipe.in_flight() > 0;
        // RFC 4341, 5: a transmit timeout empties the pipe; the timer backs off as TCP's does.
        self.pipe.lose_all(&mut outcome.fates);
        if !was_in_flight {
            return; // RFC 9000, 9.4: what was sent on another path says nothing about this one.
        }
        outcome.silence = true;
        self.rtt.back_off();
        if let Some(outage) = &mut self.outage {
            outage.on_timeout(now);
        }
        self.sample_from = self.newest_sent.map(Seq::next);
        let feedback = Feedback {
            timeout: true,
            path: self.rtt.round_trip(),
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.flight_with(waiting), &feedback);
        self.ack_ratio
            .on_report(0, self.window_in_use(), self.agreed_ratio);
    }

    fn wants_ack_of_ack(&self) -> bool {
        // RFC 4341, 6.2: once per congestion window.
        f64::from(self.acked_since_ack_of_ack) >= self.window()
    }

    fn on_feedback_acknowledged(&mut self, _now: Instant) {
        self.acked_since_ack_of_ack = 0;
    }

    fn wanted_ack_ratio(&self) -> Option<u16> {
        Some(self.ack_ratio.get(self.window_in_use()))
    }

    fn set_ack_ratio(&mut self, ratio: u16) {
        // RFC 4340, 11.3: zero means that no ratio is used; acknowledgements still follow the data.
        self.agreed_ratio = if ratio == 0 { DEFAULT_ACK_RATIO } else { ratio };
    }

    fn wants_ndp_counts(&self) -> bool {
        self.wants_counts
    }

    fn packets_per_rtt(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a window is positive, and a cast saturates"
        )]
        let cwnd = self.window() as u64;
        cwnd.max(u64::from(self.pipe.in_flight()))
    }

    fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    fn round_trip(&self) -> fairwire_cc::RoundTrip {
        self.rtt.round_trip()
    }

    fn allowed_rate(&self) -> Option<Rate> {
        let bytes_per_s = match self.controller.limit() {
            Limit::Rate(bytes_per_s) => bytes_per_s,
            Limit::Window(_) | Limit::Bytes { .. } => {
                let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
                self.window() * self.mean_size / srtt.as_secs_f64()
            }
        };
        Some(Rate::from_bytes_per_s(bytes_per_s))
    }

    fn ecn(&self) -> Ecn {
        self.controller.ecn()
    }

    fn cwnd(&self) -> Option<f64> {
        match self.controller.limit() {
            Limit::Rate(_) => None,
            Limit::Window(packets) => Some(packets),
            Limit::Bytes { .. } => Some(self.window()),
        }
    }

    fn gauges(&self) -> Gauges {
        self.controller.gauges()
    }

    fn leave_path(&mut self) {
        self.pipe.leave();
        self.sample_from = self.newest_sent.map(Seq::next);
    }

    fn leave_newest(&mut self) {
        self.pipe.leave_newest();
    }

    fn finish(&mut self, outcome: &mut FeedbackOutcome) {
        self.pipe.finish(&mut outcome.fates);
    }
}

/// Returns a mean size in whole bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size is positive, and a cast saturates"
)]
fn whole_bytes(size: f64) -> u32 {
    size.ceil() as u32
}

#[cfg(test)]
mod tests;
