//! A host's clock: it jumps forward, runs fast or slow, and never goes back.

use fairwire_units::{Duration, Instant};

const MILLION: i128 = 1_000_000;

/// What a host takes for the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Since this moment of the network ...
    since: Instant,
    /// ... when it showed this ...
    showed: Instant,
    /// ... it has gained so many millionths.
    pub(super) gains_ppm: i64,
}

impl Clock {
    /// A clock that shows the network's time, and gains from now on.
    pub(super) fn new(gains_ppm: i64) -> Self {
        Self {
            since: Instant::START,
            showed: Instant::START,
            gains_ppm,
        }
    }

    /// What it shows at `now` of the network.
    pub(super) fn shows(&self, now: Instant) -> Instant {
        let passed = i128::from(now.saturating_since(self.since).as_nanos());
        let shown = passed * (MILLION + i128::from(self.gains_ppm)) / MILLION;
        self.showed + Duration::from_nanos(u64::try_from(shown).unwrap_or(u64::MAX))
    }

    /// When, by the network's time, it shows `shown` or more.
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

    /// Gains so much from now on.
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

    /// A timer that is set by the host's clock goes off when that clock shows it, however it runs, and no
    /// more than a nanosecond or so late.
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
