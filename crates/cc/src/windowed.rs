//! A congestion window around a law: everything that all window laws share, once.
//!
//! Slow start, one cut per round trip, timeouts, and what becomes of a window that is not used
//! are here; by how much the window moves is the [`WindowLaw`]'s answer, and what an
//! acknowledgement counts for is [`Growth`]'s.

mod growth;
mod host;
mod hystart;
mod idle;
mod initial;
#[cfg(test)]
mod tests;

use fairwire_units::plant::{Plant, planted};
use fairwire_units::{Duration, Ecn, Instant};

use crate::law::{Adjustment, Round, Window, WindowLaw};
use crate::{
    Congestion, Controller, DeliveryRate, Feedback, Flight, Gauges, Limit, Permit, RateSample,
    RoundTrip, RtoConfig, Signal,
};

use hystart::HyStart;
use idle::Use;

pub use growth::{Growth, SlowStart};
pub use idle::IdleRule;
pub use initial::{rfc3390_window, rfc6928_window};

/// The smallest slow-start threshold, packets (RFC 5681, section 3.1; RFC 4341, section 5).
const MIN_SSTHRESH: f64 = 2.0;

/// No window is larger unless asked for: a power of two far above any path's.
const MAX_CWND: f64 = (1_u64 << 30) as f64;

/// The timeout until the caller names one.
const FIRST_TIMEOUT: Duration = RtoConfig::TCP.initial;

/// What a cut counts from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CutFrom {
    /// The congestion window (RFC 4341, section 5).
    #[default]
    Window,
    /// What is outstanding, if that is less (RFC 5681, section 3.1). The caller's flight then
    /// has to include the packets that were just found lost.
    Flight,
}

/// A congestion window, grown and cut by `L`; all windows are in packets.
#[derive(Clone, Debug)]
pub struct Windowed<L> {
    law: L,
    growth: Growth,
    cut_from: CutFrom,
    idle: IdleRule,
    /// Does the window grow by packets that were sent before the last cut?
    grows_after_cut: bool,
    /// Does it grow while it is not full?
    grows_unused: bool,
    /// The first slow start, where delays end it.
    hystart: Option<HyStart>,
    initial_window: f64,
    initial_ssthresh: f64,
    max_cwnd: f64,

    cwnd: f64,
    ssthresh: f64,
    /// Growth not yet worth a whole packet.
    credit: f64,
    /// What the caller said of the round trip.
    path: RoundTrip,
    round: Round,
    round_began: Instant,
    /// For a law that wants it.
    delivery: Option<Box<DeliveryRate>>,
    rate: Option<RateSample>,
    last_cut: Option<Instant>,
    last_sent: Option<Instant>,
    /// When the window was last filled to the brim.
    last_full: Option<Instant>,
    /// Until when the peer asked us not to grow.
    held_until: Option<Instant>,
    /// How much of it was used.
    used: Use,
    /// Has nothing been acknowledged since the last timeout?
    silent: bool,
    cuts: u64,
    timeouts: u64,
}

impl<L: WindowLaw> Windowed<L> {
    /// A window of `initial_window` packets with TCP's growth and the law's own slow-start
    /// threshold, or an infinite one.
    pub fn new(law: L, initial_window: f64) -> Self {
        let initial_window = at_least(1.0, initial_window).min(MAX_CWND);
        let initial_ssthresh = at_least(
            MIN_SSTHRESH,
            law.initial_ssthresh().unwrap_or(f64::INFINITY),
        );
        let delivery = law.wants_delivery_rate().then(Box::default);
        Self {
            law,
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
            delivery,
            rate: None,
            last_cut: None,
            last_sent: None,
            last_full: None,
            held_until: None,
            used: Use::default(),
            silent: false,
            cuts: 0,
            timeouts: 0,
        }
    }

    /// What an acknowledgement counts for.
    #[must_use]
    pub fn with_growth(self, growth: Growth) -> Self {
        Self { growth, ..self }
    }

    /// What a cut counts from.
    #[must_use]
    pub fn with_cut_from(self, cut_from: CutFrom) -> Self {
        Self { cut_from, ..self }
    }

    /// What becomes of an idle window.
    #[must_use]
    pub fn with_idle(self, idle: IdleRule) -> Self {
        Self { idle, ..self }
    }

    /// Does the window grow by acknowledgements of what was sent before the last cut? RFC 4341, section 5, gives
    /// them nothing; some stacks do not ask when a packet was sent.
    #[must_use]
    pub fn with_growth_after_cut(self, grows_after_cut: bool) -> Self {
        Self {
            grows_after_cut,
            ..self
        }
    }

    /// Does the window grow while less is in flight than it allows? RFC 4341, section 5.1, forbids it; some stacks
    /// do not look.
    #[must_use]
    pub fn with_growth_unused(self, grows_unused: bool) -> Self {
        Self {
            grows_unused,
            ..self
        }
    }

    /// Does the first slow start end where the round trip grows, by `HyStart++` (RFC 9406)? It needs a round-trip sample with
    /// each acknowledgement.
    #[must_use]
    pub fn with_hystart(self, hystart: bool) -> Self {
        Self {
            hystart: hystart.then_some(HyStart::NEW),
            ..self
        }
    }

    /// Where slow start ends at first, packets (at least two); overrides the law's own value.
    #[must_use]
    pub fn with_initial_ssthresh(mut self, packets: f64) -> Self {
        self.initial_ssthresh = at_least(MIN_SSTHRESH, packets);
        self.ssthresh = self.initial_ssthresh;
        self
    }

    /// The largest window, packets (at least one).
    #[must_use]
    pub fn with_max_cwnd(mut self, packets: f64) -> Self {
        self.max_cwnd = at_least(1.0, packets).min(MAX_CWND);
        self.initial_window = self.initial_window.min(self.max_cwnd);
        self.cwnd = self.initial_window;
        self
    }

    /// The timeout after which silence counts as idleness, until feedback names one.
    #[must_use]
    pub fn with_first_timeout(mut self, timeout: Duration) -> Self {
        self.path.timeout = Some(timeout);
        self
    }

    /// The law.
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
            rtt,
            srtt: self.path.smoothed,
            min_rtt: self.path.min,
            round: self.round,
            delivery_rate: self.rate,
        }
    }

    fn timeout(&self) -> Duration {
        self.path.timeout.unwrap_or(FIRST_TIMEOUT)
    }

    /// Takes note of what has arrived.
    fn count(&mut self, now: Instant, feedback: &Feedback) {
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
        // What was sent at the very moment at which a round began is of it, as with cuts.
        self.round.ends = news
            .newest_sent
            .is_some_and(|sent| sent >= self.round_began);
        if self.round.ends {
            self.round_began = now;
        }
        if let Some(delivery) = &mut self.delivery {
            let sample = delivery.on_delivery(now, news, self.path.min);
            self.rate = sample.or(self.rate);
        }
    }

    /// The window that a cut counts from; `acked` packets were in flight when the congestion was met, and are no
    /// more.
    fn window_to_cut(&self, now: Instant, flight: Flight, acked: u32) -> Window {
        let in_use = match self.cut_from {
            CutFrom::Window => self.cwnd,
            CutFrom::Flight => {
                let in_flight = flight.packets.saturating_add(acked);
                self.cwnd.min(f64::from(in_flight)).max(1.0)
            }
        };
        self.window(now, in_use, flight, None)
    }

    /// Reduces the window, unless what is lost or marked was sent before the last reduction.
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
            // RFC 4341, 5: one congestion event. A packet sent at the very moment of the cut is
            // of the next one: acknowledgements are handled before they free new packets.
            return false;
        }
        let window = self.window_to_cut(now, flight, feedback.newly_acked);
        // RFC 4341, 5: the window keeps one packet at least, the threshold two.
        let left = self.law.cut(&window, congestion.signal);
        let left = self.rounded(left);
        self.cwnd = if feedback.start_over {
            1.0
        } else {
            at_least(1.0, left)
        };
        self.ssthresh = at_least(MIN_SSTHRESH, self.law.threshold(left));
        self.credit = 0.0;
        self.end_first_slow_start();
        self.last_cut = Some(now);
        self.cuts += 1;
        true
    }

    /// Lets `HyStart++` look at an acknowledgement: RFC 9406, 4.2, has slow start end with the window that it has.
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

    /// Lets the law look at an acknowledgement or a sample.
    fn observe(&mut self, now: Instant, flight: Flight, feedback: &Feedback) -> Option<Adjustment> {
        if feedback.newly_acked == 0 && feedback.rtt.is_none() {
            return None;
        }
        let window = Window {
            acked: feedback.newly_acked,
            ..self.window(now, self.cwnd, flight, feedback.rtt)
        };
        self.law.observe(&window)
    }

    /// A law that measures brings the window down.
    fn adjust(&mut self, adjustment: Adjustment) {
        let left = self.rounded(adjustment.cwnd);
        self.cwnd = at_least(1.0, left);
        self.ssthresh = at_least(MIN_SSTHRESH, adjustment.ssthresh);
        self.credit = 0.0;
    }

    /// Nothing came back for a whole timeout: start again from one packet.
    fn time_out(&mut self, now: Instant, flight: Flight) {
        if !self.silent || self.growth.every_timeout_counts() {
            let window = self.window_to_cut(now, flight, 0);
            let left = self.law.after_timeout(&window);
            let left = self.rounded(left);
            self.ssthresh = at_least(MIN_SSTHRESH, left);
        }
        self.cwnd = 1.0;
        self.credit = 0.0;
        self.end_first_slow_start();
        self.silent = true;
        self.last_cut = Some(now);
        self.timeouts += 1;
    }

    /// What a law left, in the protocol's grain: CCID 2 counts whole packets and rounds down
    /// (RFC 4341, 5), TCP counts bytes. No cut raises the window.
    fn rounded(&self, left: f64) -> f64 {
        let left = left.min(self.cwnd);
        if self.growth.is_whole() {
            whole(left)
        } else {
            left
        }
    }

    fn grow(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        let marked = feedback
            .congestion
            .filter(|congestion| congestion.signal == Signal::Marked)
            .map_or(0, |congestion| congestion.packets);
        // RFC 4341, 5: a marked packet earns nothing.
        let acked = feedback.newly_acked.saturating_sub(marked);
        let is_recovering = !self.grows_after_cut && self.is_recovering(feedback);
        let was_used = self.grows_unused || self.was_used(now, flight, feedback);
        if acked == 0 || is_recovering || self.is_held(now) || !was_used {
            return;
        }
        let window = Window {
            acked,
            ..self.window(now, self.cwnd, flight, feedback.rtt)
        };
        let step = if window.in_slow_start() {
            let growth = self.growth.in_slow_start(acked);
            let growth = self.hystart.map_or(growth, |it| it.paced(growth));
            self.law.slow_start(&window, growth)
        } else {
            let acked = self.growth.in_avoidance(acked);
            self.law.increase(&window, acked)
        };
        debug_assert!(step.is_finite(), "{:?} grew by {step}", self.law);
        let step = self.payable(step);
        self.cwnd = at_least(1.0, self.cwnd + step).min(self.max_cwnd);
    }

    /// RFC 4341, 5.1: RFC 2861's window validation. A window that the application has not filled for
    /// a timeout comes down, half way to what it used; the threshold remembers three quarters of it.
    fn validate(&mut self, now: Instant, packets: u32) {
        let rto = self.timeout();
        if let Some(used) = self.used.on_sent(now, packets, self.cwnd, rto) {
            self.ssthresh = self.ssthresh.max(self.cwnd * 0.75);
            let left = self.rounded(f64::midpoint(self.cwnd, f64::from(used)));
            self.cwnd = at_least(1.0, left);
        }
    }

    /// How much of `step` moves the window now; the rest is kept where windows are whole packets.
    fn payable(&mut self, step: f64) -> f64 {
        if !self.growth.is_whole() {
            return step;
        }
        self.credit += step;
        let paid = whole(self.credit);
        self.credit -= paid;
        paid
    }

    /// Was some of what is acknowledged sent before the last cut? That window was not free of
    /// losses and marks, so it earns nothing (RFC 4341, 5), as in a TCP's recovery.
    fn is_recovering(&self, feedback: &Feedback) -> bool {
        let sent = feedback.oldest_acked_sent;
        sent.is_some_and(|sent| self.last_cut.is_some_and(|cut| sent < cut))
    }

    /// Was the window the limit when the packets acknowledged now were in flight? One that was
    /// not used says nothing about the network, so it must not grow (RFC 4341, 5.1; RFC 7661).
    fn was_used(&self, now: Instant, flight: Flight, feedback: &Feedback) -> bool {
        let lost = feedback
            .congestion
            .filter(|congestion| congestion.signal == Signal::Lost)
            .map_or(0, |congestion| congestion.packets);
        let before = flight
            .packets
            .saturating_add(feedback.newly_acked)
            .saturating_add(lost);
        let recently_full = || {
            let (Some(full), Some(srtt)) = (self.last_full, self.path.smoothed) else {
                return false;
            };
            now.saturating_since(full) <= srtt
        };
        flight.waiting > 0 || f64::from(before) >= self.cwnd.floor() || recently_full()
    }
}

impl<L: WindowLaw> Controller for Windowed<L> {
    fn permit(&self, _now: Instant, flight: Flight, _size: u32) -> Permit {
        // RFC 4341, 5: nothing leaves while the pipe holds cwnd packets.
        // Planted: one more does.
        let beyond = u32::from(planted(Plant::WindowPlusOne));
        if f64::from(flight.packets.saturating_sub(beyond)) < self.cwnd.floor() {
            Permit::Now
        } else {
            Permit::AwaitFeedback
        }
    }

    fn on_sent(&mut self, now: Instant, flight: Flight, _size: u32) {
        if let Some(last) = self.last_sent
            && flight.packets <= 1
        {
            // The first packet after a pause; nothing else is in flight.
            let idle = now.saturating_since(last);
            let timeout = self.timeout();
            if idle > timeout {
                self.used = Use::default();
            }
            (self.cwnd, self.ssthresh) = self.idle.apply(
                (self.cwnd, self.ssthresh),
                self.initial_window,
                idle,
                timeout,
            );
        }
        self.last_sent = Some(now);
        if let Some(delivery) = &mut self.delivery {
            delivery.on_sent(now, flight);
        }
        if f64::from(flight.packets) >= self.cwnd.floor() {
            self.last_full = Some(now);
        }
        if self.idle == IdleRule::Halve {
            self.validate(now, flight.packets);
        }
    }

    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        if feedback.path.timeout.is_some() {
            self.path = feedback.path;
        }
        self.count(now, feedback);
        if let Some(ratio) = feedback.ack_ratio {
            self.growth = self.growth.with_ack_ratio(ratio);
        }
        if feedback.timeout {
            self.time_out(now, flight);
            return;
        }
        if feedback.newly_acked > 0 {
            self.silent = false;
        }
        let before = self.cwnd;
        self.end_slow_start_by_delay(feedback);
        self.hold_for(now, feedback.host);
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
        self.obey_host(before, feedback.host);
    }

    fn reset(&mut self, _now: Instant) {
        self.law.reset();
        self.cwnd = self.initial_window;
        self.ssthresh = self.initial_ssthresh;
        self.credit = 0.0;
        self.hystart = self.hystart.map(|_| HyStart::NEW);
        self.path = RoundTrip::default();
        (self.round, self.round_began) = (Round::default(), Instant::START);
        self.delivery = self.law.wants_delivery_rate().then(Box::default);
        self.rate = None;
        self.last_cut = None;
        self.last_sent = None;
        self.last_full = None;
        self.held_until = None;
        self.used = Use::default();
        self.silent = false;
    }

    fn limit(&self) -> Limit {
        Limit::Window(self.cwnd)
    }

    fn ecn(&self) -> Ecn {
        self.law.ecn()
    }

    fn memory(&self) -> usize {
        let delivery = self.delivery.as_ref();
        let delivery = delivery.map_or(0, |it| size_of_val(&**it) + it.memory());
        self.law.memory() + delivery
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

/// `value` rounded down, forgiving what binary fractions lack: a cut of 5 % leaves 19 of 20 packets,
/// and 49 increases of a 49th are a packet.
fn whole(value: f64) -> f64 {
    (value + 1e-9).floor()
}

/// The larger one; `bound` if `value` is not a number.
fn at_least(bound: f64, value: f64) -> f64 {
    value.max(bound)
}
