//! DCCP in UDP (RFC 6773): what the encapsulating header must look like.
//!
//! A DCCP packet is the payload of a UDP datagram, unchanged but for its Checksum field, which is
//! sent as zero and not looked at: the UDP checksum does its work, over the whole datagram
//! whatever `CsCov` says (section 3.3.1). So a head is finished with
//! [`Encoder::finish`](crate::Encoder::finish), and a received one is not given to
//! [`Packet::verify_checksum`](crate::Packet::verify_checksum); all else, the bound on `CsCov`
//! included, stays as it is natively (section 3.2).
//!
//! On an ordinary UDP socket the system has checked length and checksum, and [`check_payload`] is
//! what is left. [`UdpHeader`] is for those who see the header themselves: packet sockets,
//! captures.

use std::fmt;
use std::net::IpAddr;

use crate::PacketType;
use crate::checksum::{PseudoHeader, Sum};
use crate::header::MIN_HEADER;

/// The port a system-wide DCCP-UDP server listens on (RFC 6773, section 3.8). An application of
/// its own should listen elsewhere.
pub const PORT: u16 = 6511;

/// Bytes of a UDP header.
pub const HEADER_LEN: usize = 8;

/// The shortest UDP Length with a DCCP packet inside (RFC 6773, sections 3.1 and 3.3).
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
    /// Bytes of header and payload.
    pub length: u16,
    /// Checksum over pseudo-header, header and payload; never zero with DCCP inside.
    pub checksum: u16,
}

/// A UDP datagram that is to be dropped, with what was wrong about it (RFC 6773, section 3.3).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum UdpError {
    /// The packet ends inside the UDP header.
    Truncated {
        /// Bytes there were.
        got: usize,
    },
    /// The UDP Length leaves no room for a DCCP header.
    TooShort {
        /// The length.
        length: usize,
    },
    /// The UDP Length is more than the packet has.
    BeyondPacket {
        /// The length.
        length: usize,
        /// Bytes there were from the UDP header on.
        got: usize,
    },
    /// The checksum is zero: its sender made none.
    NoChecksum,
    /// The checksum does not match.
    Checksum {
        /// The checksum it carries.
        found: u16,
        /// The checksum of its bytes.
        expected: u16,
    },
}

impl fmt::Display for UdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { got } => {
                write!(f, "{got} bytes are no UDP header, {HEADER_LEN} are needed")
            }
            Self::TooShort { length } => {
                write!(f, "UDP length {length} has no room for DCCP: {MIN_LENGTH}")
            }
            Self::BeyondPacket { length, got } => {
                write!(f, "UDP length {length} in a packet with {got} bytes left")
            }
            Self::NoChecksum => f.write_str("DCCP in UDP without a UDP checksum"),
            Self::Checksum { found, expected } => {
                write!(f, "UDP checksum {found:#06x} should be {expected:#06x}")
            }
        }
    }
}

impl std::error::Error for UdpError {}

/// Can what came out of a UDP socket hold a DCCP packet?
///
/// The rest of RFC 6773's length rules, that the whole DCCP header be there, is
/// [`Packet::decode`](crate::Packet::decode)'s.
///
/// # Errors
/// [`UdpError::TooShort`]; the datagram is to be dropped then.
pub const fn check_payload(payload: &[u8]) -> Result<(), UdpError> {
    // RFC 6773, 3.3: a UDP Length below 20 is dropped.
    if payload.len() < MIN_HEADER {
        return Err(UdpError::TooShort {
            length: HEADER_LEN + payload.len(),
        });
    }
    Ok(())
}

/// The pseudo-header of UDP between two addresses of one family, `None` for a mix.
pub fn pseudo_header(source: IpAddr, destination: IpAddr) -> Option<PseudoHeader> {
    PseudoHeader::with_protocol(source, destination, IP_PROTOCOL)
}

/// The Data bytes of a Reset with code 12 that answers a packet of type `packet_type` from UDP
/// port `udp_source` (RFC 6773, section 7.2).
pub const fn port_reuse_data(packet_type: PacketType, udp_source: u16) -> [u8; 3] {
    let [high, low] = udp_source.to_be_bytes();
    [packet_type.number(), high, low]
}

impl UdpHeader {
    /// Reads the UDP header at the start of `packet` and gives the DCCP packet inside, as far as
    /// the UDP Length says. The checksum is [`UdpHeader::verify`]'s.
    ///
    /// # Errors
    /// [`UdpError`]; the datagram is to be dropped then.
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
        // RFC 6773, 3.3: each of these makes the packet be dropped.
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

    /// A header for a DCCP packet with this sum; `pseudo` is [`pseudo_header`]'s. `None`, if the
    /// packet is too long for UDP.
    pub fn around(source: u16, destination: u16, pseudo: PseudoHeader, dccp: Sum) -> Option<Self> {
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

    /// The bytes on the wire.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [s0, s1] = self.source.to_be_bytes();
        let [d0, d1] = self.destination.to_be_bytes();
        let [l0, l1] = self.length.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        [s0, s1, d0, d1, l0, l1, c0, c1]
    }

    /// Checks the UDP checksum over the DCCP packet inside; `pseudo` is [`pseudo_header`]'s.
    ///
    /// # Errors
    /// [`UdpError::Checksum`]; the datagram is to be dropped then (RFC 6773, section 3.3).
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
        let sum = pseudo.total(Sum::of(&unsummed.to_bytes()).then(dccp));
        // RFC 768: a checksum that comes out as zero is sent as all ones.
        if sum == u16::MAX { sum } else { !sum }
    }
}

#[cfg(test)]
mod tests;
