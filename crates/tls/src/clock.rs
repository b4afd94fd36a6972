//! The library's clock.
//!
//! The library measures time with the standard library's instants, which cannot be made from a number. So this module
//! reads the system's clock once, as the origin that stands for the start of every run. Only differences to it matter.

use std::sync::LazyLock;
use std::time;

use fairwire_units::{Duration, Instant};

/// An instant so far away that it is never reached.
const NEVER: time::Duration = time::Duration::from_secs(365 * 86_400);

#[expect(
    clippy::disallowed_methods,
    reason = "an origin: nothing depends on its value, because times go in and come out as differences to it"
)]
static ORIGIN: LazyLock<time::Instant> = LazyLock::new(time::Instant::now);

/// A session's clock, which stands still while the session's datagrams wait.
#[derive(Debug)]
pub(crate) struct Clock {
    /// The latest time that the session was told.
    now: Instant,
    /// How long the clock has stood still so far.
    stood: Duration,
    still: bool,
}

impl Clock {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            now,
            stood: Duration::ZERO,
            still: false,
        }
    }

    /// Moves the clock to `now`. A time before the last one counts as the last one.
    pub(crate) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_since(self.now);
        self.now += passed;
        if self.still {
            self.stood += passed;
        }
    }

    /// Stops the clock, or lets it go on.
    pub(crate) const fn set_still(&mut self, still: bool) {
        self.still = still;
    }

    pub(crate) const fn is_still(&self) -> bool {
        self.still
    }

    /// Returns the library's time that is now.
    pub(crate) fn time_of_library(&self) -> time::Instant {
        let own = Instant::START + self.own();
        let since: time::Duration = own.saturating_since(Instant::START).into();
        // The sum fits for hundreds of years; a time beyond them stands still.
        ORIGIN.checked_add(since).unwrap_or(*ORIGIN)
    }

    /// Returns when a timer of the library expires, or `None` if that is farther away than any session lasts.
    pub(crate) fn expiry(&self, timer: time::Instant) -> Option<Instant> {
        let left = timer.saturating_duration_since(self.time_of_library());
        (left < NEVER).then(|| self.now + left.into())
    }

    /// Returns when the session's clock will have run for so long, if nothing stops it.
    pub(crate) fn when(&self, own: Duration) -> Instant {
        self.now + own.saturating_sub(self.own())
    }

    /// Returns how long the session's clock has run.
    pub(crate) fn own(&self) -> Duration {
        self.now.saturating_since(Instant::START) - self.stood
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::Clock;

    fn s(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    /// A timer expires when the session's clock has run long enough; the time in which it stands still does not count.
    #[test]
    fn a_timer_waits_while_the_clock_stands() {
        let mut clock = Clock::new(s(10));
        let timer = clock.time_of_library() + std::time::Duration::from_secs(3);
        assert_eq!(clock.expiry(timer), Some(s(13)));
        clock.advance(s(11));
        clock.set_still(true);
        clock.advance(s(16));
        clock.set_still(false);
        assert_eq!(clock.expiry(timer), Some(s(18)));
        clock.advance(s(18));
        assert_eq!(clock.time_of_library(), timer);
    }

    /// A time before the last one does not turn the clock back, and a timer years away never expires.
    #[test]
    fn the_clock_does_not_turn_back() {
        let mut clock = Clock::new(s(10));
        let now = clock.time_of_library();
        clock.advance(s(9));
        assert_eq!(clock.time_of_library(), now);
        let far = now + std::time::Duration::from_secs(10 * 365 * 86_400);
        assert_eq!(clock.expiry(far), None);
        clock.advance(Instant::MAX);
        assert_eq!(clock.expiry(now), Some(Instant::MAX));
    }
}
