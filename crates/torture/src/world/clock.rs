//! A host's clock. It may jump forward and run fast or slow, but never goes back.

use fairwire_units::{Duration, Instant};

const MILLION: i128 = 1_000_000;

/// The clock of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The network's time of the last change.
    since: Instant,
    /// The clock's time at the last change.
    showed: Instant,
    /// The rate error since then, in ppm.
    pub(super) gains_ppm: i64,
}

impl Clock {
    /// Creates a clock that shows the network's time now and has this rate error.
    pub(super) fn new(gains_ppm: i64) -> Self {
        Self {
            since: Instant::START,
            showed: Instant::START,
            gains_ppm,
        }
    }

    /// Returns the clock's time at the network's time `now`.
    pub(super) fn shows(&self, now: Instant) -> Instant {
        let passed = i128::from(now.saturating_since(self.since).as_nanos());
        let shown = passed * (MILLION + i128::from(self.gains_ppm)) / MILLION;
        self.showed + Duration::from_nanos(u64::try_from(shown).unwrap_or(u64::MAX))
    }

    /// Returns the network's time at which the clock shows `shown` or more.
    pub(super) fn when(&self, shown: Instant) -> Instant {
        if shown == Instant::MAX {
            return Instant::MAX;
        }
        let ahead = i128::from(shown.saturating_since(self.showed).as_nanos());
        let rate = MILLION + i128::from(self.gains_ppm);
        let passed = (ahead * MILLION + rate - 1) / rate;
        self.since + Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// Jumps forward.
    pub(super) fn step(&mut self, now: Instant, by: Duration) {
        *self = Self {
            since: now,
            showed: self.shows(now) + by,
            gains_ppm: self.gains_ppm,
        };
    }

    /// Sets the rate error from now on.
    pub(super) fn run_at(&mut self, now: Instant, gains_ppm: i64) {
        *self = Self {
            since: now,
            showed: self.shows(now),
            gains_ppm,
        };
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::Clock;

    /// A timer set by the host's clock expires when that clock shows its time, at any rate.
    ///
    /// It is late by no more than about a nanosecond.
    #[test]
    fn timers_are_set_by_the_hosts_clock() {
        for ppm in [-100_000, -1, 0, 7, 100_000] {
            let mut clock = Clock::new(ppm);
            let now = Instant::from_nanos(1_234_567_891);
            clock.step(now, Duration::from_secs(3_600));
            clock.run_at(now, -ppm);
            let shown = clock.shows(now) + Duration::from_nanos(987_654_321);
            let at = clock.when(shown);
            assert!(clock.shows(at) >= shown, "{ppm}");
            let before = at.saturating_before(Duration::from_nanos(2));
            assert!(clock.shows(before) < shown, "{ppm}");
        }
    }
}
