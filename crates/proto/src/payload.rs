//! The application's data, which the protocol carries and never reads.

use bytes::Bytes;
use fairwire_wire::data_checksum;

/// What a packet carries behind its head.
///
/// The protocol looks at its length and its sum only, so the simulator moves lengths where a
/// socket moves bytes, through the same code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Payload {
    /// Real bytes: a slice of a receive buffer, or what the application handed over.
    Bytes(Bytes),
    /// `len` zero bytes that nobody stores; `tag` names the application's packet, out of band.
    Synthetic {
        /// Length in bytes.
        len: u32,
        /// The application's name for it; never on the wire.
        tag: u64,
    },
}

impl Payload {
    /// No data at all: what packets other than Data and `DataAck` mostly carry.
    pub const EMPTY: Self = Self::Bytes(Bytes::new());

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Synthetic { len, .. } => *len as usize,
        }
    }

    /// Is there no data?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that the checksum sums; zeros sum to nothing, so a synthetic payload has none.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Synthetic { .. } => &[],
        }
    }

    /// Its CRC-32c, as a Data Checksum option holds it (RFC 4340, section 9.3). A synthetic payload
    /// is the zeros that it stands for.
    pub(crate) fn data_checksum(&self) -> u32 {
        match self {
            Self::Bytes(bytes) => data_checksum::of(bytes),
            Self::Synthetic { len, .. } => data_checksum::of_zeros(*len as usize),
        }
    }

    /// The tag of a synthetic payload.
    pub fn tag(&self) -> Option<u64> {
        match self {
            Self::Bytes(_) => None,
            Self::Synthetic { tag, .. } => Some(*tag),
        }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}
