//! The clock of a relay.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time since the relay began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that reads the clocks of the system"
)]
impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns how long ago the kernel's time stamp was.
    pub(crate) fn since(stamp: Duration) -> Duration {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        wall.unwrap_or_default().saturating_sub(stamp)
    }
}
