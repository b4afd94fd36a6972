//! Departure times of packets, which give the duration of a loss interval (RFC 4828, section 3).

use std::collections::VecDeque;

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// The most packets remembered: at 10 ms apart, some ten seconds of data.
const MAX: usize = 1 << 10;

/// The departure times of the newest packets, whose sequence numbers are consecutive.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    /// The number of the oldest packet remembered.
    first: Seq,
    times: VecDeque<Instant>,
}

impl Departures {
    pub(super) const fn new() -> Self {
        Self {
            first: Seq::ZERO,
            times: VecDeque::new(),
        }
    }

    /// Records that packet `seq` leaves now.
    pub(super) fn push(&mut self, seq: Seq, now: Instant) {
        if seq != self.first.add(self.times.len() as u64) {
            self.times.clear();
        }
        if self.times.is_empty() {
            self.first = seq;
        }
        if self.times.len() >= MAX {
            self.times.pop_front();
            self.first = self.first.next();
        }
        self.times.push_back(now);
    }

    /// Returns when packet `seq` left, or `None` if it has not left yet. For a forgotten packet, returns when the
    /// oldest remembered one left, which was later.
    pub(super) fn of(&self, seq: Seq) -> Option<Instant> {
        let place = usize::try_from(seq.delta(self.first).max(0)).unwrap_or(usize::MAX);
        self.times.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Departures, MAX};
    use fairwire_units::Instant;
    use fairwire_wire::Seq;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// Departure times are found across the wrap of sequence numbers; a forgotten packet counts as the oldest
    /// remembered one.
    #[test]
    fn the_newest_packets_are_remembered() {
        let mut departures = Departures::new();
        let first = Seq::MAX;
        assert_eq!(departures.of(first), None);
        let packets = 3 * MAX as u64;
        for i in 0..packets {
            departures.push(first.add(i), at(i));
        }
        assert_eq!(departures.of(first.add(packets - 1)), Some(at(packets - 1)));
        assert_eq!(departures.of(first.add(packets)), None, "not sent yet");
        let oldest = packets - MAX as u64;
        assert_eq!(departures.of(first.add(oldest + 1)), Some(at(oldest + 1)));
        assert_eq!(departures.of(first), Some(at(oldest)));
        departures.push(first.add(packets + 7), at(9));
        assert_eq!(departures.of(first), Some(at(9)), "a gap begins anew");
    }
}
