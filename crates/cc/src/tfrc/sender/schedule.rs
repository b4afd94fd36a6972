//! When packets leave (RFC 5348, sections 4.6 and 8.3).

use fairwire_units::{Duration, Instant};

/// The nominal send times, of which unused ones are kept for at most one round trip, and the
/// burst that is leaving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// The nominal send time of the last packet.
    last: Option<Instant>,
    /// When the burst began, and how many packets it has.
    burst: Option<(Instant, u64)>,
    granularity: Duration,
    /// When the last packet really left, where packets keep apart.
    left: Option<Instant>,
    min_interval: Duration,
}

impl Schedule {
    /// A schedule whose bursts hold what `granularity` may carry, or two packets; zero sets no
    /// bound but that of the round trip. Packets are `min_interval` apart at least.
    pub(super) const fn new(granularity: Duration, min_interval: Duration) -> Self {
        Self {
            last: None,
            burst: None,
            granularity,
            left: None,
            min_interval,
        }
    }

    /// Until when the packet that left last keeps the next one back (RFC 5622, section 5). A sender
    /// whose timers are coarse might send three packets in 30 ms; what was late is not made up for
    /// here.
    pub(super) fn spaced(&self) -> Option<Instant> {
        self.left.map(|left| left + self.min_interval)
    }

    /// The nominal time of the next packet at one packet per `interval`; `None` for the first.
    /// Computed anew whenever it is asked for, so that a new rate counts at once.
    pub(super) fn next(&self, interval: Duration) -> Option<Instant> {
        self.last.map(|last| last + interval)
    }

    /// Until when a full burst keeps the next packet back. Half the granularity later: what a pause
    /// or a late timer left unused goes at no more than about twice the rate.
    pub(super) fn burst_until(&self, interval: Duration) -> Option<Instant> {
        let (began, packets) = self.burst?;
        let full = (self.granularity.as_nanos() / interval.as_nanos().max(1)).max(2);
        (packets >= full).then_some(began + self.granularity / 2)
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Instant, interval: Duration, rtt: Duration) {
        self.left = (self.min_interval > Duration::ZERO).then_some(now);
        // RFC 5348, 4.6: a burst is at most what one round trip may carry, this packet included.
        let oldest = now.saturating_before(rtt.saturating_sub(interval));
        self.last = Some(
            self.next(interval)
                .map_or(now, |nominal| nominal.max(oldest)),
        );
        self.burst = Some(match self.burst {
            Some((began, packets)) if now < began + self.granularity / 2 => (began, packets + 1),
            _ => (now, 1),
        });
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
        let mut schedule = Schedule::new(Duration::ZERO, Duration::ZERO);
        schedule.on_sent(at(0), ms(10), ms(100));
        schedule.on_sent(at(17), ms(10), ms(100));
        assert_eq!(schedule.next(ms(10)), Some(at(20)));
    }

    /// RFC 5348, 4.6: after a long pause, a round trip of 100 ms at one packet per 10 ms lets ten
    /// packets go at once and no more.
    #[test]
    fn a_burst_is_one_round_trip_at_most() {
        let mut schedule = Schedule::new(Duration::ZERO, Duration::ZERO);
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
        let mut schedule = Schedule::new(Duration::ZERO, Duration::ZERO);
        schedule.on_sent(at(0), ms(500), ms(100));
        schedule.on_sent(at(9_000), ms(500), ms(100));
        assert_eq!(schedule.next(ms(500)), Some(at(9_500)));
    }

    /// What a pause left unused leaves in bursts of two packets, or of what the granularity may
    /// carry, whichever is more; a granularity of zero leaves it to the round trip.
    #[test]
    fn bursts_are_as_coarse_as_the_granularity() {
        let burst = |interval, granularity| {
            let mut schedule = Schedule::new(granularity, Duration::ZERO);
            let mut packets = 0;
            while packets < 1_000
                && schedule
                    .burst_until(interval)
                    .is_none_or(|until| until <= at(0))
            {
                schedule.on_sent(at(0), interval, ms(100));
                packets += 1;
            }
            (packets, schedule.burst_until(interval))
        };
        let half = Instant::from_nanos(500_000);
        assert_eq!(burst(ms(10), ms(1)), (2, Some(half)));
        assert_eq!(burst(ms(1) / 50, ms(1)), (50, Some(half)));
        assert_eq!(burst(ms(10), Duration::ZERO).0, 1_000);
    }
}
