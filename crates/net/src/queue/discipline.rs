//! A discipline at work.
//!
//! It owns the packets that wait and decides twice: when a packet comes and when the transmitter is
//! free. The packet in transmission is no longer in the queue; a discipline that wants to count it is
//! told of it. Both decisions are asked for in the order of time, with the queue as it stood at that
//! moment, so disciplines that drop or mark at the tail (`DropTail`, RED) and at the head (`CoDel`)
//! fit, and so do those that change the order.

use std::fmt;

use fairwire_units::Instant;

use crate::{DropReason, Packet};

/// A packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The packet; a discipline may mark it.
    pub packet: Packet,
    /// When it came.
    pub entered: Instant,
    pub(crate) ticket: u64,
}

/// How much waits, the packet in transmission not counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Their bytes as IP packets, without a link's framing.
    pub bytes: u64,
}

/// What became of a packet that came to a queue.
#[derive(Clone, Copy, Debug)]
pub enum Admission {
    /// It waits.
    Accepted,
    /// One packet, this or another, had to go.
    Dropped(Queued, DropReason),
}

/// What a queue does when the transmitter is free.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This packet goes on the wire.
    Send(Queued),
    /// This packet is thrown away, and the queue wants to be asked again.
    Drop(Queued, DropReason),
    /// Nothing waits.
    Empty,
}

/// A queue discipline.
pub trait Queue: fmt::Debug + Send {
    /// A packet comes at `now`; `transmitting` is the length of the packet on its way out, if
    /// the transmitter is busy. A packet that comes to an idle link passes through here, too,
    /// unless [`Queue::ignores_idle`].
    fn enqueue(&mut self, now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission;

    /// The transmitter is free at `now`. A queue in which something waits answers with a packet.
    fn dequeue(&mut self, now: Instant) -> Next;

    /// How much waits.
    fn backlog(&self) -> Backlog;

    /// Does a packet that comes to an idle link always go on the wire as it is, and leaves
    /// nothing behind in the queue's memory? Then it need not pass through here.
    fn ignores_idle(&self) -> bool {
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

    fn ignores_idle(&self) -> bool {
        (**self).ignores_idle()
    }
}
