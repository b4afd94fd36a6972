//! The ordered event queue: a tournament of slots.
//!
//! Every link and every node has one slot, which holds the moment of its next event or nothing.
//! Setting a slot replaces what it held, so the schedule never grows, never allocates after it
//! was made and gives out no stale events. Events of the same moment come in the order of their
//! tickets, and tickets are handed out in the order in which the events were caused.

use fairwire_units::Instant;

/// When a slot's event comes: its moment, then its place among the events of that moment.
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

    /// The key as one number, in the same order.
    #[inline]
    fn rank(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.ticket)
    }
}

/// What the tournament compares: a key as one number, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    rank: u128,
    slot: usize,
}

/// A tournament over the slots: each inner position holds the earlier of its two children.
///
/// Most timers are put off long before they expire, again and again. A slot whose event moves to
/// a later moment therefore keeps its earlier place in the tournament until that place comes
/// first, and moves to its true one only then.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// When the event of each slot comes.
    keys: Vec<Key>,
    /// A binary tree in an array: position 1 is the root, `p` has the children `2p` and `2p + 1`,
    /// and the last half are the slots themselves, in order. No slot stands later here than its
    /// key says.
    tree: Vec<Entry>,
}

impl Schedule {
    /// A schedule of `slots` slots, all empty.
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

    /// The slot whose event comes first, and when.
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

    /// When the first event comes, found without putting anything in its place.
    pub(crate) fn soonest(&self) -> Instant {
        self.keys
            .iter()
            .map(|key| key.at)
            .min()
            .unwrap_or(Instant::MAX)
    }

    /// When the event of `slot` comes.
    #[inline]
    pub(crate) fn key(&self, slot: usize) -> Key {
        self.keys[slot]
    }

    /// Replaces the event of `slot`; [`Key::NEVER`] empties it.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: Key) {
        self.keys[slot] = key;
        if key.rank() < self.tree[self.keys.len() + slot].rank {
            self.place(slot, key);
        }
    }

    /// Puts `slot` where `key` belongs in the tournament.
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

    /// The first event is always the least of what the slots hold, whatever was set before.
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
                // Now and then several changes come before anybody looks.
                if draw.bool(0.7) {
                    assert_eq!(schedule.first().1, least, "slots {slots} ticket {ticket}");
                }
            }
        }
    }

    /// Two events of one moment come in the order of their tickets, not of their slots.
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
