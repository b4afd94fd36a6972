//! A link that takes packets up to a size, and says nothing of those it does not take.

use fairwire_units::Instant;

use super::process::{Loss, Verdict};
use crate::Packet;

/// Packets longer than so many bytes of IP do not arrive: a black hole, as a path makes whose
/// routers send no ICMP errors or whose firewalls drop them (RFC 2923, section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct Oversize {
    mtu: u32,
}

impl Oversize {
    /// A link that takes `mtu` bytes.
    pub fn new(mtu: u32) -> Self {
        Self { mtu }
    }
}

impl Loss for Oversize {
    fn verdict(&mut self, _now: Instant, packet: &Packet) -> Verdict {
        if packet.wire_len > self.mtu {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
