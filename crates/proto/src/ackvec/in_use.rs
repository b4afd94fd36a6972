//! How much of a window is in use: the data packets that leave within a round trip.

use fairwire_units::{Duration, Instant};

/// Counts the data packets of each round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InUse {
    /// When the present count began.
    since: Option<Instant>,
    count: u32,
    /// The count of the round trip before.
    last: Option<u32>,
}

impl InUse {
    /// Counts a data packet that leaves.
    pub(super) fn on_sent(&mut self, now: Instant, rtt: Option<Duration>) {
        let is_over = match (self.since, rtt) {
            (Some(since), Some(rtt)) => now.saturating_since(since) >= rtt,
            _ => self.since.is_none(),
        };
        if is_over {
            self.last = self.since.map(|_| self.count);
            (self.since, self.count) = (Some(now), 0);
        }
        self.count = self.count.saturating_add(1);
    }

    /// Returns the packets that leave within a round trip; `None` until the first one is over.
    pub(super) fn packets(self) -> Option<u32> {
        self.last.map(|last| last.max(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::InUse;
    use crate::ackvec::tests::at;
    use fairwire_units::Duration;

    /// 60 packets a second are six in a round trip of 100 ms, at once if they become more, and a round trip later if they
    /// become fewer.
    #[test]
    fn a_round_trip_is_counted() {
        let rtt = Some(Duration::from_millis(100));
        let mut used = InUse::default();
        for n in 0..6 {
            used.on_sent(at(n * 17), rtt);
        }
        assert_eq!(used.packets(), None);
        used.on_sent(at(102), rtt);
        assert_eq!(used.packets(), Some(6));
        for _ in 0..10 {
            used.on_sent(at(103), rtt);
        }
        assert_eq!(used.packets(), Some(11));
        used.on_sent(at(202), rtt);
        assert_eq!(used.packets(), Some(11));
        used.on_sent(at(302), rtt);
        assert_eq!(used.packets(), Some(1));
    }
}
