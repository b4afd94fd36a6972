//! The ordered event queue: a tournament of slots.
//!
//! Every link and every node has one slot, which holds the moment of its next event or nothing.
//! Setting a slot replaces what it held, so the schedule never grows, never allocates after it
//! was made and holds no stale events. Events of the same moment come in the order of their
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
}

/// A tournament over the slots: each inner position names the earlier of its two children.
#[derive(Debug)]
pub(crate) struct Schedule {
    keys: Vec<Key>,
    /// A binary tree in an array: position 1 is the root, `p` has the children `2p` and `2p + 1`,
    /// and the last half are the slots themselves, in order.
    winners: Vec<u32>,
}

impl Schedule {
    /// A schedule of `slots` slots, all empty.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for (leaf, winner) in (0..).zip(&mut winners[leaves..]) {
            *winner = leaf;
        }
        for position in (1..leaves).rev() {
            winners[position] = winners[2 * position];
        }
        Self {
            keys: vec![Key::NEVER; leaves],
            winners,
        }
    }

    /// The slot whose event comes first, and when.
    #[inline]
    pub(crate) fn first(&self) -> (usize, Key) {
        let slot = self.winners[1] as usize;
        (slot, self.keys[slot])
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
        let mut position = self.keys.len() + slot;
        while position > 1 {
            position /= 2;
            let left = self.winners[2 * position];
            let right = self.winners[2 * position + 1];
            let earlier = if self.keys[right as usize] < self.keys[left as usize] {
                right
            } else {
                left
            };
            self.winners[position] = earlier;
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
                assert_eq!(schedule.first().1, least, "slots {slots} ticket {ticket}");
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
