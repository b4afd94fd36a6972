//! The ordered event queue: a tournament tree of slots.
//!
//! Every link and every node has one slot, which holds the time of its next event or nothing. Setting a slot replaces
//! its event. So the schedule never grows, never allocates after it was created, and never returns a stale event.
//! Simultaneous events come in the order of their tickets, which are given out in the order in which the events were
//! caused.

use fairwire_units::Instant;

/// When a slot's event comes: its time, then its place among the events of that time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key {
    pub(crate) at: Instant,
    pub(crate) ticket: u64,
}

impl Key {
    /// An event that never comes.
    pub(crate) const NEVER: Self = Self {
        at: Instant::MAX,
        ticket: u64::MAX,
    };

    /// Returns the key and its slot as one number: keys in their order, then slots.
    #[inline]
    fn rank(self, slot: usize) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.ticket << SLOT_BITS | slot as u64)
    }
}

/// The bits of a rank that are the slot. The 40 above them are the ticket.
const SLOT_BITS: u32 = 24;

/// A tournament tree over the slots: each inner position holds the earlier of its two children.
///
/// Most timers are moved to a later time again and again before they expire. So a slot whose event moves to a later
/// time keeps its earlier place in the tree. It moves to its true place only when the earlier place comes first.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The rank of each slot's event.
    ranks: Vec<u128>,
    /// A binary tree: position 1 is the root, `p` has the children `2p` and `2p + 1`. A pair is two siblings, so
    /// position `p` is half `p % 2` of pair `p / 2`.
    ///
    /// The last half are the slots themselves, in order. The rank of a slot here is never later than its event.
    pairs: Vec<[u128; 2]>,
}

impl Schedule {
    /// Creates a schedule of `slots` slots, all empty.
    ///
    /// # Panics
    /// If there are more than 2^24 slots.
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "at most 2^24 slots");
        let slots = slots.max(2);
        let ranks: Vec<u128> = (0..slots).map(|slot| Key::NEVER.rank(slot)).collect();
        let mut schedule = Self {
            ranks: ranks.clone(),
            pairs: vec![[u128::MAX; 2]; slots],
        };
        for (slot, rank) in ranks.into_iter().enumerate() {
            schedule.move_later(slot, rank);
        }
        schedule
    }

    /// Returns the slot whose event comes first, with the time of the event.
    #[inline]
    pub(crate) fn first(&mut self) -> (usize, Instant) {
        loop {
            let [_, first] = self.pairs[0];
            let slot = first & ((1 << SLOT_BITS) - 1);
            let slot = usize::try_from(slot).unwrap_or(usize::MAX);
            let rank = self.ranks[slot];
            if rank == first {
                return (slot, self.at(slot));
            }
            self.move_later(slot, rank);
        }
    }

    /// Returns when the first event comes, without moving any slot to its true place.
    pub(crate) fn soonest(&self) -> Instant {
        let soonest = (0..self.ranks.len()).map(|slot| self.at(slot)).min();
        soonest.unwrap_or(Instant::MAX)
    }

    /// Returns the time of the event of `slot`.
    #[inline]
    pub(crate) fn at(&self, slot: usize) -> Instant {
        Instant::from_nanos(u64::try_from(self.ranks[slot] >> 64).unwrap_or(u64::MAX))
    }

    /// Replaces the event of `slot`; [`Key::NEVER`] removes it.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: Key) {
        let rank = key.rank(slot);
        self.ranks[slot] = rank;
        let leaf = self.ranks.len() + slot;
        if rank < self.pairs[leaf / 2][leaf % 2] {
            self.move_earlier(slot, rank);
        }
    }

    /// Moves `slot` to the place of `rank` in the tree.
    #[inline]
    fn move_later(&mut self, slot: usize, rank: u128) {
        let mut winner = rank;
        let mut position = self.ranks.len() + slot;
        while position > 1 {
            let pair = &mut self.pairs[position / 2];
            pair[position % 2] = winner;
            winner = winner.min(pair[(position % 2) ^ 1]);
            position /= 2;
        }
        self.pairs[0][1] = winner;
    }

    /// Moves `slot` to the place of `rank`, which is earlier than its place in the tree.
    #[inline]
    fn move_earlier(&mut self, slot: usize, rank: u128) {
        let mut position = self.ranks.len() + slot;
        while position > 1 {
            let pair = &mut self.pairs[position / 2];
            pair[position % 2] = rank;
            if pair[(position % 2) ^ 1] < rank {
                return;
            }
            position /= 2;
        }
        self.pairs[0][1] = rank;
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Schedule};
    use crate::Streams;
    use fairwire_units::Instant;

    fn key(ns: u64, ticket: u64) -> Key {
        Key {
            at: Instant::from_nanos(ns),
            ticket,
        }
    }

    /// The first event is always the least of those in the slots, whatever was set before: soon or late, in the order
    /// of time or before what came first until then.
    #[test]
    fn the_first_is_the_least() {
        let mut draw = Streams::new(7).stream("schedule");
        for slots in [1, 2, 3, 7, 8, 33] {
            let mut schedule = Schedule::new(slots);
            let mut model = vec![Key::NEVER; slots];
            let mut now = 0;
            for ticket in 0..2_000 {
                let slot = usize::try_from(draw.below(slots as u64)).expect("fits");
                let new = if draw.bool(0.2) {
                    Key::NEVER
                } else {
                    let scale = 4 * draw.below(15);
                    key(now + (draw.below(50) << scale), ticket)
                };
                schedule.set(slot, new);
                model[slot] = new;
                let least = *model.iter().min().expect("not empty");
                assert_eq!(
                    schedule.soonest(),
                    least.at,
                    "slots {slots} ticket {ticket}"
                );
                // Sometimes several changes come before the next look-up.
                if draw.bool(0.7) {
                    let (first, at) = schedule.first();
                    assert_eq!(at, least.at, "slots {slots} ticket {ticket}");
                    assert_eq!(model[first], least, "slots {slots} ticket {ticket}");
                    if draw.bool(0.5) && least != Key::NEVER {
                        now = least.at.as_nanos().min(1 << 60);
                    }
                }
            }
        }
    }

    /// Two simultaneous events come in the order of their tickets, not of their slots.
    #[test]
    fn ties_go_by_ticket() {
        let mut schedule = Schedule::new(4);
        schedule.set(0, key(5, 2));
        schedule.set(3, key(5, 1));
        assert_eq!(schedule.first().0, 3);
        schedule.set(3, Key::NEVER);
        assert_eq!(schedule.first().0, 0);
    }
}
