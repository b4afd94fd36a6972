//! The seam between a connection and what encrypts its datagrams.
//!
//! A [`Session`] seals a datagram when its packet leaves, and opens it when its packet has arrived. So a datagram waits
//! in the send queue in clear text, others may overtake or replace it, and records get their numbers in the order of
//! leaving. The session's own messages (its handshake, acknowledgements, new keys, the announcement of its end) leave
//! through the same seam, before the application's datagrams and under the same congestion control (RFC 5238, sections
//! 3.2 and 3.3).
//!
//! The protocol knows no library: `fairwire-tls` implements both traits with DTLS 1.3.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use fairwire_units::{Duration, Instant};

/// Begins the sessions of connections ([`Endpoint::secure`](crate::Endpoint::secure)).
pub trait Security: fmt::Debug + Send + Sync {
    /// Returns whether this end speaks first. The other end's session begins with the first datagram that arrives, so
    /// a peer that says nothing costs none.
    fn speaks_first(&self) -> bool;

    /// Returns the most memory of a session before it is ready, in bytes.
    fn handshake_memory(&self) -> usize;

    /// Returns the bytes that sealing adds to a datagram.
    fn overhead(&self) -> usize;

    /// Returns the most data that one datagram of `max_datagram` bytes can carry.
    fn max_data(&self, max_datagram: usize) -> usize {
        max_datagram.saturating_sub(self.overhead())
    }

    /// Begins a session.
    ///
    /// # Errors
    /// If this end cannot take part in one, whatever the peer does.
    fn begin(&self, now: Instant, facts: PathFacts) -> Result<Box<dyn Session>, SecurityError>;

    /// Returns what the peer is told about a failure, from its point of view. The text is not authenticated.
    fn for_peer(&self, error: &SecurityError) -> String {
        error.to_string()
    }
}

/// What a session has to know about the path of its connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathFacts {
    /// The largest datagram, in bytes (RFC 5238, section 3.5).
    pub max_datagram: usize,
    /// The round-trip time, if the connection's handshake has measured it.
    pub rtt: Option<Duration>,
}

impl PathFacts {
    pub(crate) fn new(max_datagram: usize, rtt: Option<Duration>) -> Self {
        Self { max_datagram, rtt }
    }
}

/// One end of the encryption of a connection.
///
/// After each call with the time, it is polled until there is nothing more.
pub trait Session: fmt::Debug + Send {
    /// Takes a datagram that arrived, and may write over it. What is unreadable, forged or replayed is dropped.
    ///
    /// Data is opened in its place if it comes before everything that [`poll`](Self::poll) returns then. Data for which
    /// that is not so, as that of a second record, is polled.
    ///
    /// # Errors
    /// If the session fails. Then the connection is reset, and nothing more leaves.
    fn open(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Opened, SecurityError>;

    /// Takes back that the last [`open`](Self::open) left records for its caller ([`Rest::Early`]): they are not kept, and
    /// a copy of them is none.
    fn forget_early(&mut self);

    /// Does what is due at `now`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    fn handle_timeout(&mut self, now: Instant) -> Result<(), SecurityError>;

    /// Returns when to call [`handle_timeout`](Self::handle_timeout).
    fn next_timeout(&self) -> Option<Instant>;

    /// Returns what the session does next; `None` until the next call.
    fn poll(&mut self) -> Option<SessionOutput>;

    /// Seals data, given in parts, and appends the datagram that carries it to `datagrams`. It is longer than the data
    /// by [`Security::overhead`].
    ///
    /// # Errors
    /// If the session has failed, or its end was announced. Then nothing is appended.
    fn seal(
        &mut self,
        now: Instant,
        data: &[&[u8]],
        datagrams: &mut BytesMut,
    ) -> Result<(), SecurityError>;

    /// Looks into the first record of a datagram that came from an address that is not known. It may write over the
    /// datagram, and changes nothing but the count of forged ones, so the datagram can still be [opened](Self::open)
    /// from a copy.
    ///
    /// A session that cannot tell says [`Look::Useless`]. Then its peer is not followed to another address.
    fn look_into(&mut self, _datagram: &mut [u8]) -> Look {
        Look::Useless
    }

    /// Seals a message that checks a path (RFC 9853), and appends the datagram that carries it to `datagrams`. Returns
    /// false, and appends nothing, if the session has no such messages, or can send none now.
    fn seal_check(&mut self, _now: Instant, _check: PathCheck, _datagrams: &mut BytesMut) -> bool {
        false
    }

    /// Ends this side: what [`poll`](Self::poll) then returns tells the peer that no more data follow.
    fn close(&mut self, now: Instant);

    /// Returns how far the handshake is, as far as this end knows.
    fn stage(&self) -> SessionStage;

    /// Sets the largest datagram that the session may send, in bytes.
    fn set_max_datagram(&mut self, max_datagram: usize);

    /// Tells whether datagrams of the session wait to leave. Its timers stand still meanwhile (RFC 5238, section 3.3).
    fn set_waiting(&mut self, now: Instant, waiting: bool);

    /// Returns the most memory that the session holds, in bytes, whatever it gets.
    fn memory(&self) -> usize;

    /// Returns the session itself, to ask it what only its kind knows: who the peer is.
    fn as_any(&self) -> &dyn Any;
}

/// What a datagram held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Opened {
    /// Where in the datagram the opened data is. A place outside of it is a bug of the session, and panics.
    pub data: Option<Range<usize>>,
    /// What became of the other records that may have carried data.
    pub rest: Rest,
}

/// What became of the records of a datagram that may have carried data and were not opened.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Rest {
    /// There were none.
    #[default]
    Nothing,
    /// They are changed, forged, copied, or so late that they may be copies.
    Unread,
    /// Some came before the end of the handshake, and may be genuine.
    Early {
        /// This part of the datagram, which is as it arrived, is given again once the session is
        /// [complete](SessionStage::is_complete). If it is not kept, the session [is told](Session::forget_early).
        place: Range<usize>,
        /// Whether others are [unread](Self::Unread).
        missed: bool,
    },
}

/// How far the handshake of a session is, as far as its end knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionStage {
    /// There are no keys for data, or the session has failed.
    Handshake,
    /// This end has all keys. The peer may lack the end of the handshake, and may refuse this end when it comes.
    Complete,
    /// This end has all keys, and the peer has nothing left to refuse. It may lack the end of the handshake, and keeps
    /// some data until that comes.
    Accepted,
    /// The peer is known to have all keys, so that it can read what is sealed.
    Confirmed,
}

impl SessionStage {
    /// Returns whether this end has all keys.
    pub fn is_complete(self) -> bool {
        self != Self::Handshake
    }
}

/// What a session does.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionOutput {
    /// It sends a datagram.
    Send(Bytes),
    /// Its handshake is complete at this end.
    Ready,
    /// It has opened data of the peer.
    Data(Bytes),
    /// The peer has announced that it sends nothing more.
    Closed,
    /// The peer has sent a message that checks a path.
    Check(PathCheck),
}

/// What a look into a datagram finds ([`Session::look_into`]).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Look {
    /// It is authentic and newer than all that were opened: its record is of the newest epoch in use, or of a later one,
    /// and has the highest number there.
    Newest,
    /// It is authentic and has not come before, but a newer one has.
    Late,
    /// It is not authentic.
    Forged,
    /// It says nothing: a copy, or a record that nobody can read or wants.
    Useless,
}

/// A message that checks whether a peer receives what is sent to an address (RFC 9853, section 4), with its cookie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathCheck {
    /// It asks the peer to send the cookie back.
    Challenge([u8; 8]),
    /// It sends the cookie back.
    Response([u8; 8]),
    /// It sends the cookie back and says that the address is not to be used.
    Drop([u8; 8]),
}

impl PathCheck {
    /// The bytes of a message.
    pub const LEN: usize = 9;
}

/// Why a session failed or could not begin: the error of the library, which can be
/// [asked for](SecurityError::downcast_ref).
#[derive(Clone)]
pub struct SecurityError(Arc<dyn Error + Send + Sync>);

impl SecurityError {
    /// Wraps an error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// Returns the error, if it is of this type.
    pub fn downcast_ref<T: Error + 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for SecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for SecurityError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Two errors are equal if they say the same.
impl PartialEq for SecurityError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_string() == other.to_string()
    }
}

impl Eq for SecurityError {}
