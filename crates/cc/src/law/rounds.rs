//! Round trips as a law can determine them from samples alone.

use fairwire_units::{Duration, Instant};

/// Divides the sequence of round-trip samples into rounds and keeps the shortest sample of all.
///
/// A round ends with the first sample of a packet that was sent after it began, so each packet
/// belongs to one round, however many samples the protocol takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounds {
    begun: Option<Instant>,
    sum: Duration,
    count: u32,
    base: Option<Duration>,
}

impl Rounds {
    /// The state before the first sample.
    pub(super) const NEW: Self = Self {
        begun: None,
        sum: Duration::ZERO,
        count: 0,
        base: None,
    };

    /// Records a sample taken at `now` and returns the mean of the round that it ends, if it ends one.
    ///
    /// The sample itself is then the first of the next round.
    pub(super) fn on_sample(&mut self, now: Instant, rtt: Duration) -> Option<Duration> {
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        let ends = self
            .begun
            .is_none_or(|begun| now.saturating_before(rtt) >= begun);
        let mut mean = None;
        if ends {
            mean = self.begun.map(|_| {
                if self.count == 0 {
                    rtt
                } else {
                    self.sum / u64::from(self.count)
                }
            });
            (self.begun, self.sum, self.count) = (Some(now), Duration::ZERO, 0);
        }
        self.sum += rtt;
        self.count += 1;
        mean
    }

    /// Returns the shortest round-trip time: that of the path with empty queues.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Sets the round-trip time of the empty path to `rtt`, even if shorter samples were seen.
    pub(super) fn set_base(&mut self, rtt: Duration) {
        self.base = Some(rtt);
    }
}

/// Returns how many of `packets` packets in the network wait in queues.
///
/// `rtt` is the present round-trip time and `base` that of the empty path. The result is the difference of the expected
/// and the actual rate, times `base`.
pub(super) fn backlog(packets: f64, base: Duration, rtt: Duration) -> f64 {
    let (base, rtt) = (base.as_secs_f64(), rtt.as_secs_f64());
    if rtt <= base {
        return 0.0;
    }
    packets * (1.0 - base / rtt)
}
