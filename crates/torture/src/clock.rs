//! A host's clock. It may jump forward and run fast or slow, but never goes back.

use fairwire_units::{Duration, Instant};

const MILLION: i128 = 1_000_000;

/// The clock of a host.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The network's time of the last change.
    since: Instant,
    /// The clock's time at the last change.
    showed: Instant,
    /// The rate error since then, in ppm.
    pub gains_ppm: i64,
}

impl Clock {
    /// Creates a clock that shows the network's time now and has this rate error.
    pub fn new(gains_ppm: i64) -> Self {
        Self {
            since: Instant::START,
            showed: Instant::START,
            gains_ppm,
        }
    }

    /// Returns the clock's time at the network's time `now`.
    pub fn shows(&self, now: Instant) -> Instant {
        let passed = i128::from(now.saturating_since(self.since).as_nanos());
        let shown = passed * (MILLION + i128::from(self.gains_ppm)) / MILLION;
        self.showed + Duration::from_nanos(u64::try_from(shown).unwrap_or(u64::MAX))
    }

    /// Returns the network's time at which the clock shows `shown` or more.
    pub fn when(&self, shown: Instant) -> Instant {
        if shown == Instant::MAX {
            return Instant::MAX;
        }
        let ahead = i128::from(shown.saturating_since(self.showed).as_nanos());
        let rate = MILLION + i128::from(self.gains_ppm);
        let passed = (ahead * MILLION + rate - 1) / rate;
        self.since + Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// Jumps forward.
    pub fn step(&mut self, now: Instant, by: Duration) {
        *self = Self {
            since: now,
            showed: self.shows(now) + by,
            gains_ppm: self.gains_ppm,
        };
    }

    /// Sets the rate error from now on.
    pub fn run_at(&mut self, now: Instant, gains_ppm: i64) {
        *self = Self {
            since: now,
            showed: self.shows(now),
            gains_ppm,
        };
    }
}
