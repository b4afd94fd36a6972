//! A DCCP packet in flight, and its form in a capture.

use std::io;

use etherparse::IpNumber;
use fairwire_wire::{checksum, udp};

use super::super::content::{Content, Parts};

/// A DCCP packet. Its encoded header is in its slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DccpPacket {
    /// Whether it is encapsulated in UDP.
    pub(super) in_udp: bool,
}

impl Content for DccpPacket {
    fn protocol(&self) -> IpNumber {
        if self.in_udp {
            IpNumber::UDP
        } else {
            IpNumber(checksum::IP_PROTOCOL)
        }
    }

    fn counted(&self) -> &'static str {
        "dccp"
    }

    fn write(&self, packet: &Parts<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        if self.in_udp {
            return packet.write_datagram(out, (udp::PORT, udp::PORT));
        }
        out.extend_from_slice(packet.head);
        packet.write_payload(out);
        Ok(())
    }
}
