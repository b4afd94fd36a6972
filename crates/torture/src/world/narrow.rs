//! A link's queue with a small limit until the network is healed.

use std::collections::VecDeque;

use fairwire_net::{Admission, Backlog, DropReason, Next, Queue, Queued};
use fairwire_units::Instant;

/// A FIFO queue with a limit that ends at a given time.
#[derive(Debug)]
pub(super) struct Narrow {
    limit: u32,
    until: Instant,
    waiting: VecDeque<Queued>,
}

impl Narrow {
    pub(super) fn new(limit: u32, until: Instant) -> Self {
        Self {
            limit,
            until,
            waiting: VecDeque::new(),
        }
    }

    fn packets(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }
}

impl Queue for Narrow {
    fn enqueue(&mut self, now: Instant, arriving: Queued, _transmitting: Option<u32>) -> Admission {
        if now < self.until && self.packets() >= self.limit {
            return Admission::Dropped(arriving, DropReason::QueueFull);
        }
        self.waiting.push_back(arriving);
        Admission::Accepted
    }

    fn dequeue(&mut self, _now: Instant) -> Next {
        self.waiting.pop_front().map_or(Next::Empty, Next::Send)
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|w| u64::from(w.packet.wire_len));
        Backlog {
            packets: self.packets(),
            bytes: bytes.sum(),
        }
    }

    fn may_bypass(&self) -> bool {
        true
    }
}
