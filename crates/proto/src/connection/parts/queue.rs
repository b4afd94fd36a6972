//! The send queue, limited by packets, bytes and age.
//!
//! Every accepted datagram leaves it in exactly one way: it is sent, it expires, a newer one pushes it out, its group
//! breaks, or it is discarded with the rest. A datagram that was lost may enter it again, whatever the limits.
//!
//! Datagrams without options wait in a ring, which needs no memory of its own for each of them. Those with options wait
//! in [`Ordered`]. Both count against the same limits, and together they leave by priority and then in the order in
//! which they were queued.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use super::again::Again;
use super::ordered::{Entry, Ordered, Place};
use crate::config::{QueueLimits, QueuePolicy};
use crate::id::DatagramId;
use crate::part::Part;
use crate::payload::Payload;
use crate::sending::SendOptions;
use crate::work;

/// A datagram without options in the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    id: DatagramId,
    payload: Payload,
    since: Instant,
}

/// Bytes of the entries of one datagram with options.
#[cfg(test)]
pub(crate) const ORDERED_ENTRY: usize = super::ordered::ENTRY;

/// A datagram that was taken out of the queue.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) id: DatagramId,
    pub(crate) payload: Payload,
    pub(crate) options: SendOptions,
    /// How it was to be sent again, if it has left before.
    pub(crate) again: Option<Again>,
}

impl Taken {
    fn plain(queued: Queued) -> Self {
        Self {
            id: queued.id,
            payload: queued.payload,
            options: SendOptions::default(),
            again: None,
        }
    }
}

/// The send queue.
#[derive(Debug)]
pub(crate) struct SendQueue {
    limits: QueueLimits,
    /// How long a datagram may wait.
    age: Option<Duration>,
    /// Datagrams without options, oldest first.
    plain: VecDeque<Queued>,
    ordered: Ordered,
    /// How many wait to be sent again.
    resends: usize,
    bytes: usize,
    next_id: u64,
    /// Whether a datagram was refused, so that the application waits for room.
    refused: bool,
}

impl SendQueue {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self {
            age: limits.age.map(Duration::from),
            limits,
            plain: VecDeque::new(),
            ordered: Ordered::default(),
            resends: 0,
            bytes: 0,
            next_id: 0,
            refused: false,
        }
    }

    /// Returns whether a datagram of `size` bytes fits. Any datagram fits an empty queue; otherwise a byte limit below
    /// the packet size would block everything.
    pub(crate) fn has_room(&self, size: usize) -> bool {
        self.is_empty()
            || (self.len() < self.limits.packets
                && self.bytes.saturating_add(size) <= self.limits.bytes)
    }

    /// Returns whether so many datagrams of `bytes` bytes in all fit.
    pub(crate) fn has_room_for(&self, count: usize, bytes: usize) -> bool {
        self.is_empty()
            || (self.len().saturating_add(count) <= self.limits.packets
                && self.bytes.saturating_add(bytes) <= self.limits.bytes)
    }

    /// Returns the most bytes that the empty queue takes in at most `count` datagrams of at most `size` bytes.
    pub(crate) fn most_in(&self, size: usize, count: usize) -> usize {
        let count = count.min(self.limits.packets);
        size.saturating_mul(count).min(self.limits.bytes)
    }

    /// Returns whether older datagrams make room for newer ones.
    pub(crate) fn drops_oldest(&self) -> bool {
        self.limits.policy == QueuePolicy::DropOldest
    }

    /// Drops a datagram to make room for one of `size` bytes and of this priority, if the policy allows it and `size`
    /// bytes do not fit. Call it until it returns `None`.
    pub(crate) fn displace(&mut self, size: usize, priority: i8) -> Option<Taken> {
        if !self.drops_oldest() || self.has_room(size) {
            return None;
        }
        self.drop_oldest(priority)
    }

    /// Drops the oldest datagram of the lowest priority if the policy allows it, for one of this priority. One of a
    /// higher priority is not dropped.
    pub(crate) fn drop_oldest(&mut self, priority: i8) -> Option<Taken> {
        if !self.drops_oldest() {
            return None;
        }
        let ordered = self.ordered.least();
        let plain = self.plain_place();
        let victim = match (ordered, plain) {
            (Some(a), Some(b)) if a.priority() == b.priority() => a.min(b),
            (Some(a), Some(b)) => a.max(b),
            (a, b) => a.or(b)?,
        };
        if victim.priority() > priority {
            return None;
        }
        self.take(victim)
    }

    /// Returns whether a datagram of `size` bytes has no room because all that wait have a higher priority; for after
    /// [`Self::displace`].
    pub(crate) fn is_outranked(&self, size: usize) -> bool {
        self.drops_oldest() && !self.has_room(size)
    }

    /// Notes that a datagram was refused for a reason outside of the queue.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    /// Adds a datagram, or refuses it if there is no room.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        payload: Payload,
        options: SendOptions,
    ) -> Option<DatagramId> {
        if !self.has_room(payload.len()) {
            self.refused = true;
            return None;
        }
        let id = self.take_id();
        self.bytes += payload.len();
        if options == SendOptions::default() {
            self.plain.push_back(Queued {
                id,
                payload,
                since: now,
            });
        } else {
            self.insert(now, id, payload, options, None);
        }
        Some(id)
    }

    /// Adds a datagram that was lost. It has its place already, so there is always room.
    pub(crate) fn push_again(
        &mut self,
        now: Instant,
        id: DatagramId,
        payload: Payload,
        options: SendOptions,
        again: Again,
    ) {
        self.bytes += payload.len();
        self.resends += 1;
        self.insert(now, id, payload, options, Some(again));
    }

    fn insert(
        &mut self,
        now: Instant,
        id: DatagramId,
        payload: Payload,
        options: SendOptions,
        again: Option<Again>,
    ) {
        let by_age = self.age.map(|age| now + age);
        let by_use = options.resend_until().filter(|_| again.is_some());
        let limits = [options.deadline, by_age, by_use];
        let entry = Entry {
            payload,
            since: now,
            until: Instant::earliest(limits),
            options,
            again,
        };
        self.ordered.insert(Place::new(options.priority, id), entry);
    }

    /// Returns the id of the next datagram, and uses it up.
    pub(crate) fn take_id(&mut self) -> DatagramId {
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Removes and returns the datagram that leaves next.
    pub(crate) fn pop(&mut self) -> Option<Taken> {
        if self.ordered.is_empty() {
            return self.pop_plain();
        }
        let next = self.next_place()?;
        self.take(next)
    }

    /// Returns the place of the datagram that leaves next.
    fn next_place(&self) -> Option<Place> {
        let ordered = self.ordered.first().map(|(place, _)| place);
        match (ordered, self.plain_place()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns the place of the oldest datagram without options.
    fn plain_place(&self) -> Option<Place> {
        let oldest = self.plain.front()?;
        Some(Place::new(0, oldest.id))
    }

    fn pop_plain(&mut self) -> Option<Taken> {
        let oldest = self.plain.pop_front()?;
        self.bytes -= oldest.payload.len();
        Some(Taken::plain(oldest))
    }

    /// Removes a datagram with options, or the oldest one without.
    fn take(&mut self, place: Place) -> Option<Taken> {
        let Some(entry) = self.ordered.remove(place) else {
            return self.pop_plain();
        };
        self.bytes -= entry.payload.len();
        self.resends -= usize::from(entry.again.is_some());
        Some(Taken {
            id: place.id(),
            payload: entry.payload,
            options: entry.options,
            again: entry.again,
        })
    }

    /// Removes all datagrams larger than `size` bytes; returns them, oldest first in each priority.
    pub(crate) fn take_larger(&mut self, size: usize) -> Vec<Taken> {
        let ordered = self.ordered.larger(size);
        let mut taken: Vec<_> = ordered
            .into_iter()
            .filter_map(|place| self.take(place))
            .collect();
        let bytes = &mut self.bytes;
        self.plain.retain_mut(|waits| {
            work::step();
            let fits = waits.payload.len() <= size;
            if !fits {
                *bytes -= waits.payload.len();
                let payload = std::mem::replace(&mut waits.payload, Payload::EMPTY);
                taken.push(Taken {
                    id: waits.id,
                    payload,
                    options: SendOptions::default(),
                    again: None,
                });
            }
            fits
        });
        taken
    }

    /// Removes a waiting member of a group.
    pub(crate) fn take_member(&mut self, group: u64) -> Option<Taken> {
        let place = self.ordered.member_of(group)?;
        self.take(place)
    }

    /// Returns the datagram that leaves next, if it has options.
    #[inline]
    fn ordered_front(&self) -> Option<(Place, &Entry)> {
        let (place, entry) = self.ordered.first()?;
        let plain = self.plain_place();
        plain
            .is_none_or(|plain| place < plain)
            .then_some((place, entry))
    }

    /// Returns the data of the datagram that leaves next.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Payload> {
        match self.ordered_front() {
            Some((_, entry)) => Some(&entry.payload),
            None => self.plain.front().map(|oldest| &oldest.payload),
        }
    }

    /// Returns the id of the datagram that leaves next, and whether it is framed on an encrypted connection.
    #[inline]
    pub(crate) fn front_id(&self) -> Option<(DatagramId, bool)> {
        match self.ordered_front() {
            Some((place, entry)) => Some((place.id(), entry.options.is_framed())),
            None => self.plain.front().map(|oldest| (oldest.id, false)),
        }
    }

    /// Returns the packet in which the datagram that leaves next was first sent, if it is sent again.
    #[inline]
    pub(crate) fn front_copy_of(&self) -> Option<Seq> {
        Some(self.ordered_front()?.1.again?.first)
    }

    /// Returns the place of the datagram that leaves next in its message, if it is a part of one.
    #[inline]
    pub(crate) fn front_part(&self) -> Option<Part> {
        self.ordered_front()?.1.options.part
    }

    /// Returns the size of the datagram that leaves next, bytes.
    #[inline]
    pub(crate) fn front_len(&self) -> Option<usize> {
        match self.ordered_front() {
            Some((_, entry)) => Some(entry.payload.len()),
            None => self.plain.front().map(|oldest| oldest.payload.len()),
        }
    }

    /// Removes a datagram that has waited too long.
    #[inline]
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<Taken> {
        if let Some((until, place)) = self.ordered.next_to_expire()
            && until < now
        {
            return self.take(place);
        }
        let age = self.age?;
        let oldest = self.plain.front()?;
        if now.saturating_since(oldest.since) <= age {
            return None;
        }
        self.pop_plain()
    }

    /// Returns when the next datagram expires.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        let ordered = self.ordered.next_to_expire().map(|(until, _)| until);
        let oldest = self.plain.front();
        let plain = self.age.zip(oldest).map(|(age, oldest)| oldest.since + age);
        let until = Instant::earliest([ordered, plain])?;
        Some(until + Duration::from_nanos(1))
    }

    /// Returns when the oldest datagram was queued.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        let plain = self.plain.front().map(|oldest| oldest.since);
        Instant::earliest([self.ordered.oldest(), plain])
    }

    /// Returns true once after a datagram was refused and there is room again.
    pub(crate) fn take_writable(&mut self) -> bool {
        // An empty queue takes any datagram, even with a limit of zero bytes.
        self.refused
            && (self.is_empty()
                || (self.len() < self.limits.packets && self.bytes < self.limits.bytes))
            && std::mem::take(&mut self.refused)
    }

    pub(crate) fn len(&self) -> usize {
        self.plain.len() + self.ordered.len()
    }

    /// Returns the number of datagrams with options.
    pub(crate) fn with_options(&self) -> usize {
        self.ordered.len()
    }

    /// Returns the number of datagrams that wait to be sent again.
    pub(crate) fn resends(&self) -> usize {
        self.resends
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.ordered.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
