//! When packets leave (RFC 5348, sections 4.6 and 8.3).

use fairwire_units::{Duration, Instant};

/// The nominal send times, of which unused ones are kept for at most one round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// The nominal send time of the last packet.
    last: Option<Instant>,
}

impl Schedule {
    pub(super) const fn new() -> Self {
        Self { last: None }
    }

    /// The nominal time of the next packet at one packet per `interval`; `None` for the first.
    /// Computed anew whenever it is asked for, so that a new rate counts at once.
    pub(super) fn next(&self, interval: Duration) -> Option<Instant> {
        self.last.map(|last| last + interval)
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Instant, interval: Duration, rtt: Duration) {
        // RFC 5348, 4.6: a burst is at most what one round trip may carry, this packet included.
        let oldest = now.saturating_before(rtt.saturating_sub(interval));
        self.last = Some(
            self.next(interval)
                .map_or(now, |nominal| nominal.max(oldest)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use fairwire_units::{Duration, Instant};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Lateness within a round trip is made up for: the mean rate holds.
    #[test]
    fn lateness_is_made_up_for() {
        let mut schedule = Schedule::new();
        schedule.on_sent(at(0), ms(10), ms(100));
        schedule.on_sent(at(17), ms(10), ms(100));
        assert_eq!(schedule.next(ms(10)), Some(at(20)));
    }

    /// RFC 5348, 4.6: after a long pause, a round trip of 100 ms at one packet per 10 ms lets ten
    /// packets go at once and no more.
    #[test]
    fn a_burst_is_one_round_trip_at_most() {
        let mut schedule = Schedule::new();
        schedule.on_sent(at(0), ms(10), ms(100));
        let mut burst = 0;
        while schedule.next(ms(10)).is_some_and(|next| next <= at(60_000)) {
            schedule.on_sent(at(60_000), ms(10), ms(100));
            burst += 1;
        }
        assert_eq!(burst, 10);
    }

    /// With less than one packet per round trip nothing is saved up.
    #[test]
    fn no_credit_below_one_packet_per_round_trip() {
        let mut schedule = Schedule::new();
        schedule.on_sent(at(0), ms(500), ms(100));
        schedule.on_sent(at(9_000), ms(500), ms(100));
        assert_eq!(schedule.next(ms(500)), Some(at(9_500)));
    }
}
