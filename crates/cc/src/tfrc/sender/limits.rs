//! `X_recv_set`: the recent receive rates that limit the sending rate (RFC 5348, section 4.3).

use fairwire_units::{Duration, Instant};

/// The number of values kept. RFC 5348, 8.2.2, finds three sufficient. With a few more, early reports do not drop
/// values younger than two round trips. If a receiver reports more often than this, the values kept are spread over the
/// two round trips.
const VALUES: usize = 8;

/// The receive rates of the last two round trips, bytes per second, newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecvSet {
    values: [Value; VALUES],
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Value {
    rate: f64,
    at: Instant,
}

impl RecvSet {
    /// Creates a set with the single value infinity: the first two round trips are not limited.
    pub(super) fn new() -> Self {
        let mut set = Self {
            values: [Value::default(); VALUES],
            len: 0,
        };
        set.replace(Instant::START, f64::INFINITY);
        set
    }

    /// Begins the first two round trips when the first packet leaves.
    pub(super) fn start(&mut self, now: Instant) {
        self.replace(now, f64::INFINITY);
    }

    /// Returns the largest value.
    pub(super) fn max(&self) -> f64 {
        self.values[..self.len]
            .iter()
            .fold(0.0, |max, value| value.rate.max(max))
    }

    /// Makes `rate` the only value (`Replace X_recv_set contents with a single item`).
    pub(super) fn replace(&mut self, now: Instant, rate: f64) {
        self.values[0] = Value { rate, at: now };
        self.len = 1;
    }

    /// Adds a value and drops those older than two round trips (`Update X_recv_set()`).
    pub(super) fn update(&mut self, now: Instant, x_recv: f64, rtt: Duration) {
        self.make_room(now, x_recv, rtt);
        self.values.rotate_right(1);
        self.values[0] = Value {
            rate: x_recv,
            at: now,
        };
        let len = (self.len + 1).min(VALUES);
        // Newest first, so values older than two round trips are last.
        self.len = self.values[..len]
            .iter()
            .take_while(|value| now.saturating_since(value.at) <= rtt * 2)
            .count()
            .max(1);
    }

    /// Drops one value if the set is full of young ones.
    ///
    /// It drops a value that can never be the largest, because `x_recv` or a later value is as large and stays longer.
    /// If there is none, it drops the one whose neighbours are closest. The limit may then be lower for a short time,
    /// but never higher.
    fn make_room(&mut self, now: Instant, x_recv: f64, rtt: Duration) {
        let is_full = self.len == VALUES;
        if !is_full || now.saturating_since(self.values[VALUES - 1].at) > rtt * 2 {
            return;
        }
        let mut largest = x_recv;
        let covered = self.values.iter().position(|value| {
            let is_covered = value.rate <= largest;
            largest = largest.max(value.rate);
            is_covered
        });
        // The oldest of the inner values if several are equally close.
        let gap = |i: usize| {
            self.values[i - 1]
                .at
                .saturating_since(self.values[i + 1].at)
        };
        let closest = (1..VALUES - 1).rev().min_by_key(|&i| gap(i)).unwrap_or(1);
        self.values[covered.unwrap_or(closest)..].rotate_left(1);
        self.len = VALUES - 1;
    }

    /// Returns the limit after an interval in which the application was the limit: earlier receive rates remain valid,
    /// reduced if losses were reported.
    pub(super) fn data_limited_limit(&mut self, now: Instant, x_recv: f64, worse: bool) -> f64 {
        if worse {
            for value in &mut self.values[..self.len] {
                value.rate /= 2.0;
            }
            self.maximize(now, 0.85 * x_recv);
            self.max()
        } else {
            self.maximize(now, x_recv);
            2.0 * self.max()
        }
    }

    /// Keeps only the largest value (`Maximize X_recv_set()`).
    fn maximize(&mut self, now: Instant, x_recv: f64) {
        let finite = self.values[..self.len]
            .iter()
            .filter(|value| value.rate.is_finite());
        let max = finite.fold(x_recv, |max, value| value.rate.max(max));
        self.replace(now, max);
    }
}

#[cfg(test)]
mod tests {
    use super::RecvSet;
    use fairwire_units::{Duration, Instant};

    const R: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// RFC 5348, 4.3: infinity stays for two round trips; then the receive rates are the limit.
    #[test]
    fn the_first_two_round_trips_are_unlimited() {
        let mut set = RecvSet::new();
        set.start(at(1_000));
        set.update(at(1_100), 0.0, R);
        assert_eq!(set.max(), f64::INFINITY);
        set.update(at(1_200), 500.0, R);
        assert_eq!(set.max(), f64::INFINITY, "exactly two round trips old");
        set.update(at(1_301), 700.0, R);
        assert_eq!(set.max(), 700.0);
    }

    /// RFC 5348, 4.3: the largest value of the last two round trips counts; an older one does not.
    #[test]
    fn two_round_trips_are_remembered() {
        let mut set = RecvSet::new();
        set.replace(at(0), 900.0);
        set.update(at(100), 400.0, R);
        set.update(at(200), 300.0, R);
        assert_eq!(set.max(), 900.0);
        set.update(at(201), 200.0, R);
        assert_eq!(set.max(), 400.0);
        set.update(at(5_000), 10.0, R);
        assert_eq!(set.max(), 10.0);
    }

    /// RFC 5348, 4.3, and 6: with a hundred reports per round trip the largest value of two round trips still counts,
    /// and no older one. If all values fall, some are dropped because not all fit.
    #[test]
    fn many_reports_do_not_shorten_the_memory() {
        // One report per millisecond; the rate is a function of the millisecond.
        let run = |rate: &dyn Fn(u64) -> f64, check: &dyn Fn(u64, f64)| {
            let mut set = RecvSet::new();
            set.replace(at(0), rate(0));
            for ms in 1..1_000 {
                set.update(at(ms), rate(ms), R);
                check(ms, set.max());
            }
        };
        // A peak in one report, and smaller variations otherwise.
        let peak = |ms: u64| match ms {
            300 => 900.0,
            _ => 100.0 + (ms * 37 % 100) as f64,
        };
        run(&peak, &|ms, max| match ms {
            300..=500 => assert_eq!(max, 900.0, "at {ms} ms"),
            _ => assert!(max < 200.0, "at {ms} ms"),
        });
        let falling = |ms: u64| 2_000.0 - ms as f64;
        run(&falling, &|ms, max| {
            let oldest = falling(ms.saturating_sub(200));
            // Seven gaps in 200 ms make six pairs of at most 400 ms in all. The smallest pair, which becomes one gap,
            // is at most a sixth of that.
            assert!(max <= oldest && max >= oldest - 67.0, "at {ms} ms: {max}");
        });
    }

    /// RFC 5348, 4.3: a pause of the application lowers nothing. A loss in a pause halves the earlier values and takes
    /// 15 % from the receive rate.
    #[test]
    fn pauses_keep_the_largest() {
        let mut set = RecvSet::new();
        assert_eq!(
            set.data_limited_limit(at(0), 800.0, false),
            1_600.0,
            "infinity goes"
        );
        assert_eq!(set.data_limited_limit(at(900), 100.0, false), 1_600.0);
        assert_eq!(set.data_limited_limit(at(1_000), 100.0, true), 400.0);
        assert_eq!(set.data_limited_limit(at(1_100), 1_000.0, true), 850.0);
    }
}
