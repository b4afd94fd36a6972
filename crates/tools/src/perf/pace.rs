//! Pacing: sends at a given rate.

use std::time::{Duration, Instant};

/// How much time a sender that was held up catches up with. After an outage it must not send all that it missed, at any
/// rate: the rate is a limit.
const CATCH_UP: Duration = Duration::from_millis(500);

/// The time at which the next message may be sent at a rate. After a sleep that was too long, the sender catches up, by
/// [`CATCH_UP`] at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    start: Instant,
    /// The rate, bits per second; zero is unlimited.
    rate: u64,
    sent_bits: u128,
}

impl Pace {
    pub(crate) fn new(start: Instant, rate: u64) -> Self {
        Self {
            start,
            rate,
            sent_bits: 0,
        }
    }

    /// Returns the time until which the next message must wait, if it must wait.
    pub(crate) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if self.rate == 0 {
            return None;
        }
        let ns = self.sent_bits.saturating_mul(1_000_000_000) / u128::from(self.rate);
        let due = Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        let due = self.start.checked_add(due)?;
        let behind = now.saturating_duration_since(due);
        self.start += behind.saturating_sub(CATCH_UP);
        (due > now).then_some(due)
    }

    /// Records a message that was sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent_bits += bytes as u128 * 8;
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::perf::cpu::now;
    use std::time::Duration;

    /// A sender that was held up for an hour sends what it missed in half a second, and then keeps its rate again.
    #[test]
    fn catching_up_has_a_limit() {
        let start = now();
        let mut pace = Pace::new(start, 80_000);
        pace.sent(1_000);
        let later = start + Duration::from_secs(3_600);
        let mut sent = 0;
        while pace.wait_until(later).is_none() {
            pace.sent(1_000);
            sent += 1;
        }
        // One message every 0.1 s: those of 0.5 s and the one that is due now.
        assert_eq!(sent, 6);
        let tenth = Duration::from_millis(100);
        assert_eq!(pace.wait_until(later), Some(later + tenth));
    }

    /// At 8,000 bit/s a message of 1,000 bytes takes a second; at an unlimited rate nothing waits.
    #[test]
    fn a_rate_is_kept() {
        let start = now();
        let mut pace = Pace::new(start, 8_000);
        assert_eq!(pace.wait_until(start), None);
        pace.sent(1_000);
        let second = start + Duration::from_secs(1);
        assert_eq!(pace.wait_until(start), Some(second));
        assert_eq!(pace.wait_until(second), None);
        let mut unlimited = Pace::new(start, 0);
        unlimited.sent(1 << 30);
        assert_eq!(unlimited.wait_until(start), None);
    }
}
