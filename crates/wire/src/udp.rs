//! DCCP in UDP (RFC 6773): the rules of the encapsulating header.
//!
//! A DCCP packet is the payload of a UDP datagram, unchanged except for its Checksum field. That field is sent as zero
//! and ignored by the receiver. The UDP checksum replaces it, and covers the whole datagram whatever `CsCov` says
//! (section 3.3.1). So finish a head with [`Encoder::finish`](crate::Encoder::finish), and do not call
//! [`Packet::verify_checksum`](crate::Packet::verify_checksum) on a received one. Everything else is as in native DCCP,
//! the bound on `CsCov` included (section 3.2).
//!
//! On an ordinary UDP socket the system has checked length and checksum, and only [`check_payload`] remains.
//! [`UdpHeader`] is for code that sees the UDP header itself: packet sockets and captures.

use std::net::IpAddr;

use crate::PacketType;
use crate::checksum::{PseudoHeader, Sum};
use crate::header::MIN_HEADER;

/// The UDP port of a system-wide DCCP-UDP server (RFC 6773, section 3.8).
///
/// An application with its own server should listen on another port.
pub const PORT: u16 = 6511;

/// Length of a UDP header, in bytes.
pub const HEADER_LEN: usize = 8;

/// The smallest UDP Length of a datagram with a DCCP packet (RFC 6773, sections 3.1 and 3.3).
pub const MIN_LENGTH: usize = HEADER_LEN + MIN_HEADER;

/// The IP protocol number of UDP.
const IP_PROTOCOL: u8 = 17;

/// The header of a UDP datagram.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct UdpHeader {
    /// The sender's UDP port, which is not its DCCP port.
    pub source: u16,
    /// The receiver's UDP port.
    pub destination: u16,
    /// Length of header and payload, in bytes.
    pub length: u16,
    /// The checksum over pseudo-header, header and payload. It is never zero for DCCP.
    pub checksum: u16,
}

/// The reason why a UDP datagram must be dropped (RFC 6773, section 3.3).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum UdpError {
    /// The packet ends inside the UDP header.
    #[error("truncated UDP header: {got} bytes, expected {HEADER_LEN}")]
    Truncated {
        /// Length of the packet, in bytes.
        got: usize,
    },
    /// The UDP Length leaves no room for a DCCP header.
    #[error("UDP Length {length} is too small for DCCP, expected at least {MIN_LENGTH}")]
    TooShort {
        /// The UDP Length, in bytes.
        length: usize,
    },
    /// The UDP Length is greater than the packet.
    #[error("UDP Length {length} is beyond the packet, which has {got} bytes left")]
    BeyondPacket {
        /// The UDP Length, in bytes.
        length: usize,
        /// Length of the packet from the UDP header on, in bytes.
        got: usize,
    },
    /// The checksum is zero: the sender computed none.
    #[error("DCCP in UDP without a UDP checksum")]
    NoChecksum,
    /// The checksum does not match.
    #[error("UDP checksum {found:#06x} should be {expected:#06x}")]
    Checksum {
        /// The checksum in the header.
        found: u16,
        /// The checksum computed from the packet's bytes.
        expected: u16,
    },
}

/// Checks that the payload of a UDP datagram is long enough for a DCCP packet.
///
/// RFC 6773 also requires that the whole DCCP header be there; [`Packet::decode`](crate::Packet::decode) checks that.
///
/// # Errors
/// [`UdpError::TooShort`]; drop the datagram.
pub const fn check_payload(payload: &[u8]) -> Result<(), UdpError> {
    // RFC 6773, 3.3: a datagram with a UDP Length below 20 is dropped.
    if payload.len() < MIN_HEADER {
        return Err(UdpError::TooShort {
            length: HEADER_LEN + payload.len(),
        });
    }
    Ok(())
}

/// Returns the pseudo-header of UDP between two addresses of one family, or `None` if the families differ.
pub fn pseudo_header(source: IpAddr, destination: IpAddr) -> Option<PseudoHeader> {
    PseudoHeader::with_protocol(source, destination, IP_PROTOCOL)
}

/// Returns the Data bytes of a Reset with code 12 (RFC 6773, section 7.2).
///
/// The Reset answers a packet of type `packet_type` from UDP port `udp_source`.
pub const fn port_reuse_data(packet_type: PacketType, udp_source: u16) -> [u8; 3] {
    let [high, low] = udp_source.to_be_bytes();
    [packet_type.number(), high, low]
}

impl UdpHeader {
    /// Decodes the UDP header at the start of `packet`, and returns it with the DCCP packet inside.
    ///
    /// The UDP Length decides where the DCCP packet ends. [`UdpHeader::verify`] checks the checksum.
    ///
    /// # Errors
    /// [`UdpError`]; drop the datagram.
    pub fn decode(packet: &[u8]) -> Result<(Self, &[u8]), UdpError> {
        let got = packet.len();
        let Some(&[s0, s1, d0, d1, l0, l1, c0, c1]) = packet.first_chunk::<HEADER_LEN>() else {
            return Err(UdpError::Truncated { got });
        };
        let header = Self {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
            length: u16::from_be_bytes([l0, l1]),
            checksum: u16::from_be_bytes([c0, c1]),
        };
        // RFC 6773, 3.3: each of these errors drops the packet.
        if header.checksum == 0 {
            return Err(UdpError::NoChecksum);
        }
        let length = usize::from(header.length);
        if length < MIN_LENGTH {
            return Err(UdpError::TooShort { length });
        }
        match packet.get(HEADER_LEN..length) {
            Some(dccp) => Ok((header, dccp)),
            None => Err(UdpError::BeyondPacket { length, got }),
        }
    }

    /// Creates the header for a DCCP packet with this sum, or returns `None` if the packet is too long for UDP.
    ///
    /// `pseudo` comes from [`pseudo_header`].
    pub fn for_packet(
        source: u16,
        destination: u16,
        pseudo: PseudoHeader,
        dccp: Sum,
    ) -> Option<Self> {
        let length = u16::try_from(HEADER_LEN.checked_add(dccp.len())?).ok()?;
        let mut header = Self {
            source,
            destination,
            length,
            checksum: 0,
        };
        header.checksum = header.expected(pseudo, dccp);
        Some(header)
    }

    /// Returns the bytes on the wire.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [s0, s1] = self.source.to_be_bytes();
        let [d0, d1] = self.destination.to_be_bytes();
        let [l0, l1] = self.length.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        [s0, s1, d0, d1, l0, l1, c0, c1]
    }

    /// Verifies the UDP checksum over the DCCP packet inside; `pseudo` comes from [`pseudo_header`].
    ///
    /// # Errors
    /// [`UdpError::Checksum`]; drop the datagram (RFC 6773, section 3.3).
    pub fn verify(self, pseudo: PseudoHeader, dccp: Sum) -> Result<(), UdpError> {
        let expected = self.expected(pseudo, dccp);
        if expected == self.checksum {
            return Ok(());
        }
        Err(UdpError::Checksum {
            found: self.checksum,
            expected,
        })
    }

    fn expected(self, pseudo: PseudoHeader, dccp: Sum) -> u16 {
        let unsummed = Self {
            checksum: 0,
            ..self
        };
        let sum = pseudo.total(Sum::of(&unsummed.to_bytes()).join(dccp));
        // RFC 768: a computed checksum of zero is sent as all ones.
        if sum == u16::MAX { sum } else { !sum }
    }
}

#[cfg(test)]
mod tests;
