//! The interface of a queue discipline.
//!
//! A discipline owns the waiting packets and decides twice: when a packet arrives and when the transmitter is free. The
//! packet in transmission is no longer in the queue, but its length is an argument for disciplines that count it. Both
//! decisions are made in the order of time, with the queue as it is at that instant. So disciplines may drop or mark at
//! the tail (`DropTail`, RED) or at the head (`CoDel`), and may change the order of packets.

use std::fmt;

use fairwire_units::Instant;

use crate::{DropReason, Packet};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The packet. A discipline may mark it.
    pub packet: Packet,
    /// When it arrived at the queue.
    pub entered: Instant,
    pub(crate) ticket: u64,
}

/// What waits in a queue, not counting the packet in transmission.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Backlog {
    /// The number of packets.
    pub packets: u32,
    /// The bytes of these as IP packets, without a link's framing.
    pub bytes: u64,
}

/// The fate of a packet that arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub enum Admission {
    /// The packet waits.
    Accepted,
    /// One packet was dropped, either this one or another.
    Dropped(Queued, DropReason),
}

/// The answer of a queue when the transmitter is free.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Send this packet.
    Send(Queued),
    /// Drop this packet, and ask the queue again.
    Drop(Queued, DropReason),
    /// No packet waits.
    Empty,
}

/// A queue discipline at one link.
pub trait Queue: fmt::Debug + Send {
    /// Handles a packet that arrives at `now`.
    ///
    /// `transmitting` is the length of the packet in transmission, or `None` if the transmitter is idle. A packet that
    /// comes to an idle link passes through here too, unless [`Queue::may_bypass`].
    fn enqueue(&mut self, now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission;

    /// Returns what to do next; the transmitter is free at `now`. A queue in which packets wait does not return
    /// `Empty`.
    fn dequeue(&mut self, now: Instant) -> Next;

    /// Returns what waits.
    fn backlog(&self) -> Backlog;

    /// Returns whether packets that come to an idle link may bypass the queue.
    ///
    /// This is the case if such a packet is always sent unchanged and does not change the state of the queue.
    fn may_bypass(&self) -> bool {
        false
    }
}

impl<Q: Queue + ?Sized> Queue for Box<Q> {
    fn enqueue(&mut self, now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission {
        (**self).enqueue(now, arriving, transmitting)
    }

    fn dequeue(&mut self, now: Instant) -> Next {
        (**self).dequeue(now)
    }

    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    fn may_bypass(&self) -> bool {
        (**self).may_bypass()
    }
}
