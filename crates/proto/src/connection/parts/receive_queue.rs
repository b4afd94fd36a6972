//! The receive queue: data that arrived and was not read yet, and how much did not arrive (RFC 4340, section 7.7.1).
//!
//! The queue is bounded. Beyond the limit the newest or the oldest datagram is dropped and counted as missing; the
//! packet that carried it still counts in every other way. The limit in bytes counts the memory of a datagram and not
//! only its payload, so that many small datagrams use no more memory than a few large ones.

use std::collections::VecDeque;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use crate::config::{Config, ReceiveQueuePolicy};
use crate::constants::DATAGRAM_OVERHEAD;
use crate::event::Received;
use crate::part::Part;
use crate::payload::Arriving;
use crate::resend::Missing;

/// Capacity, in datagrams, to which the memory of an emptied queue is shrunk.
const KEPT: usize = 64;

/// Capacity, in datagrams, below which an emptied queue keeps its memory. A larger queue has held more than half as
/// many datagrams, so shrinking it costs little for each of them.
const LARGE: usize = 256;

/// A datagram about to enter the queue; it is not copied yet.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) payload: Arriving<'a>,
    pub(crate) ecn: Ecn,
    pub(crate) at: Instant,
    pub(crate) seq: Seq,
    /// Whether it does not match its Data Checksum.
    pub(crate) corrupt: bool,
    /// The packet in which the peer first sent it, if that is known.
    pub(crate) number: Option<Seq>,
    /// Whether this is a copy.
    pub(crate) resent: bool,
    /// Its place in its message, if it is a part of one.
    pub(crate) part: Option<Part>,
}

/// Returns the bytes that a datagram with this much payload counts.
fn cost(payload: usize) -> usize {
    payload.saturating_add(DATAGRAM_OVERHEAD)
}

/// Datagrams in the order of arrival.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    max_packets: usize,
    max_bytes: usize,
    /// Which datagram is dropped if there is no room.
    policy: ReceiveQueuePolicy,
    waiting: VecDeque<Received>,
    /// Bytes that the datagrams count.
    bytes: usize,
    /// Datagrams that have not arrived since the last one that did.
    missing: Missing,
    /// Number of data packets dropped here.
    pub(crate) drops: u64,
}

impl ReceiveQueue {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            max_packets: config.receive_queue_packets,
            max_bytes: config.receive_queue_bytes,
            policy: config.receive_queue_policy,
            waiting: VecDeque::new(),
            bytes: 0,
            missing: Missing::default(),
            drops: 0,
        }
    }

    /// Returns the count of datagrams that have not arrived.
    pub(crate) fn missing(&mut self) -> &mut Missing {
        &mut self.missing
    }

    /// Returns whether `size` bytes of payload can be added, if need be in place of older ones.
    pub(crate) fn takes(&self, size: usize) -> bool {
        self.policy == ReceiveQueuePolicy::DropOldest || self.has_room(size)
    }

    /// Returns whether another `size` bytes of payload fit.
    fn has_room(&self, size: usize) -> bool {
        self.has_room_beside(0, 0, size)
    }

    /// Returns whether another `size` bytes of payload fit together with so many datagrams that come before them, which
    /// count `bytes`.
    pub(crate) fn has_room_beside(&self, datagrams: usize, bytes: usize, size: usize) -> bool {
        let datagrams = self.waiting.len().saturating_add(datagrams);
        let bytes = self.bytes.saturating_add(bytes).saturating_add(cost(size));
        datagrams < self.max_packets && bytes <= self.max_bytes
    }

    /// Drops the oldest datagram if the policy allows it and `size` bytes do not fit. Call it until it returns `None`.
    pub(crate) fn displace(&mut self, size: usize) -> Option<Seq> {
        if self.policy != ReceiveQueuePolicy::DropOldest || self.has_room(size) {
            return None;
        }
        self.drops += u64::from(!self.waiting.is_empty());
        self.discard()
    }

    /// Drops the oldest datagram and counts it as missing before the next one.
    pub(crate) fn discard(&mut self) -> Option<Seq> {
        let oldest = self.pop()?;
        let missing = oldest.lost_before.saturating_add(1);
        match self.waiting.front_mut() {
            Some(next) => next.lost_before = next.lost_before.saturating_add(missing),
            None => self.missing.miss(missing),
        }
        Some(oldest.seq)
    }

    /// Adds a datagram. Returns false if there is no room for it; then it is not copied.
    pub(crate) fn push(&mut self, datagram: Datagram<'_>) -> bool {
        if !self.has_room(datagram.payload.len()) {
            self.miss();
            self.drops += 1;
            return false;
        }
        self.bytes += cost(datagram.payload.len());
        self.waiting.push_back(Received {
            payload: datagram.payload.keep(),
            ecn: datagram.ecn,
            at: datagram.at,
            lost_before: self.missing.take(),
            seq: datagram.seq,
            corrupt: datagram.corrupt,
            resent: datagram.resent,
        });
        true
    }

    /// Counts a datagram as dropped, because the endpoint's memory is used up.
    pub(crate) fn refuse(&mut self) {
        self.miss();
        self.drops += 1;
    }

    /// Returns the bytes in the queue: the payloads, and [`DATAGRAM_OVERHEAD`] for each datagram.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts datagrams as missing that were reported so, because nobody has read the report.
    pub(crate) fn count_missing(&mut self, datagrams: u64) {
        self.missing.miss(datagrams);
    }

    /// Counts the data of an arrived packet as missing, because it is not taken.
    pub(crate) fn miss(&mut self) {
        self.missing.miss(1);
    }

    /// Counts a missing datagram as arrived, because a copy of it was delivered.
    pub(crate) fn recover(&mut self) {
        self.missing.recover();
    }

    /// Counts a packet that arrived late as if it had not: its datagram has arrived as a copy, and counted then.
    pub(crate) fn came_late(&mut self) {
        self.missing.unrecover();
    }

    /// Returns whether the queue is filled to this percentage.
    pub(crate) fn is_filled(&self, percent: u8) -> bool {
        let filled = |taken: usize, most: usize| {
            let percent = usize::from(percent);
            let share = (most / 100).saturating_mul(percent);
            let share = share.saturating_add((most % 100 * percent).div_ceil(100));
            taken >= share.max(1)
        };
        filled(self.waiting.len(), self.max_packets) || filled(self.bytes, self.max_bytes)
    }

    /// Returns the number of datagrams.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes and returns the oldest datagram, for the application.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let oldest = self.waiting.pop_front()?;
        self.bytes -= cost(oldest.payload.len());
        if self.waiting.is_empty() && self.waiting.capacity() >= LARGE {
            self.waiting.shrink_to(KEPT);
        }
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::{Deref, DerefMut};

    use super::{DATAGRAM_OVERHEAD, Datagram, KEPT, LARGE, ReceiveQueue};
    use crate::connection::parts::arrivals::Arrivals;
    use crate::{Arriving, Config, Payload, ReceiveQueuePolicy, Received};
    use fairwire_units::{Ecn, Instant};
    use fairwire_wire::Seq;

    /// A receive queue, and the record of the packets of its only subflow.
    struct Receiver(ReceiveQueue, Arrivals);

    impl Receiver {
        fn new(config: &Config) -> Self {
            Self(ReceiveQueue::new(config), Arrivals::default())
        }
    }

    impl Deref for Receiver {
        type Target = ReceiveQueue;

        fn deref(&self) -> &ReceiveQueue {
            &self.0
        }
    }

    impl DerefMut for Receiver {
        fn deref_mut(&mut self) -> &mut ReceiveQueue {
            &mut self.0
        }
    }

    fn arrive(receiver: &mut Receiver, seq: u64, ndp_count: u64) {
        let Receiver(queue, arrivals) = receiver;
        arrivals.note(Seq::new(seq), true, ndp_count, queue.missing());
        while queue.displace(10).is_some() {}
        queue.push(Datagram {
            payload: Payload::synthetic(10, seq).into(),
            ecn: Ecn::Ect0,
            at: Instant::START,
            seq: Seq::new(seq),
            corrupt: false,
            number: None,
            resent: false,
            part: None,
        });
    }

    /// Bytes that one of those datagrams counts.
    const COST: usize = 10 + DATAGRAM_OVERHEAD;

    fn lost_before(queue: &mut Receiver) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop())
            .map(|r| r.lost_before)
            .collect()
    }

    /// Gaps count as lost data, except for packets that an NDP Count explains (RFC 4340, 7.7.1).
    #[test]
    fn gaps_and_ndp_counts() {
        let mut queue = Receiver::new(&Config::default());
        arrive(&mut queue, (1 << 48) - 2, 0);
        arrive(&mut queue, 1, 0);
        arrive(&mut queue, 4, 2);
        arrive(&mut queue, 8, 1);
        assert_eq!(lost_before(&mut queue), [0, 2, 0, 2]);
    }

    /// A late datagram is not lost: it is subtracted from the next gap, or from its own if that was not reported yet.
    #[test]
    fn late_is_not_lost() {
        let mut queue = Receiver::new(&Config::default());
        for seq in [1, 4, 2, 7] {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(lost_before(&mut queue), [0, 2, 0, 1]);
    }

    /// Beyond the limit the newest datagram is dropped, and the next one that fits reports it as missing.
    #[test]
    fn the_newest_is_dropped() {
        let mut config = Config {
            receive_queue_packets: 2,
            ..Config::default()
        };
        let mut queue = Receiver::new(&config);
        for seq in 1..=5 {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 3);
        assert_eq!(lost_before(&mut queue), [0, 0]);
        arrive(&mut queue, 6, 0);
        assert_eq!(lost_before(&mut queue), [3]);
        config.receive_queue_packets = 10;
        config.receive_queue_bytes = 2 * COST;
        let mut queue = Receiver::new(&config);
        for seq in 1..=3 {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 1);
    }

    /// With the other policy the oldest datagram is dropped, and the one after it reports it as missing.
    #[test]
    fn the_oldest_is_dropped() {
        let config = Config {
            receive_queue_packets: 2,
            receive_queue_policy: ReceiveQueuePolicy::DropOldest,
            ..Config::default()
        };
        let mut queue = Receiver::new(&config);
        for seq in [1, 2, 4, 5] {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 2);
        // 1 and 2 were dropped, and 3 never arrived.
        let tags = std::iter::from_fn(|| queue.pop());
        let read: Vec<_> = tags.map(|r| (r.seq.get(), r.lost_before)).collect();
        assert_eq!(read, [(4, 3), (5, 0)]);
        arrive(&mut queue, 6, 0);
        assert_eq!(queue.discard(), Some(Seq::new(6)));
        arrive(&mut queue, 7, 0);
        assert_eq!(lost_before(&mut queue), [1]);
    }

    /// The counted overhead covers the memory of a datagram beside its payload: an entry in a buffer that may be twice
    /// as large as needed, and an allocator's header and rounding, at most 32 bytes with glibc, musl and jemalloc for
    /// small payloads.
    #[test]
    fn finding_3_the_overhead_is_what_a_datagram_costs() {
        let entry = size_of::<Received>();
        assert!(2 * entry + 32 <= DATAGRAM_OVERHEAD, "{entry}");
        assert!(DATAGRAM_OVERHEAD <= 3 * entry, "{entry}");
        let mut queue = Receiver::new(&Config::default());
        for seq in 1..=3_000 {
            arrive(&mut queue, seq, 0);
            let memory = queue.waiting.capacity() * entry;
            assert!(memory <= queue.bytes.max(4 * DATAGRAM_OVERHEAD), "{seq}");
        }
    }

    /// The memory of a burst is freed when the burst was read. A small queue keeps its memory, so that a steady stream
    /// allocates nothing here.
    #[test]
    fn finding_3_an_emptied_queue_holds_little() {
        let mut queue = Receiver::new(&Config::default());
        for (burst, kept) in [(4_000, KEPT), (LARGE as u64 / 2, LARGE / 2)] {
            for seq in 1..=burst {
                arrive(&mut queue, seq + 10_000 - burst, 0);
            }
            while queue.pop().is_some() {}
            assert_eq!(queue.bytes, 0);
            assert!(queue.waiting.capacity() <= kept, "{burst}");
        }
    }

    /// A datagram without room is not copied; one with room is copied exactly.
    #[test]
    fn finding_3_only_what_is_taken_is_copied() {
        let config = Config {
            receive_queue_packets: 1,
            ..Config::default()
        };
        let mut queue = Receiver::new(&config);
        let buffer = vec![7; 60_000];
        for seq in 1..=2 {
            let taken = queue.push(Datagram {
                payload: Arriving::Borrowed(&buffer[..100]),
                ecn: Ecn::NotEct,
                at: Instant::START,
                seq: Seq::new(seq),
                corrupt: false,
                number: None,
                resent: false,
                part: None,
            });
            assert_eq!(taken, seq == 1);
        }
        let kept = queue.pop().expect("one was taken").payload;
        assert_eq!(kept, Payload::from(vec![7; 100]));
    }

    /// The fill level is that of packets or bytes, whichever is higher; an empty queue is filled to no percentage.
    #[test]
    fn how_full() {
        let mut config = Config {
            receive_queue_packets: 4,
            ..Config::default()
        };
        for (packets, bytes) in [(4, 100 * COST), (100, 4 * COST)] {
            config.receive_queue_packets = packets;
            config.receive_queue_bytes = bytes;
            let mut queue = Receiver::new(&config);
            assert!(!queue.is_filled(0), "empty");
            for (seq, full) in [(1, false), (2, false), (3, true), (4, true)] {
                arrive(&mut queue, seq, 0);
                assert_eq!(queue.is_filled(75), full, "{packets} {bytes} {seq}");
            }
            assert!(!queue.is_filled(101));
        }
    }

    /// The missing count before a dropped datagram may reach the largest number.
    #[test]
    fn finding_9_dropped_behind_leaps() {
        let config = Config {
            receive_queue_packets: 2,
            receive_queue_policy: ReceiveQueuePolicy::DropOldest,
            ..Config::default()
        };
        let mut queue = Receiver::new(&config);
        for _ in 0..3 {
            queue.missing.miss(u64::MAX);
            let seq = queue.drops + queue.len() as u64;
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(lost_before(&mut queue), [u64::MAX, u64::MAX]);
    }
}
