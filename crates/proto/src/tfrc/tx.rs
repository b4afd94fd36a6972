//! The sending half of CCID 3 and CCID 4.

mod checks;
mod counter;
mod departures;
mod host;
mod report;
mod reported;
mod sent;

#[cfg(test)]
mod tests;

use fairwire_cc::tfrc::{Equation, LossAverage, Sender, TfrcConfig};
use fairwire_cc::{
    Controller, DEFAULT_RTT, Feedback, Flight, Gauges, Permit, RoundTrip, TfrcReport,
};
use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::{RTT_TOO_LARGE, Seq};

use self::checks::{Checks, Measure};
use self::counter::WindowCounter;
use self::host::HostReports;
use self::report::{Intervals, Report};
use self::reported::ReportedIntervals;
use self::sent::{SentPacket, SentPackets};
use super::Profile;
use super::profile::NOMINAL;
use crate::config::Ccid3Config;
use crate::half::{Ack, FeedbackOutcome, Incoming, Sent, Tx};

/// The sending half of CCID 3 and CCID 4: sends window counters, reads feedback and controls the rate.
#[derive(Debug)]
pub(crate) struct TfrcTx {
    controller: Sender,
    counter: WindowCounter,
    sent: SentPackets,
    intervals: ReportedIntervals,
    host: HostReports,
    /// Whether reports without Loss Intervals count (feature 192 is on).
    loss_event_rate: bool,
    /// Sequence and acknowledgement number of the newest feedback packet.
    newest_feedback: Option<(Seq, Seq)>,
    profile: Profile,
    equation: Equation,
    /// The checks of reports against what was sent, if enabled.
    checks: Option<Box<Checks>>,
    /// Whether the Sequence Window is widened with the rate, and limits the flight.
    heeds_window: bool,
    /// When the newest feedback came.
    newest_feedback_at: Option<Instant>,
    /// Whether the peer was caught lying, or has restarted its loss history, since the newest feedback.
    has_restarted: bool,
    /// The newest and the shortest round-trip time that the controller learned.
    samples: RoundTrip,
}

impl TfrcTx {
    /// Creates a half that has sent nothing. `mps` is the largest datagram in bytes, and `rtt` a round-trip time
    /// measured in the handshake. `loss_event_rate` says that the peer agreed to send Loss Event Rate options (RFC
    /// 4342, section 8.4): a report that has one then needs no Loss Intervals.
    pub(crate) fn new(
        config: &Ccid3Config,
        profile: Profile,
        mps: u32,
        rtt: Option<Duration>,
        now: Instant,
        loss_event_rate: bool,
    ) -> Self {
        let mut half = Self {
            controller: Sender::new(controller_config(config, profile, mps)),
            counter: WindowCounter::new(),
            sent: SentPackets::new(),
            intervals: ReportedIntervals::new(loss_average(config), profile.is_small()),
            host: HostReports::default(),
            loss_event_rate,
            newest_feedback: None,
            newest_feedback_at: None,
            profile,
            equation: equation(config),
            checks: None,
            heeds_window: !config.keep_sequence_window,
            has_restarted: false,
            samples: RoundTrip::default(),
        };
        if let Some(rtt) = rtt {
            half.on_rtt_sample(now, rtt);
        }
        half
    }

    /// Enables the checks of reports against what was sent.
    pub(crate) fn checking_reports(mut self) -> Self {
        let mut checks = Checks::new();
        if let Some(rtt) = self.controller.rtt() {
            checks.rtt_checks().on_measured(rtt);
        }
        self.checks = Some(Box::new(checks));
        self
    }

    fn rtt(&self) -> Duration {
        self.controller.rtt().unwrap_or(DEFAULT_RTT)
    }

    /// Returns how many packets the rate allows in a round trip.
    fn packets_in_rtt(&self) -> f64 {
        self.controller.rate_bytes_per_s() * self.rtt().as_secs_f64()
            / self.controller.segment_size()
    }

    fn measure(&self) -> Measure {
        Measure {
            equation: self.equation,
            // RFC 4828, 1: for small packets, the nominal size.
            size: if self.profile.is_small() {
                f64::from(NOMINAL)
            } else {
                self.controller.segment_size()
            },
            rtt: self.rtt(),
        }
    }

    /// Discards what the peer reported about packets before `seq`, because it was caught lying or has forgotten its
    /// losses. The rate restarts at the initial rate of a connection.
    fn restart_history(&mut self, seq: Seq) {
        let measure = self.measure();
        // RFC 5348, 4.2: four packets per round trip.
        let first_rate = 4.0 * measure.size / measure.rtt.as_secs_f64().max(1e-6);
        self.intervals.restart(seq, measure.interval(first_rate));
        self.has_restarted = true;
    }

    fn flight_with(&self, waiting: u32) -> Flight {
        Flight {
            waiting,
            ..self.sent.flight()
        }
    }

    /// Returns whether feedback in the packet `seq` is new. A copy is not, nor is feedback that newer feedback has
    /// overtaken.
    fn is_news(&self, seq: Seq, ackno: Seq) -> bool {
        self.newest_feedback
            .is_none_or(|(newest, acked)| seq.is_after(newest) && !ackno.is_before(acked))
    }

    /// Returns the loss event rate that `report` gives, and whether it reports new loss events; `None` if the report
    /// does not count as feedback.
    fn loss(&mut self, now: Instant, report: &Report, ackno: Seq) -> Option<(f64, bool)> {
        let rtt = self.rtt();
        let intervals = self.checked_intervals(now, report, ackno);
        let intervals = intervals.map(|reported| self.host.split(ackno, &reported));
        if let Some(intervals) = intervals.as_ref()
            && let Some(reported) = self.intervals.observe(ackno, intervals, rtt)
        {
            return Some(reported);
        }
        if self.checks.as_ref().is_some_and(|c| c.sends_intervals()) {
            // RFC 4342, 6: a receiver that sends Loss Intervals must send them on every report. A report without them,
            // or with contradictory ones, may hide losses.
            return None;
        }
        // RFC 4342, 6, asks for Loss Intervals. If Loss Event Rate was negotiated, that option is enough: the Linux
        // kernel sends no other. This rate rises only with loss events.
        let rate = report.loss_event_rate.filter(|_| self.loss_event_rate)?;
        let rises = self.controller.gauges().p.is_some_and(|p| rate > p);
        Some((rate, rises))
    }
}

impl TfrcTx {
    /// Returns the intervals of a report, reduced to what can be true.
    fn checked_intervals(
        &mut self,
        now: Instant,
        report: &Report,
        ackno: Seq,
    ) -> Option<Intervals> {
        let reported = report.intervals?;
        let measure = self.measure();
        let Some(checks) = &mut self.checks else {
            return Some(reported);
        };
        let checked = checks.check(now, ackno, &reported, measure);
        if let Some(seq) = checked.restart {
            self.restart_history(seq);
        }
        Some(checked.intervals)
    }

    /// Returns the round-trip time sample of a report that acknowledges `acked`.
    fn sample(&mut self, now: Instant, acked: SentPacket, held: Duration) -> Option<Duration> {
        // A peer cannot have held the packet for longer than we waited, so there is no sample.
        let waited = now.saturating_since(acked.at);
        if held > waited {
            return None;
        }
        let Some(checks) = &mut self.checks else {
            return Some(waited - held);
        };
        let next = self.sent.oldest_left();
        let apart = next.map(|next| next.saturating_since(acked.at));
        Some(checks.rtt_checks().sample(waited, held, apart))
    }

    /// Notes a round-trip time that the controller learns.
    fn note_sample(&mut self, rtt: Duration) {
        let min = self.samples.min.map_or(rtt, |min| min.min(rtt));
        (self.samples.latest, self.samples.min) = (Some(rtt), Some(min));
    }

    /// Returns the receive rate of a report on `acked`, reduced to what can be true.
    fn receive_rate(&mut self, now: Instant, acked: Option<SentPacket>, reported: u32) -> f64 {
        let reported = f64::from(reported);
        match (&mut self.checks, self.controller.rtt()) {
            (Some(checks), Some(rtt)) => {
                checks.receive_rate(reported, acked.map_or(now, |acked| acked.at), rtt)
            }
            _ => reported,
        }
    }
}

impl TfrcTx {
    /// Handles an acknowledgement, which may carry feedback.
    fn on_ack(&mut self, now: Instant, ack: Ack<'_>, waiting: u32, outcome: &mut FeedbackOutcome) {
        let ackno = ack.ackno;
        outcome.progress |= self.sent.acknowledge(ackno);
        let acked = self.sent.acknowledged(ackno);
        if let Some(acked) = acked {
            self.counter.on_acknowledged(acked.counter);
        }
        if let Some(checks) = &mut self.checks
            && let Some(restart) = checks.on_ack(ackno)
        {
            self.restart_history(restart);
        }
        let Some(x_recv) = ack.options.receive_rate else {
            return;
        };
        if !self.is_news(ack.seq, ackno) {
            return;
        }
        let report = Report::of(ack.options);
        let x_recv = self.receive_rate(now, acked, x_recv);
        let rtt = acked.and_then(|acked| self.sample(now, acked, report.elapsed));
        let told_loss = self.loss(now, &report, ackno);
        // RFC 4340, 12.3: the connection to a peer that keeps lying is ended.
        outcome.aggression |= self.checks.as_ref().is_some_and(|c| c.is_aggression());
        let Some((p, new_loss)) = told_loss else {
            return;
        };
        let new_loss = new_loss || std::mem::take(&mut self.has_restarted);
        self.newest_feedback = Some((ack.seq, ackno));
        outcome.progress = true;
        outcome.loss_events += u32::from(new_loss);
        outcome.arrived_bytes += self.arrived_bytes(now, x_recv);
        if let Some(rtt) = rtt {
            self.note_sample(rtt);
        }
        let feedback = Feedback {
            rtt,
            tfrc: Some(TfrcReport {
                x_recv,
                p,
                new_loss,
                covers_until: acked.map(|acked| acked.at),
            }),
            ..Feedback::default()
        };
        let flight = self.flight_with(waiting);
        self.controller.on_feedback(now, flight, &feedback);
    }

    /// Returns how many bytes arrived since the last report, by the receive rate of this one. RFC 4342, 8.3: it is the
    /// rate of application data over the time since the last report.
    fn arrived_bytes(&mut self, now: Instant, x_recv: f64) -> u64 {
        let last = self.newest_feedback_at.replace(now);
        let since = last.map_or(self.rtt(), |last| now.saturating_since(last));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and a cast saturates"
        )]
        let bytes = (x_recv * since.as_secs_f64()) as u64;
        bytes
    }

    /// Passes what the peer's host reported to the controller.
    fn apply_host_limits(&mut self, now: Instant, waiting: u32) {
        // After the report in the same packet: RFC 4342, 5.2, uses the newest receive rate.
        let feedback = Feedback {
            host: std::mem::take(&mut self.host.limits),
            ..Feedback::default()
        };
        let flight = self.flight_with(waiting);
        self.controller.on_feedback(now, flight, &feedback);
    }
}

impl Tx for TfrcTx {
    fn footprint(&self) -> usize {
        let checks = self.checks.as_ref().map_or(0, |_| size_of::<Checks>());
        size_of::<Self>() + checks + self.sent.footprint()
    }

    fn flight(&self) -> Flight {
        self.sent.flight()
    }

    fn permit(&self, now: Instant, waiting: u32, size: u32) -> Permit {
        self.controller.permit(now, self.flight_with(waiting), size)
    }

    fn ccval(&mut self, now: Instant) -> u8 {
        // RFC 6323, 3.3: the counter is also sent if data carries the round-trip time.
        let rtt = self.controller.rtt().unwrap_or(DEFAULT_RTT);
        self.counter.next(now, rtt)
    }

    fn on_sent(&mut self, now: Instant, sent: Sent, waiting: u32) {
        self.sent
            .push(sent.seq, now, sent.data, self.counter.value());
        self.intervals.on_sent(sent.seq, now);
        if self.checks.is_some() {
            let rtt = self.rtt();
            if let Some(checks) = &mut self.checks {
                checks.on_sent(now, sent.seq, sent.data, rtt);
            }
        }
        if let Some(size) = sent.data {
            let flight = self.flight_with(waiting);
            self.controller.on_sent(now, flight, size);
        }
    }

    fn skips_of_65536(&self) -> u32 {
        let Some(checks) = &self.checks else {
            return 0;
        };
        checks.skips_of_65536(self.packets_in_rtt())
    }

    fn on_skipped(&mut self, now: Instant, seq: Seq) {
        // RFC 4342, 9: the number of a packet that is not sent. It uses the time of a packet; otherwise a gap in the
        // departures would show the peer that nothing was lost there.
        self.controller.on_skipped(now);
        self.intervals.on_sent(seq, now);
        let rtt = self.rtt();
        if let Some(checks) = &mut self.checks {
            checks.on_skipped(now, seq, rtt);
        }
    }

    fn acknowledges_packets(&self) -> bool {
        // RFC 4342, 6: feedback reports rates and intervals, not the fate of each packet.
        false
    }

    fn on_packet(
        &mut self,
        now: Instant,
        packet: Incoming<'_>,
        waiting: u32,
        outcome: &mut FeedbackOutcome,
    ) {
        if let Some(report) = packet.host {
            self.host.on_report(report, &self.sent);
        }
        if let Some(ack) = packet.ack {
            self.on_ack(now, ack, waiting, outcome);
        }
        if packet.host.is_some() {
            self.apply_host_limits(now, waiting);
        }
    }

    fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        if let Some(checks) = &mut self.checks {
            checks.rtt_checks().on_measured(rtt);
        }
        self.note_sample(rtt);
        let feedback = Feedback {
            rtt: Some(rtt),
            ..Feedback::default()
        };
        self.controller
            .on_feedback(now, self.sent.flight(), &feedback);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.controller.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, waiting: u32, outcome: &mut FeedbackOutcome) {
        let flight = self.flight_with(waiting);
        outcome.silence = flight.packets > 0;
        if self.next_timeout().is_some_and(|at| at <= now) {
            // No feedback for four round trips. If the flight blocks sending (RFC 4340, 7.5.2), nothing else would ever
            // clear it: without data from us the peer has nothing to report.
            self.sent.forget_flight();
        }
        self.controller.handle_timeout(now, flight);
    }

    fn wants_ack_of_ack(&self) -> bool {
        // RFC 4342, 6.3: only Ack Vectors and Data Dropped need it. This half sends no Ack Vectors, and the connection
        // handles Data Dropped.
        false
    }

    fn on_feedback_acknowledged(&mut self, _now: Instant) {}

    fn wanted_ack_ratio(&self) -> Option<u16> {
        // RFC 4342, 6.2: feedback comes once per round trip, whatever the Ack Ratio.
        None
    }

    fn set_loss_event_rate(&mut self, on: bool) {
        self.loss_event_rate = on;
    }

    fn heeds_window(&self) -> bool {
        self.heeds_window
    }

    fn packets_per_rtt(&self) -> u64 {
        let packets = self.packets_in_rtt();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and the cast saturates"
        )]
        let packets = (packets + 1.0) as u64;
        packets
    }

    fn srtt(&self) -> Option<Duration> {
        self.controller.rtt()
    }

    fn round_trip(&self) -> RoundTrip {
        RoundTrip {
            smoothed: self.controller.rtt(),
            ..self.samples
        }
    }

    fn rtt_estimate(&self) -> Option<u32> {
        Some(rtt_estimate(self.controller.rtt()))
    }

    fn allowed_rate(&self) -> Option<Rate> {
        let rate = self.controller.departure_rate_bytes_per_s();
        Some(Rate::from_bytes_per_s(rate))
    }

    fn gauges(&self) -> Gauges {
        self.controller.gauges()
    }

    fn finish(&mut self, _outcome: &mut FeedbackOutcome) {
        // Each datagram got its fate when it was sent.
    }
}

/// Returns the value of the RTT Estimate option. RFC 6323, 3.2.1: whole microseconds, rounded up, so that a known
/// round-trip time is never 0. RFC 6323, 3.3: one value stands for all that are too large.
fn rtt_estimate(rtt: Option<Duration>) -> u32 {
    let Some(rtt) = rtt else {
        return 0;
    };
    let us = rtt.as_nanos().div_ceil(1_000).max(1);
    u32::try_from(us).unwrap_or(u32::MAX).min(RTT_TOO_LARGE)
}

fn controller_config(config: &Ccid3Config, profile: Profile, mps: u32) -> TfrcConfig {
    TfrcConfig {
        equation: equation(config),
        segment: profile.segment(config),
        max_segment: mps,
        oscillation_reduction: config.oscillation_reduction,
        oscillation_reduction_from: config.oscillation_reduction_from,
        receive_limit: config.receive_limit,
        start: config.start,
        initial_rate: config.initial_rate,
        min_nofeedback: config.min_nofeedback.into(),
        granularity: config.granularity.into(),
        bursts: config.bursts,
        min_interval: profile.min_interval(),
        ..TfrcConfig::default()
    }
}

/// Returns the configured mean of loss intervals, still empty.
pub(super) const fn loss_average(config: &Ccid3Config) -> LossAverage {
    LossAverage::new(config.history_discounting)
        .with_mean(config.loss_mean)
        .with_first_interval(config.first_interval_lasts)
}

/// Returns the throughput equation with the configured constants.
pub(super) fn equation(config: &Ccid3Config) -> Equation {
    Equation {
        b: config.b,
        t_rto_rtts: config.t_rto_rtts,
        form: config.equation,
    }
}
