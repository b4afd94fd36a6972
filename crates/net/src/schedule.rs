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

    /// Returns the key as one number with the same order.
    #[inline]
    fn rank(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.ticket)
    }
}

/// An element of the tournament: a key as one number, and its slot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    rank: u128,
    slot: usize,
}

/// A tournament tree over the slots: each inner position holds the earlier of its two children.
///
/// Most timers are moved to a later time again and again before they expire. So a slot whose event moves to a later
/// time keeps its earlier place in the tree. It moves to its true place only when the earlier place comes first.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The key of each slot's event.
    keys: Vec<Key>,
    /// A binary tree in an array: position 1 is the root, `p` has the children `2p` and `2p + 1`.
    ///
    /// The second half are the slots themselves, in order. The rank of a slot here is never later than its key.
    tree: Vec<Entry>,
}

impl Schedule {
    /// Creates a schedule of `slots` slots, all empty.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let rank = Key::NEVER.rank();
        let slot = |position| position % leaves;
        Self {
            keys: vec![Key::NEVER; leaves],
            tree: (0..2 * leaves)
                .map(|position| Entry {
                    rank,
                    slot: slot(position),
                })
                .collect(),
        }
    }

    /// Returns the slot whose event comes first, with its key.
    #[inline]
    pub(crate) fn first(&mut self) -> (usize, Key) {
        loop {
            let Entry { rank, slot } = self.tree[1];
            let key = self.keys[slot];
            if key.rank() == rank {
                return (slot, key);
            }
            self.place(slot, key);
        }
    }

    /// Returns when the first event comes, without moving any slot to its true place.
    pub(crate) fn soonest(&self) -> Instant {
        self.keys
            .iter()
            .map(|key| key.at)
            .min()
            .unwrap_or(Instant::MAX)
    }

    /// Returns the key of the event of `slot`.
    #[inline]
    pub(crate) fn key(&self, slot: usize) -> Key {
        self.keys[slot]
    }

    /// Replaces the event of `slot`; [`Key::NEVER`] removes it.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: Key) {
        self.keys[slot] = key;
        if key.rank() < self.tree[self.keys.len() + slot].rank {
            self.place(slot, key);
        }
    }

    /// Moves `slot` to the place of `key` in the tree.
    #[inline]
    fn place(&mut self, slot: usize, key: Key) {
        let mut winner = Entry {
            rank: key.rank(),
            slot,
        };
        let mut position = self.keys.len() + slot;
        self.tree[position] = winner;
        while position > 1 {
            let rival = self.tree[position ^ 1];
            if rival.rank < winner.rank {
                winner = rival;
            }
            position /= 2;
            self.tree[position] = winner;
        }
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

    /// The first event is always the least of those in the slots, whatever was set before.
    #[test]
    fn the_first_is_the_least() {
        let mut draw = Streams::new(7).stream("schedule");
        for slots in [1, 2, 3, 7, 8, 33] {
            let mut schedule = Schedule::new(slots);
            let mut model = vec![Key::NEVER; slots];
            for ticket in 0..500 {
                let slot = usize::try_from(draw.below(slots as u64)).expect("fits");
                let new = if draw.bool(0.2) {
                    Key::NEVER
                } else {
                    key(draw.below(50), ticket)
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
                    assert_eq!(schedule.first().1, least, "slots {slots} ticket {ticket}");
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
