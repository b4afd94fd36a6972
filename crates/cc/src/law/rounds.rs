//! Round trips, as far as a law can tell them: by the samples alone.

use fairwire_units::{Duration, Instant};

/// Cuts the stream of round-trip samples into round trips and keeps the shortest of all.
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
    /// Before the first sample.
    pub(super) const NEW: Self = Self {
        begun: None,
        sum: Duration::ZERO,
        count: 0,
        base: None,
    };

    /// A sample came at `now`. The mean of the round that it ends, if it ends one: its own is the
    /// first of the next.
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

    /// The shortest round trip: what the path takes when its queues are empty.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Take `rtt` for the empty path's, even if shorter ones were seen.
    pub(super) fn set_base(&mut self, rtt: Duration) {
        self.base = Some(rtt);
    }
}

/// How many of `packets` in the network wait in queues, when a round trip takes `rtt` and an empty
/// path `base`: the difference of the expected and the actual rate, times `base`.
pub(super) fn backlog(packets: f64, base: Duration, rtt: Duration) -> f64 {
    let (base, rtt) = (base.as_secs_f64(), rtt.as_secs_f64());
    if rtt <= base {
        return 0.0;
    }
    packets * (1.0 - base / rtt)
}
