//! The generic header: its fields, their offsets, and the checks that make the rest of a head safe to read (RFC 4340,
//! section 5.1).

use std::fmt;

use crate::{DecodeError, PacketType};

/// The longest head in bytes: Data Offset counts up to 255 words of 32 bits (RFC 4340, section 5.1).
pub const MAX_HEAD: usize = 1020;

/// The shortest header in bytes: a generic header with 24-bit sequence numbers.
pub(crate) const MIN_HEADER: usize = 12;

/// Byte offsets in the generic header.
pub(crate) mod at {
    /// Data Offset, in 32-bit words.
    pub(crate) const DATA_OFFSET: usize = 4;
    /// `CCVal` in the high half, `CsCov` in the low half.
    pub(crate) const CCVAL_CSCOV: usize = 5;
    /// Checksum, two bytes.
    pub(crate) const CHECKSUM: usize = 6;
    /// Three reserved bits, the type, and X.
    pub(crate) const TYPE: usize = 8;
    /// The low 24 bits of the Sequence Number when X = 0.
    pub(crate) const SHORT_SEQ: usize = 9;
    /// The Sequence Number when X = 1; the byte before it is reserved.
    pub(crate) const LONG_SEQ: usize = 10;
}

/// The two ports of a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ports {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
}

impl Ports {
    /// Returns the ports of an answer to a packet with these ports.
    pub const fn swapped(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source, self.destination)
    }
}

/// The fields that find a packet's connection and split the packet into head and payload.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Peek {
    /// The source and destination ports.
    pub ports: Ports,
    /// The packet type.
    pub packet_type: PacketType,
    /// Whether the packet has 24-bit sequence numbers (X = 0).
    pub short: bool,
    /// The offset in bytes at which the head ends and the payload begins.
    pub data_offset: usize,
}

impl Peek {
    /// Decodes the generic header of `packet`, which is a head with or without its payload.
    ///
    /// # Errors
    /// Every [`DecodeError`] except those that need the payload's length or the checksum.
    #[inline]
    pub fn decode(packet: &[u8]) -> Result<Self, DecodeError> {
        let Some(&[s0, s1, d0, d1, offset, _, _, _, type_x, ..]) =
            packet.first_chunk::<MIN_HEADER>()
        else {
            return Err(DecodeError::Truncated {
                needed: MIN_HEADER,
                got: packet.len(),
            });
        };
        // RFC 4340, 3.1 and 5.1: the three reserved bits above the type are ignored. A packet of a reserved type is
        // ignored.
        let number = (type_x >> 1) & 0x0F;
        let Some(packet_type) = PacketType::from_number(number) else {
            return Err(DecodeError::ReservedType { number });
        };
        let short = type_x & 1 == 0;
        // RFC 4340, 5.1: only Data, Ack and DataAck may set X to zero. RFC 5596, 2.2.1: a Listen may not either. This
        // check comes first, because the minimum below depends on X.
        if short && !packet_type.may_be_short() {
            return Err(DecodeError::ShortSeqForbidden { packet_type });
        }
        // RFC 4340, 5.1, and RFC 5596, 2.2.1: Data Offset is at least the length of the fixed header and at most that
        // of the packet.
        let data_offset = usize::from(offset) * 4;
        let minimum = packet_type.header_len(short);
        if data_offset < minimum {
            return Err(DecodeError::DataOffsetTooSmall {
                packet_type,
                offset: data_offset,
                minimum,
            });
        }
        if data_offset > packet.len() {
            return Err(DecodeError::DataOffsetBeyondPacket {
                offset: data_offset,
                got: packet.len(),
            });
        }
        Ok(Self {
            ports: Ports {
                source: u16::from_be_bytes([s0, s1]),
                destination: u16::from_be_bytes([d0, d1]),
            },
            packet_type,
            short,
            data_offset,
        })
    }
}
