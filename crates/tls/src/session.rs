//! One end of a DTLS session.

mod arrivals;
mod guard;
#[cfg(feature = "fuzz")]
mod keyed;
mod library;
mod open;
mod renewal;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dimpl::Dtls;
use fairwire_proto::{Opened, PathCheck, Rest, SessionStage};
use fairwire_units::{Duration, Instant};

use crate::acknowledgement;
use crate::channel::Channel;
use crate::clear::Clear;
use crate::clock::Clock;
use crate::config::{ClientConfig, Retransmission, ServerConfig};
use crate::date::Date;
use crate::error::{SealError, SessionError, StartError};
use crate::fingerprint::Fingerprint;
use crate::gate::Gate;
use crate::head;
use crate::name::PeerName;
use crate::provider::Secrets;
use crate::record;
use crate::trust::Trust;
#[cfg(feature = "fuzz")]
pub use keyed::FIRST_MESSAGES;
use renewal::Renewal;

/// The bytes that a record adds to its data: a header of 5, the content type and a tag of 16 (RFC 9147, section 4).
pub const OVERHEAD: usize = record::OVERHEAD;

/// The smallest limit for datagrams with which a handshake works, in bytes.
pub const MIN_DATAGRAM: usize = 256;

/// The most memory of a session that is connected, in bytes: its own, its channel, and a list of outputs.
const OPEN_MEMORY: usize = size_of::<Session>() + Channel::MEMORY + (3 << 10);

/// The same for the library, which a client has until its handshake is known to be complete at the other end: with short
/// records, and more for each byte of its longest record and of the longest message of its handshake.
const LIBRARY_MEMORY: usize = Channel::MEMORY_OF_LIBRARY + (20 << 10);
const MEMORY_PER_RECORD_BYTE: usize = 4;
const MEMORY_PER_MESSAGE_BYTE: usize = 6;

/// Records that may fail authentication with a key (RFC 9147, section 4.5.3).
const MAX_FORGED: u64 = 1 << 36;

/// Datagrams sent because the peer asked for it after the handshake: answers to key updates and to messages sent again.
const MAX_ANSWERS: u32 = 10_000;
/// How many records of the peer explain one more of them. A key protects thousands of times as many.
const RECORDS_PER_ANSWER: u64 = 1_024;

/// One end of a DTLS session.
///
/// Its methods are of four kinds. [`open`](Self::open) (or [`handle_datagram`](Self::handle_datagram)) and
/// [`handle_timeout`](Self::handle_timeout) tell it what happened. [`poll`](Self::poll) returns what it does about it,
/// and [`next_timeout`](Self::next_timeout) when to wake it. [`append`](Self::append) (or [`seal`](Self::seal)) and
/// [`close`](Self::close) are what its application wants. [`stats`](Self::stats) and the others look at it.
///
/// After each call of the first three kinds, poll until [`Output::Idle`].
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each for one reader"
)]
pub struct Session {
    /// The handshake. A server needs it until it is connected, and a client until it is confirmed.
    handshake: Option<Box<Dtls>>,
    /// What the library has derived and nobody has taken yet.
    secrets: Secrets,
    /// What both ends say after the handshake, once there are keys.
    channel: Option<Box<Channel>>,
    role: Role,
    state: State,
    clock: Clock,
    timer: Option<std::time::Instant>,
    /// The library wants a turn at once.
    overdue: bool,
    records_per_key: u64,
    retransmission: Retransmission,
    /// When a new key is announced again.
    renewal: Option<Renewal>,
    unanswered: Unanswered,
    /// The peer is known to have all keys.
    is_confirmed: bool,
    outputs: VecDeque<Output>,
    max_datagram: usize,
    trust: Option<Arc<Trust>>,
    date: Date,
    handshake_timeout: Duration,
    /// The most memory of its handshake, in bytes.
    handshake_memory: usize,
    peer: Option<Fingerprint>,
    /// Why the certificate of a client is not accepted, until the client can be told.
    refused: Option<SessionError>,
    /// The peer has sent a record that may be DTLS.
    spoke: bool,
    /// This end has sent `close_notify`.
    closed: bool,
    /// A timer has expired or the peer has repeated itself, so datagrams may be lost because of their size.
    repeats: bool,
    /// The peer has used keys that follow those of the handshake, so it does not repeat the handshake.
    has_newer_keys: bool,
    /// Until when the peer may repeat its handshake, or what it repeated may arrive late. Known once it has sealed data.
    repeats_until: Option<Instant>,
    /// The present datagram has a record that may have carried data and was not read.
    missed: bool,
    /// Where in the present datagram its first data is, if nothing is to be polled before it.
    opened: Option<Range<usize>>,
    /// Number and place of the last part of a message in the clear.
    heard: Option<(u16, usize)>,
    /// The peer's messages in the clear.
    clear: Clear,
    /// What the library gets of the peer's protected records.
    gate: Gate,
    /// Where in the present datagram the records are that came before the handshake was complete, if there are some.
    early_in: Option<Range<usize>>,
    /// The numbers of such records that were authentic.
    early: Vec<u64>,
    /// How many of them came before the present datagram.
    early_before: usize,
    /// Records of the handshake that wait for others: by the number and the place of their message.
    later: BTreeMap<(u16, usize), Bytes>,
    /// The longest record that the library got.
    longest_record: usize,
    /// When the library was last told the time.
    told: Option<Instant>,
    handshake_bytes: usize,
    answers: u32,
    stats: Stats,
    /// The random numbers of a simulated session.
    #[cfg(feature = "seeded")]
    draws: Option<crate::seeded::Draws>,
}

/// What the present datagram asks for.
#[derive(Debug, Default)]
struct Unanswered {
    /// The records that have to be acknowledged, by epoch and number.
    records: Vec<(u64, u64)>,
    /// It asks for a new key.
    asks: bool,
}

#[derive(Clone, Debug)]
enum Role {
    Client { name: Option<PeerName> },
    Server,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum State {
    Handshake,
    /// Data can be received, and sent unless one of the ends closed the session.
    Open {
        sends: bool,
    },
    /// Closed before the handshake was complete.
    Ended,
    Failed(SessionError),
}

/// What a session does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// A datagram to send.
    Send(Bytes),
    /// The handshake is complete, and the peer is accepted.
    Connected {
        /// The fingerprint of the peer's certificate; a client that was not asked for one has none.
        peer: Option<Fingerprint>,
    },
    /// Data from the peer: those of one record.
    Data(Bytes),
    /// The peer has sent a message that checks a path.
    Check(PathCheck),
    /// The peer sends nothing more (`close_notify`). Data that were sent before and arrive late still follow.
    Closed,
    /// Nothing until the next call.
    Idle,
}

/// What a session has counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Datagrams received.
    pub datagrams: u64,
    /// Records received whose authentication succeeded.
    pub opened: u64,
    /// Records received whose authentication failed. They are dropped.
    pub forged: u64,
    /// Datagrams received after the handshake in which no record was new and readable. They are dropped.
    pub dropped: u64,
    /// Datagrams received with records that may have carried data and were not read. Those that only repeat messages of
    /// the handshake are not among them.
    pub unread: u64,
    /// Records of data sealed.
    pub sealed: u64,
    /// Calls of the protocol library, which are most of what a peer costs.
    pub calls: u64,
}

impl Session {
    /// Begins a session as client. `date` is today's, for the validity of the server's certificate.
    ///
    /// The session sends datagrams of at most `max_datagram` bytes: what the DCCP connection calls its maximum packet
    /// size.
    ///
    /// # Errors
    /// If `max_datagram` is less than [`MIN_DATAGRAM`], or so small that the own certificate does not fit into a
    /// handshake.
    pub fn client(
        config: &ClientConfig,
        max_datagram: usize,
        now: Instant,
        date: Date,
    ) -> Result<Self, StartError> {
        let role = Role::Client {
            name: config.name.clone(),
        };
        Self::begin(&config.common, role, max_datagram, now, date)
    }

    /// Begins a session as server, which waits for the client's first message. The arguments are those of
    /// [`Session::client`].
    ///
    /// # Errors
    /// Like [`Session::client`].
    pub fn server(
        config: &ServerConfig,
        max_datagram: usize,
        now: Instant,
        date: Date,
    ) -> Result<Self, StartError> {
        Self::begin(&config.common, Role::Server, max_datagram, now, date)
    }

    /// Takes a datagram that arrived, as [`open`](Self::open) does, and leaves it as it is. All data is polled. Data that
    /// overtook the end of the handshake is dropped.
    ///
    /// # Errors
    /// If the session fails, or has failed before. Poll it for what it still sends, and reset the connection.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) -> Result<(), SessionError> {
        let mut opened = datagram.to_vec();
        let handled = self.open(now, &mut opened)?;
        self.keep(handled.data, &opened);
        Ok(())
    }

    /// Takes a datagram that arrived, and writes over it. Its first data is in its place then, before everything that
    /// [`poll`](Self::poll) returns; if that is not possible, it is polled, too.
    ///
    /// Datagrams that are unreadable, forged or replayed are dropped and counted. Of records that overtook the end of the
    /// handshake, some are not touched, for the caller to keep ([`Rest::Early`]). RFC 9147, section 4.2.1, has an end keep
    /// or drop them.
    ///
    /// # Errors
    /// If the session fails, or has failed before. Poll it for what it still sends, and reset the connection.
    pub fn open(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Opened, SessionError> {
        let nothing = Opened {
            data: None,
            rest: Rest::Nothing,
        };
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Ended => return Ok(nothing),
            State::Handshake | State::Open { .. } => {}
        }
        self.stats.datagrams = self.stats.datagrams.saturating_add(1);
        let open = self.is_connected();
        if !open && !self.is_dtls(datagram)? {
            return Ok(nothing);
        }
        let before = (self.stats.opened, self.stats.forged);
        (self.missed, self.early_in) = (false, None);
        self.early_before = self.early.len();
        let taken = self.take_records(now, datagram);
        let data = self.opened.take();
        if let Err(error) = taken {
            self.keep(data, datagram);
            return Err(error);
        }
        if let Some(place) = self.early_in.take() {
            // It is counted when it is given again.
            self.stats.datagrams = self.stats.datagrams.saturating_sub(1);
            return Ok(Opened {
                data,
                rest: self.rest_of_early(place, datagram.len()),
            });
        }
        self.stats.unread = self.stats.unread.saturating_add(self.missed.into());
        if open && before == (self.stats.opened, self.stats.forged) {
            self.stats.dropped = self.stats.dropped.saturating_add(1);
        }
        let rest = if self.missed {
            Rest::Unread
        } else {
            Rest::Nothing
        };
        Ok(Opened { data, rest })
    }

    /// Returns what became of a datagram of `len` bytes whose records at `place` came early.
    fn rest_of_early(&mut self, mut place: Range<usize>, len: usize) -> Rest {
        let mut missed = self.missed;
        if matches!(self.role, Role::Client { .. }) && missed {
            // It has no keys, so what it has not looked at may be genuine, too.
            (place.end, missed) = (len, false);
        }
        self.stats.unread = self.stats.unread.saturating_add(missed.into());
        Rest::Early { place, missed }
    }

    /// Tells the session that what the last [`open`](Self::open) left for its caller was not kept. It may come again.
    pub fn forget_early(&mut self) {
        self.early.truncate(self.early_before);
    }

    /// Keeps data that was opened in its place until it is polled.
    fn keep(&mut self, data: Option<Range<usize>>, datagram: &[u8]) {
        if let Some(data) = data {
            let data = Bytes::copy_from_slice(&datagram[data]);
            self.outputs.push_front(Output::Data(data));
        }
    }

    /// Does what is due at `now`: sends messages again, or gives up. Calls before [`Session::next_timeout`] do no harm.
    ///
    /// # Errors
    /// If the session fails, or has failed before.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), SessionError> {
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Ended => return Ok(()),
            State::Handshake | State::Open { .. } => {}
        }
        self.clock.advance(now);
        let time = self.clock.time_of_library();
        self.told = Some(now);
        self.repeats |= self.next_timeout().is_some_and(|at| at <= now);
        if self.handshake.is_some() {
            let result = self.call(|library| library.handle_timeout(time))?;
            result.or_else(|error| self.fail_with(&error))?;
            self.drain()?;
        }
        self.announce_again()
    }

    /// Returns when to call [`Session::handle_timeout`], or `None` if nothing is going to happen by itself.
    pub fn next_timeout(&self) -> Option<Instant> {
        let runs = matches!(self.state, State::Handshake | State::Open { .. });
        if !runs || self.clock.is_still() {
            return None;
        }
        let of_library = self.timer.and_then(|timer| self.clock.expiry(timer));
        Instant::earliest([of_library, self.next_announcement()])
    }

    /// Returns what the session does next.
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or(Output::Idle)
    }

    /// Seals data into a datagram, as [`append`](Self::append) does.
    ///
    /// # Errors
    /// Like [`append`](Self::append).
    pub fn seal(&mut self, data: &[u8]) -> Result<Bytes, SealError> {
        let mut datagram = BytesMut::new();
        self.append(&[data], &mut datagram)?;
        Ok(datagram.freeze())
    }

    /// Seals data, given in parts, into a datagram, which has to be sent, and appends it to `datagrams`. Each call makes
    /// one datagram with one record (RFC 9147, section 4.3).
    ///
    /// # Errors
    /// If the handshake is not complete, the session is closed or has failed, or there are more than
    /// [`Session::max_data`] bytes. Then nothing is appended.
    pub fn append(&mut self, data: &[&[u8]], datagrams: &mut BytesMut) -> Result<(), SealError> {
        match &self.state {
            State::Open { sends: true } => {}
            State::Handshake => return Err(SealError::NotConnected),
            State::Open { sends: false } | State::Ended => return Err(SealError::Closed),
            State::Failed(error) => return Err(SealError::Failed(error.clone())),
        }
        let (length, max) = (data.iter().map(|part| part.len()).sum(), self.max_data());
        if length > max {
            return Err(SealError::TooLarge { length, max });
        }
        let Some(channel) = &mut self.channel else {
            return Err(SealError::NotConnected);
        };
        if channel.sending.append(data, datagrams).is_none() {
            let limit = channel.sending.limit();
            let failed = self.fail(SessionError::KeyUsedUp { limit });
            return failed.map_err(SealError::Failed);
        }
        let is_worn = channel.sending.is_worn();
        self.stats.sealed = self.stats.sealed.saturating_add(1);
        if is_worn {
            self.announce(true);
        }
        Ok(())
    }

    /// Closes this end: tells the peer that no more data follow (`close_notify`).
    ///
    /// What the peer sends is still received, unless it closed its end before. A session without a complete handshake
    /// just ends.
    pub fn close(&mut self) {
        match self.state {
            State::Handshake => {
                self.state = State::Ended;
                self.outputs.clear();
            }
            State::Open { .. } if !self.closed => {
                self.closed = true;
                self.state = State::Open { sends: false };
                self.stop_renewal();
                self.release_library();
                self.announce_end();
            }
            State::Open { .. } | State::Ended | State::Failed(_) => {}
        }
    }

    /// Returns how many bytes of data one datagram can carry now.
    pub fn max_data(&self) -> usize {
        self.max_datagram
            .saturating_sub(OVERHEAD)
            .min(head::LONGEST_CONTENT)
    }

    /// Sets the largest datagram that the session may send from now on, in bytes: the maximum packet size of DCCP,
    /// which a record must not exceed (RFC 5238, section 3.5).
    ///
    /// A handshake uses datagrams of at most 1,200 bytes and records of at most 480, or 1,200 if the own certificate
    /// has more than some 1,900 bytes. Several records share a datagram until a timer expires; then each has its own
    /// (RFC 9147, section 4.4). If the limit falls below the records of a handshake that has begun, it fails.
    pub fn set_max_datagram(&mut self, max_datagram: usize) {
        self.max_datagram = max_datagram;
    }

    /// Tells the time, for a call that does not.
    pub(crate) fn tell_time(&mut self, now: Instant) {
        self.clock.advance(now);
    }

    /// Tells whether datagrams of the session wait to be sent. Meanwhile its timers stand still, so that no message is
    /// sent again before it was sent once (RFC 5238, section 3.3).
    pub fn set_waiting(&mut self, now: Instant, waiting: bool) {
        self.clock.advance(now);
        self.clock.set_still(waiting);
    }

    /// Returns how many bytes of memory the session holds at most, whatever its peer sends.
    ///
    /// It falls when the handshake is complete, and at a client once more when it is [confirmed](Self::is_confirmed).
    /// Data and datagrams that were not polled come in addition.
    pub fn memory(&self) -> usize {
        if !self.is_connected() {
            return self.handshake_memory;
        }
        if self.handshake.is_none() {
            return OPEN_MEMORY;
        }
        let record = self.longest_record.max(acknowledgement::LONGEST);
        OPEN_MEMORY
            + LIBRARY_MEMORY
            + MEMORY_PER_RECORD_BYTE * record
            + MEMORY_PER_MESSAGE_BYTE * self.gate.longest()
    }

    /// Returns the fingerprint of the peer's certificate, once the peer is accepted.
    pub fn peer(&self) -> Option<Fingerprint> {
        match self.state {
            State::Open { .. } => self.peer,
            State::Handshake | State::Ended | State::Failed(_) => None,
        }
    }

    /// Returns whether the handshake is complete and the session has not failed.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// Returns whether the peer is known to have all keys, so that it can read what this end seals.
    ///
    /// A server knows it once the session is connected. A client sends the last message of the handshake, and knows it
    /// once the server has acknowledged that message (RFC 9147, section 7).
    pub fn is_confirmed(&self) -> bool {
        self.is_connected() && self.is_confirmed
    }

    /// Returns how far the handshake is, as this end knows. A client is accepted when it is connected, unless it was asked
    /// for its certificate.
    pub fn stage(&self) -> SessionStage {
        if !self.is_connected() {
            SessionStage::Handshake
        } else if self.is_confirmed {
            SessionStage::Confirmed
        } else if self.gate.has_asked() {
            SessionStage::Complete
        } else {
            SessionStage::Accepted
        }
    }

    /// Returns what the session has counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("role", &self.role)
            .field("state", &self.state)
            .field("peer", &self.peer)
            .field("max_datagram", &self.max_datagram)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}
