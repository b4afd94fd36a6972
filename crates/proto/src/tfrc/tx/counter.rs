//! The window counter that data packets carry in `CCVal` (RFC 4342, section 8.1).

use fairwire_units::{Duration, Instant};

/// The most that consecutive data packets may differ by: with more, a wrap could go unnoticed.
const MAX_STEP: u64 = 5;
/// How far the counter must be ahead of that of an acknowledged packet: one round trip.
const ROUND_TRIP: u64 = 4;

/// The window counter, in quarters of a round trip. It never decreases, and wraps only in the four bits that are sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowCounter {
    /// `last_WC`, before the reduction modulo 16.
    value: u64,
    /// `last_WC_time`.
    since: Option<Instant>,
    /// The least value, as acknowledgements require.
    at_least: u64,
}

impl WindowCounter {
    pub(super) const fn new() -> Self {
        Self {
            value: 0,
            since: None,
            at_least: 0,
        }
    }

    /// Returns the counter of the last packet.
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the `CCVal` of a data packet that leaves now.
    pub(super) fn next(&mut self, now: Instant, rtt: Duration) -> u8 {
        let since = *self.since.get_or_insert(now);
        let quarter = (rtt / 4).as_nanos().max(1);
        let quarters = now.saturating_since(since).as_nanos() / quarter;
        // RFC 4342, 8.1: at most five more than the packet before, however long ago that left and whatever was
        // acknowledged since.
        let most = self.value.saturating_add(MAX_STEP);
        let next = self
            .value
            .saturating_add(quarters)
            .max(self.at_least)
            .min(most);
        if next > self.value {
            self.value = next;
            self.since = Some(now);
        }
        (self.value % 16) as u8
    }

    /// Handles the acknowledgement of a packet with counter `value`. A round trip is over, so packets that leave now
    /// belong to the next one (RFC 4342, section 8.1).
    pub(super) fn on_acknowledged(&mut self, value: u64) {
        self.at_least = self.at_least.max(value.saturating_add(ROUND_TRIP));
    }
}

#[cfg(test)]
mod tests {
    use super::WindowCounter;
    use fairwire_units::{Duration, Instant};

    const R: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// RFC 4342, 8.1: the counter makes one step per quarter of a round trip, counted from the first packet with the
    /// last value, and at most five steps at once.
    #[test]
    fn steps_of_the_rfc() {
        let mut counter = WindowCounter::new();
        let mut next = |ms| counter.next(at(ms), R);
        assert_eq!(next(1_000), 0);
        assert_eq!(next(1_024), 0);
        assert_eq!(next(1_025), 1);
        assert_eq!(next(1_074), 2, "the time counts from 1025");
        assert_eq!(next(1_098), 2);
        assert_eq!(next(1_099), 3);
        assert_eq!(next(9_000), 8, "five steps at most");
        assert_eq!(next(9_100), 12);
        assert_eq!(next(9_200), 0, "modulo 16");
    }

    /// RFC 4342, 8.1: after the acknowledgement of counter 3, packets carry at least 7, but at most five more than the
    /// packet before.
    #[test]
    fn acknowledgements_push_the_counter() {
        let mut counter = WindowCounter::new();
        assert_eq!(counter.next(at(0), R), 0);
        assert_eq!(counter.next(at(75), R), 3);
        counter.on_acknowledged(0);
        assert_eq!(counter.next(at(76), R), 4);
        counter.on_acknowledged(4);
        assert_eq!(counter.next(at(77), R), 8);
        counter.on_acknowledged(1);
        assert_eq!(counter.next(at(78), R), 8, "an old one asks for nothing");
        assert_eq!(counter.value(), 8);
    }

    /// Whatever happens between two packets, their counters differ by at most five, so a receiver never mistakes a full
    /// cycle for no step.
    #[test]
    fn neighbours_differ_by_five_at_most() {
        let mut counter = WindowCounter::new();
        let mut before = counter.next(at(0), R);
        let mut now = 0;
        for i in 0u64..1_000 {
            now += (i * 7_919) % 900;
            if i % 3 == 0 {
                counter.on_acknowledged(counter.value());
            }
            let rtt = Duration::from_micros((i * 104_729) % 300_000);
            let ccval = counter.next(at(now), rtt);
            let step = (16 + ccval - before) % 16;
            assert!(step <= 5, "step {step} at packet {i}");
            before = ccval;
        }
    }
}
