//! The application's data, which the protocol carries and never reads.
//!
//! [`Payload`] is data that is stored. [`Arriving`] is data that has just arrived and is not stored yet, so that a
//! stranger's datagram costs no memory.

use std::borrow::Cow;

use bytes::Bytes;
use fairwire_wire::checksum::Sum;
use fairwire_wire::data_checksum;

/// The data that follows a packet's header.
///
/// The protocol uses only its length and its checksum. The simulator can therefore send lengths through the same code
/// through which a socket sends bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Payload {
    /// Real bytes: a stored datagram, or data from the application.
    Bytes(Bytes),
    /// `len` zero bytes that are not stored ([`Payload::synthetic`]).
    Synthetic {
        /// Length in bytes.
        len: u32,
        /// The application's identifier for it; never on the wire.
        tag: u64,
        /// What a session made of it, which is sent instead. In a box, so that a payload is not longer than its bytes.
        record: Option<Box<Bytes>>,
    },
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Payload>() == size_of::<Bytes>());

impl Payload {
    /// No data, as in most packets other than Data and `DataAck`.
    pub const EMPTY: Self = Self::Bytes(Bytes::new());

    /// Returns `len` zero bytes that are not stored, which the application knows by `tag`.
    pub const fn synthetic(len: u32, tag: u64) -> Self {
        Self::Synthetic {
            len,
            tag,
            record: None,
        }
    }

    /// Returns the bytes that are stored, or the number of zeros that are not.
    fn stored(&self) -> Result<&Bytes, usize> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Synthetic { len, record, .. } => record.as_deref().ok_or(*len as usize),
        }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.stored().map_or_else(|len| len, Bytes::len)
    }

    /// Returns whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes to checksum. A synthetic payload has none, because zeros do not change the sum.
    pub fn as_slice(&self) -> &[u8] {
        self.stored().map_or(&[], |bytes| bytes)
    }

    /// Returns the bytes that are sent, also those that are not stored.
    pub fn to_bytes(&self) -> Bytes {
        self.stored()
            .map_or_else(|len| vec![0; len].into(), Bytes::clone)
    }

    /// Returns the same bytes, without sharing those that are stored.
    pub(crate) fn carried(&self) -> Cow<'_, [u8]> {
        self.stored()
            .map_or_else(|len| vec![0; len].into(), |bytes| bytes[..].into())
    }

    /// Returns the view that checksums are computed from.
    pub(crate) fn view(&self) -> View<'_> {
        self.stored()
            .map_or_else(View::Zeros, |bytes| View::Bytes(bytes))
    }

    /// Returns the tag of a synthetic payload.
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

/// An arriving payload, before it is decided whether to keep it.
///
/// [`Endpoint::handle_datagram`](crate::Endpoint::handle_datagram) copies borrowed bytes only when it puts the datagram
/// into a receive queue. The copy is one allocation of exactly the payload's length, so such a datagram holds no other
/// memory.
#[derive(Clone, Debug)]
pub enum Arriving<'a> {
    /// Bytes of a receive buffer, which the caller reuses after the call.
    Borrowed(&'a [u8]),
    /// The part `bytes` of the buffer `of`. It is stored without a copy, and keeps all of the buffer in memory; how much
    /// that may be is up to the caller.
    Slice {
        /// The buffer.
        of: &'a Bytes,
        /// A part of it; anything else is a bug of the caller, and panics.
        bytes: &'a [u8],
    },
    /// A payload that is stored without a copy. A slice of a larger `Bytes` keeps all of it in memory.
    Owned(Payload),
}

impl Arriving<'_> {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) | Self::Slice { bytes, .. } => bytes.len(),
            Self::Owned(payload) => payload.len(),
        }
    }

    /// Returns whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes; a synthetic payload has none.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) | Self::Slice { bytes, .. } => bytes,
            Self::Owned(payload) => payload.as_slice(),
        }
    }

    /// Returns the tag of a synthetic payload.
    pub(crate) fn tag(&self) -> Option<u64> {
        match self {
            Self::Borrowed(_) | Self::Slice { .. } => None,
            Self::Owned(payload) => payload.tag(),
        }
    }

    /// Returns the payload to store. This is the only place where arriving bytes are copied, except to be decrypted.
    pub(crate) fn keep(self) -> Payload {
        match self {
            Self::Borrowed(bytes) => Payload::Bytes(Bytes::copy_from_slice(bytes)),
            Self::Slice { of, bytes } => Payload::Bytes(of.slice_ref(bytes)),
            Self::Owned(payload) => payload,
        }
    }

    /// Returns the view that checksums are computed from.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(bytes) | Self::Slice { bytes, .. } => View::Bytes(bytes),
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

/// Data as checksums are computed from it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Bytes(&'a [u8]),
    /// This many zeros, which are not stored.
    Zeros(usize),
}

impl View<'_> {
    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Zeros(len) => *len,
        }
    }

    /// Returns the sum of the Internet checksum over the first `len` bytes.
    pub(crate) fn sum(&self, len: usize) -> Sum {
        match self {
            Self::Bytes(bytes) => Sum::of(&bytes[..len.min(bytes.len())]),
            Self::Zeros(_) => Sum::zeros(len),
        }
    }

    /// Returns the CRC-32c in the form of the Data Checksum option (RFC 4340, section 9.3).
    pub(crate) fn data_checksum(&self) -> u32 {
        match self {
            Self::Bytes(bytes) => data_checksum::of(bytes),
            Self::Zeros(len) => data_checksum::of_zeros(*len),
        }
    }
}
