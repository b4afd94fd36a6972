//! The application's data, which the protocol carries and never reads.
//!
//! [`Payload`] is data that is stored. [`Deferred`] is data that is made when its packet leaves. [`Arriving`] is data
//! that has just arrived and is not stored yet, so that a stranger's datagram costs no memory.

use std::fmt;
use std::sync::Arc;

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
    /// `len` zero bytes that are not stored. `tag` identifies the application's packet and is not sent.
    Synthetic {
        /// Length in bytes.
        len: u32,
        /// The application's identifier for it; never on the wire.
        tag: u64,
    },
}

impl Payload {
    /// No data, as in most packets other than Data and `DataAck`.
    pub const EMPTY: Self = Self::Bytes(Bytes::new());

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Synthetic { len, .. } => *len as usize,
        }
    }

    /// Returns whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes to checksum. A synthetic payload has none, because zeros do not change the sum.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Synthetic { .. } => &[],
        }
    }

    /// Returns the view that checksums are computed from.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Bytes(bytes) => View::Bytes(bytes),
            Self::Synthetic { len, .. } => View::Zeros(*len as usize),
        }
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

/// Data that is made when its packet leaves ([`Endpoint::send_deferred`](crate::Endpoint::send_deferred)).
///
/// This is for data whose bytes depend on the order of leaving, such as records of DTLS, which have numbers. A datagram
/// with a high priority overtakes others in the send queue, and a peer's protection against replays refuses records
/// that many others have overtaken.
#[derive(Clone)]
pub struct Deferred {
    len: usize,
    make: Arc<dyn MakePayload>,
}

/// Makes the bytes of a [`Deferred`].
pub trait MakePayload: Send + Sync {
    /// Returns the bytes; `None` if they cannot be made any more, and the datagram is then dropped.
    ///
    /// The endpoint calls it within `poll_transmit`, so it must not call the endpoint.
    fn make(&self) -> Option<Bytes>;
}

impl Deferred {
    /// Returns data of `len` bytes that `make` will make.
    pub fn new(len: usize, make: Arc<dyn MakePayload>) -> Self {
        Self { len, make }
    }

    /// Returns the length that the data will have, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Data in the send queue.
#[derive(Clone, Debug)]
pub(crate) enum Unsent {
    Ready(Payload),
    Later(Deferred),
    /// Made for the packet that leaves next; what it was made from can be made again.
    Made(Payload, Deferred),
}

impl Unsent {
    /// Returns the length in bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ready(payload) | Self::Made(payload, _) => payload.len(),
            Self::Later(deferred) => deferred.len,
        }
    }

    /// Returns the data, made now if it was deferred; `None` if it cannot be made any more.
    pub(crate) fn make(self) -> Option<Payload> {
        match self {
            Self::Ready(payload) | Self::Made(payload, _) => Some(payload),
            Self::Later(deferred) => deferred.make.make().map(Payload::Bytes),
        }
    }

    /// Makes the data now if it was deferred; `None` if it cannot be made any more.
    pub(crate) fn make_in_place(&mut self) -> Option<()> {
        if let Self::Later(deferred) = self {
            let payload = deferred.make.make().map(Payload::Bytes)?;
            *self = Self::Made(payload, deferred.clone());
        }
        Some(())
    }

    /// Returns the data for another packet: the same, or to be made anew.
    pub(crate) fn for_another(&self) -> Self {
        match self {
            Self::Ready(payload) => Self::Ready(payload.clone()),
            Self::Later(deferred) | Self::Made(_, deferred) => Self::Later(deferred.clone()),
        }
    }
}

impl From<Payload> for Unsent {
    fn from(payload: Payload) -> Self {
        Self::Ready(payload)
    }
}

impl From<Deferred> for Unsent {
    fn from(deferred: Deferred) -> Self {
        Self::Later(deferred)
    }
}

/// An arriving payload, before it is decided whether to keep it.
///
/// [`Endpoint::handle_datagram`](crate::Endpoint::handle_datagram) copies borrowed bytes only when it puts the datagram
/// into a receive queue. The copy is one allocation of exactly the payload's length, so a queued datagram holds no
/// other memory.
#[derive(Clone, Debug)]
pub enum Arriving<'a> {
    /// Bytes of a receive buffer, which the caller reuses after the call.
    Borrowed(&'a [u8]),
    /// A payload that is stored without a copy. A slice of a larger `Bytes` keeps all of it in memory.
    Owned(Payload),
}

impl Arriving<'_> {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
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
            Self::Borrowed(bytes) => bytes,
            Self::Owned(payload) => payload.as_slice(),
        }
    }

    /// Returns the payload to store. This is the only place where arriving bytes are copied.
    pub(crate) fn keep(self) -> Payload {
        match self {
            Self::Borrowed(bytes) => Payload::Bytes(Bytes::copy_from_slice(bytes)),
            Self::Owned(payload) => payload,
        }
    }

    /// Returns the view that checksums are computed from.
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
