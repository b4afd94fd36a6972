//! The times at which packets leave (RFC 5348, sections 4.6 and 8.3).

use fairwire_units::{Duration, Instant};

use super::Bursts;

/// The nominal send times and the present burst. Unused send times are kept for at most one round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// The nominal send time of the last packet.
    last: Option<Instant>,
    /// The start of the burst and the number of its packets.
    burst: Option<(Instant, u64)>,
    granularity: Duration,
    bursts: Bursts,
    /// When the last packet really left; set only if there is a least interval.
    left: Option<Instant>,
    min_interval: Duration,
}

impl Schedule {
    /// Creates a schedule in which packets are at least `min_interval` apart.
    ///
    /// A burst has at most the packets of one `granularity`, or two if that is more. A granularity of zero leaves only
    /// the bound of one round trip. Without a bound ([`Bursts::Unbounded`]) all unused send times are kept.
    pub(super) const fn new(granularity: Duration, bursts: Bursts, min_interval: Duration) -> Self {
        Self {
            last: None,
            burst: None,
            granularity,
            bursts,
            left: None,
            min_interval,
        }
    }

    /// Returns until when the last packet delays the next one (RFC 5622, section 5).
    ///
    /// A sender with a coarse timer could otherwise send three packets within 30 ms; here it does not catch up.
    pub(super) fn spaced(&self) -> Option<Instant> {
        self.left.map(|left| left + self.min_interval)
    }

    /// Returns the nominal time of the next packet at one packet per `interval`; `None` for the first packet.
    ///
    /// It is computed at each call, so that a new rate has effect at once.
    pub(super) fn next(&self, interval: Duration) -> Option<Instant> {
        self.last.map(|last| last + interval)
    }

    /// Returns how long before its nominal time a packet may leave, `t_delta`.
    pub(super) fn early(&self, interval: Duration, rtt: Duration) -> Duration {
        match self.bursts {
            // RFC 5348, 8.3: at most half an interval early, and by less than a round trip.
            Bursts::Bounded => interval.min(self.granularity).min(rtt) / 2,
            Bursts::Unbounded => self.granularity / 2,
        }
    }

    /// Returns until when a full burst delays the next packet: half the granularity after the burst began.
    ///
    /// So packets saved up by a pause or a late timer leave at no more than about twice the rate.
    pub(super) fn burst_until(&self, interval: Duration) -> Option<Instant> {
        let (began, packets) = self.burst.filter(|_| self.bursts == Bursts::Bounded)?;
        let full = (self.granularity.as_nanos() / interval.as_nanos().max(1)).max(2);
        (packets >= full).then_some(began + self.granularity / 2)
    }

    /// Records that a packet left.
    pub(super) fn on_sent(&mut self, now: Instant, interval: Duration, rtt: Duration) {
        self.left = (self.min_interval > Duration::ZERO).then_some(now);
        // RFC 5348, 4.6: a burst is at most one round trip's packets, this packet included.
        let oldest = match self.bursts {
            Bursts::Bounded => now.saturating_before(rtt.saturating_sub(interval)),
            Bursts::Unbounded => Instant::START,
        };
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
    use super::{Bursts, Schedule};
    use fairwire_units::{Duration, Instant};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A packet that is late by less than a round trip does not delay the next one: the mean rate is kept.
    #[test]
    fn lateness_is_made_up_for() {
        let mut schedule = Schedule::new(Duration::ZERO, Bursts::Bounded, Duration::ZERO);
        schedule.on_sent(at(0), ms(10), ms(100));
        schedule.on_sent(at(17), ms(10), ms(100));
        assert_eq!(schedule.next(ms(10)), Some(at(20)));
    }

    /// RFC 5348, 4.6: after a long pause, at one packet per 10 ms and a round trip of 100 ms, ten packets may leave at
    /// once and no more.
    #[test]
    fn a_burst_is_one_round_trip_at_most() {
        let mut schedule = Schedule::new(Duration::ZERO, Bursts::Bounded, Duration::ZERO);
        schedule.on_sent(at(0), ms(10), ms(100));
        let mut burst = 0;
        while schedule.next(ms(10)).is_some_and(|next| next <= at(60_000)) {
            schedule.on_sent(at(60_000), ms(10), ms(100));
            burst += 1;
        }
        assert_eq!(burst, 10);
    }

    /// Below one packet per round trip nothing is saved up.
    #[test]
    fn no_credit_below_one_packet_per_round_trip() {
        let mut schedule = Schedule::new(Duration::ZERO, Bursts::Bounded, Duration::ZERO);
        schedule.on_sent(at(0), ms(500), ms(100));
        schedule.on_sent(at(9_000), ms(500), ms(100));
        assert_eq!(schedule.next(ms(500)), Some(at(9_500)));
    }

    /// Packets saved up in a pause leave in bursts of two packets, or of one granularity if that is more. A granularity
    /// of zero leaves only the bound of the round trip.
    #[test]
    fn bursts_are_as_coarse_as_the_granularity() {
        let burst = |interval, granularity| {
            let mut schedule = Schedule::new(granularity, Bursts::Bounded, Duration::ZERO);
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

    /// Without a bound, all packets of a pause of a minute leave at once, at one packet per 10 ms.
    #[test]
    fn a_pause_is_made_up_for_without_a_bound() {
        let mut schedule = Schedule::new(ms(4), Bursts::Unbounded, Duration::ZERO);
        schedule.on_sent(at(0), ms(10), ms(100));
        let mut burst = 0;
        while schedule.next(ms(10)).is_some_and(|next| next <= at(60_000)) {
            assert_eq!(schedule.burst_until(ms(10)), None);
            schedule.on_sent(at(60_000), ms(10), ms(100));
            burst += 1;
        }
        assert_eq!(burst, 6_000);
    }
}
