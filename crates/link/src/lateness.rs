//! How late datagrams leave, against the moment at which the link was done with them.

use std::time::Duration;

/// The width of a bucket.
const BUCKET: Duration = Duration::from_micros(10);
/// Up to 100 ms; what is later is counted in the last bucket.
const BUCKETS: usize = 10_000;

/// A distribution of delays, to 10 microseconds.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    most: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
            most: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Counts one datagram.
    pub(crate) fn note(&mut self, late: Duration) {
        let bucket = usize::try_from(late.as_nanos() / BUCKET.as_nanos()).unwrap_or(usize::MAX);
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.total += 1;
        self.most = self.most.max(late);
    }

    /// Returns the lateness that this share of datagrams does not exceed, rounded up to 10 microseconds; none without
    /// datagrams.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates"
        )]
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let upper = BUCKET * u32::try_from(bucket + 1).unwrap_or(u32::MAX);
        Some(upper.min(self.most))
    }

    /// Returns the most.
    pub fn most(&self) -> Duration {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Lateness};

    /// Quantiles are those of what was counted, to a bucket.
    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile(0.5), None);
        for us in 1..=1_000 {
            late.note(Duration::from_micros(us));
        }
        assert_eq!(late.quantile(0.5), Some(Duration::from_micros(510)));
        assert_eq!(late.quantile(0.99), Some(Duration::from_millis(1)));
        late.note(Duration::from_secs(7));
        assert_eq!(late.most(), Duration::from_secs(7));
    }
}
