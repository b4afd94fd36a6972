//! The send queue, limited by packets, bytes and age.
//!
//! Every accepted datagram leaves it in exactly one way: it is sent, it expires, a newer one pushes it out, or it is
//! discarded with the rest.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

use crate::config::{QueueLimits, QueuePolicy};
use crate::id::DatagramId;
use crate::payload::Payload;
use crate::work;

/// A datagram in the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) id: DatagramId,
    pub(crate) payload: Payload,
    since: Instant,
}

/// The send queue, oldest datagram first.
#[derive(Debug)]
pub(crate) struct SendQueue {
    limits: QueueLimits,
    /// How long a datagram may wait.
    age: Option<Duration>,
    waiting: VecDeque<Queued>,
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
            waiting: VecDeque::new(),
            bytes: 0,
            next_id: 0,
            refused: false,
        }
    }

    /// Returns whether a datagram of `size` bytes fits. Any datagram fits an empty queue; otherwise a byte limit below
    /// the packet size would block everything.
    pub(crate) fn has_room(&self, size: usize) -> bool {
        self.waiting.is_empty()
            || (self.waiting.len() < self.limits.packets
                && self.bytes.saturating_add(size) <= self.limits.bytes)
    }

    /// Drops the oldest datagram if the policy allows it and `size` bytes do not fit. Call it until it returns `None`.
    pub(crate) fn displace(&mut self, size: usize) -> Option<DatagramId> {
        let drops = self.limits.policy == QueuePolicy::DropOldest;
        if !drops || self.has_room(size) {
            return None;
        }
        self.pop().map(|oldest| oldest.id)
    }

    /// Drops the oldest datagram to free memory elsewhere, if the policy allows it; returns its id and size.
    pub(crate) fn drop_oldest(&mut self) -> Option<(DatagramId, usize)> {
        if self.limits.policy != QueuePolicy::DropOldest {
            return None;
        }
        self.pop().map(|oldest| (oldest.id, oldest.payload.len()))
    }

    /// Notes that a datagram was refused for a reason outside of the queue.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    /// Adds a datagram, or refuses it if there is no room.
    pub(crate) fn push(&mut self, now: Instant, payload: Payload) -> Option<DatagramId> {
        if !self.has_room(payload.len()) {
            self.refused = true;
            return None;
        }
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        self.bytes += payload.len();
        self.waiting.push_back(Queued {
            id,
            payload,
            since: now,
        });
        Some(id)
    }

    /// Removes and returns the oldest datagram.
    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let oldest = self.waiting.pop_front()?;
        self.bytes -= oldest.payload.len();
        Some(oldest)
    }

    /// Removes all datagrams larger than `size` bytes; returns their ids, oldest first.
    pub(crate) fn take_larger(&mut self, size: usize) -> Vec<DatagramId> {
        let mut taken = Vec::new();
        let bytes = &mut self.bytes;
        self.waiting.retain(|waits| {
            work::step();
            let fits = waits.payload.len() <= size;
            if !fits {
                *bytes -= waits.payload.len();
                taken.push(waits.id);
            }
            fits
        });
        taken
    }

    /// Returns the data of the oldest datagram.
    pub(crate) fn front(&self) -> Option<&Payload> {
        self.waiting.front().map(|oldest| &oldest.payload)
    }

    /// Returns the size of the oldest datagram, bytes.
    pub(crate) fn front_len(&self) -> Option<usize> {
        self.waiting.front().map(|oldest| oldest.payload.len())
    }

    /// Removes the oldest datagram if it has waited too long.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<DatagramId> {
        let age = self.age?;
        let oldest = self.waiting.front()?;
        if now.saturating_since(oldest.since) <= age {
            return None;
        }
        self.pop().map(|expired| expired.id)
    }

    /// Returns when the oldest datagram expires.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        let age = self.age?;
        let oldest = self.waiting.front()?;
        Some(oldest.since + age + Duration::from_nanos(1))
    }

    /// Returns true once after a datagram was refused and there is room again.
    pub(crate) fn take_writable(&mut self) -> bool {
        // An empty queue takes any datagram, even with a limit of zero bytes.
        self.refused
            && (self.waiting.is_empty()
                || (self.waiting.len() < self.limits.packets && self.bytes < self.limits.bytes))
            && std::mem::take(&mut self.refused)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{DatagramId, Payload, QueueLimits, QueuePolicy, SendQueue, work};
    use fairwire_units::{Duration, Instant};

    fn synthetic(len: u32) -> Payload {
        Payload::Synthetic { len, tag: 0 }
    }

    fn queue(packets: usize, bytes: usize, policy: QueuePolicy) -> SendQueue {
        SendQueue::new(QueueLimits {
            packets,
            bytes,
            age: Some(Duration::from_millis(10).into()),
            policy,
        })
    }

    fn push(queue: &mut SendQueue, len: u32) -> (Option<DatagramId>, Vec<u64>) {
        let size = synthetic(len).len();
        let dropped = std::iter::from_fn(|| queue.displace(size))
            .map(|id| id.0)
            .collect();
        (queue.push(Instant::START, synthetic(len)), dropped)
    }

    /// The last packet and the last byte still fit; one more does not.
    #[test]
    fn bounds_just_inside_and_outside() {
        let mut by_packets = queue(2, 1_000, QueuePolicy::BackPressure);
        assert!(push(&mut by_packets, 1).0.is_some());
        assert!(push(&mut by_packets, 0).0.is_some());
        assert_eq!(push(&mut by_packets, 0).0, None);
        let mut by_bytes = queue(10, 100, QueuePolicy::BackPressure);
        assert!(push(&mut by_bytes, 60).0.is_some());
        assert_eq!(push(&mut by_bytes, 41).0, None);
        assert!(push(&mut by_bytes, 40).0.is_some());
        assert_eq!(by_bytes.bytes(), 100);
    }

    /// Dropping the oldest makes just enough room for the new datagram, and ids count up.
    #[test]
    fn the_oldest_makes_room() {
        let mut queue = queue(10, 100, QueuePolicy::DropOldest);
        for _ in 0..5 {
            push(&mut queue, 20);
        }
        assert_eq!(push(&mut queue, 30), (Some(DatagramId(5)), vec![0, 1]));
        assert_eq!(queue.bytes(), 90);
    }

    /// An application that was refused hears of room once the queue is empty, even with a limit of zero bytes;
    /// otherwise it would wait for ever.
    #[test]
    fn a_queue_of_no_bytes_takes_one_after_the_other() {
        let mut queue = queue(10, 0, QueuePolicy::BackPressure);
        assert!(push(&mut queue, 5).0.is_some());
        assert_eq!(push(&mut queue, 5).0, None);
        assert!(!queue.take_writable(), "one waits still");
        assert!(queue.pop().is_some());
        assert!(queue.take_writable());
        assert!(push(&mut queue, 5).0.is_some());
    }

    /// One datagram larger than the byte limit is accepted into an empty queue.
    #[test]
    fn an_empty_queue_takes_anything() {
        let mut queue = queue(10, 100, QueuePolicy::BackPressure);
        assert!(push(&mut queue, 500).0.is_some());
        assert_eq!(push(&mut queue, 0).0, None);
    }

    /// At its age limit a datagram still waits; a nanosecond later it has expired.
    #[test]
    fn expires_just_after_its_age() {
        let mut queue = queue(10, 100, QueuePolicy::BackPressure);
        push(&mut queue, 1);
        let at = Instant::START + Duration::from_millis(10);
        assert_eq!(queue.pop_expired(at), None);
        let next = queue.next_expiry().unwrap();
        assert_eq!(next, at + Duration::from_nanos(1));
        assert_eq!(queue.pop_expired(next), Some(DatagramId(0)));
        assert_eq!(queue.next_expiry(), None);
    }

    /// Room is announced once, and only after a refusal.
    #[test]
    fn writable_once_after_a_refusal() {
        let mut queue = queue(1, 100, QueuePolicy::BackPressure);
        push(&mut queue, 1);
        queue.pop();
        assert!(!queue.take_writable());
        push(&mut queue, 1);
        push(&mut queue, 1);
        assert!(!queue.take_writable());
        queue.pop();
        assert!(queue.take_writable());
        assert!(!queue.take_writable());
    }

    /// When the path MTU falls (an ICMP error may be forged), one pass finds the datagrams that are too large, however
    /// long the queue is; the rest stays in order.
    #[test]
    fn what_is_too_large_is_found_in_one_pass() {
        let mut queue = queue(20_000, usize::MAX, QueuePolicy::BackPressure);
        for n in 0..20_000 {
            push(&mut queue, if n % 2 == 0 { 10 } else { 1_000 });
        }
        let (taken, _) = work::within(20_000, || queue.take_larger(999));
        assert_eq!(
            taken,
            (0..10_000)
                .map(|n| DatagramId(2 * n + 1))
                .collect::<Vec<_>>()
        );
        assert_eq!((queue.len(), queue.bytes()), (10_000, 100_000));
        assert_eq!(queue.pop().map(|first| first.id), Some(DatagramId(0)));
    }
}
