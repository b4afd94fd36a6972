//! The application's data, which the protocol carries and never reads.
//!
//! [`Payload`] is data that somebody keeps. [`Arriving`] is data that has just arrived and that
//! nobody keeps yet: a stranger's datagram costs no memory.

use bytes::Bytes;
use fairwire_wire::checksum::Sum;
use fairwire_wire::data_checksum;

/// What a packet carries behind its head.
///
/// The protocol looks at its length and its sum only, so the simulator moves lengths where a
/// socket moves bytes, through the same code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Payload {
    /// Real bytes: a datagram that was kept, or what the application handed over.
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

    /// What the checksums see of it.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Bytes(bytes) => View::Bytes(bytes),
            Self::Synthetic { len, .. } => View::Zeros(*len as usize),
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

/// A payload that arrives, before anybody has decided to keep it.
///
/// [`Endpoint::handle_datagram`](crate::Endpoint::handle_datagram) copies borrowed bytes only when it
/// puts the datagram into a receive queue. The copy is one allocation of exactly the payload's
/// length, so a datagram that waits to be read holds nothing beside its own bytes.
#[derive(Clone, Debug)]
pub enum Arriving<'a> {
    /// Bytes of a receive buffer, which the caller uses again after the call.
    Borrowed(&'a [u8]),
    /// A payload that is kept as it is, without a copy. A slice of a larger `Bytes` keeps all of it
    /// in memory.
    Owned(Payload),
}

impl Arriving<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Owned(payload) => payload.len(),
        }
    }

    /// Is there no data?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, of which a synthetic payload has none.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(payload) => payload.as_slice(),
        }
    }

    /// Returns the payload to keep: the only place where arriving bytes are copied.
    pub(crate) fn keep(self) -> Payload {
        match self {
            Self::Borrowed(bytes) => Payload::Bytes(Bytes::copy_from_slice(bytes)),
            Self::Owned(payload) => payload,
        }
    }

    /// What the checksums see of it.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(bytes) => View::Bytes(bytes),
            Self::Owned(payload) => payload.view(),
        }
    }
}

impl<'a> From<&'a [u8]> for Arriving<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Payload> for Arriving<'_> {
    fn from(payload: Payload) -> Self {
        Self::Owned(payload)
    }
}

/// Data as the checksums see them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Bytes(&'a [u8]),
    /// This many zeros, which nobody stores.
    Zeros(usize),
}

impl View<'_> {
    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Zeros(len) => *len,
        }
    }

    /// Returns the Internet checksum's sum over the first `len` bytes.
    pub(crate) fn sum(&self, len: usize) -> Sum {
        match self {
            Self::Bytes(bytes) => Sum::of(&bytes[..len.min(bytes.len())]),
            Self::Zeros(_) => Sum::zeros(len),
        }
    }

    /// Returns the CRC-32c, as a Data Checksum option holds it (RFC 4340, section 9.3).
    pub(crate) fn data_checksum(&self) -> u32 {
        match self {
            Self::Bytes(bytes) => data_checksum::of(bytes),
            Self::Zeros(len) => data_checksum::of_zeros(*len),
        }
    }
}
