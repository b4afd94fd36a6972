//! The TFRC sender: from feedback to the allowed rate (RFC 5348, sections 4.1 to 4.6).
//!
//! It is the sender of CCID 3 (RFC 4342, sections 3.1 and 5) with RFC 5348 in place of RFC 3448 (RFC 5348, section 1).
//! Idle time reduces the rate to no less than the initial one (RFC 4342, section 5.1).

mod data_limited;
mod host;
mod limits;
mod rules;
mod schedule;
mod segment;

#[cfg(test)]
mod tests;

pub use rules::{Bursts, FirstRate, ReceiveLimit, ReductionFrom};
pub use segment::SegmentSize;

use fairwire_units::{Duration, Instant};

use self::data_limited::DataLimited;
use self::host::HostLimit;
use self::limits::RecvSet;
use self::schedule::Schedule;
use self::segment::Segments;
use super::Equation;
use crate::{Controller, Feedback, Flight, Gauges, HostLimits, Limit, Permit, TfrcReport};

/// The longest time between two packets, `t_mbi`, in seconds (RFC 5348, section 4.3).
const T_MBI: f64 = 64.0;
/// The weight of the old value in the round-trip averages, `q` and `q2` (RFC 5348, sections 4.3 and 4.5).
const Q: f64 = 0.9;
/// The nofeedback timer before the first round-trip sample (RFC 5348, section 4.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
/// The least round-trip time; shorter samples count as this.
const MIN_RTT: Duration = Duration::from_micros(1);

/// The settings of a [`Sender`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcConfig {
    /// The constants of the throughput equation.
    pub equation: Equation,
    /// The segment size `s`.
    pub segment: SegmentSize,
    /// The largest packet that may be sent, bytes, in the caller's measure of size.
    pub max_segment: u32,
    /// Whether oscillations are reduced (RFC 5348, section 4.5).
    pub oscillation_reduction: bool,
    /// From when on they are.
    pub oscillation_reduction_from: ReductionFrom,
    /// How the reported receive rate limits the sending rate.
    pub receive_limit: ReceiveLimit,
    /// The rule for the rate until the first report and after it.
    pub start: FirstRate,
    /// The first rate, bytes per second, in place of the one by `start`. With the receive limit of RFC 5348, slow start
    /// never goes below it (RFC 5348, section 4.3).
    pub initial_rate: Option<f64>,
    /// The shortest nofeedback timer.
    pub min_nofeedback: Duration,
    /// The granularity of the timer that sends packets, `t_gran` (RFC 5348, section 8.3). The nofeedback timer is at
    /// least four times this; a shorter one would measure only the timer itself.
    pub granularity: Duration,
    /// How large bursts may be.
    pub bursts: Bursts,
    /// The highest rate, bytes per second.
    pub max_rate: f64,
    /// The least time between two packets (RFC 4828, section 4.3); zero sets no bound.
    pub min_interval: Duration,
}

impl Default for TfrcConfig {
    fn default() -> Self {
        Self {
            equation: Equation::RFC5348,
            segment: SegmentSize::Mean,
            max_segment: 1_460,
            oscillation_reduction: true,
            oscillation_reduction_from: ReductionFrom::FirstReport,
            receive_limit: ReceiveLimit::Rfc5348,
            start: FirstRate::Handshake,
            initial_rate: None,
            min_nofeedback: Duration::ZERO,
            granularity: Duration::from_millis(1),
            bursts: Bursts::Bounded,
            max_rate: 125e9,
            min_interval: Duration::ZERO,
        }
    }
}

/// The TFRC sender: a rate from receive rate, loss event rate and round-trip time.
#[derive(Clone, Debug)]
pub struct Sender {
    config: TfrcConfig,
    segments: Segments,
    schedule: Schedule,
    limited: DataLimited,
    received: RecvSet,
    /// The limit that the peer's host asked for within the last round trip.
    host: HostLimit,
    rtt: Option<RoundTrip>,
    /// `X`, bytes per second; 0 until the first packet leaves.
    x: f64,
    /// `X_Bps`, the rate by the equation; infinite before the first loss event.
    x_bps: f64,
    p: f64,
    /// The receive rate of the last report, bytes per second.
    x_recv: f64,
    /// `tld`: when the rate was last doubled in slow start.
    last_doubled: Option<Instant>,
    nofeedback: Option<Instant>,
    /// Whether nothing was sent since the nofeedback timer was set.
    idle: bool,
    started: bool,
    /// Whether a report has arrived.
    has_report: bool,
    cuts: u64,
    timeouts: u64,
}

/// The round-trip averages.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// `R`.
    mean: Duration,
    /// `R_sqmean`, in square roots of seconds.
    mean_sqrt: f64,
    /// The square root of `R_sample`.
    latest_sqrt: f64,
}

impl Sender {
    /// Creates a sender that has sent nothing and does not know the path.
    ///
    /// A known round trip, for example from a handshake, is passed as [`Feedback::rtt`] before the first packet.
    pub fn new(config: TfrcConfig) -> Self {
        Self {
            config,
            segments: Segments::new(config.segment, config.max_segment),
            schedule: Schedule::new(config.granularity, config.bursts, config.min_interval),
            limited: DataLimited::new(),
            received: RecvSet::new(),
            host: HostLimit::default(),
            rtt: None,
            x: 0.0,
            x_bps: f64::INFINITY,
            p: 0.0,
            x_recv: 0.0,
            last_doubled: None,
            nofeedback: None,
            idle: true,
            started: false,
            has_report: false,
            cuts: 0,
            timeouts: 0,
        }
    }

    /// Returns the size of one packet in the computation, bytes, at least 1.
    ///
    /// Except for small packets this is the `s` of the equation.
    pub fn segment_size(&self) -> f64 {
        self.segments.size()
    }

    /// Returns the smoothed round-trip time `R`.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|rtt| rtt.mean)
    }

    /// Returns the present rate, `X_inst`, bytes per second (RFC 5348, section 4.5).
    ///
    /// Before the first packet this is the first rate.
    pub fn rate_bytes_per_s(&self) -> f64 {
        let x = if self.started {
            self.x
        } else {
            self.first_rate()
        };
        let x = match self.rtt {
            Some(rtt) if self.reduces_oscillations() => x * rtt.mean_sqrt / rtt.latest_sqrt,
            _ => x,
        };
        self.bounded(x)
    }

    /// Returns whether the rate follows the square root of the latest round-trip time (RFC 5348, section 4.5).
    fn reduces_oscillations(&self) -> bool {
        let begun = match self.config.oscillation_reduction_from {
            ReductionFrom::FirstReport => self.has_report,
            ReductionFrom::FirstLoss => self.p > 0.0,
        };
        self.config.oscillation_reduction && begun
    }

    /// Returns the rate at which packets may leave, bytes per second.
    ///
    /// It is the present rate, or that of the least interval between two packets if it is lower (RFC 5622, section 5).
    pub fn departure_rate_bytes_per_s(&self) -> f64 {
        let least = self.config.min_interval.max(Duration::from_nanos(1));
        let most = self.segment_size() / least.as_secs_f64();
        self.rate_bytes_per_s().min(most)
    }

    /// Records that a packet that could leave does not; its send time passes as if it had left.
    pub fn on_skipped(&mut self, now: Instant) {
        let rtt = self.rtt().unwrap_or(Duration::ZERO);
        self.schedule.on_sent(now, self.interval(), rtt);
    }

    /// Returns `s / t_mbi`, the least rate that is ever allowed.
    fn min_rate(&self) -> f64 {
        self.segment_size() / T_MBI
    }

    fn bounded(&self, rate: f64) -> f64 {
        // The order matters: the least rate holds even if the configured maximum is below it.
        rate.min(self.config.max_rate).max(self.min_rate())
    }

    /// Returns the first rate: `initial_rate` of the settings, or the one by [`TfrcConfig::start`].
    ///
    /// While the round-trip time is not known it is one packet per second (RFC 5348, section 4.2).
    fn first_rate(&self) -> f64 {
        if let Some(rate) = self.config.initial_rate {
            return rate;
        }
        let known = match self.config.start {
            FirstRate::Handshake | FirstRate::FirstReport => self.initial_rate(),
            FirstRate::OnePacket => self.packet_per_rtt(),
        };
        known.unwrap_or_else(|| self.segment_size())
    }

    /// Returns `s / R`, one packet per round trip.
    fn packet_per_rtt(&self) -> Option<f64> {
        let rtt = self.rtt?.mean.as_secs_f64();
        Some(self.segment_size() / rtt)
    }

    /// Returns the least rate of slow start: the first rate (RFC 5348, section 4.3), or `s / R` (RFC 3448, section
    /// 4.3).
    fn slow_start_floor(&self) -> f64 {
        match self.config.receive_limit {
            ReceiveLimit::Rfc5348 => self.first_rate(),
            ReceiveLimit::Rfc3448 => self.packet_per_rtt().unwrap_or_else(|| self.segment_size()),
        }
    }

    /// Returns `W_init / R`, the `initial_rate` and also the `recover_rate` of RFC 5348, section 4.4.
    fn initial_rate(&self) -> Option<f64> {
        let rtt = self.rtt?.mean.as_secs_f64();
        Some(self.segments.initial_window() / rtt)
    }

    /// Returns the time between two packets at the present rate, `t_ipi` (RFC 5348, section 4.6), but at least the
    /// least interval (RFC 4828, section 4.3).
    fn interval(&self) -> Duration {
        let seconds = self.segment_size() / self.rate_bytes_per_s();
        let least = self.config.min_interval.max(Duration::from_nanos(1));
        Duration::from_secs_f64(seconds).max(least)
    }

    /// Returns when the next packet may leave at one per `interval`, up to `t_delta` before its nominal time.
    fn next_departure(&self, interval: Duration) -> Instant {
        let Some(nominal) = self.schedule.next(interval) else {
            return Instant::START;
        };
        let rtt = self.rtt.map_or(Duration::ZERO, |rtt| rtt.mean);
        nominal.saturating_before(self.schedule.early(interval, rtt))
    }

    /// Returns the nofeedback time: `max(4R, 2s/X)` (RFC 5348, section 4.3, step 3), and at least two seconds before
    /// there is an R.
    fn timeout(&self) -> Duration {
        let two_packets = Duration::from_secs_f64(2.0 * self.segment_size() / self.bounded(self.x));
        let floor = match self.rtt {
            Some(rtt) => rtt.mean.max(self.config.granularity) * 4,
            None => FIRST_TIMEOUT,
        };
        floor.max(two_packets).max(self.config.min_nofeedback)
    }

    fn set_timer(&mut self, now: Instant) {
        self.nofeedback = Some(now + self.timeout());
        self.idle = true;
    }

    /// Takes a round-trip sample (RFC 5348, 4.3, steps 1 and 2, and 4.5); `replaces` discards the old average.
    fn on_rtt_sample(&mut self, sample: Duration, replaces: bool) {
        let sample = sample.max(MIN_RTT).min(Duration::from_secs_f64(T_MBI));
        let sqrt = f64::sqrt(sample.as_secs_f64());
        self.rtt = Some(match self.rtt {
            Some(old) if !replaces => RoundTrip {
                mean: (old.mean.mul_f64(Q) + sample.mul_f64(1.0 - Q)).max(MIN_RTT),
                mean_sqrt: Q * old.mean_sqrt + (1.0 - Q) * sqrt,
                latest_sqrt: sqrt,
            },
            _ => RoundTrip {
                mean: sample,
                mean_sqrt: sqrt,
                latest_sqrt: sqrt,
            },
        });
    }

    /// Replaces one packet per second by the initial rate, once the round-trip time is known (RFC 5348, section 4.2).
    fn set_initial_rate(&mut self, now: Instant) {
        self.x = self.bounded(self.first_rate());
        self.last_doubled = Some(now);
    }

    fn on_report(&mut self, now: Instant, sample: Option<Duration>, report: TfrcReport) {
        let had_rtt = self.rtt.is_some();
        if let Some(sample) = sample {
            self.on_rtt_sample(sample, !self.has_report);
        }
        let Some(rtt) = self.rtt() else {
            // Without a round-trip time a report only shows that the peer is alive.
            self.set_timer(now);
            return;
        };
        let first = !std::mem::replace(&mut self.has_report, true);
        let p = if report.p.is_nan() {
            1.0
        } else {
            report.p.clamp(0.0, 1.0)
        };
        let reported = if report.x_recv > 0.0 {
            report.x_recv.min(self.config.max_rate)
        } else {
            0.0
        };
        let worse = report.new_loss || p > self.p;
        let (x, x_recv) = (self.x, reported * self.segments.recv_scale());
        self.p = p;
        self.x_recv = reported;
        if p > 0.0 {
            self.x_bps = self.segments.rate(&self.config.equation, rtt, p);
        }
        // RFC 5348, 4.1: a new interval. With small packets p may rise within an interval (RFC 4828, 3).
        if report.new_loss {
            self.segments.on_loss_event();
        }
        let covers_until = report
            .covers_until
            .unwrap_or_else(|| now.saturating_before(rtt));
        let was_limited = self.limited.covers(covers_until, rtt);
        let by_latest = self.config.receive_limit == ReceiveLimit::Rfc3448;
        // RFC 3448, 4.2 and 6.3: nothing was measured yet, so the first rate stays.
        let stays = by_latest && first && reported == 0.0 && p == 0.0;
        let limit = if first && reported == 0.0 && (p > 0.0 || by_latest) {
            // RFC 5348, 4.3: the receive rate of the first report is no limit, even if all packets of the first two
            // round trips were lost.
            self.received.start(now);
            f64::INFINITY
        } else if by_latest {
            // RFC 3448, 4.3: only the latest receive rate counts.
            self.received.replace(now, x_recv);
            2.0 * x_recv
        } else if was_limited && reported > 0.0 {
            // RFC 5348, 4.3: a receive rate of zero belongs to the first report and is no sign of a pause.
            self.received.data_limited_limit(now, x_recv, worse)
        } else {
            self.received.update(now, x_recv, rtt);
            2.0 * self.received.max()
        };
        if (had_rtt || p > 0.0) && !stays {
            self.apply(now, rtt, limit);
        } else {
            // RFC 5348, 4.2: the first report with a round-trip time.
            self.set_initial_rate(now);
        }
        if worse && self.x < x {
            self.cuts += 1;
        }
        self.set_timer(now);
    }

    /// Sets the rate by the last part of RFC 5348, section 4.3, step 4.
    fn apply(&mut self, now: Instant, rtt: Duration, recv_limit: f64) {
        if self.p > 0.0 {
            self.x = self.bounded(self.x_bps.min(recv_limit));
        } else if self
            .last_doubled
            .is_none_or(|doubled| now.saturating_since(doubled) >= rtt)
        {
            let doubled = (2.0 * self.x).min(recv_limit);
            self.x = self.bounded(doubled.max(self.slow_start_floor()));
            self.last_doubled = Some(now);
        }
        self.limit_to_host(now);
    }

    /// Applies the limits of the peer's host (RFC 4342, 5.2).
    fn apply_host_limits(&mut self, now: Instant, host: HostLimits) {
        if !host.slow && host.buffer_drops == 0 {
            return;
        }
        let Some(rtt) = self.rtt() else {
            // At one packet per second the rate cannot be lowered.
            return;
        };
        // `X_inrecv`. The receive rate of the first report is zero and has no meaning.
        let received = if self.x_recv > 0.0 {
            self.x_recv * self.segments.recv_scale()
        } else {
            self.x
        };
        let packet = self.segment_size() / rtt.as_secs_f64();
        self.host.lower(now, rtt, host, (received, packet));
        self.limit_to_host(now);
    }

    /// Lowers the rate to the limit of the host (RFC 4340, 11.7.1).
    fn limit_to_host(&mut self, now: Instant) {
        if let Some(limit) = self.host.at(now) {
            self.x = self.bounded(self.x.min(limit));
        }
    }

    /// Returns whether the nofeedback timer does nothing: idle time alone must not lower the rate below what the sender
    /// may regain at once (RFC 5348, 4.4, step 1), which is four packets per round trip in RFC 3448, 4.4.
    fn rests(&self) -> bool {
        if !self.idle {
            return false;
        }
        let x_recv = self.received.max();
        let Some((packet, recover_rate)) = self.packet_per_rtt().zip(self.initial_rate()) else {
            return true;
        };
        match self.config.receive_limit {
            ReceiveLimit::Rfc3448 => x_recv < 4.0 * packet,
            ReceiveLimit::Rfc5348 if self.p > 0.0 => x_recv < recover_rate,
            ReceiveLimit::Rfc5348 => self.x < 2.0 * recover_rate,
        }
    }

    /// Handles the nofeedback timer (RFC 5348, 4.4, step 1). Returns whether anything changed.
    fn on_nofeedback(&mut self, now: Instant) -> bool {
        if self.rests() {
            return false;
        }
        let x_recv = self.received.max();
        let Some(rtt) = self.rtt() else {
            self.x = self.bounded(self.x / 2.0);
            return true;
        };
        if self.config.receive_limit == ReceiveLimit::Rfc3448 {
            self.on_nofeedback_of_rfc3448(now, x_recv);
            return true;
        }
        if self.p == 0.0 {
            self.x = self.bounded(self.x / 2.0);
            return true;
        }
        // Half of what limited the rate: twice the receive rate, or the equation.
        let timer_limit = if self.x_bps > 2.0 * x_recv {
            x_recv
        } else {
            self.x_bps / 2.0
        };
        let timer_limit = timer_limit.max(self.min_rate());
        self.received.replace(now, timer_limit / 2.0);
        self.apply(now, rtt, timer_limit);
        true
    }

    /// Handles the nofeedback timer by RFC 3448, 4.4.
    ///
    /// The recorded receive rate is halved, or becomes a quarter of the rate by the equation if that is the limit. The
    /// new rate is at most twice this.
    fn on_nofeedback_of_rfc3448(&mut self, now: Instant, x_recv: f64) {
        let halved = if self.x_bps > 2.0 * x_recv {
            x_recv / 2.0
        } else {
            self.x_bps / 4.0
        };
        let left = halved.max(self.min_rate() / 2.0);
        self.received.replace(now, left);
        let most = if self.p > 0.0 { self.x_bps } else { self.x };
        // Before the first report no receive rate is known.
        let limit = if left.is_finite() {
            2.0 * left
        } else {
            self.x / 2.0
        };
        self.x = self.bounded(most.min(limit));
    }

    fn start(&mut self, now: Instant) {
        self.started = true;
        self.x = self.bounded(self.first_rate());
        self.last_doubled = self.rtt.map(|_| now);
        self.received.start(now);
    }
}

impl Controller for Sender {
    fn permit(&self, now: Instant, _flight: Flight, _size: u32) -> Permit {
        let interval = self.interval();
        let mut at = self.next_departure(interval);
        if let Some(burst) = self.schedule.burst_until(interval) {
            at = at.max(burst);
        }
        // RFC 4828, 4.3: the least interval holds for any rate and any saved-up packets.
        if let Some(spaced) = self.schedule.spaced() {
            at = at.max(spaced);
        }
        if at <= now {
            Permit::Now
        } else {
            Permit::At(at)
        }
    }

    fn on_sent(&mut self, now: Instant, _flight: Flight, size: u32) {
        // With the interval by which the packet was permitted: its size may change the interval.
        let rtt = self.rtt().unwrap_or(Duration::ZERO);
        let (interval, before) = (self.interval(), (self.x, self.segment_size()));
        self.schedule.on_sent(now, interval, rtt);
        // While it rested, the timer did nothing.
        self.nofeedback = self.nofeedback.filter(|&at| at > now || !self.rests());
        let grew = self.segments.on_sent(size);
        if !self.started {
            self.start(now);
        } else if !self.has_report && grew && self.timeouts == 0 {
            // RFC 5348, 4.2: the initial rate follows the largest packet of the first round trip.
            self.x = self.bounded(self.first_rate());
        }
        if self.nofeedback.is_none() {
            self.set_timer(now);
        }
        self.idle = false;
        // RFC 5348, 8.2.1: all that was allowed is sent. Waiting datagrams are no evidence: a queue that the unused
        // allowance is about to empty is not limited by the rate.
        let is_same = before == (self.x, self.segment_size());
        let interval = if is_same { interval } else { self.interval() };
        if self.next_departure(interval) > now {
            self.limited.on_all_sent(now, rtt);
        }
    }

    fn on_feedback(&mut self, now: Instant, _flight: Flight, feedback: &Feedback) {
        if let Some(report) = feedback.tfrc {
            self.on_report(now, feedback.rtt, report);
        } else if let (Some(sample), None, FirstRate::Handshake) =
            (feedback.rtt, self.rtt, self.config.start)
        {
            self.on_rtt_sample(sample, true);
            if self.started {
                self.set_initial_rate(now);
            }
        }
        self.apply_host_limits(now, feedback.host);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.nofeedback.filter(|_| !self.rests())
    }

    fn handle_timeout(&mut self, now: Instant, _flight: Flight) {
        if self.nofeedback.is_none_or(|at| now < at) {
            return;
        }
        if self.on_nofeedback(now) {
            // A sender that sent nothing got no answer. The timer takes back a rate that is not used; this is no sign
            // of a problem and no timeout.
            self.timeouts += u64::from(!self.idle);
            self.set_timer(now);
        } else {
            // Nothing changes before the next packet, which sets the timer again.
            self.nofeedback = None;
        }
    }

    fn reset(&mut self, _now: Instant) {
        *self = Self {
            segments: self.segments,
            cuts: self.cuts,
            timeouts: self.timeouts,
            ..Self::new(self.config)
        };
    }

    fn limit(&self) -> Limit {
        Limit::Rate(self.rate_bytes_per_s())
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            rate_bytes_per_s: Some(self.rate_bytes_per_s()),
            p: Some(self.p),
            x_recv_bytes_per_s: Some(self.x_recv),
            cuts: self.cuts,
            timeouts: self.timeouts,
            ..Gauges::default()
        }
    }
}
