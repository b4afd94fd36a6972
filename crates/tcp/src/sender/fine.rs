//! Vegas's fine-grained timeout: how old the oldest segment may be before a duplicate is enough.
//!
//! Mean and deviation of all samples, with Jacobson's weights; the timeout is the mean, twice the
//! deviation, and a sixteenth of both, as in ns-2.35's agent.

use fairwire_units::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FineTimeout {
    smoothed: Option<(Duration, Duration)>,
}

impl FineTimeout {
    pub(super) fn on_sample(&mut self, rtt: Duration) {
        self.smoothed = Some(match self.smoothed {
            // Its agent starts with a mean of one sample and an error of a quarter of it.
            None => (rtt, rtt / 4),
            Some((mean, deviation)) => {
                let error = mean.max(rtt) - mean.min(rtt);
                ((mean * 7 + rtt) / 8, (deviation * 3 + error) / 4)
            }
        });
    }

    /// The timeout, once there is a sample.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let (mean, deviation) = self.smoothed?;
        let timeout = mean + deviation * 2;
        Some(timeout + timeout / 16)
    }
}
