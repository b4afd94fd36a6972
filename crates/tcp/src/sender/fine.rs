//! The fine-grained timeout of Vegas: the age of the oldest segment at which one duplicate is enough.
//!
//! It uses mean and deviation of all samples, with Jacobson's weights. The timeout is the mean plus twice the
//! deviation, plus a sixteenth of this sum, as in the agent of ns-2.35.

use fairwire_units::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FineTimeout {
    smoothed: Option<(Duration, Duration)>,
}

impl FineTimeout {
    pub(super) fn on_sample(&mut self, rtt: Duration) {
        self.smoothed = Some(match self.smoothed {
            // The agent begins with a mean of one sample and a deviation of a quarter of it.
            None => (rtt, rtt / 4),
            Some((mean, deviation)) => {
                let error = mean.max(rtt) - mean.min(rtt);
                ((mean * 7 + rtt) / 8, (deviation * 3 + error) / 4)
            }
        });
    }

    /// Returns the timeout; `None` before the first sample.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let (mean, deviation) = self.smoothed?;
        let timeout = mean + deviation * 2;
        Some(timeout + timeout / 16)
    }
}
