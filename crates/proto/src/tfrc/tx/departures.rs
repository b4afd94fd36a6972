//! When packets left, to tell how long a loss interval lasted (RFC 4828, section 3).

use std::collections::VecDeque;

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// Packets remembered: at 10 ms apart, some ten seconds of data.
const MAX: usize = 1 << 10;

/// The departures of the newest packets, whose numbers follow each other.
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

    /// Packet `seq` leaves now.
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

    /// When packet `seq` left; for one that is forgotten, when the oldest one remembered did,
    /// which was no earlier. `None` for what has not left yet.
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

    /// Departures are found across the wrap; what is forgotten counts as the oldest remembered.
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
