//! The clock of an endpoint: nanoseconds since the endpoint was created.

use std::time;

use fairwire_tls::Date;
use fairwire_units::Instant;

/// Converts the system's monotonic clock to the protocol's [`Instant`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: time::Instant,
}

impl Clock {
    /// Starts a clock at zero.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of this crate that reads the system clock"
    )]
    pub(crate) fn start() -> Self {
        Self {
            start: time::Instant::now(),
        }
    }

    /// Returns a moment of tokio's clock as the time since the start; zero if it was before.
    pub(crate) fn at(&self, moment: tokio::time::Instant) -> Instant {
        let since = moment.into_std().saturating_duration_since(self.start);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the time since the start.
    pub(crate) fn now(&self) -> Instant {
        let ns = self.start.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Returns the date, for the validity of certificates.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the date"
)]
pub(crate) fn date() -> Date {
    Date::from(time::SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::Clock;

    /// Time starts near zero and never runs backwards.
    #[test]
    fn time_starts_at_zero_and_grows() {
        let clock = Clock::start();
        let first = clock.now();
        let second = clock.now();
        assert!(first.as_secs_f64() < 1.0, "{first}");
        assert!(second >= first, "{second} before {first}");
    }
}
