//! The clock of an endpoint: nanoseconds since the endpoint was created.

use std::time;

#[cfg(feature = "dtls")]
use crate::tls::Date;
use fairwire_units::Instant;

/// Converts the system's monotonic clock, or tokio's, to the protocol's [`Instant`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Start,
}

/// When a clock showed zero, and by whose time.
#[derive(Clone, Copy, Debug)]
enum Start {
    System(time::Instant),
    /// Tokio's time, which a test may pause.
    #[cfg(feature = "emulated")]
    Tokio(tokio::time::Instant),
}

impl Clock {
    /// Starts a clock of the system at zero.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of this crate that reads the system clock"
    )]
    pub(crate) fn start() -> Self {
        Self {
            start: Start::System(time::Instant::now()),
        }
    }

    /// Starts a clock of tokio's time at zero.
    #[cfg(feature = "emulated")]
    pub(crate) fn start_with_tokio() -> Self {
        Self {
            start: Start::Tokio(tokio::time::Instant::now()),
        }
    }

    /// Returns a moment of tokio's clock as the time since the start; zero if it was before.
    ///
    /// A paused clock of tokio shows another time than the system's, so what counts is how far away the moment is.
    pub(crate) fn at(&self, moment: tokio::time::Instant) -> Instant {
        let (now, by_tokio) = (self.now(), tokio::time::Instant::now());
        match moment.checked_duration_since(by_tokio) {
            Some(ahead) => now + ahead.into(),
            None => now.saturating_before(by_tokio.saturating_duration_since(moment).into()),
        }
    }

    /// Returns a time since the start, which has passed, as a moment of tokio's clock.
    ///
    /// If a test paused tokio's clock, and this one is the system's, it is a moment of the system's.
    pub(crate) fn moment(&self, at: Instant) -> tokio::time::Instant {
        let since: time::Duration = at.saturating_since(Instant::START).into();
        match self.start {
            Start::System(start) => (start + since).into(),
            #[cfg(feature = "emulated")]
            Start::Tokio(start) => start + since,
        }
    }

    /// Returns the time since the start.
    pub(crate) fn now(&self) -> Instant {
        let elapsed = match self.start {
            Start::System(start) => start.elapsed(),
            #[cfg(feature = "emulated")]
            Start::Tokio(start) => start.elapsed(),
        };
        since_start(elapsed)
    }

    /// Returns whether this is tokio's time, for which only tokio's timers are right.
    pub(crate) fn is_tokio(&self) -> bool {
        !matches!(self.start, Start::System(_))
    }
}

fn since_start(elapsed: time::Duration) -> Instant {
    Instant::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the date, for the validity of certificates.
#[cfg(feature = "dtls")]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the date"
)]
pub(crate) fn date() -> Date {
    Date::from(time::SystemTime::now())
}

/// Nobody reads it.
#[cfg(not(feature = "dtls"))]
pub(crate) fn date() {}

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
