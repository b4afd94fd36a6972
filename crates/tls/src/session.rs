//! One end of a DTLS session.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dimpl::{Dtls, DtlsCertificate};
use fairwire_units::{Duration, Instant};

use crate::alert::Alert;
use crate::clock::Clock;
use crate::config::{ClientConfig, Common, ServerConfig};
use crate::date::Date;
use crate::error::{SealError, SessionError, StartError};
use crate::fingerprint::Fingerprint;
use crate::head::Head;
use crate::name::PeerName;
use crate::trust::{Peer, Trust};
use crate::{provider, reason};

/// The bytes that a record adds to its data: a header of 5, the content type and a tag of 16 (RFC 9147, section 4).
pub const OVERHEAD: usize = 5 + 1 + 16;

/// The smallest limit for datagrams with which a handshake works, in bytes.
pub const MIN_DATAGRAM: usize = 256;

/// The longest data of a record (RFC 8446, section 5.1).
const MAX_RECORD: usize = 1 << 14;

/// The largest datagram of a handshake, in bytes, even if larger ones can be sent.
///
/// The library cannot send a message again in smaller records. Any path of IPv6 carries this size with the headers of
/// IPv6, UDP and DCCP, so the message still fits if the path gets narrower.
const HANDSHAKE_DATAGRAM: usize = 1_200;

/// What the messages of a server's flight have besides its certificate, and what six more records for its parts add, in
/// bytes; rounded up.
const FLIGHT: usize = 700;
/// What a datagram of a flight loses to headers and to room too small for a part, in bytes; rounded up.
const LOST_PER_DATAGRAM: usize = 40;
/// Datagrams that a flight may fill. The library keeps at most 12 records of a flight, and six messages end with the
/// datagrams between them cut into one more record each.
const FLIGHT_DATAGRAMS: usize = 6;

/// The most bytes of a handshake from one peer, with all that it sends again. Its longest honest part is a certificate of
/// some thousand bytes.
const MAX_HANDSHAKE: usize = 256 << 10;

/// Datagrams with application data that a server takes before the handshake is complete, because they overtook its end.
const MAX_EARLY: u32 = 16;

/// Records that may fail authentication (RFC 9147, section 4.5.3). It is the limit of a key, applied to the session.
const MAX_FORGED: u64 = 1 << 36;

/// Datagrams sent because the peer asked for it after the handshake: answers to key updates and to messages sent again.
const MAX_ANSWERS: u32 = 10_000;

/// How many records are sealed between two looks whether the key must be replaced.
const SEALED_PER_LOOK: u64 = 4_096;

/// One end of a DTLS session.
///
/// Its methods are of four kinds. [`handle_datagram`](Self::handle_datagram) and
/// [`handle_timeout`](Self::handle_timeout) tell it what happened. [`poll`](Self::poll) returns what it does about it, and
/// [`next_timeout`](Self::next_timeout) when to wake it. [`seal`](Self::seal) and [`close`](Self::close) are what its
/// application wants. [`stats`](Self::stats) and the others look at it.
///
/// After each call of the first three kinds, poll until [`Output::Idle`].
pub struct Session {
    library: Dtls,
    role: Role,
    state: State,
    clock: Clock,
    timer: Option<std::time::Instant>,
    outputs: VecDeque<Output>,
    max_datagram: usize,
    trust: Option<Arc<Trust>>,
    date: Date,
    handshake_timeout: Duration,
    peer: Option<Fingerprint>,
    /// The peer has sent a record that may be DTLS.
    spoke: bool,
    /// This end has sent `close_notify`.
    closed: bool,
    handshake_bytes: usize,
    early: u32,
    answers: u32,
    stats: Stats,
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
    /// Records of data sealed.
    pub sealed: u64,
}

/// What the library returned, with its bytes at the start of a buffer.
enum Event {
    Datagram(usize),
    Data(usize),
    Certificate(usize),
    TooSmall(usize),
    Connected,
    Closed,
    Timer(std::time::Instant),
    Other,
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
        Self::new(&config.common, role, max_datagram, now, date)
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
        Self::new(&config.common, Role::Server, max_datagram, now, date)
    }

    fn new(
        config: &Common,
        role: Role,
        max_datagram: usize,
        now: Instant,
        date: Date,
    ) -> Result<Self, StartError> {
        if max_datagram < MIN_DATAGRAM {
            return Err(StartError::DatagramTooSmall {
                max_datagram,
                needed: MIN_DATAGRAM,
            });
        }
        let handshake_datagram = max_datagram.min(HANDSHAKE_DATAGRAM);
        let identity = config.identity.as_ref();
        let certificate = identity.map_or(&[][..], |identity| identity.certificate());
        let max = max_certificate(handshake_datagram);
        if certificate.len() > max {
            return Err(StartError::CertificateTooLarge {
                length: certificate.len(),
                max,
                max_datagram,
            });
        }
        let clock = Clock::new(now);
        let library =
            provider::with_key(identity.map(|identity| Arc::clone(identity.key())), || {
                let certificate = DtlsCertificate {
                    certificate: certificate.to_vec(),
                    private_key: Vec::new(),
                };
                Dtls::new_13(
                    config.library(handshake_datagram),
                    certificate,
                    clock.library_time(),
                )
            });
        let mut session = Self {
            library,
            role,
            state: State::Handshake,
            clock,
            timer: None,
            outputs: VecDeque::new(),
            max_datagram,
            trust: config.trust.clone(),
            date,
            handshake_timeout: config.handshake_timeout,
            peer: None,
            spoke: false,
            closed: false,
            handshake_bytes: 0,
            early: 0,
            answers: 0,
            stats: Stats::default(),
        };
        let is_client = matches!(session.role, Role::Client { .. });
        session.library.set_active(is_client);
        // This starts the client's handshake. If it fails, the session's first call or poll tells.
        let _ = session.handle_timeout(now);
        Ok(session)
    }

    /// Takes a datagram that arrived.
    ///
    /// Datagrams that are unreadable, forged or replayed are dropped and counted.
    ///
    /// # Errors
    /// If the session fails, or has failed before. Poll it for what it still sends, and reset the connection.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) -> Result<(), SessionError> {
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Ended => return Ok(()),
            State::Handshake | State::Open { .. } => {}
        }
        self.stats.datagrams = self.stats.datagrams.saturating_add(1);
        let open = matches!(self.state, State::Open { .. });
        if !open && !self.admit(datagram)? {
            return Ok(());
        }
        self.handle_timeout(now)?;
        let (result, counts) = provider::counted(|| self.library.handle_packet(datagram));
        self.stats.opened = self.stats.opened.saturating_add(counts.opened);
        self.stats.forged = self.stats.forged.saturating_add(counts.forged);
        if open && counts == provider::Counts::default() {
            self.stats.dropped = self.stats.dropped.saturating_add(1);
        }
        result.or_else(|error| self.fail_with(&error))?;
        let answers = self.drain(datagram.len())?;
        if open {
            self.answers = self.answers.saturating_add(answers);
        }
        if self.answers > MAX_ANSWERS {
            return self.fail(SessionError::TooManyAnswers { limit: MAX_ANSWERS });
        }
        if self.stats.forged > MAX_FORGED {
            return self.fail(SessionError::TooManyForgeries { limit: MAX_FORGED });
        }
        Ok(())
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
        let time = self.clock.advance(now);
        let result = self.library.handle_timeout(time);
        result.or_else(|error| self.fail_with(&error))?;
        self.drain(0).map(|_| ())
    }

    /// Returns when to call [`Session::handle_timeout`], or `None` if nothing is going to happen by itself.
    pub fn next_timeout(&self) -> Option<Instant> {
        let runs = matches!(self.state, State::Handshake | State::Open { .. });
        if !runs || self.clock.is_still() {
            return None;
        }
        self.clock.expiry(self.timer?)
    }

    /// Returns what the session does next.
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or(Output::Idle)
    }

    /// Seals data into a datagram, which has to be sent. Each call makes one datagram with one record.
    ///
    /// # Errors
    /// If the handshake is not complete, the session is closed or has failed, or there are more than
    /// [`Session::max_data`] bytes.
    pub fn seal(&mut self, data: &[u8]) -> Result<Bytes, SealError> {
        match &self.state {
            State::Open { sends: true } => {}
            State::Handshake => return Err(SealError::NotConnected),
            State::Open { sends: false } | State::Ended => return Err(SealError::Closed),
            State::Failed(error) => return Err(SealError::Failed(error.clone())),
        }
        let max = self.max_data();
        if data.len() > max {
            return Err(SealError::TooLarge {
                length: data.len(),
                max,
            });
        }
        let result = self.library.send_application_data(data);
        let result = result.map(|_| ()).or_else(|error| self.fail_with(&error));
        result.map_err(SealError::Failed)?;
        let mut buffer = BytesMut::zeroed(data.len() + OVERHEAD);
        let Event::Datagram(length) = self.library_event(&mut buffer) else {
            unreachable!("everything was taken from the library before, so the record comes first");
        };
        self.stats.sealed = self.stats.sealed.saturating_add(1);
        if self.stats.sealed.is_multiple_of(SEALED_PER_LOOK) {
            // The library replaces keys only when it handles something. An end that only sends receives nothing.
            // If that fails, the next call tells.
            let _ = self.handle_timeout(self.clock.now());
        }
        Ok(buffer.split_to(length).freeze())
    }

    /// Closes this end: tells the peer that no more data follow (`close_notify`).
    ///
    /// What the peer sends is still received, unless it closed its end before. A session without a complete handshake just
    /// ends.
    pub fn close(&mut self) {
        match self.state {
            State::Handshake => {
                self.state = State::Ended;
                self.outputs.clear();
            }
            State::Open { .. } if !self.closed => {
                self.closed = true;
                self.state = State::Open { sends: false };
                self.close_library();
            }
            State::Open { .. } | State::Ended | State::Failed(_) => {}
        }
    }

    /// Returns how many bytes of data one datagram can carry now.
    pub fn max_data(&self) -> usize {
        self.max_datagram.saturating_sub(OVERHEAD).min(MAX_RECORD)
    }

    /// Sets the largest datagram that the session may send from now on, in bytes: the maximum packet size of DCCP, which
    /// a record must not exceed (RFC 5238, section 3.5).
    ///
    /// Handshakes use at most 1,200 bytes. If the limit falls below the records of a handshake that has begun, it fails.
    pub fn set_max_datagram(&mut self, max_datagram: usize) {
        self.max_datagram = max_datagram;
    }

    /// Tells whether datagrams of the session wait to be sent. Meanwhile its timers stand still, so that no message is
    /// sent again before it was sent once (RFC 5238, section 3.3).
    pub fn set_waiting(&mut self, now: Instant, waiting: bool) {
        self.clock.advance(now);
        self.clock.set_still(waiting);
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

    /// Returns what the session has counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Decides whether the library gets a datagram that arrives during the handshake.
    fn admit(&mut self, datagram: &[u8]) -> Result<bool, SessionError> {
        let is_server = matches!(self.role, Role::Server);
        let head = Head::of(datagram);
        match head {
            Head::Plain {
                hello_verify_request: true,
            } if !is_server && !self.spoke => return self.fail(SessionError::OlderVersion),
            Head::Plain { .. } => self.spoke = true,
            // A server's protected messages may overtake its hello, but a client's are answers to the server.
            Head::Sealed { .. } if self.spoke || !is_server => {}
            Head::Foreign if self.spoke => return Ok(false),
            Head::Foreign | Head::Sealed { .. } => {
                return self.fail(SessionError::NotDtls {
                    length: datagram.len(),
                    first: datagram.first().copied(),
                });
            }
        }
        // The library keeps data that arrive too early, and fails if they are too many.
        if head == (Head::Sealed { epoch_bits: 3 }) {
            self.early = self.early.saturating_add(1);
            return Ok(self.early <= MAX_EARLY);
        }
        self.handshake_bytes = self.handshake_bytes.saturating_add(datagram.len());
        if self.handshake_bytes > MAX_HANDSHAKE {
            return self.fail(SessionError::HandshakeTooLarge {
                limit: MAX_HANDSHAKE,
            });
        }
        Ok(true)
    }

    /// Takes everything from the library, and returns how many datagrams it sends. `hint` is the likely length of data.
    fn drain(&mut self, hint: usize) -> Result<u32, SessionError> {
        let mut sent = 0;
        let mut buffer = BytesMut::new();
        let mut room = hint;
        loop {
            if matches!(self.state, State::Handshake) {
                // A certificate that has no room makes the library panic. It is not longer than all that was received.
                room = room.max(self.handshake_bytes).max(self.max_datagram);
            }
            if buffer.len() < room {
                buffer = BytesMut::zeroed(room);
            }
            match self.library_event(&mut buffer) {
                Event::Datagram(length) => {
                    sent += 1;
                    self.send(buffer.split_to(length).freeze())?;
                }
                Event::Data(length) => {
                    let data = buffer.split_to(length).freeze();
                    self.outputs.push_back(Output::Data(data));
                }
                Event::Certificate(length) => {
                    let certificate = buffer.split_to(length);
                    self.check(&certificate)?;
                }
                Event::TooSmall(needed) => room = needed,
                Event::Connected => {
                    self.state = State::Open { sends: true };
                    self.handshake_bytes = 0;
                    room = hint;
                    self.outputs
                        .push_back(Output::Connected { peer: self.peer });
                }
                Event::Closed => {
                    self.state = State::Open { sends: false };
                    self.outputs.push_back(Output::Closed);
                }
                Event::Timer(timer) => {
                    self.timer = Some(timer);
                    return Ok(sent);
                }
                Event::Other => {}
            }
        }
    }

    fn library_event(&mut self, buffer: &mut [u8]) -> Event {
        match self.library.poll_output(buffer) {
            dimpl::Output::Packet(datagram) => Event::Datagram(datagram.len()),
            dimpl::Output::ApplicationData(data) => Event::Data(data.len()),
            dimpl::Output::PeerCert(certificate) => Event::Certificate(certificate.len()),
            dimpl::Output::BufferTooSmall { needed } => Event::TooSmall(needed),
            dimpl::Output::Connected => Event::Connected,
            dimpl::Output::CloseNotify => Event::Closed,
            dimpl::Output::Timeout(timer) => Event::Timer(timer),
            _ => Event::Other,
        }
    }

    fn send(&mut self, datagram: Bytes) -> Result<(), SessionError> {
        if datagram.len() <= self.max_datagram {
            self.outputs.push_back(Output::Send(datagram));
            return Ok(());
        }
        match self.state {
            // An acknowledgement that does not fit is not sent; the peer repeats what it is for.
            State::Open { .. } => Ok(()),
            _ => self.fail(SessionError::PathTooNarrow {
                needed: datagram.len(),
                max_datagram: self.max_datagram,
            }),
        }
    }

    /// Checks the certificate that the peer shows, before anything that depends on it leaves this end.
    fn check(&mut self, certificate: &[u8]) -> Result<(), SessionError> {
        let Some(trust) = &self.trust else {
            return Ok(());
        };
        let peer = match &self.role {
            Role::Client { name } => Peer::Server(name.as_ref()),
            Role::Server => Peer::Client,
        };
        match trust.check(certificate, peer, self.date) {
            Ok(fingerprint) => {
                self.peer = Some(fingerprint);
                Ok(())
            }
            Err(error) => {
                let failed = self.fail(SessionError::Certificate(Box::new(error)));
                if matches!(self.role, Role::Server) {
                    // The client is connected already, and learns from this that the server does not go on. A client
                    // sends nothing: what waits in the library shows its own certificate.
                    self.close_library();
                }
                failed
            }
        }
    }

    /// Closes the library's end, and takes what it still sends.
    fn close_library(&mut self) {
        // It fails only if its queue is full, and then the peer learns of the end from DCCP.
        let _ = self.library.close();
        let mut buffer = BytesMut::zeroed(self.max_datagram);
        loop {
            match self.library_event(&mut buffer) {
                Event::Datagram(length) if length <= self.max_datagram => {
                    let datagram = Bytes::copy_from_slice(&buffer[..length]);
                    self.outputs.push_back(Output::Send(datagram));
                }
                Event::TooSmall(needed) => buffer = BytesMut::zeroed(needed),
                Event::Timer(timer) => {
                    self.timer = Some(timer);
                    return;
                }
                _ => {}
            }
        }
    }

    fn fail_with<T>(&mut self, error: &dimpl::Error) -> Result<T, SessionError> {
        let error = reason::of(error, self.handshake_timeout);
        let alert = match error {
            SessionError::OlderVersion => Some(Alert::PROTOCOL_VERSION),
            SessionError::NothingInCommon => Some(Alert::HANDSHAKE_FAILURE),
            _ => None,
        };
        let failed = self.fail(error);
        if let Some(alert) = alert {
            let datagram = Bytes::copy_from_slice(&alert.in_the_clear());
            self.outputs.push_back(Output::Send(datagram));
        }
        failed
    }

    fn fail<T>(&mut self, error: SessionError) -> Result<T, SessionError> {
        self.state = State::Failed(error.clone());
        Err(error)
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

/// Returns the longest certificate that fits into a handshake with datagrams of this size.
fn max_certificate(datagram: usize) -> usize {
    (FLIGHT_DATAGRAMS * (datagram - LOST_PER_DATAGRAM)).saturating_sub(FLIGHT)
}
