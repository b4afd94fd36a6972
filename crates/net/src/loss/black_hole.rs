//! A link that silently drops packets above a size.

use fairwire_units::Instant;

use super::process::{Loss, Verdict};
use crate::Packet;

/// A model that drops packets longer than an MTU in bytes of IP, without an ICMP error.
///
/// Such a black hole results from routers that send no ICMP errors or firewalls that drop them (RFC 2923, section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct BlackHole {
    mtu: u32,
}

impl BlackHole {
    /// Creates a link with an MTU of `mtu` bytes.
    pub fn new(mtu: u32) -> Self {
        Self { mtu }
    }
}

impl Loss for BlackHole {
    fn verdict(&mut self, _now: Instant, packet: &Packet) -> Verdict {
        if packet.wire_len > self.mtu {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
