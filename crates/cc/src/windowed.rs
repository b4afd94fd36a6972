//! A congestion window around a law: the behaviour that all window laws share.
//!
//! This module contains slow start, one cut per round trip, timeouts, and the treatment of unused windows. The
//! [`WindowLaw`] decides by how much the window changes. [`Growth`] decides what an acknowledgement counts for.

mod before_timeout;
mod fill;
mod growth;
mod host;
mod hystart;
mod idle;
mod initial;
mod pace;
#[cfg(test)]
mod tests;
mod timeout;
mod unit;

use fairwire_units::{Duration, Ecn, Instant};

use crate::law::{Adjustment, Round, Window, WindowLaw};
use crate::{
    Congestion, Controller, Feedback, Flight, Gauges, Limit, Permit, RateSample, RoundTrip,
    RtoConfig,
};

use before_timeout::BeforeTimeout;
use hystart::HyStart;
use idle::WindowUse;
use pace::Pace;
use unit::unmarked;

pub use growth::{Growth, SlowStart};
pub use idle::IdleRule;
pub use initial::{rfc3390_window, rfc6928_window};
pub use unit::WindowUnit;

/// The smallest slow-start threshold, packets (RFC 5681, section 3.1; RFC 4341, section 5).
const MIN_SSTHRESH: f64 = 2.0;

/// The largest possible window, packets: a power of two far above that of any path.
const MAX_CWND: f64 = (1_u64 << 30) as f64;

/// The timeout until feedback gives one.
const FIRST_TIMEOUT: Duration = RtoConfig::TCP.initial;

/// The quantity from which a cut is computed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CutFrom {
    /// The congestion window (RFC 4341, section 5).
    #[default]
    Window,
    /// The packets outstanding, if they are fewer (RFC 5681, section 3.1). The caller's flight then has to include the
    /// packets that were just found lost.
    Flight,
}

/// A congestion window that the law `L` grows and cuts; all windows are in packets, or in segments of full size
/// ([`WindowUnit`]).
#[derive(Clone, Debug)]
pub struct Windowed<L> {
    law: L,
    unit: WindowUnit,
    growth: Growth,
    cut_from: CutFrom,
    idle: IdleRule,
    /// Whether packets that were sent before the last cut let the window grow.
    grows_after_cut: bool,
    /// Whether the window grows while it is not full.
    grows_unused: bool,
    /// The state of `HyStart++`, if delays may end the first slow start.
    hystart: Option<HyStart>,
    initial_window: f64,
    initial_ssthresh: f64,
    max_cwnd: f64,

    cwnd: f64,
    ssthresh: f64,
    /// Earned growth that is less than a whole packet.
    credit: f64,
    /// The round-trip values of the last feedback that had a timeout.
    path: RoundTrip,
    round: Round,
    round_began: Instant,
    /// The newest sample of the delivery rate.
    rate: Option<RateSample>,
    last_cut: Option<Instant>,
    /// When a packet last left, or feedback arrived for which data waited.
    last_busy: Option<Instant>,
    /// When the window was last full.
    last_full: Option<Instant>,
    /// The end of the time in which the peer asked us not to grow the window.
    held_until: Option<Instant>,
    /// How much of the window was used.
    used: WindowUse,
    /// How much has left at once.
    pace: Pace,
    /// Whether nothing has been acknowledged since the last timeout.
    silent: bool,
    /// The state that a spurious timeout gives back.
    before_timeout: Option<BeforeTimeout>,
    cuts: u64,
    timeouts: u64,
}

impl<L: WindowLaw> Windowed<L> {
    /// Creates a window of `initial_window` packets with TCP's growth.
    ///
    /// The slow-start threshold is the law's own initial value, or infinite.
    pub fn new(law: L, initial_window: f64) -> Self {
        let initial_window = at_least(1.0, initial_window).min(MAX_CWND);
        let initial_ssthresh = at_least(
            MIN_SSTHRESH,
            law.initial_ssthresh().unwrap_or(f64::INFINITY),
        );
        Self {
            law,
            unit: WindowUnit::Packets,
            growth: Growth::Tcp,
            cut_from: CutFrom::default(),
            idle: IdleRule::default(),
            grows_after_cut: false,
            grows_unused: false,
            hystart: None,
            initial_window,
            initial_ssthresh,
            max_cwnd: MAX_CWND,
            cwnd: initial_window,
            ssthresh: initial_ssthresh,
            credit: 0.0,
            path: RoundTrip::default(),
            round: Round::default(),
            round_began: Instant::START,
            rate: None,
            last_cut: None,
            last_busy: None,
            last_full: None,
            held_until: None,
            used: WindowUse::default(),
            pace: Pace::default(),
            silent: false,
            before_timeout: None,
            cuts: 0,
            timeouts: 0,
        }
    }

    /// Sets what an acknowledgement counts for.
    #[must_use]
    pub fn with_growth(self, growth: Growth) -> Self {
        Self { growth, ..self }
    }

    /// Sets what the window counts.
    #[must_use]
    pub fn with_unit(mut self, unit: WindowUnit) -> Self {
        self.unit = unit;
        self.initial_window = at_least(unit.least(), self.initial_window);
        self.cwnd = self.initial_window;
        self
    }

    /// Sets the quantity from which a cut is computed.
    #[must_use]
    pub fn with_cut_from(self, cut_from: CutFrom) -> Self {
        Self { cut_from, ..self }
    }

    /// Sets how a window shrinks when it is idle.
    #[must_use]
    pub fn with_idle(self, idle: IdleRule) -> Self {
        Self { idle, ..self }
    }

    /// Sets whether packets that were sent before the last cut let the window grow.
    ///
    /// RFC 4341, section 5, does not allow this; some stacks do not check when a packet was sent.
    #[must_use]
    pub fn with_growth_after_cut(self, grows_after_cut: bool) -> Self {
        Self {
            grows_after_cut,
            ..self
        }
    }

    /// Sets whether the window grows while fewer packets are in flight than it allows.
    ///
    /// RFC 4341, section 5.1, forbids this; some stacks do not check it.
    #[must_use]
    pub fn with_growth_unused(self, grows_unused: bool) -> Self {
        Self {
            grows_unused,
            ..self
        }
    }

    /// Sets whether `HyStart++` (RFC 9406) may end the first slow start when the round trip grows.
    ///
    /// It needs a round-trip sample with each acknowledgement.
    #[must_use]
    pub fn with_hystart(self, hystart: bool) -> Self {
        Self {
            hystart: hystart.then_some(HyStart::NEW),
            ..self
        }
    }

    /// Sets the initial slow-start threshold, packets (at least two); overrides the law's own value.
    #[must_use]
    pub fn with_initial_ssthresh(mut self, packets: f64) -> Self {
        self.initial_ssthresh = at_least(MIN_SSTHRESH, packets);
        self.ssthresh = self.initial_ssthresh;
        self
    }

    /// Sets the largest window, packets (at least one).
    #[must_use]
    pub fn with_max_cwnd(mut self, packets: f64) -> Self {
        self.max_cwnd = at_least(1.0, packets).min(MAX_CWND);
        self.initial_window = self.initial_window.min(self.max_cwnd);
        self.cwnd = self.initial_window;
        self
    }

    /// Sets the timeout after which a pause counts as idle time, until feedback gives one.
    #[must_use]
    pub fn with_first_timeout(mut self, timeout: Duration) -> Self {
        self.path.timeout = Some(timeout);
        self
    }

    /// Returns the law.
    pub fn law(&self) -> &L {
        &self.law
    }

    fn window(&self, now: Instant, cwnd: f64, flight: Flight, rtt: Option<Duration>) -> Window {
        Window {
            now,
            cwnd,
            credit: self.credit,
            ssthresh: self.ssthresh,
            acked: 0,
            flight,
            in_use: self.held(flight),
            rtt,
            srtt: self.path.smoothed,
            min_rtt: self.path.min,
            round: self.round,
            delivery_rate: self.rate,
        }
    }

    /// Returns the window at feedback that acknowledged packets, of which `acked` count.
    fn window_with(&self, now: Instant, flight: Flight, feedback: &Feedback, acked: u32) -> Window {
        let window = self.window(now, self.cwnd, flight, feedback.rtt);
        let bytes = feedback.newly_acked_bytes;
        Window {
            acked,
            in_use: window.in_use + self.unit.amount(feedback.newly_acked, bytes),
            ..window
        }
    }

    fn timeout(&self) -> Duration {
        self.path.timeout.unwrap_or(FIRST_TIMEOUT)
    }

    /// Counts what has arrived in this round.
    fn count_arrivals(&mut self, now: Instant, feedback: &Feedback) {
        let news = feedback.delivery;
        if news.packets == 0 {
            self.round.ends = false;
            return;
        }
        if self.round.ends {
            self.round = Round::default();
        }
        self.round.delivered = self.round.delivered.saturating_add(news.packets);
        self.round.marked = self.round.marked.saturating_add(news.marked);
        // A packet sent at the very start of a round belongs to it, as with cuts.
        self.round.ends = news
            .newest_sent
            .is_some_and(|sent| sent >= self.round_began);
        if self.round.ends {
            self.round_began = now;
        }
        if feedback.rate.is_some() {
            self.rate = feedback.rate;
        }
    }

    /// Returns the window from which a cut is computed.
    ///
    /// `acked` is what counts for the packets that were in flight when the congestion occurred and are not part of
    /// `flight` any more.
    fn window_to_cut(&self, now: Instant, flight: Flight, acked: f64) -> Window {
        let in_use = match self.cut_from {
            CutFrom::Window => self.cwnd,
            CutFrom::Flight => self.cwnd.min(self.held(flight) + acked).max(1.0),
        };
        self.window(now, in_use, flight, None)
    }

    /// Reduces the window, unless the lost or marked packets were sent before the last reduction.
    fn cut(
        &mut self,
        now: Instant,
        flight: Flight,
        congestion: Congestion,
        feedback: &Feedback,
    ) -> bool {
        if self
            .last_cut
            .is_some_and(|cut| congestion.newest_sent < cut)
        {
            // RFC 4341, 5: this is the same congestion event. A packet sent at the very time of the cut belongs to the
            // next event, because acknowledgements are handled before they free new packets.
            return false;
        }
        let acked = self
            .unit
            .amount(feedback.newly_acked, feedback.newly_acked_bytes);
        let window = self.window_to_cut(now, flight, acked);
        // RFC 4341, 5: the window stays at one packet or more, the threshold at two or more.
        let left = self.law.cut(&window, congestion.signal);
        let left = self.rounded(left);
        self.cwnd = if feedback.start_over {
            1.0
        } else {
            at_least(self.unit.least(), left)
        };
        self.ssthresh = at_least(MIN_SSTHRESH, self.law.threshold(left));
        self.credit = 0.0;
        self.end_first_slow_start();
        self.last_cut = Some(now);
        self.cuts += 1;
        true
    }

    /// Passes an acknowledgement to `HyStart++`, which may end slow start at the present window (RFC 9406, 4.2).
    fn end_slow_start_by_delay(&mut self, feedback: &Feedback) {
        let in_slow_start = self.cwnd < self.ssthresh;
        let Some(hystart) = self.hystart.as_mut().filter(|_| feedback.newly_acked > 0) else {
            return;
        };
        if !in_slow_start {
            hystart.end();
        } else if hystart.on_ack(feedback.rtt, self.round.ends) {
            self.ssthresh = self.cwnd;
        }
    }

    fn end_first_slow_start(&mut self) {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
    }

    /// Passes an acknowledgement or a sample to the law and returns its change of the window.
    fn observe(&mut self, now: Instant, flight: Flight, feedback: &Feedback) -> Option<Adjustment> {
        if feedback.newly_acked == 0 && feedback.rtt.is_none() {
            return None;
        }
        let window = self.window_with(now, flight, feedback, feedback.newly_acked);
        self.law.observe(&window)
    }

    /// Applies the change that a law made by measurement.
    fn adjust(&mut self, adjustment: Adjustment) {
        let left = self.rounded(adjustment.cwnd);
        self.cwnd = at_least(self.unit.least(), left);
        self.ssthresh = at_least(MIN_SSTHRESH, adjustment.ssthresh);
        self.credit = 0.0;
    }

    fn grow(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        let acked = self.earning(feedback);
        let is_recovering = !self.grows_after_cut && self.is_recovering(feedback);
        let was_used = self.grows_unused || self.was_used(now, flight, feedback);
        if acked <= 0.0 || is_recovering || self.is_held(now) || !was_used {
            return;
        }
        let window = self.window_with(now, flight, feedback, unmarked(feedback));
        let step = if window.in_slow_start() {
            let growth = self.growth.in_slow_start(acked);
            let growth = self.hystart.map_or(growth, |it| it.paced(growth));
            self.law.slow_start(&window, growth)
        } else {
            let acked = self.growth.in_avoidance(acked);
            self.law.increase(&window, acked)
        };
        debug_assert!(step.is_finite(), "{:?} grew by {step}", self.law);
        let step = self.take_whole_packets(step);
        self.cwnd = at_least(self.unit.least(), self.cwnd + step).min(self.max_cwnd);
    }

    /// Reduces a window that the application has not filled for a timeout (RFC 2861; RFC 4341, 5.1).
    ///
    /// The window goes down half way to what was used; the threshold becomes at least three quarters of the old window.
    fn validate(&mut self, now: Instant, held: f64, is_full: bool) {
        let rto = self.timeout();
        if let Some(used) = self.used.on_sent(now, held, is_full, rto) {
            self.ssthresh = self.ssthresh.max(self.cwnd * 0.75);
            let left = self.rounded(f64::midpoint(self.cwnd, used));
            self.cwnd = at_least(self.unit.least(), left);
        }
    }

    /// Returns how much of `step` changes the window now. If windows are whole packets, the rest is kept as credit.
    fn take_whole_packets(&mut self, step: f64) -> f64 {
        if !self.growth.is_whole() {
            return step;
        }
        self.credit += step;
        let paid = whole(self.credit);
        self.credit -= paid;
        paid
    }

    /// Returns whether some of the packets acknowledged now were sent before the last cut.
    ///
    /// Their window had losses or marks, so they earn nothing (RFC 4341, 5), as in a TCP's recovery.
    fn is_recovering(&self, feedback: &Feedback) -> bool {
        let sent = feedback.oldest_acked_sent;
        sent.is_some_and(|sent| self.last_cut.is_some_and(|cut| sent < cut))
    }

    /// Returns whether the window was the limit when the packets acknowledged now were in flight.
    ///
    /// A window that was not used gives no information about the network, so it must not grow (RFC 4341, 5.1; RFC
    /// 7661).
    fn was_used(&self, now: Instant, flight: Flight, feedback: &Feedback) -> bool {
        let recently_full = || {
            let (Some(full), Some(srtt)) = (self.last_full, self.path.smoothed) else {
                return false;
            };
            now.saturating_since(full) <= srtt
        };
        flight.waiting > 0 || self.was_full(flight, feedback) || recently_full()
    }
}

impl<L: WindowLaw> Controller for Windowed<L> {
    fn permit(&self, now: Instant, flight: Flight, size: u32) -> Permit {
        // RFC 4341, 5: nothing leaves while the pipe holds cwnd packets.
        let packet = self.unit.amount(1, size.into());
        if self.is_full(self.held(flight), packet) {
            Permit::AwaitFeedback
        } else {
            self.pace
                .permit(now, packet, self.initial_window, self.drain())
        }
    }

    fn on_sent(&mut self, now: Instant, flight: Flight, size: u32) {
        if let Some(busy) = self.last_busy
            && flight.packets <= 1
        {
            // The first packet after a pause: no other packet is in flight.
            let idle = now.saturating_since(busy);
            let timeout = self.timeout();
            if idle > timeout {
                self.used = WindowUse::default();
            }
            (self.cwnd, self.ssthresh) = self.idle.apply(
                (self.cwnd, self.ssthresh),
                (self.initial_window, self.unit.least()),
                idle,
                timeout,
            );
        }
        self.last_busy = Some(now);
        let held = self.held(flight);
        let packet = self.unit.amount(1, size.into());
        let drain = self.drain();
        self.pace.on_sent(now, packet, drain);
        let is_full = self.is_full(held, packet);
        if is_full {
            self.last_full = Some(now);
        }
        if self.idle == IdleRule::Halve {
            self.validate(now, held, is_full);
        }
    }

    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        if feedback.path.timeout.is_some() {
            self.path = feedback.path;
        }
        self.count_arrivals(now, feedback);
        if let Some(ratio) = feedback.ack_ratio {
            self.growth = self.growth.with_ack_ratio(ratio);
        }
        if feedback.timeout {
            self.time_out(now, flight);
            return;
        }
        // A mark on what was late is congestion, so the reduction stands (RFC 4015, section 3, step 7).
        if feedback.spurious_timeout && feedback.congestion.is_none() {
            self.undo_timeout(flight, feedback);
            if let Some(adjustment) = self.observe(now, flight, feedback) {
                self.adjust(adjustment);
            }
            return;
        }
        if feedback.newly_acked > 0 {
            self.silent = false;
            if flight.waiting > 0 {
                // The peer may have delayed this acknowledgement. A sender that waits for it is not idle.
                self.last_busy = Some(now);
            }
        }
        let before = self.cwnd;
        self.end_slow_start_by_delay(feedback);
        self.start_hold(now, feedback.host);
        let adjustment = self.observe(now, flight, feedback);
        let was_cut = feedback
            .congestion
            .is_some_and(|congestion| self.cut(now, flight, congestion, feedback));
        if !was_cut {
            if let Some(adjustment) = adjustment {
                self.adjust(adjustment);
            }
            self.grow(now, flight, feedback);
        }
        self.apply_host_limits(before, flight, feedback.host);
    }

    fn reset(&mut self, _now: Instant) {
        self.law.reset();
        self.cwnd = self.initial_window;
        self.ssthresh = self.initial_ssthresh;
        self.credit = 0.0;
        self.hystart = self.hystart.map(|_| HyStart::NEW);
        self.path = RoundTrip::default();
        (self.round, self.round_began) = (Round::default(), Instant::START);
        self.rate = None;
        self.last_cut = None;
        self.last_busy = None;
        self.last_full = None;
        self.held_until = None;
        self.used = WindowUse::default();
        self.pace = Pace::default();
        self.silent = false;
        self.before_timeout = None;
    }

    fn limit(&self) -> Limit {
        self.as_limit()
    }

    fn ecn(&self) -> Ecn {
        self.law.ecn()
    }

    fn wants_delivery_rate(&self) -> bool {
        self.law.wants_delivery_rate()
    }

    fn memory(&self) -> usize {
        self.law.memory()
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            cwnd_packets: Some(self.cwnd),
            ssthresh_packets: Some(self.ssthresh),
            cuts: self.cuts,
            timeouts: self.timeouts,
            ..Gauges::default()
        }
    }
}

/// Returns `value` rounded down, with a tolerance for the errors of binary fractions.
///
/// So a cut of 5 % leaves 19 of 20 packets, and 49 increases of a 49th make one packet.
fn whole(value: f64) -> f64 {
    (value + 1e-9).floor()
}

/// Returns the larger value, or `bound` if `value` is not a number.
fn at_least(bound: f64, value: f64) -> f64 {
    value.max(bound)
}
