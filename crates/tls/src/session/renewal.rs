//! When a new key that is not acknowledged is announced again.

use fairwire_units::Duration;

use crate::config::Retransmission;

/// The timer of a new key, which runs with the session's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal {
    /// How long the session's clock has run when it expires.
    at: Duration,
    /// The time before, without what varies it.
    wait: Duration,
    /// How often the key is announced again from then on.
    left: usize,
}

impl Renewal {
    /// Begins with an announcement, after which the clock has run for `own`. `jitter` varies the time.
    pub(super) fn new(retransmission: Retransmission, own: Duration, jitter: u8) -> Self {
        let wait = retransmission.first;
        Self {
            at: own + varied(wait, jitter),
            wait,
            left: retransmission.times,
        }
    }

    pub(super) const fn at(&self) -> Duration {
        self.at
    }

    /// Goes on with another announcement, or returns `None` after the last one.
    pub(super) fn again(&self, own: Duration, jitter: u8) -> Option<Self> {
        let wait = self.wait * 2;
        Some(Self {
            at: own + varied(wait, jitter),
            wait,
            left: self.left.checked_sub(1)?,
        })
    }
}

/// Returns a time that differs from `wait` by at most a quarter.
fn varied(wait: Duration, jitter: u8) -> Duration {
    wait * (768 + 2 * u64::from(jitter)) / 1_024
}
