//! Probes while a path carries nothing: data packets that leave although the window is full, so that its return is
//! noticed within a round trip.
//!
//! RFC 4341, section 5, has timeouts double instead. RFC 8085, section 3.1.3, lets an application of few datagrams send
//! one in a round trip, and less without feedback; so there is an end.

use fairwire_cc::Permit;
use fairwire_units::{Duration, Instant};

/// Probes are at least this far apart, however short the round trip was.
const LEAST: Duration = Duration::from_millis(20);

/// For how long there are probes. A path that returns later is noticed by a timeout, which has doubled until then.
const TIME: Duration = Duration::from_secs(30);

/// Since when the path seems to carry nothing, and when it was last tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// When the first timeout expired, if nothing has been acknowledged since.
    since: Option<Instant>,
    last_sent: Option<Instant>,
}

impl Outage {
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    pub(super) fn on_progress(&mut self) {
        self.since = None;
    }

    /// Returns when a packet may leave that the window holds back: one in a round trip.
    pub(super) fn permit(self, now: Instant, rtt: Option<Duration>) -> Permit {
        let (Some(since), Some(last), Some(rtt)) = (self.since, self.last_sent, rtt) else {
            return Permit::AwaitFeedback;
        };
        let next = last + rtt.max(LEAST);
        if next.saturating_since(since) > TIME {
            Permit::AwaitFeedback
        } else if next <= now {
            Permit::Now
        } else {
            Permit::At(next)
        }
    }
}

#[cfg(test)]
mod tests {
    use fairwire_cc::Permit;
    use fairwire_units::Duration;

    use super::Outage;
    use crate::ackvec::tests::at;

    /// There are at most 50 probes a second, and none after half a minute. Each outage has its own.
    #[test]
    fn probes_are_bounded() {
        let rtt = Some(Duration::from_millis(1));
        let mut outage = Outage::default();
        outage.on_sent(at(0));
        assert_eq!(outage.permit(at(900), rtt), Permit::AwaitFeedback);
        outage.on_timeout(at(1_000));
        assert_eq!(outage.permit(at(1_000), rtt), Permit::Now);
        outage.on_sent(at(1_000));
        assert_eq!(outage.permit(at(1_000), rtt), Permit::At(at(1_020)));
        outage.on_timeout(at(2_000));
        outage.on_sent(at(30_980));
        assert_eq!(outage.permit(at(31_000), rtt), Permit::Now);
        outage.on_sent(at(31_000));
        assert_eq!(outage.permit(at(90_000), rtt), Permit::AwaitFeedback);
        outage.on_progress();
        outage.on_timeout(at(91_000));
        outage.on_sent(at(91_000));
        assert_eq!(outage.permit(at(91_020), rtt), Permit::Now);
    }
}
