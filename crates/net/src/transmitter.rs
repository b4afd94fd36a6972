//! Exact serialisation: when the last bit of each packet leaves.
//!
//! A packet rarely takes a whole number of nanoseconds. The remaining fraction is carried to the next packet as long as
//! packets follow each other without a gap, so the long-run rate is exact at any rate. Times visible outside are
//! rounded up.
//!
//! If the rate changes while a packet is on its way out, each part of it leaves at the rate of its time.
//!
//! A transmitter with a [`Trace`] has no rate: its packets leave at the times of the trace.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::{Instant, Rate};

use crate::trace::{Opportunities, Trace};

/// The transmitter of a link, which sends packets one after the other.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Bits per second; zero with a trace.
    rate: u64,
    /// The later rates, each with the time in ns from which it holds, in order.
    changes: VecDeque<(u64, u64)>,
    /// The last bit of everything taken so far leaves at `free_ns + fraction / rate` ns.
    free_ns: u64,
    fraction: u64,
    /// The last size and its serialisation time. Most packets are as long as the one before.
    known: Serialisation,
    trace: Option<Opportunities>,
}

#[derive(Clone, Copy, Debug)]
struct Serialisation {
    bytes: u64,
    ns: u64,
    fraction: u64,
}

impl Serialisation {
    /// That of nothing.
    const NONE: Self = Self {
        bytes: 0,
        ns: 0,
        fraction: 0,
    };
}

impl Transmitter {
    /// Creates an idle transmitter. At rate zero nothing ever leaves.
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate: rate.bits_per_s(),
            changes: VecDeque::new(),
            free_ns: 0,
            fraction: 0,
            known: Serialisation::NONE,
            trace: None,
        }
    }

    /// Changes the rate at these times. Of two changes at the same time, the later in the list holds.
    pub(crate) fn changing(mut self, mut changes: Vec<(Instant, Rate)>) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        let changes = changes.into_iter();
        self.changes = changes
            .map(|(at, rate)| (at.as_nanos(), rate.bits_per_s()))
            .collect();
        self.change();
        self
    }

    /// Creates an idle transmitter whose packets leave at the times of `trace`.
    pub(crate) fn traced(trace: Arc<Trace>) -> Self {
        Self {
            trace: Some(Opportunities::new(trace)),
            ..Self::new(Rate::ZERO)
        }
    }

    /// Returns when the transmitter can take the next packet.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        Instant::from_nanos(self.free_ns.saturating_add(u64::from(self.fraction > 0)))
    }

    /// Records that the wire was idle until `now`, which clears the carried fraction.
    #[inline]
    pub(crate) fn silent_until(&mut self, now: Instant) {
        debug_assert!(self.free_at() <= now, "the wire was not silent");
        self.free_ns = now.as_nanos();
        self.fraction = 0;
        if !self.changes.is_empty() {
            self.change();
        }
        if let Some(trace) = &mut self.trace {
            trace.pass(now);
        }
    }

    /// Applies the changes that have come by the time at which the transmitter is free.
    fn change(&mut self) {
        while let Some(&(at, rate)) = self.changes.front()
            && at <= self.free_ns
        {
            self.changes.pop_front();
            // A fraction counts in units of its own rate.
            self.free_ns = self.free_at().as_nanos();
            self.fraction = 0;
            self.rate = rate;
            self.known = Serialisation::NONE;
        }
    }

    /// Returns the bytes that have not left at `now` of a packet of `bytes` bytes, which was taken last.
    ///
    /// Without a rate that is all of it: it has no part that left.
    pub(crate) fn unsent(&self, now: Instant, bytes: u64) -> u64 {
        let rest = u128::from(self.free_ns.saturating_sub(now.as_nanos()));
        let sent_later = (rest * u128::from(self.rate)).div_ceil(8_000_000_000);
        match u64::try_from(sent_later) {
            Ok(left) if self.rate > 0 => left.min(bytes),
            _ => bytes,
        }
    }

    /// Sends `bytes` bytes while the rate may change.
    fn send_in_parts(&mut self, bytes: u64) -> Instant {
        // In units of one bit per second for one nanosecond.
        let mut rest = u128::from(bytes) * 8_000_000_000;
        loop {
            self.change();
            let (rate, fraction) = (u128::from(self.rate), u128::from(self.fraction));
            let change = self.changes.front().map(|&(at, _)| at);
            let room = change.map(|at| {
                let span = u128::from(at.saturating_sub(self.free_ns));
                (span * rate).saturating_sub(fraction)
            });
            if let (Some(at), Some(room)) = (change, room)
                && rest > room
            {
                rest -= room;
                self.free_ns = at;
                self.fraction = 0;
                continue;
            }
            let total = rest + fraction;
            let ns = total.checked_div(rate).unwrap_or(u128::MAX);
            let ns = u64::try_from(ns).unwrap_or(u64::MAX);
            self.free_ns = self.free_ns.saturating_add(ns);
            self.fraction = u64::try_from(total.checked_rem(rate).unwrap_or(0)).unwrap_or(0);
            return self.free_at();
        }
    }

    /// Sends `bytes` bytes as soon as possible, and returns when the last bit leaves.
    #[inline]
    pub(crate) fn send(&mut self, bytes: u64) -> Instant {
        if !self.changes.is_empty() {
            return self.send_in_parts(bytes);
        }
        if self.rate == 0 {
            let last = Instant::from_nanos(self.free_ns);
            let trace = self.trace.as_mut();
            let leaves = trace.map_or(Instant::MAX, |trace| trace.take(bytes, last));
            self.free_ns = leaves.as_nanos();
            return leaves;
        }
        if self.known.bytes != bytes {
            self.known = serialisation(self.rate, bytes);
        }
        self.free_ns = self.free_ns.saturating_add(self.known.ns);
        // Both are below `rate`. Compare without adding, so that no rate overflows.
        let room = self.rate - self.fraction;
        if self.known.fraction >= room {
            self.free_ns = self.free_ns.saturating_add(1);
            self.fraction = self.known.fraction - room;
        } else {
            self.fraction += self.known.fraction;
        }
        self.free_at()
    }
}

/// Returns the time of `bytes` bytes at `rate` bits per second: whole nanoseconds, and a fraction in units of 1/`rate`
/// ns.
fn serialisation(rate: u64, bytes: u64) -> Serialisation {
    let bit_ns = u128::from(bytes) * 8_000_000_000;
    let rate = u128::from(rate);
    Serialisation {
        bytes,
        ns: u64::try_from(bit_ns / rate).unwrap_or(u64::MAX),
        fraction: u64::try_from(bit_ns % rate).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::Transmitter;
    use fairwire_units::{Instant, Rate};

    /// At 3 bit/s a byte takes 2 2/3 s: three bytes take exactly eight seconds.
    ///
    /// Each departure is the exact time rounded up.
    #[test]
    fn the_remainder_is_carried() {
        let mut wire = Transmitter::new(Rate::from_bits_per_s(3));
        let leaves: Vec<u64> = (0..3).map(|_| wire.send(1).as_nanos()).collect();
        assert_eq!(leaves, [2_666_666_667, 5_333_333_334, 8_000_000_000]);
    }

    /// At 1.5 Mbit/s, 1,000,000 packets of 1,000 bytes take exactly 8e9 / 1.5e6 seconds.
    #[test]
    fn the_long_run_rate_is_exact() {
        let mut wire = Transmitter::new(Rate::from_bits_per_s(1_500_000));
        let last = (0..1_000_000).map(|_| wire.send(1_000)).last();
        // 8e9 bits / 1.5e6 bit/s = 5333.333... s, rounded up to a nanosecond.
        assert_eq!(last, Some(Instant::from_nanos(5_333_333_333_334)));
    }

    /// Alternating sizes are as exact as equal ones: 3 x (1 + 2 + 3) bytes at 7 bit/s.
    #[test]
    fn mixed_sizes_add_up() {
        let mut wire = Transmitter::new(Rate::from_bits_per_s(7));
        for bytes in [1, 2, 3, 3, 2, 1, 2, 1, 3] {
            wire.send(bytes);
        }
        let exact = (18u64 * 8 * 1_000_000_000).div_ceil(7);
        assert_eq!(wire.free_at(), Instant::from_nanos(exact));
    }

    /// A gap clears the carried fraction: the next packet starts at a whole nanosecond.
    #[test]
    fn silence_clears_the_remainder() {
        let mut wire = Transmitter::new(Rate::from_bits_per_s(3));
        wire.send(1);
        wire.silent_until(Instant::from_nanos(10_000_000_000));
        assert_eq!(wire.send(1), Instant::from_nanos(12_666_666_667));
    }

    /// A packet of 1,000 bytes that begins at 8 kbit/s, half a second before a pause of two seconds, and then goes on
    /// at 80 kbit/s: half of it takes 0.5 s, the other half 0.05 s. The next one takes 0.1 s.
    #[test]
    fn a_rate_changes_inside_a_packet() {
        let rate = |kbit: u64| Rate::from_bits_per_s(kbit * 1_000);
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let changes = vec![(ms(3_000), rate(80)), (ms(1_000), Rate::ZERO)];
        let mut wire = Transmitter::new(rate(8)).changing(changes);
        wire.silent_until(ms(500));
        assert_eq!(wire.send(1_000), ms(3_050));
        assert_eq!(wire.send(1_000), ms(3_150));
        let mut stops = Transmitter::new(rate(8)).changing(vec![(ms(1_000), Rate::ZERO)]);
        assert_eq!(stops.send(1_000), ms(1_000), "just in time");
        assert_eq!(stops.send(1), Instant::MAX);
    }

    /// Changes that do not change anything leave every departure as it is, to the nanosecond.
    #[test]
    fn an_equal_rate_is_no_change() {
        let seven = Rate::from_bits_per_s(7);
        let mut plain = Transmitter::new(seven);
        let far = Instant::from_nanos(u64::MAX - 1);
        let mut changing = Transmitter::new(seven).changing(vec![(far, seven)]);
        for bytes in [1, 2, 3, 3, 2, 1, 2, 1, 3] {
            assert_eq!(plain.send(bytes), changing.send(bytes));
        }
    }

    /// Extreme values neither panic nor wrap.
    ///
    /// Nothing leaves at rate zero, and at the highest rate a packet takes less than a nanosecond.
    #[test]
    fn extremes_saturate() {
        let mut stopped = Transmitter::new(Rate::ZERO);
        assert_eq!(stopped.send(1), Instant::MAX);
        assert_eq!(stopped.send(1), Instant::MAX);
        let mut fast = Transmitter::new(Rate::from_bits_per_s(u64::MAX));
        assert_eq!(fast.send(1_500), Instant::from_nanos(1));
        for _ in 0..1_000 {
            fast.send(1_500);
        }
        assert_eq!(fast.free_at(), Instant::from_nanos(1));
        let mut slow = Transmitter::new(Rate::from_bits_per_s(1));
        assert_eq!(slow.send(u64::MAX), Instant::MAX);
    }
}
