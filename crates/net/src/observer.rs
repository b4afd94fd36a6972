//! Observers: what can be seen on the wires.
//!
//! An [`Observer`] is a type parameter of the network. `()` sees nothing and costs nothing. In a pair of observers both
//! see everything.

use fairwire_units::Instant;

use crate::{LinkId, NodeId, Packet};

/// The place of an observation.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// A link: its queue, its wire or its far end.
    Link(LinkId),
    /// A node, not on a link.
    Node(NodeId),
}

/// The reason why the network dropped a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    QueueFull = 1,
    /// A rule dropped it to signal congestion.
    Signal = 2,
    /// It was lost on the wire. It is reported where and when it would have arrived.
    Lost = 3,
    /// There is no route to its destination.
    NoRoute = 4,
    /// There is no agent at its destination.
    NoAgent = 5,
    /// A queue that was not full dropped it on arrival, to signal congestion (RED).
    Early = 6,
    /// A queue dropped it after it had waited, to signal congestion (`CoDel`).
    Head = 7,
    /// Its station had left the access point.
    Away = 8,
    /// The queue of the host was full.
    Busy = 9,
}

/// An observation of a packet.
#[derive(Debug)]
pub struct Observation<'a, S> {
    /// The time of the event.
    pub at: Instant,
    /// The place of the event.
    pub place: Place,
    /// The packet at that time. Its handle is valid.
    pub packet: &'a Packet,
    /// The store of packet contents.
    pub store: &'a S,
}

/// An observer of the events on the wires.
///
/// For one link, the methods are called in the order of time. Over all links this holds for `entered`, `delivered` and
/// `dropped` too, except for drops at the head of a queue. `departed` may be reported later than it happened, because
/// the departure of the last bit has no event of its own. It is reported before the packet is delivered and before
/// `run_until` returns.
pub trait Observer<S> {
    /// Whether the observer wants any events. If false, the network skips the bookkeeping.
    const WATCHES: bool = true;

    /// Reports that a link's queue accepted the packet, which may start to leave at once.
    #[inline]
    fn entered(&mut self, _seen: &Observation<'_, S>) {}

    /// Reports that the last bit of the packet left on the wire.
    #[inline]
    fn departed(&mut self, _seen: &Observation<'_, S>) {}

    /// Reports that the packet left a queue unsent. It is dropped next, or takes another path.
    #[inline]
    fn withdrawn(&mut self, _seen: &Observation<'_, S>) {}

    /// Reports that the last bit of the packet arrived at the far end of its link.
    #[inline]
    fn delivered(&mut self, _seen: &Observation<'_, S>) {}

    /// Reports that the packet was dropped. Its handle is released afterwards.
    #[inline]
    fn dropped(&mut self, _seen: &Observation<'_, S>, _reason: DropReason) {}
}

impl<S> Observer<S> for () {
    const WATCHES: bool = false;
}

impl<S, A: Observer<S>, B: Observer<S>> Observer<S> for (A, B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;

    #[inline]
    fn entered(&mut self, seen: &Observation<'_, S>) {
        self.0.entered(seen);
        self.1.entered(seen);
    }

    #[inline]
    fn departed(&mut self, seen: &Observation<'_, S>) {
        self.0.departed(seen);
        self.1.departed(seen);
    }

    #[inline]
    fn withdrawn(&mut self, seen: &Observation<'_, S>) {
        self.0.withdrawn(seen);
        self.1.withdrawn(seen);
    }

    #[inline]
    fn delivered(&mut self, seen: &Observation<'_, S>) {
        self.0.delivered(seen);
        self.1.delivered(seen);
    }

    #[inline]
    fn dropped(&mut self, seen: &Observation<'_, S>, reason: DropReason) {
        self.0.dropped(seen, reason);
        self.1.dropped(seen, reason);
    }
}

/// An observer that may be absent. Whether it is present is decided when the run starts, at the cost of a branch.
impl<S, O: Observer<S>> Observer<S> for Option<O> {
    const WATCHES: bool = O::WATCHES;

    #[inline]
    fn entered(&mut self, seen: &Observation<'_, S>) {
        if let Some(observer) = self {
            observer.entered(seen);
        }
    }

    #[inline]
    fn departed(&mut self, seen: &Observation<'_, S>) {
        if let Some(observer) = self {
            observer.departed(seen);
        }
    }

    #[inline]
    fn withdrawn(&mut self, seen: &Observation<'_, S>) {
        if let Some(observer) = self {
            observer.withdrawn(seen);
        }
    }

    #[inline]
    fn delivered(&mut self, seen: &Observation<'_, S>) {
        if let Some(observer) = self {
            observer.delivered(seen);
        }
    }

    #[inline]
    fn dropped(&mut self, seen: &Observation<'_, S>, reason: DropReason) {
        if let Some(observer) = self {
            observer.dropped(seen, reason);
        }
    }
}
