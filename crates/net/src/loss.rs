//! What happens to packets on the wire.
//!
//! A loss model is asked once about each packet that goes on the wire of its link, in that order.
//! A packet it drops uses the link like any other and is missing at the far end.

mod bernoulli;
mod bit_errors;
mod gilbert;
mod oversize;
mod rule;

use std::fmt;

use fairwire_units::Instant;

use crate::Packet;

pub use bernoulli::Bernoulli;
pub use bit_errors::BitErrors;
pub use gilbert::{Bursts, GilbertElliott};
pub use oversize::Oversize;
pub use rule::{Nth, Periodic, every, nth};

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

#[cfg(test)]
mod tests;
