//! What passes between a session and the library, and what is checked on the way.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::start::HANDSHAKE_DATAGRAM;
use super::{Output, Role, Session, State};
use crate::alert::Alert;
use crate::error::SessionError;
use crate::head::{self, Head};
use crate::reason;
use crate::trust::Peer;

/// The most bytes of a handshake from one peer, with all that it sends again. Its longest honest part is a certificate
/// of some thousand bytes.
const MAX_HANDSHAKE: usize = 256 << 10;

/// Datagrams with application data that a server takes before the handshake is complete, because they overtook its end.
const MAX_EARLY: u32 = 16;

/// The most records of a datagram that are looked at. Honest peers put some messages of a handshake into one.
const MAX_RECORDS: usize = 32;

/// How long the library waits for its next turn if it wants one at once, after it had one.
///
/// While messages are missing between others, it wants to acknowledge those again and again without a pause. RFC 9147,
/// section 7.1, asks for one acknowledgement when a message arrives. Some more are useful, because one may get lost.
const PAUSE: Duration = Duration::from_millis(250);

/// What the library returned, with its bytes at the start of a buffer.
enum Event {
    Datagram(usize),
    Data(usize),
    Certificate(usize),
    TooSmall(usize),
    Connected,
    Closed,
    Timer(Instant),
    Other,
}

impl Session {
    /// Decides whether the library gets a datagram that arrives during the handshake.
    pub(super) fn admit(&mut self, datagram: &[u8]) -> Result<bool, SessionError> {
        let is_server = matches!(self.role, Role::Server);
        let head = Head::of(datagram);
        match head {
            Head::Plain {
                hello_verify_request: true,
            } if !is_server && !self.spoke => return self.fail(SessionError::OlderVersion),
            Head::Plain { .. } => {
                self.spoke = true;
                // A peer that says the same again may not have received the answer.
                let part = head::message_part(datagram);
                self.repeats |= part.is_some() && part <= self.heard;
                self.heard = self.heard.max(part);
            }
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

    /// Gives the records of a datagram to the library, one at a time.
    ///
    /// If it gets several at once, it keeps them together in the order of their first message. When messages that were
    /// lost come again, in other company, one of them may then hide behind a later message forever.
    pub(super) fn open_records(&mut self, datagram: &[u8]) -> Result<(), dimpl::Error> {
        let mut records = head::records(datagram).take(MAX_RECORDS);
        records.try_for_each(|record| self.library.handle_packet(record))
    }

    /// Takes everything from the library, and returns how many datagrams it sends. `hint` is the likely length of data.
    pub(super) fn drain(&mut self, hint: usize) -> Result<u32, SessionError> {
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
                Event::Data(length) if self.is_connected() => {
                    let data = buffer.split_to(length).freeze();
                    self.outputs.push_back(Output::Data(data));
                }
                Event::Certificate(length) => {
                    let certificate = buffer.split_to(length);
                    self.check(&certificate)?;
                }
                Event::TooSmall(needed) => room = needed,
                Event::Connected if matches!(self.state, State::Handshake) => {
                    self.state = State::Open { sends: true };
                    self.handshake_bytes = 0;
                    room = hint;
                    self.outputs
                        .push_back(Output::Connected { peer: self.peer });
                }
                Event::Closed => {
                    // Before the handshake is complete anybody can have sent it, and the peer is not accepted.
                    self.state = match self.state {
                        State::Open { .. } => State::Open { sends: false },
                        _ => State::Ended,
                    };
                    self.outputs.push_back(Output::Closed);
                }
                Event::Timer(timer) => {
                    self.set_timer(timer);
                    return Ok(sent);
                }
                // A session that has ended takes no part any more.
                Event::Data(_) | Event::Connected | Event::Other => {}
            }
        }
    }

    fn set_timer(&mut self, timer: Instant) {
        let now = self.clock.library_time();
        self.overdue = timer <= now;
        self.timer = Some(if self.overdue { now + PAUSE } else { timer });
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

    /// Takes the datagram with the record that the library has just sealed. It has at most `room` bytes.
    pub(super) fn take_datagram(&mut self, room: usize) -> Bytes {
        let mut buffer = BytesMut::zeroed(room);
        let Event::Datagram(length) = self.library_event(&mut buffer) else {
            unreachable!("everything was taken from the library before, so the record comes first");
        };
        buffer.split_to(length).freeze()
    }

    /// Sends a datagram of the library. Those that leave together become one, until a timer has expired: the path may
    /// not carry the larger one (RFC 5238, section 3.5).
    fn send(&mut self, datagram: Bytes) -> Result<(), SessionError> {
        if datagram.len() <= self.max_datagram {
            let limit = self.max_datagram.min(HANDSHAKE_DATAGRAM);
            if !self.repeats
                && let Some(Output::Send(last)) = self.outputs.back_mut()
                && last.len() + datagram.len() <= limit
            {
                *last = [&last[..], &datagram].concat().into();
                return Ok(());
            }
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
    pub(super) fn close_library(&mut self) {
        // It fails only if its queue is full, and then the peer learns of the end from DCCP.
        let _ = self.library.close();
        self.take_last();
    }

    /// Takes the last datagrams of the library.
    fn take_last(&mut self) {
        let mut buffer = BytesMut::zeroed(self.max_datagram);
        loop {
            match self.library_event(&mut buffer) {
                Event::Datagram(length) if length <= self.max_datagram => {
                    let datagram = Bytes::copy_from_slice(&buffer[..length]);
                    self.outputs.push_back(Output::Send(datagram));
                }
                Event::TooSmall(needed) => buffer = BytesMut::zeroed(needed),
                Event::Timer(timer) => {
                    self.set_timer(timer);
                    return;
                }
                _ => {}
            }
        }
    }

    pub(super) fn fail_with<T>(&mut self, error: &dimpl::Error) -> Result<T, SessionError> {
        self.fail_aloud(reason::of(error, self.handshake_timeout))
    }

    /// Fails, and tells the peer why if the handshake has no keys yet, or if the library does.
    pub(super) fn fail_aloud<T>(&mut self, error: SessionError) -> Result<T, SessionError> {
        let alert = match error {
            SessionError::OlderVersion => Some(Alert::PROTOCOL_VERSION),
            SessionError::NothingInCommon => Some(Alert::HANDSHAKE_FAILURE),
            SessionError::NoCertificate => {
                self.take_last();
                None
            }
            _ => None,
        };
        if let Some(alert) = alert {
            let datagram = Bytes::copy_from_slice(&alert.in_the_clear());
            self.outputs.push_back(Output::Send(datagram));
        }
        self.fail(error)
    }

    pub(super) fn fail<T>(&mut self, error: SessionError) -> Result<T, SessionError> {
        self.state = State::Failed(error.clone());
        Err(error)
    }
}
