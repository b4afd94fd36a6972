//! Errors of decoding a packet.

use crate::PacketType;

/// The reason why a packet must be ignored (RFC 4340, section 8.5, step 1).
///
/// Such a packet must not be answered, not even with a Reset.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The packet is shorter than the shortest header.
    #[error("truncated DCCP header: {got} bytes, expected at least {needed}")]
    Truncated {
        /// Length of the shortest header, in bytes.
        needed: usize,
        /// Length of the packet, in bytes.
        got: usize,
    },
    /// The packet type is reserved (RFC 4340, section 5.1).
    #[error("packet type {number} is reserved")]
    ReservedType {
        /// The number of the type, 11 to 15.
        number: u8,
    },
    /// The Data Offset lies inside the fixed header of the packet's type (RFC 4340, section 5.1).
    #[error(
        "Data Offset of {offset} bytes is inside the {minimum} bytes of the fixed header of a {packet_type}"
    )]
    DataOffsetTooSmall {
        /// The packet type, which decides the minimum.
        packet_type: PacketType,
        /// The Data Offset, in bytes.
        offset: usize,
        /// The smallest Data Offset of this type, in bytes.
        minimum: usize,
    },
    /// The Data Offset lies beyond the end of the packet (RFC 4340, section 5.1).
    #[error("Data Offset of {offset} bytes is beyond the packet of {got} bytes")]
    DataOffsetBeyondPacket {
        /// The Data Offset, in bytes.
        offset: usize,
        /// Length of the packet, in bytes.
        got: usize,
    },
    /// The packet has 24-bit sequence numbers, which its type forbids (RFC 4340, section 5.1).
    #[error("a {packet_type} with 24-bit sequence numbers")]
    ShortSeqForbidden {
        /// The packet type.
        packet_type: PacketType,
    },
    /// The checksum covers more payload than there is (RFC 4340, section 9.2).
    #[error("Checksum Coverage {cscov} covers {covers} bytes, but the payload has {payload}")]
    CsCovTooLarge {
        /// The Checksum Coverage field, 1 to 15.
        cscov: u8,
        /// Bytes of payload that the checksum should cover.
        covers: usize,
        /// Length of the payload, in bytes.
        payload: usize,
    },
    /// The checksum does not match the packet (RFC 4340, section 9.1).
    #[error("checksum is {found:#06x}, expected {expected:#06x}")]
    Checksum {
        /// The checksum in the packet.
        found: u16,
        /// The checksum computed from the packet's bytes.
        expected: u16,
    },
}
