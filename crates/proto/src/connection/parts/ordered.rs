//! The part of the send queue for datagrams that are sent with options: a priority, a deadline, a group.
//!
//! They leave by priority, and within a priority in the order of their ids. What expires next and which members of a
//! group wait is found without a search, however long the queue is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use fairwire_units::Instant;

use super::again::Again;
use crate::id::DatagramId;
use crate::payload::Payload;
use crate::sending::SendOptions;
use crate::work;

/// The place of a datagram in the order of leaving.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Place {
    priority: Reverse<i8>,
    id: DatagramId,
}

impl Place {
    /// Returns the place of datagram `id` with this priority.
    pub(super) fn new(priority: i8, id: DatagramId) -> Self {
        Self {
            priority: Reverse(priority),
            id,
        }
    }

    /// Returns the priority.
    pub(super) fn priority(self) -> i8 {
        self.priority.0
    }

    /// Returns the datagram's id.
    pub(super) fn id(self) -> DatagramId {
        self.id
    }
}

/// A waiting datagram with its options.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) payload: Payload,
    pub(super) since: Instant,
    /// The last moment at which it may leave, by its deadline and by the age limit.
    pub(super) until: Option<Instant>,
    pub(super) options: SendOptions,
    /// How it is to be sent again, if it has left before.
    pub(super) again: Option<Again>,
}

/// Bytes of the entries of one datagram.
#[cfg(test)]
pub(super) const ENTRY: usize =
    size_of::<(Place, Entry)>() + size_of::<(Instant, Place)>() + size_of::<(u64, Place)>();

/// Datagrams with options, in the order in which they leave.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    waiting: BTreeMap<Place, Entry>,
    /// Those that expire, by the last moment at which they may leave.
    expiring: BTreeSet<(Instant, Place)>,
    /// The members of groups.
    members: BTreeSet<(u64, Place)>,
}

impl Ordered {
    pub(super) fn insert(&mut self, place: Place, entry: Entry) {
        if let Some(until) = entry.until {
            self.expiring.insert((until, place));
        }
        if let Some(group) = entry.options.group {
            self.members.insert((group, place));
        }
        self.waiting.insert(place, entry);
    }

    pub(super) fn remove(&mut self, place: Place) -> Option<Entry> {
        let entry = self.waiting.remove(&place)?;
        if let Some(until) = entry.until {
            self.expiring.remove(&(until, place));
        }
        if let Some(group) = entry.options.group {
            self.members.remove(&(group, place));
        }
        Some(entry)
    }

    /// Returns the datagram that leaves first.
    #[inline]
    pub(super) fn first(&self) -> Option<(Place, &Entry)> {
        let (&place, entry) = self.waiting.first_key_value()?;
        Some((place, entry))
    }

    /// Returns the first datagram of the lowest priority.
    pub(super) fn least(&self) -> Option<Place> {
        let (last, _) = self.waiting.last_key_value()?;
        self.first_of(last.priority())
    }

    /// Returns the first datagram of this priority.
    fn first_of(&self, priority: i8) -> Option<Place> {
        let from = Place::new(priority, DatagramId(0))..;
        let (&place, _) = self.waiting.range(from).next()?;
        Some(place).filter(|place| place.priority() == priority)
    }

    /// Returns when the oldest datagram was queued.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let mut oldest = None;
        let mut next = self.first().map(|(place, entry)| (place, entry.since));
        // One step for each priority in use.
        while let Some((place, since)) = next {
            work::step();
            oldest = Some(oldest.map_or(since, |oldest: Instant| oldest.min(since)));
            let rest = Place::new(place.priority(), DatagramId(u64::MAX))..;
            let mut rest = self.waiting.range(rest);
            next = rest.next().map(|(&place, entry)| (place, entry.since));
        }
        oldest
    }

    /// Returns the datagram that expires first, and the last moment at which it may leave.
    #[inline]
    pub(super) fn next_to_expire(&self) -> Option<(Instant, Place)> {
        self.expiring.first().copied()
    }

    /// Returns a waiting member of a group.
    pub(super) fn member_of(&self, group: u64) -> Option<Place> {
        let from = (group, Place::new(i8::MAX, DatagramId(0)))..;
        let &(of, place) = self.members.range(from).next()?;
        Some(place).filter(|_| of == group)
    }

    /// Returns the datagrams larger than `size` bytes.
    pub(super) fn larger(&self, size: usize) -> Vec<Place> {
        let larger = |(place, entry): (&Place, &Entry)| {
            work::step();
            (entry.payload.len() > size).then_some(*place)
        };
        self.waiting.iter().filter_map(larger).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
