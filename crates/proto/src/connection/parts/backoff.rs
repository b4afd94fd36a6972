//! A retransmission timer that doubles.

use fairwire_units::{Duration, Instant};

/// RFC 4340, 8.1.1: the first Request is repeated after a second.
pub(crate) const FIRST_RETRY: Duration = Duration::from_secs(1);

/// RFC 4340, 8.1.1 and 8.3: at least one packet every 64 seconds.
const LONGEST: Duration = Duration::from_secs(64);

/// When to try again, and how long to wait after that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    interval: Duration,
    at: Option<Instant>,
    repeats: bool,
}

impl Backoff {
    /// A timer that is not running; its first wait is `first`.
    pub(crate) fn new(first: Duration) -> Self {
        // Without a least wait, a round trip of zero would try again for ever at one moment.
        Self {
            interval: first.clamp(Duration::from_millis(1), LONGEST),
            at: None,
            repeats: false,
        }
    }

    /// Has it ended at least once, so that the packet left again?
    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Starts the wait that follows a packet sent now.
    pub(crate) fn start(&mut self, now: Instant) {
        self.at = Some(now + self.interval);
    }

    /// When it ends.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Ends it early: it stops, and the next wait is twice as long.
    pub(crate) fn end(&mut self) {
        self.at = None;
        self.repeats = true;
        self.interval = (self.interval * 2).min(LONGEST);
    }

    /// Has it ended? If so it stops, and the next wait is twice as long.
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
