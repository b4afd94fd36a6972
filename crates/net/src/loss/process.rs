//! The state of a loss model on a link.

use std::fmt;

use fairwire_units::Instant;

use crate::Packet;

/// The decision of a loss model about a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Verdict {
    /// The packet passes unchanged.
    #[default]
    Pass,
    /// The packet gets Congestion Experienced. A packet that is not ECN-capable is dropped instead, as a router does
    /// that must signal congestion (RFC 3168, section 5).
    Mark,
    /// The packet is lost.
    Drop,
}

/// A loss model at one link.
pub trait Loss: fmt::Debug + Send {
    /// Returns the decision about `packet`, whose transmission starts at `now`.
    fn verdict(&mut self, now: Instant, packet: &Packet) -> Verdict;
}

impl<L: Loss + ?Sized> Loss for Box<L> {
    fn verdict(&mut self, now: Instant, packet: &Packet) -> Verdict {
        (**self).verdict(now, packet)
    }
}
