//! The rate that an application can follow: smooth, measured, and never far above what has arrived.
//!
//! A window or a TFRC rate is made for the next packet. It jumps with every report, and while the application sends
//! less than it may, nothing proves it. A [`TargetEstimator`] turns it into a rate for seconds:
//!
//! - Time is divided into rounds of a round-trip time, at least [`TargetEstimator::SHORTEST_ROUND`].
//! - If data waited during a whole round, the network is the limit. The target is then the rate at which data arrived
//!   over the last four such rounds.
//! - If the application left capacity unused in two rounds in a row, it is the limit. The target is then at most the
//!   smoothed window or rate, and at most twice the rate at which data recently arrived. RFC 5348, section 4.3, has the
//!   same limit for a TFRC sender; RFC 7661, section 4.3, calls a window above it not validated. It rises by a
//!   sixteenth in a round, and only by a 64th close to the rate at which the network was last the limit. (RFC 8298,
//!   section 4.1.3, also slows down there.) It falls by half of the difference in a round.
//!
//! An acknowledgement costs an addition and a comparison, a round a few dozen operations. Nothing here changes what is
//! sent.

mod arrivals;

#[cfg(test)]
mod tests;

use fairwire_units::{Duration, Instant, Rate};

use self::arrivals::{Arrivals, Proven, ROUNDS};

/// The weight of a new value in the mean of the allowed rate.
const SMOOTHING: f64 = 0.25;
/// By how much the target rises at most in a round, relative to itself.
const RISE: f64 = 1.0 / 16.0;
/// The same close to the network's last known capacity.
const CAREFUL_RISE: f64 = 1.0 / 64.0;
/// From which part of the last known capacity on the target rises carefully.
const CLOSE: f64 = 7.0 / 8.0;
/// For how long a capacity is known.
const CAPACITY_LIFE: Duration = Duration::from_secs(10);
/// How many times the rate at which data arrived the target may be.
const UNPROVEN: f64 = 2.0;

/// What limits a [`TargetBitrate`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The application sends less than it may, or as much as a cap of its own allows. The network may carry more than the target; only data that is sent can
    /// show it.
    #[default]
    Application,
    /// The network: data waits in the send queue. The target is the rate that gets through.
    Network,
    /// The peer's host asked for no more data (Slow Receiver, RFC 4340, section 11.6). The target does not rise.
    Peer,
}

/// The rate that an application's data can keep up, and what limits it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TargetBitrate {
    /// Bits per second of application data, without any headers.
    pub rate: Rate,
    /// What limits it.
    pub limit: LimitedBy,
}

impl TargetBitrate {
    /// Returns whether this target is worth a reaction of an application that follows `last`: it is more than 5 % lower
    /// or more than 10 % higher, or something else limits it.
    pub fn has_left(&self, last: &Self) -> bool {
        let (now, then) = (self.rate.bits_per_s(), last.rate.bits_per_s());
        let falls = u128::from(now) * 100 < u128::from(then) * 95;
        let rises = u128::from(now) * 100 > u128::from(then) * 110;
        falls || rises || self.limit != last.limit
    }
}

/// What a [`TargetEstimator`] has to know at the end of a round.
#[derive(Clone, Copy, Debug)]
pub struct RoundEnd {
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// The rate that the window or TFRC allows now, bytes per second of application data.
    pub allowed: f64,
    /// The initial window, bytes. A target of this much in a round needs no proof.
    pub initial_window: f64,
    /// Whether the peer's host asks for no more data.
    pub is_peer_slow: bool,
}

/// The estimator of a [`TargetBitrate`].
#[derive(Clone, Debug, Default)]
pub struct TargetEstimator {
    arrivals: Arrivals,
    /// Whether the application left capacity unused in this round.
    had_spare: bool,
    /// The number of rounds in a row in which it did.
    spare_rounds: u32,
    /// The number of rounds in a row with the network as the limit, up to those over which arrivals are averaged.
    network_rounds: usize,
    /// The mean of the rate that the window or TFRC allows, bytes per second.
    allowed: Option<f64>,
    proven: Proven,
    /// The rate at which the network was last the limit, bytes per second, and when.
    capacity: Option<(Instant, f64)>,
    /// The target, bytes per second.
    rate: Option<f64>,
    limit: LimitedBy,
}

impl TargetEstimator {
    /// The shortest round. A target changes at most once in a round.
    pub const SHORTEST_ROUND: Duration = Duration::from_millis(50);

    /// Returns how long a round lasts for a round-trip time.
    pub fn round(rtt: Duration) -> Duration {
        rtt.max(Self::SHORTEST_ROUND)
    }

    /// Returns the target, once a round is over.
    pub fn target(&self) -> Option<TargetBitrate> {
        Some(TargetBitrate {
            rate: Rate::from_bytes_per_s(self.rate?),
            limit: self.limit,
        })
    }

    /// Records that a packet more could have left, but the application had none.
    #[inline]
    pub fn on_spare(&mut self) {
        self.had_spare = true;
    }

    /// Returns whether unused capacity is already known in this round.
    #[inline]
    pub fn knows_spare(&self) -> bool {
        self.had_spare
    }

    /// Records that `bytes` of application data are newly known to have arrived. Returns whether the round is over, for
    /// [`Self::end_round`].
    #[inline]
    pub fn on_arrived(&mut self, now: Instant, bytes: u64, rtt: Duration) -> bool {
        self.arrivals.add(now, bytes, Self::round(rtt))
    }

    /// Ends a round and computes the next target.
    pub fn end_round(&mut self, now: Instant, round: &RoundEnd) {
        let length = Self::round(round.rtt);
        let spare = std::mem::take(&mut self.had_spare);
        self.limit = self.limit_after(spare, round.is_peer_slow);
        let allowed = self.allowed.map_or(round.allowed, |mean| {
            mean + SMOOTHING * (round.allowed - mean)
        });
        self.allowed = Some(allowed);
        self.arrivals.end_round(now, spare, length);
        let arrived = self.arrivals.rate(match self.limit {
            LimitedBy::Network => self.network_rounds,
            LimitedBy::Application | LimitedBy::Peer => ROUNDS,
        });
        if self.limit == LimitedBy::Network
            && let Some(arrived) = arrived
        {
            self.proven.replace(now, arrived);
            self.capacity = Some((now, arrived));
            self.rate = Some(arrived);
            return;
        }
        if let Some(arrived) = arrived {
            self.proven.note(now, arrived);
        }
        // Within the initial window no proof is needed (RFC 5348, 4.4: recover_rate; RFC 4341, 5.1).
        let free = round.initial_window / length.as_secs_f64();
        let goal = allowed.min((UNPROVEN * self.proven.rate()).max(free));
        let rate = self.rate.map_or(goal, |rate| self.step(now, rate, goal));
        self.rate = Some(match self.rate {
            Some(before) if self.limit == LimitedBy::Peer => rate.min(before),
            _ => rate,
        });
    }

    /// Returns what limits the data. One round with unused capacity does not yet end the limit of the network.
    fn limit_after(&mut self, spare: bool, is_peer_slow: bool) -> LimitedBy {
        self.spare_rounds = if spare {
            self.spare_rounds.saturating_add(1)
        } else {
            0
        };
        let lasts = self.spare_rounds >= 2 || self.limit == LimitedBy::Application;
        let limit = match (is_peer_slow, spare && lasts) {
            (true, _) => LimitedBy::Peer,
            (false, true) => LimitedBy::Application,
            (false, false) => LimitedBy::Network,
        };
        self.network_rounds = match limit {
            LimitedBy::Network => ROUNDS.min(self.network_rounds + 1),
            LimitedBy::Application | LimitedBy::Peer => 0,
        };
        limit
    }

    /// Returns the target after one more round, on its way from `rate` to `goal`.
    fn step(&self, now: Instant, rate: f64, goal: f64) -> f64 {
        if goal <= rate {
            return f64::midpoint(rate, goal);
        }
        let known = self
            .capacity
            .filter(|&(since, _)| now.saturating_since(since) <= CAPACITY_LIFE);
        let careful = known.is_some_and(|(_, capacity)| rate >= CLOSE * capacity);
        let rise = if careful { CAREFUL_RISE } else { RISE };
        goal.min(rate * (1.0 + rise))
    }
}
