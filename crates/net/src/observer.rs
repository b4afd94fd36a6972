//! Taps: what somebody who watches the wires sees.
//!
//! An [`Observer`] is a type parameter of the network. `()` sees nothing and costs nothing; a
//! pair of observers both see everything.

use fairwire_units::Instant;

use crate::{LinkId, NodeId, Packet};

/// Where something was seen.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// At a link: its queue, its wire or its far end.
    Link(LinkId),
    /// At a node, on no link.
    Node(NodeId),
}

/// Why the network threw a packet away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum DropReason {
    /// Its queue was full.
    QueueFull = 1,
    /// A rule dropped it in order to signal congestion.
    Signal = 2,
    /// It was lost on the wire; seen where and when it would have arrived.
    Lost = 3,
    /// No route leads where it wants to go.
    NoRoute = 4,
    /// Nobody lives where it went.
    NoAgent = 5,
    /// A queue that was not full dropped it as it came, in order to signal congestion (RED).
    Early = 6,
    /// A queue dropped it after it had waited, in order to signal congestion (`CoDel`).
    Head = 7,
    /// The station it was at, or for, had left its access point.
    Away = 8,
    /// The host had too much to do.
    Busy = 9,
}

/// A packet, seen.
#[derive(Debug)]
pub struct Sighting<'a, S> {
    /// When it happened.
    pub at: Instant,
    /// Where.
    pub place: Place,
    /// The packet as it was then; its handle is alive.
    pub packet: &'a Packet,
    /// What packets carry.
    pub store: &'a S,
}

/// Somebody who watches.
///
/// For one link each method is called in the order of time. Over all links `entered`, `delivered`
/// and `dropped` are, too (but for drops a queue makes at its head), whereas `departed` may be
/// told later than it happened: the last bit's departure has no event of its own. It is told
/// before the packet is delivered and before `run_until` returns.
pub trait Observer<S> {
    /// False if this observer wants nothing, which lets the network skip the book-keeping.
    const WATCHES: bool = true;

    /// A link's queue took the packet (which may start to leave at once).
    #[inline]
    fn entered(&mut self, _seen: &Sighting<'_, S>) {}

    /// The packet's last bit left for the wire of its link.
    #[inline]
    fn departed(&mut self, _seen: &Sighting<'_, S>) {}

    /// The packet left a queue that it had entered, unsent: it is dropped next, or goes another way.
    #[inline]
    fn withdrawn(&mut self, _seen: &Sighting<'_, S>) {}

    /// The packet's last bit came to the far end of its link.
    #[inline]
    fn delivered(&mut self, _seen: &Sighting<'_, S>) {}

    /// The packet is gone; its handle is released after this.
    #[inline]
    fn dropped(&mut self, _seen: &Sighting<'_, S>, _reason: DropReason) {}
}

impl<S> Observer<S> for () {
    const WATCHES: bool = false;
}

impl<S, A: Observer<S>, B: Observer<S>> Observer<S> for (A, B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;

    #[inline]
    fn entered(&mut self, seen: &Sighting<'_, S>) {
        self.0.entered(seen);
        self.1.entered(seen);
    }

    #[inline]
    fn departed(&mut self, seen: &Sighting<'_, S>) {
        self.0.departed(seen);
        self.1.departed(seen);
    }

    #[inline]
    fn withdrawn(&mut self, seen: &Sighting<'_, S>) {
        self.0.withdrawn(seen);
        self.1.withdrawn(seen);
    }

    #[inline]
    fn delivered(&mut self, seen: &Sighting<'_, S>) {
        self.0.delivered(seen);
        self.1.delivered(seen);
    }

    #[inline]
    fn dropped(&mut self, seen: &Sighting<'_, S>, reason: DropReason) {
        self.0.dropped(seen, reason);
        self.1.dropped(seen, reason);
    }
}

/// An observer that may be absent: decided when the run starts, at the cost of a branch.
impl<S, O: Observer<S>> Observer<S> for Option<O> {
    const WATCHES: bool = O::WATCHES;

    #[inline]
    fn entered(&mut self, seen: &Sighting<'_, S>) {
        if let Some(observer) = self {
            observer.entered(seen);
        }
    }

    #[inline]
    fn departed(&mut self, seen: &Sighting<'_, S>) {
        if let Some(observer) = self {
            observer.departed(seen);
        }
    }

    #[inline]
    fn withdrawn(&mut self, seen: &Sighting<'_, S>) {
        if let Some(observer) = self {
            observer.withdrawn(seen);
        }
    }

    #[inline]
    fn delivered(&mut self, seen: &Sighting<'_, S>) {
        if let Some(observer) = self {
            observer.delivered(seen);
        }
    }

    #[inline]
    fn dropped(&mut self, seen: &Sighting<'_, S>, reason: DropReason) {
        if let Some(observer) = self {
            observer.dropped(seen, reason);
        }
    }
}
