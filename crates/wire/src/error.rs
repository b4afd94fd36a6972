//! Why a packet was refused.

use std::fmt;

use crate::PacketType;

/// A packet that is to be ignored, with what was wrong about it (RFC 4340, section 8.5, step 1).
///
/// None of these may be answered, not even with a Reset.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DecodeError {
    /// It is shorter than the shortest header there is.
    Truncated {
        /// Bytes the shortest header has.
        needed: usize,
        /// Bytes there were.
        got: usize,
    },
    /// Its type is reserved (RFC 4340, section 5.1).
    ReservedType {
        /// The type's number, 11 to 15.
        number: u8,
    },
    /// Its Data Offset lies inside the fixed header of its type (RFC 4340, section 5.1).
    DataOffsetTooSmall {
        /// The type, which decides the minimum.
        packet_type: PacketType,
        /// Where the header claims to end, bytes.
        offset: usize,
        /// Where it ends at the earliest, bytes.
        minimum: usize,
    },
    /// Its Data Offset lies beyond its end (RFC 4340, section 5.1).
    DataOffsetBeyondPacket {
        /// Where the header claims to end, bytes.
        offset: usize,
        /// Bytes there were.
        got: usize,
    },
    /// It has 24-bit sequence numbers, which its type forbids (RFC 4340, section 5.1).
    ShortSeqForbidden {
        /// The type.
        packet_type: PacketType,
    },
    /// Its checksum covers more payload than it has (RFC 4340, section 9.2).
    CsCovTooLarge {
        /// The Checksum Coverage field, 1 to 15.
        cscov: u8,
        /// Bytes of payload it claims to cover.
        covers: usize,
        /// Bytes of payload there were.
        payload: usize,
    },
    /// Its checksum does not match its bytes (RFC 4340, section 9.1).
    Checksum {
        /// The checksum it carries.
        found: u16,
        /// The checksum of its bytes.
        expected: u16,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { needed, got } => {
                write!(f, "{got} bytes are no DCCP header, {needed} are needed")
            }
            Self::ReservedType { number } => write!(f, "packet type {number} is reserved"),
            Self::DataOffsetTooSmall {
                packet_type,
                offset,
                minimum,
            } => write!(
                f,
                "the header of a {packet_type} ends at {offset}, its fixed part at {minimum}"
            ),
            Self::DataOffsetBeyondPacket { offset, got } => {
                write!(f, "the header ends at {offset}, the packet at {got}")
            }
            Self::ShortSeqForbidden { packet_type } => {
                write!(f, "a {packet_type} with 24-bit sequence numbers")
            }
            Self::CsCovTooLarge {
                cscov,
                covers,
                payload,
            } => write!(
                f,
                "checksum coverage {cscov} is {covers} bytes of a payload of {payload}"
            ),
            Self::Checksum { found, expected } => {
                write!(f, "checksum {found:#06x} should be {expected:#06x}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}
