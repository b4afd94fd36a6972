//! `X_recv_set`: what the peer received lately limits what may be sent (RFC 5348, section 4.3).

use fairwire_units::{Duration, Instant};

/// Values kept. RFC 5348, 8.2.2, finds three sufficient; with a few more, reports that come early
/// do not push out what is younger than two round trips. Where a receiver gives feedback more often
/// than these hold, the ones that are left are spread over the two round trips.
const VALUES: usize = 8;

/// Receive rates of the last two round trips, bytes per second, newest first.
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
    /// The set holds infinity alone: the first two round trips are not limited.
    pub(super) fn new() -> Self {
        let mut set = Self {
            values: [Value::default(); VALUES],
            len: 0,
        };
        set.replace(Instant::START, f64::INFINITY);
        set
    }

    /// The first packet leaves: the two round trips begin.
    pub(super) fn start(&mut self, now: Instant) {
        self.replace(now, f64::INFINITY);
    }

    /// The largest value.
    pub(super) fn max(&self) -> f64 {
        self.values[..self.len]
            .iter()
            .fold(0.0, |max, value| value.rate.max(max))
    }

    /// `Replace X_recv_set contents with a single item`.
    pub(super) fn replace(&mut self, now: Instant, rate: f64) {
        self.values[0] = Value { rate, at: now };
        self.len = 1;
    }

    /// `Update X_recv_set()`.
    pub(super) fn update(&mut self, now: Instant, x_recv: f64, rtt: Duration) {
        self.make_room(now, x_recv, rtt);
        self.values.rotate_right(1);
        self.values[0] = Value {
            rate: x_recv,
            at: now,
        };
        let len = (self.len + 1).min(VALUES);
        // Newest first: what is older than two round trips stands last.
        self.len = self.values[..len]
            .iter()
            .take_while(|value| now.saturating_since(value.at) <= rtt * 2)
            .count()
            .max(1);
    }

    /// Forgets a value if all places hold young ones: one that can never be the largest, because
    /// `x_recv` or a value after it is as large and stays longer; else one that stands closest
    /// between its neighbours, so that for a moment the limit may be lower, never higher.
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
        // The oldest of the inner ones where several stand equally close.
        let gap = |i: usize| {
            self.values[i - 1]
                .at
                .saturating_since(self.values[i + 1].at)
        };
        let closest = (1..VALUES - 1).rev().min_by_key(|&i| gap(i)).unwrap_or(1);
        self.values[covered.unwrap_or(closest)..].rotate_left(1);
        self.len = VALUES - 1;
    }

    /// The limit after an interval in which the application was the limit: what was once
    /// received stays allowed, less where losses were reported.
    pub(super) fn limit_of_pause(&mut self, now: Instant, x_recv: f64, worse: bool) -> f64 {
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

    /// `Maximize X_recv_set()`.
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

    /// RFC 5348, 4.3: infinity stays for two round trips, then the set goes by what was received.
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

    /// RFC 5348, 4.3: the larger value of the last two round trips counts, an older one does not.
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

    /// RFC 5348, 4.3, and 6: with a hundred reports per round trip the largest value of two round trips
    /// still counts, and none that is older. Where all values fall, as many are left out as do not fit.
    #[test]
    fn many_reports_do_not_shorten_the_memory() {
        // One report per millisecond: the rate in it, by the millisecond.
        let run = |rate: &dyn Fn(u64) -> f64, check: &dyn Fn(u64, f64)| {
            let mut set = RecvSet::new();
            set.replace(at(0), rate(0));
            for ms in 1..1_000 {
                set.update(at(ms), rate(ms), R);
                check(ms, set.max());
            }
        };
        // A peak of one report in a hundred, and ups and downs between.
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
            // Seven gaps in 200 ms make six pairs that come to 400 ms at most; the least pair, which
            // becomes one gap, is no more than a sixth of that.
            assert!(max <= oldest && max >= oldest - 67.0, "at {ms} ms: {max}");
        });
    }

    /// RFC 5348, 4.3: an application's pause lowers nothing; a loss in it halves what was known
    /// and takes 15 % off what was received.
    #[test]
    fn pauses_keep_the_largest() {
        let mut set = RecvSet::new();
        assert_eq!(
            set.limit_of_pause(at(0), 800.0, false),
            1_600.0,
            "infinity goes"
        );
        assert_eq!(set.limit_of_pause(at(900), 100.0, false), 1_600.0);
        assert_eq!(set.limit_of_pause(at(1_000), 100.0, true), 400.0);
        assert_eq!(set.limit_of_pause(at(1_100), 1_000.0, true), 850.0);
    }
}
