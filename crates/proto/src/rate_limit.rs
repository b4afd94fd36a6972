//! A limit on how often something may happen.

use fairwire_units::{Duration, Instant};

/// A rate limit that passes one thing per `interval` in the long run and up to `burst` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit {
    interval: Duration,
    slack: Duration,
    /// When the next one would be due at an even rate.
    due: Instant,
}

impl RateLimit {
    /// Returns a limit of `per_s` per second, with bursts of up to `burst` (at least one).
    pub(crate) fn per_second(per_s: u32, burst: u32) -> Self {
        let interval = match per_s {
            0 => Duration::MAX,
            rate => Duration::from_nanos(1_000_000_000 / u64::from(rate)),
        };
        Self {
            interval,
            slack: interval * u64::from(burst.saturating_sub(1)),
            due: Instant::START,
        }
    }

    /// Returns the time from which the next one is allowed.
    pub(crate) fn allowed_from(&self) -> Instant {
        self.due.saturating_before(self.slack)
    }

    /// Returns whether one is allowed now, and counts it if so.
    pub(crate) fn allow(&mut self, now: Instant) -> bool {
        if self.interval == Duration::MAX || now < self.allowed_from() {
            return false;
        }
        self.due = self.due.max(now) + self.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::RateLimit;
    use fairwire_units::{Duration, Instant};

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// Eight a second without a burst are one every 125 ms, and none earlier.
    #[test]
    fn evenly_spaced_without_a_burst() {
        let mut limit = RateLimit::per_second(8, 1);
        assert!(limit.allow(ms(1_000)));
        assert!(!limit.allow(ms(1_124)));
        assert!(limit.allow(ms(1_125)));
    }

    /// A burst passes once; then the rate holds, and idle time permits a new burst.
    #[test]
    fn a_burst_and_then_the_rate() {
        let mut limit = RateLimit::per_second(10, 3);
        let passed = (0..10).filter(|_| limit.allow(ms(500))).count();
        assert_eq!(passed, 3);
        assert!(!limit.allow(ms(599)));
        assert!(limit.allow(ms(600)));
        let passed = (0..10).filter(|_| limit.allow(ms(5_000))).count();
        assert_eq!(passed, 3);
    }

    /// A rate of zero passes nothing.
    #[test]
    fn zero_is_never() {
        assert!(!RateLimit::per_second(0, 5).allow(ms(10)));
    }
}
