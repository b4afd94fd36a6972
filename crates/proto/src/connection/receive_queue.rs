//! What arrived and was not read yet, and how much did not arrive (RFC 4340, section 7.7.1).
//!
//! Bounded: beyond the bound the newest is dropped and counted as missing, while the packet
//! that carried it still counts for everything else.

use std::collections::VecDeque;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use super::arrivals::{Arrivals, Novelty};
use crate::config::Config;
use crate::event::Received;
use crate::payload::Payload;

/// Datagrams in the order of arrival.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    max_packets: usize,
    max_bytes: usize,
    waiting: VecDeque<Received>,
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
            waiting: VecDeque::new(),
            bytes: 0,
            arrivals: Arrivals::default(),
            drops: 0,
        }
    }

    /// A valid packet with number `seq` arrived, with data or without. `ndp_count` is its NDP
    /// Count, zero if it has none.
    pub(super) fn on_packet(&mut self, seq: Seq, is_data: bool, ndp_count: u64) -> Novelty {
        self.arrivals.note(seq, is_data, ndp_count)
    }

    /// Takes the data of a packet. Says whether there was none before.
    pub(crate) fn push(&mut self, now: Instant, payload: Payload, ecn: Ecn) -> bool {
        let fits = self.waiting.len() < self.max_packets
            && self.bytes.saturating_add(payload.len()) <= self.max_bytes;
        if !fits {
            self.refuse();
            return false;
        }
        self.bytes += payload.len();
        self.waiting.push_back(Received {
            payload,
            ecn,
            at: now,
            lost_before: self.arrivals.take_missing(),
        });
        self.waiting.len() == 1
    }

    /// The data of a packet that arrived are not taken.
    pub(crate) fn refuse(&mut self) {
        self.arrivals.dropped();
        self.drops += 1;
    }

    /// Is there nothing to read?
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest, for the application.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let oldest = self.waiting.pop_front()?;
        self.bytes -= oldest.payload.len();
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiveQueue;
    use crate::{Config, Payload};
    use fairwire_units::{Ecn, Instant};
    use fairwire_wire::Seq;

    fn arrive(queue: &mut ReceiveQueue, seq: u64, ndp_count: u64) {
        queue.on_packet(Seq::new(seq), true, ndp_count);
        let payload = Payload::Synthetic { len: 10, tag: seq };
        queue.push(Instant::START, payload, Ecn::Ect0);
    }

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
        config.receive_queue_bytes = 20;
        let mut queue = ReceiveQueue::new(&config);
        for seq in 1..=3 {
            arrive(&mut queue, seq, 0);
        }
        assert_eq!(queue.drops, 1);
    }
}
