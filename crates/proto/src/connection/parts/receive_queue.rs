//! What arrived and was not read yet, and how much did not arrive (RFC 4340, section 7.7.1).
//!
//! Bounded: beyond the bound the newest or the oldest is dropped and counted as missing, while the
//! packet that carried it still counts for everything else. The bound in bytes counts what a datagram
//! costs, not its payload alone, so many small ones hold no more memory than a few large ones.

use std::collections::VecDeque;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use super::arrivals::{Arrivals, Novelty};
use crate::config::{Config, ReceiveQueuePolicy};
use crate::constants::DATAGRAM_OVERHEAD;
use crate::event::Received;
use crate::payload::Arriving;

/// A queue that was emptied keeps memory for this many datagrams at most.
const KEPT: usize = 64;

/// A queue whose memory is smaller than for this many datagrams keeps it. Larger memory was earned by
/// more than half as many datagrams, so giving it back costs each of them next to nothing.
const LARGE: usize = 256;

/// A datagram on its way into the queue: nothing of it is copied yet.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) payload: Arriving<'a>,
    pub(crate) ecn: Ecn,
    pub(crate) at: Instant,
    pub(crate) seq: Seq,
    /// Does its Data Checksum contradict the data?
    pub(crate) corrupt: bool,
}

/// What a datagram with this much payload counts.
fn cost(payload: usize) -> usize {
    payload.saturating_add(DATAGRAM_OVERHEAD)
}

/// Datagrams in the order of arrival.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    max_packets: usize,
    max_bytes: usize,
    /// What is dropped if there is no room.
    policy: ReceiveQueuePolicy,
    waiting: VecDeque<Received>,
    /// What they cost.
    bytes: usize,
    arrivals: Arrivals,
    /// Data packets dropped here.
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
            arrivals: Arrivals::default(),
            drops: 0,
        }
    }

    /// A valid packet with number `seq` arrived, with data or without. `ndp_count` is its NDP
    /// Count, zero if it has none.
    pub(crate) fn on_packet(&mut self, seq: Seq, is_data: bool, ndp_count: u64) -> Novelty {
        self.arrivals.note(seq, is_data, ndp_count)
    }

    /// The newest numbers were forged: the greatest that the peer has sent is `seq`.
    pub(crate) fn recede(&mut self, seq: Seq) {
        self.arrivals.recede(seq);
    }

    /// Is there room for another `size` bytes of payload?
    fn has_room(&self, size: usize) -> bool {
        let bytes = self.bytes.saturating_add(cost(size));
        self.waiting.len() < self.max_packets && bytes <= self.max_bytes
    }

    /// Makes room for `size` bytes by dropping the oldest datagram, one at a time, if that is the
    /// policy and there is none. Call it until it gives `None`.
    pub(crate) fn displace(&mut self, size: usize) -> Option<Seq> {
        if self.policy != ReceiveQueuePolicy::DropOldest || self.has_room(size) {
            return None;
        }
        self.drops += u64::from(!self.waiting.is_empty());
        self.discard()
    }

    /// Drops the oldest datagram, and tells with the next one that it is missing.
    pub(crate) fn discard(&mut self) -> Option<Seq> {
        let oldest = self.pop()?;
        let missing = oldest.lost_before.saturating_add(1);
        match self.waiting.front_mut() {
            Some(next) => next.lost_before = next.lost_before.saturating_add(missing),
            None => self.arrivals.miss(missing),
        }
        Some(oldest.seq)
    }

    /// Takes a datagram; false if there is no room for it, and then nothing of it is copied.
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
            lost_before: self.arrivals.take_missing(),
            seq: datagram.seq,
            corrupt: datagram.corrupt,
        });
        true
    }

    /// A datagram is not taken, for want of room elsewhere.
    pub(crate) fn refuse(&mut self) {
        self.miss();
        self.drops += 1;
    }

    /// What those that wait cost, bytes: their payloads and [`DATAGRAM_OVERHEAD`] for each.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The data of a packet that arrived are not taken.
    pub(crate) fn miss(&mut self) {
        self.arrivals.miss(1);
    }

    /// Is this much of the room taken?
    pub(crate) fn is_filled(&self, percent: u8) -> bool {
        let filled = |taken: usize, most: usize| {
            let percent = usize::from(percent);
            let share = (most / 100).saturating_mul(percent);
            let share = share.saturating_add((most % 100 * percent).div_ceil(100));
            taken >= share.max(1)
        };
        filled(self.waiting.len(), self.max_packets) || filled(self.bytes, self.max_bytes)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Is there nothing to read?
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest, for the application.
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
    use super::{DATAGRAM_OVERHEAD, Datagram, KEPT, LARGE, ReceiveQueue};
    use crate::{Arriving, Config, Payload, ReceiveQueuePolicy, Received};
    use fairwire_units::{Ecn, Instant};
    use fairwire_wire::Seq;

    fn arrive(queue: &mut ReceiveQueue, seq: u64, ndp_count: u64) {
        queue.on_packet(Seq::new(seq), true, ndp_count);
        while queue.displace(10).is_some() {}
        queue.push(Datagram {
            payload: Payload::Synthetic { len: 10, tag: seq }.into(),
            ecn: Ecn::Ect0,
            at: Instant::START,
            seq: Seq::new(seq),
            corrupt: false,
        });
    }

    /// What one of those counts.
    const COST: usize = 10 + DATAGRAM_OVERHEAD;

    fn lost_before(queue: &mut ReceiveQueue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop())
            .map(|r| r.lost_before)
            .collect()
    }

    /// Gaps count as lost data, except for what an NDP Count explains (RFC 4340, 7.7.1).
    #[test]
    fn gaps_and_ndp_counts() {
        let mut queue = ReceiveQueue::new(&Config::default());
        arrive(&mut queue, (1 << 48) - 2, 0);
        arrive(&mut queue, 1, 0);
        arrive(&mut queue, 4, 2);
        arrive(&mut queue, 8, 1);
        assert_eq!(lost_before(&mut queue), [0, 2, 0, 2]);
    }

    /// What was only late is not lost: it is taken off the next gap, or off this one if that
    /// was not told yet.
    #[test]
    fn late_is_not_lost() {
        let mut queue = ReceiveQueue::new(&Config::default());
        for seq in [1, 4, 2, 7] {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(lost_before(&mut queue), [0, 2, 0, 1]);
    }

    /// Beyond the bound the newest is dropped, and the next one that fits tells of it.
    #[test]
    fn the_newest_is_dropped() {
        let mut config = Config {
            receive_queue_packets: 2,
            ..Config::default()
        };
        let mut queue = ReceiveQueue::new(&config);
        for seq in 1..=5 {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 3);
        assert_eq!(lost_before(&mut queue), [0, 0]);
        arrive(&mut queue, 6, 0);
        assert_eq!(lost_before(&mut queue), [3]);
        config.receive_queue_packets = 10;
        config.receive_queue_bytes = 2 * COST;
        let mut queue = ReceiveQueue::new(&config);
        for seq in 1..=3 {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 1);
    }

    /// With the other policy the oldest goes, and what comes behind it tells.
    #[test]
    fn the_oldest_is_dropped() {
        let config = Config {
            receive_queue_packets: 2,
            receive_queue_policy: ReceiveQueuePolicy::DropOldest,
            ..Config::default()
        };
        let mut queue = ReceiveQueue::new(&config);
        for seq in [1, 2, 4, 5] {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 2);
        // 1 and 2 were dropped and 3 never came.
        let tags = std::iter::from_fn(|| queue.pop());
        let read: Vec<_> = tags.map(|r| (r.seq.get(), r.lost_before)).collect();
        assert_eq!(read, [(4, 3), (5, 0)]);
        arrive(&mut queue, 6, 0);
        assert_eq!(queue.discard(), Some(Seq::new(6)));
        arrive(&mut queue, 7, 0);
        assert_eq!(lost_before(&mut queue), [1]);
    }

    /// The overhead that is counted covers what a datagram takes beside its payload: an entry in
    /// memory that may be twice as large as needed, and an allocator's header and rounding, which
    /// are at most 32 bytes with glibc, musl and jemalloc for small payloads.
    #[test]
    fn finding_3_the_overhead_is_what_a_datagram_costs() {
        let entry = size_of::<Received>();
        assert!(2 * entry + 32 <= DATAGRAM_OVERHEAD, "{entry}");
        assert!(DATAGRAM_OVERHEAD <= 3 * entry, "{entry}");
        let mut queue = ReceiveQueue::new(&Config::default());
        for seq in 1..=3_000 {
            arrive(&mut queue, seq, 0);
            let memory = queue.waiting.capacity() * entry;
            assert!(memory <= queue.bytes.max(4 * DATAGRAM_OVERHEAD), "{seq}");
        }
    }

    /// Memory that a burst took is given back when the burst was read; a small queue keeps its
    /// memory, so that a steady stream allocates nothing here.
    #[test]
    fn finding_3_an_emptied_queue_holds_little() {
        let mut queue = ReceiveQueue::new(&Config::default());
        for (burst, kept) in [(4_000, KEPT), (LARGE as u64 / 2, LARGE / 2)] {
            for seq in 1..=burst {
                arrive(&mut queue, seq + 10_000 - burst, 0);
            }
            while queue.pop().is_some() {}
            assert_eq!(queue.bytes, 0);
            assert!(queue.waiting.capacity() <= kept, "{burst}");
        }
    }

    /// What finds no room is not copied; what finds room is copied exactly.
    #[test]
    fn finding_3_only_what_is_taken_is_copied() {
        let config = Config {
            receive_queue_packets: 1,
            ..Config::default()
        };
        let mut queue = ReceiveQueue::new(&config);
        let buffer = vec![7; 60_000];
        for seq in 1..=2 {
            let taken = queue.push(Datagram {
                payload: Arriving::Borrowed(&buffer[..100]),
                ecn: Ecn::NotEct,
                at: Instant::START,
                seq: Seq::new(seq),
                corrupt: false,
            });
            assert_eq!(taken, seq == 1);
        }
        let kept = queue.pop().expect("one was taken").payload;
        assert_eq!(kept, Payload::from(vec![7; 100]));
    }

    /// How full it is goes by packets or bytes, whichever is fuller; nothing fills no part of it.
    #[test]
    fn how_full() {
        let mut config = Config {
            receive_queue_packets: 4,
            ..Config::default()
        };
        for (packets, bytes) in [(4, 100 * COST), (100, 4 * COST)] {
            config.receive_queue_packets = packets;
            config.receive_queue_bytes = bytes;
            let mut queue = ReceiveQueue::new(&config);
            assert!(!queue.is_filled(0), "empty");
            for (seq, full) in [(1, false), (2, false), (3, true), (4, true)] {
                arrive(&mut queue, seq, 0);
                assert_eq!(queue.is_filled(75), full, "{packets} {bytes} {seq}");
            }
            assert!(!queue.is_filled(101));
        }
    }

    /// What is missing before a datagram that is dropped may be as much as numbers hold.
    #[test]
    fn finding_9_dropped_behind_leaps() {
        let config = Config {
            receive_queue_packets: 2,
            receive_queue_policy: ReceiveQueuePolicy::DropOldest,
            ..Config::default()
        };
        let mut queue = ReceiveQueue::new(&config);
        for _ in 0..3 {
            queue.arrivals.miss(u64::MAX);
            let seq = queue.drops + queue.len() as u64;
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(lost_before(&mut queue), [u64::MAX, u64::MAX]);
    }
}
