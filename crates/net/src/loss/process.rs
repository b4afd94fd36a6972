//! A loss model at work.

use std::fmt;

use fairwire_units::Instant;

use crate::Packet;

/// What a loss model does to a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing.
    #[default]
    Pass,
    /// Sets Congestion Experienced; a packet that is not ECN-capable is dropped instead, as a
    /// router does that has to signal (RFC 3168, section 5).
    Mark,
    /// It does not arrive.
    Drop,
}

/// A loss model.
pub trait Loss: fmt::Debug + Send {
    /// What becomes of `packet`, whose transmission starts at `now`.
    fn verdict(&mut self, now: Instant, packet: &Packet) -> Verdict;
}

impl<L: Loss + ?Sized> Loss for Box<L> {
    fn verdict(&mut self, now: Instant, packet: &Packet) -> Verdict {
        (**self).verdict(now, packet)
    }
}
