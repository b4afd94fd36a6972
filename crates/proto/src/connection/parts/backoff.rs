//! A retransmission timer with exponential back-off.

use fairwire_units::{Duration, Instant};

/// How long a timer waits first, if nothing says otherwise.
pub(crate) const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Longest wait: at least one packet every 64 seconds (RFC 4340, 8.1.1 and 8.3).
const LONGEST: Duration = Duration::from_secs(64);

/// A timer that waits twice as long each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    interval: Duration,
    at: Option<Instant>,
    repeats: bool,
}

impl Backoff {
    /// Returns a stopped timer whose first wait is `first`.
    pub(crate) fn new(first: Duration) -> Self {
        // Without a minimum, a round trip of zero would retry endlessly at one moment.
        Self {
            interval: first.clamp(Duration::from_millis(1), LONGEST),
            at: None,
            repeats: false,
        }
    }

    /// Returns whether it has expired at least once, so that the packet was repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Starts the wait after a packet that is sent now.
    pub(crate) fn start(&mut self, now: Instant) {
        self.at = Some(now + self.interval);
    }

    /// Returns when it expires.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Ends the wait early: stops the timer, and doubles the next wait.
    pub(crate) fn end(&mut self) {
        self.at = None;
        self.repeats = true;
        self.interval = (self.interval * 2).min(LONGEST);
    }

    /// Returns whether it has expired. If so, stops it and doubles the next wait.
    pub(crate) fn expired(&mut self, now: Instant) -> bool {
        let expired = self.at.is_some_and(|at| at <= now);
        if expired {
            self.end();
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Duration, Instant};

    /// Each wait is twice the last, up to 64 seconds.
    #[test]
    fn doubles_up_to_64_seconds() {
        let mut timer = Backoff::new(Duration::from_secs(1));
        let mut now = Instant::START;
        let mut waits = Vec::new();
        for _ in 0..9 {
            timer.start(now);
            let at = timer.at().unwrap();
            assert!(!timer.expired(at.saturating_before(Duration::from_nanos(1))));
            assert!(timer.expired(at));
            waits.push((at - now).as_millis() / 1_000);
            now = at;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
    }
}
