//! Delays and their percentiles in bounded memory.

use fairwire_units::Duration;

/// The base-2 logarithm of the number of buckets for each power of two.
const STEP_BITS: u32 = 8;

/// A histogram of delays whose buckets grow with the delay.
///
/// Count, mean, least and greatest are exact. A percentile is off by at most 1/512 (0.2 %) of its value; below 512 ns
/// it is exact. Memory: 2 KiB for each power of two from that of the least delay to that of the greatest, at most 114
/// KiB. It grows only when a delay is in none of these.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    counts: Vec<u64>,
    /// The number of the first bucket that has a place in `counts`, which is the first of a power of two.
    first: usize,
    count: u64,
    sum_ns: u128,
    least: Duration,
    greatest: Duration,
}

impl DelayHistogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one delay.
    pub fn record(&mut self, delay: Duration) {
        let bucket = bucket(delay.as_nanos());
        if !(self.first..self.first + self.counts.len()).contains(&bucket) {
            self.make_room(bucket, bucket + 1);
        }
        self.counts[bucket - self.first] += 1;
        self.least = if self.count == 0 {
            delay
        } else {
            self.least.min(delay)
        };
        self.greatest = self.greatest.max(delay);
        self.count += 1;
        self.sum_ns += u128::from(delay.as_nanos());
    }

    /// Makes room for the buckets of `from` up to, not including, `to`, and for those of the same powers of two.
    #[cold]
    fn make_room(&mut self, from: usize, to: usize) {
        let power = bucket_count(1);
        let (mut from, mut to) = (from / power * power, to.next_multiple_of(power));
        if !self.counts.is_empty() {
            from = from.min(self.first);
            to = to.max(self.first + self.counts.len());
        }
        let before = self.first.saturating_sub(from);
        if !self.counts.is_empty() && before > 0 {
            self.counts.splice(..0, std::iter::repeat_n(0, before));
        }
        self.counts.resize(to - from, 0);
        self.first = from;
    }

    /// Adds the delays that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.make_room(other.first, other.first + other.counts.len());
        let mine = &mut self.counts[other.first - self.first..];
        for (mine, theirs) in mine.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.least = if self.count == 0 {
            other.least
        } else {
            self.least.min(other.least)
        };
        self.greatest = self.greatest.max(other.greatest);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    /// Returns the number of delays.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact mean, rounded down to a nanosecond; `None` without delays.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ns.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok().map(Duration::from_nanos)
    }

    /// Returns the least delay, exactly; `None` without delays.
    pub fn least(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.least)
    }

    /// Returns the greatest delay, exactly; `None` without delays.
    pub fn greatest(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.greatest)
    }

    /// Returns the delay that a fraction `q` of all delays does not exceed (nearest rank); `None` without delays.
    ///
    /// `quantile(0.5)` is the median and `quantile(0.99)` the 99th percentile. A `q` outside `[0, 1]` is limited to it.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and the rank is clamped"
        )]
        let rank = (libm::ceil(q * self.count as f64) as u64).clamp(1, self.count);
        if rank == 1 {
            return Some(self.least);
        }
        if rank == self.count {
            return Some(self.greatest);
        }
        let mut below = 0;
        for (bucket, count) in (self.first..).zip(&self.counts) {
            below += count;
            if below >= rank {
                let middle = Duration::from_nanos(middle_of(bucket));
                return Some(middle.clamp(self.least, self.greatest));
            }
        }
        Some(self.greatest)
    }
}

/// Returns the number of buckets for `powers` powers of two.
const fn bucket_count(powers: usize) -> usize {
    powers << STEP_BITS
}

/// Returns the bucket of a delay: one for each nanosecond below 256, then 256 for each power of two.
fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(STEP_BITS + 1);
    // The leading bit of `ns >> shift` adds one more power than `shift` says, from 256 on.
    let bucket = (u64::from(shift) << STEP_BITS) + (ns >> shift);
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

/// Returns the middle of a bucket, rounded down.
fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket >> STEP_BITS).saturating_sub(1);
    let lowest = (bucket - (shift << STEP_BITS)) << shift;
    lowest + ((1 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::{DelayHistogram, bucket, middle_of};
    use fairwire_units::Duration;

    /// For delays of 1 to 1000 ms the percentiles are within 1/512 of the exact ones.
    #[test]
    fn percentiles_of_a_ramp() {
        let mut delays = DelayHistogram::new();
        for ms in (1..=1000).rev() {
            delays.record(Duration::from_millis(ms));
        }
        for (q, ms) in [(0.5, 500), (0.95, 950), (0.99, 990), (0.999, 999)] {
            let exact = Duration::from_millis(ms).as_secs_f64();
            let ours = delays.quantile(q).expect("not empty").as_secs_f64();
            assert!((ours - exact).abs() <= exact / 512.0, "{q}: {ours}");
        }
        assert_eq!(delays.quantile(1.0), Some(Duration::from_secs(1)));
        assert_eq!(delays.quantile(0.0), Some(Duration::from_millis(1)));
        assert_eq!(delays.quantile(f64::NAN), Some(Duration::from_millis(1)));
        assert_eq!(delays.mean(), Some(Duration::from_micros(500_500)));
        assert_eq!(delays.least(), Some(Duration::from_millis(1)));
        assert_eq!(delays.greatest(), Some(Duration::from_secs(1)));
    }

    /// Every delay, from zero to the largest, is in a bucket whose middle is at most 1/512 away.
    #[test]
    fn buckets_are_as_fine_as_promised() {
        let mut ns = 0u64;
        let mut last = 0;
        while ns < u64::MAX / 3 {
            for value in [ns, ns + 1, ns * 2 + 1] {
                let middle = middle_of(bucket(value));
                assert!(middle.abs_diff(value) <= value / 512, "{value}");
            }
            assert!(bucket(ns) >= last, "{ns}");
            last = bucket(ns);
            ns += ns / 97 + 1;
        }
        assert!(middle_of(bucket(u64::MAX)) > u64::MAX - u64::MAX / 256);
        assert!(bucket(u64::MAX) < 57 * 256, "the stated memory");
    }

    /// Two merged halves give the same histogram as the whole; merging an empty one changes nothing.
    #[test]
    fn halves_merge_to_the_whole() {
        let mut whole = DelayHistogram::new();
        let mut even = DelayHistogram::new();
        let mut odd = DelayHistogram::new();
        for us in 1..2_000 {
            let delay = Duration::from_micros(us * us);
            whole.record(delay);
            if us % 2 == 0 {
                even.record(delay);
            } else {
                odd.record(delay);
            }
        }
        let mut merged = DelayHistogram::new();
        merged.merge(&even);
        merged.merge(&odd);
        merged.merge(&DelayHistogram::new());
        for q in [0.0, 0.1, 0.5, 0.9, 1.0] {
            assert_eq!(merged.quantile(q), whole.quantile(q));
        }
        assert_eq!(merged.mean(), whole.mean());
        assert_eq!(merged.least(), whole.least());
        assert_eq!(DelayHistogram::new().quantile(0.5), None);
    }
}
