//! Probes while a path carries nothing: data packets that leave although the window is full, so that its return is
//! noticed within a round trip.

use fairwire_cc::Permit;
use fairwire_units::{Duration, Instant};

/// Probes are at least this far apart, however short the round trip was.
const LEAST: Duration = Duration::from_millis(20);

/// Whether the path seems to carry nothing, and when it was last tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// A timeout has expired, and nothing has been acknowledged since.
    is_silent: bool,
    last_sent: Option<Instant>,
}

impl Outage {
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }

    pub(super) fn on_timeout(&mut self) {
        self.is_silent = true;
    }

    pub(super) fn on_progress(&mut self) {
        self.is_silent = false;
    }

    /// Returns when a packet may leave that the window holds back. RFC 8085, 3.1.3: one in a round trip.
    pub(super) fn permit(self, now: Instant, rtt: Option<Duration>) -> Permit {
        let (Some(last), Some(rtt)) = (self.last_sent, rtt) else {
            return Permit::AwaitFeedback;
        };
        let next = last + rtt.max(LEAST);
        match self.is_silent {
            true if next <= now => Permit::Now,
            true => Permit::At(next),
            false => Permit::AwaitFeedback,
        }
    }
}
