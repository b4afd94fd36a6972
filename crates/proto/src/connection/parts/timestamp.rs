//! Timestamps: ours, and the echoes of the peer's (RFC 4340, sections 13.1 and 13.3; RFC 4342, section 8.2).

use fairwire_units::{Duration, Instant};
use fairwire_wire::{DccpOption, Seq};

/// Unit of timestamps and elapsed times, nanoseconds.
const TICK_NS: u64 = 10_000;

/// A timestamp of the peer that is to be echoed.
#[derive(Clone, Copy, Debug)]
struct Owed {
    value: u32,
    seq: Seq,
    since: Instant,
}

/// The timestamps of one connection.
#[derive(Debug)]
pub(crate) struct Timestamps {
    /// A secret offset that hides our clock.
    offset: u32,
    /// When we sent the first and the last one. An echo of an earlier or later one is forged.
    sent: Option<(Instant, Instant)>,
    owed: Option<Owed>,
}

impl Timestamps {
    pub(crate) fn new(offset: u32) -> Self {
        Self {
            offset,
            sent: None,
            owed: None,
        }
    }

    /// Returns the option to send now (RFC 4340, section 13.1).
    pub(crate) fn stamp(&mut self, now: Instant) -> DccpOption<'static> {
        let first = self.sent.map_or(now, |(first, _)| first);
        self.sent = Some((first, now));
        DccpOption::Timestamp(self.value(now))
    }

    /// Records a timestamp of the peer. Of several only the newest is echoed (section 13.3).
    pub(crate) fn received(&mut self, now: Instant, seq: Seq, value: u32) {
        if self.owed.is_none_or(|owed| !seq.is_before(owed.seq)) {
            self.owed = Some(Owed {
                value,
                seq,
                since: now,
            });
        }
    }

    /// Returns the echo to send, if there is one.
    pub(crate) fn echo(&self, now: Instant) -> Option<DccpOption<'static>> {
        let Owed { value, since, .. } = self.owed?;
        // RFC 4340, 13.2 and 13.3: rounded down, never overstated; in the shortest form, so a time of zero is left out.
        let elapsed = ticks(now.saturating_since(since));
        Some(DccpOption::TimestampEcho {
            timestamp: value,
            elapsed: (elapsed > 0).then_some(elapsed),
        })
    }

    /// Notes that the echo was sent.
    pub(crate) fn echoed(&mut self) {
        self.owed = None;
    }

    /// Returns the round trip that an echo of our timestamp shows, or `None` if it cannot be true.
    ///
    /// The time for which the peer says it held the timestamp is not subtracted. This sample alone determines the first
    /// rate, and it is taken in the handshake, whose packets are answered at once. So no peer can make the round trip
    /// seem shorter than it was, and one that holds a timestamp makes it longer.
    pub(crate) fn round_trip(
        &self,
        now: Instant,
        echoed: u32,
        elapsed: Option<u32>,
    ) -> Option<Duration> {
        let (first, last) = self.sent?;
        let ago = self.value(now).wrapping_sub(echoed);
        // It cannot have been held for longer than it was away.
        ago.checked_sub(elapsed.unwrap_or(0))?;
        let trip = Duration::from_nanos(u64::from(ago) * TICK_NS);
        let tick = Duration::from_nanos(TICK_NS);
        let was_sent =
            trip <= now.saturating_since(first) + tick && trip + tick >= now.saturating_since(last);
        was_sent.then_some(trip)
    }

    fn value(&self, now: Instant) -> u32 {
        // RFC 4340, 13.1: 32 bits, which wrap.
        let ticks = (now.as_nanos() / TICK_NS) % (1 << 32);
        self.offset
            .wrapping_add(u32::try_from(ticks).unwrap_or_default())
    }
}

/// Returns a time in units of ten microseconds, saturated.
fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / TICK_NS).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Timestamps};
    use fairwire_wire::{DccpOption, Seq};

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// RFC 4340, 13.3: the newest timestamp is echoed, once, with the time it was held.
    #[test]
    fn echoes_the_newest_once() {
        let mut stamps = Timestamps::new(0);
        stamps.received(ms(5), Seq::new(8), 80);
        stamps.received(ms(6), Seq::new(7), 70);
        let echo = DccpOption::TimestampEcho {
            timestamp: 80,
            elapsed: Some(200),
        };
        assert_eq!(stamps.echo(ms(7)), Some(echo));
        stamps.echoed();
        assert_eq!(stamps.echo(ms(8)), None);
    }

    /// A round trip is the time since the timestamp, whatever hold time the peer reports, across the wrap of the clock.
    /// A negative result, or an echo of a timestamp that was never sent, is no sample.
    #[test]
    fn round_trips_are_believable_or_dropped() {
        let mut stamps = Timestamps::new(u32::MAX - 100);
        let DccpOption::Timestamp(sent) = stamps.stamp(ms(1)) else {
            panic!("a timestamp");
        };
        let trip = stamps.round_trip(ms(11), sent, Some(400));
        assert_eq!(trip, Some(Duration::from_millis(10)));
        assert_eq!(stamps.round_trip(ms(11), sent, Some(1_001)), None);
        assert_eq!(stamps.round_trip(ms(11), sent.wrapping_sub(5), None), None);
        assert_eq!(
            stamps.round_trip(ms(11), sent.wrapping_add(5_000), None),
            None
        );
    }
}
