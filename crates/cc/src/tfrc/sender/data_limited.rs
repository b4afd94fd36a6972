//! Detection of intervals in which the application was the limit (RFC 5348, section 8.2.1).
//!
//! The RFC keeps two times at which the sender was not limited by its data, and says that more of them give a better
//! result. With only two, an early report because of a loss makes the next report appear to cover a pause. Here the
//! times are an eighth of a round trip apart.

use fairwire_units::{Duration, Instant};

/// The number of parts into which a round trip is divided.
const PARTS: u64 = 8;
/// The number of times kept: four round trips.
const KEPT: usize = 32;

/// The times at which all that was allowed had been sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataLimited {
    /// A ring of times.
    moments: [Option<Instant>; KEPT],
    newest: usize,
}

impl DataLimited {
    pub(super) const fn new() -> Self {
        Self {
            moments: [None; KEPT],
            newest: 0,
        }
    }

    /// Records that a packet left and everything that was allowed has now been sent.
    pub(super) fn on_all_sent(&mut self, now: Instant, rtt: Duration) {
        let newest = self.moments[self.newest];
        if newest.is_none_or(|newest| now.saturating_since(newest) >= rtt / PARTS) {
            self.newest = (self.newest + 1) % KEPT;
            self.moments[self.newest] = Some(now);
        }
    }

    /// Returns whether the application was the limit over the whole round trip that ended at `until`.
    pub(super) fn covers(&self, until: Instant, rtt: Duration) -> bool {
        let from = until.saturating_before(rtt);
        let mut moments = self.moments.iter().flatten();
        !moments.any(|&moment| from < moment && moment <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::DataLimited;
    use fairwire_units::{Duration, Instant};

    const R: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A sender that always sends all it may never counts as data-limited, however irregular the reports are.
    #[test]
    fn a_greedy_sender_is_not_limited() {
        let mut limited = DataLimited::new();
        for ms in 1_000..3_000 {
            if ms % 7 == 0 {
                limited.on_all_sent(at(ms), R);
            }
            if ms >= 1_200 && (ms % 100 == 0 || ms % 330 == 0) {
                assert!(!limited.covers(at(ms - 100), R), "at {ms} ms");
            }
        }
    }

    /// A sender that never uses its allowance is data-limited. One use clears only the intervals that contain it.
    #[test]
    fn one_moment_clears_its_interval() {
        let mut limited = DataLimited::new();
        assert!(limited.covers(at(1_100), R));
        limited.on_all_sent(at(1_250), R);
        assert!(limited.covers(at(1_249), R));
        assert!(!limited.covers(at(1_250), R));
        assert!(!limited.covers(at(1_349), R));
        assert!(
            limited.covers(at(1_350), R),
            "the interval is open on the left"
        );
    }
}
