//! What passes between a session and the library, and what is checked on the way.

use std::time::{Duration, Instant};

use bytes::Bytes;
use dimpl::Dtls;

use super::guard::guarded;
use super::start::HANDSHAKE_DATAGRAM;
use super::{Output, Role, Session, State};
use crate::alert::Alert;
use crate::channel::Channel;
use crate::error::SessionError;
use crate::head::{self, Head};
use crate::provider;
use crate::reason;
use crate::trust::Peer;

/// How long the library waits for its next turn if it wants one at once, after it had one.
///
/// While messages are missing between others, it wants to acknowledge those again and again without a pause. RFC 9147,
/// section 7.1, asks for one acknowledgement when a message arrives. Some more are useful, because one may get lost.
const PAUSE: Duration = Duration::from_millis(250);

/// What the library returned, with its bytes at the start of a buffer.
enum Event {
    Datagram(usize),
    Certificate(usize),
    TooSmall(usize),
    Connected,
    Closed,
    Timer(Instant),
    Other,
}

impl Session {
    /// Calls the library. No other function does.
    ///
    /// If it panics, this session fails, and nothing else ends. The caller must not call it again.
    pub(super) fn call<T>(&mut self, run: impl FnOnce(&mut Dtls) -> T) -> Result<T, SessionError> {
        self.stats.calls = self.stats.calls.saturating_add(1);
        let (Some(library), gate) = (&mut self.handshake, &mut self.gate) else {
            return self.fail(SessionError::Library {
                message: "it was called after its end".to_owned(),
            });
        };
        let run = || guarded(|| run(library));
        #[cfg(feature = "seeded")]
        let run = || crate::seeded::lent(&mut self.draws, run);
        let result = provider::lent(gate, &mut self.secrets, run);
        result.or_else(|message| self.fail(SessionError::Library { message }))
    }

    /// Takes everything from the library.
    pub(super) fn drain(&mut self) -> Result<(), SessionError> {
        let mut room = 0;
        let mut buffer = Vec::new();
        loop {
            if matches!(self.state, State::Handshake) {
                // A certificate that has no room makes the library panic.
                room = room.max(self.gate.longest());
            }
            if buffer.len() < room {
                buffer = vec![0; room];
            }
            match self.next_event(&mut buffer)? {
                Event::Datagram(length) => {
                    let datagram = self.sealed_again(&buffer[..length]);
                    self.send(datagram)?;
                }
                Event::Certificate(length) => self.check(&buffer[..length])?,
                Event::TooSmall(needed) => room = needed,
                Event::Connected if matches!(self.state, State::Handshake) => self.connect()?,
                // Before the handshake is complete anybody can have sent it, and the peer is not accepted.
                Event::Closed if matches!(self.state, State::Handshake) => {
                    self.state = State::Ended;
                    self.outputs.push_back(Output::Closed);
                }
                Event::Timer(timer) => {
                    self.set_timer(timer);
                    return Ok(());
                }
                // A session that has ended takes no part any more.
                Event::Connected | Event::Closed | Event::Other => {}
            }
        }
    }

    /// Returns a datagram of the library. What it has of epoch 3 is sealed here.
    fn sealed_again(&mut self, datagram: &[u8]) -> Bytes {
        let mut again = Vec::with_capacity(datagram.len());
        for record in head::records(datagram) {
            if Head::of(record) == (Head::Sealed { epoch_bits: 3 }) {
                let channel = self.open_channel();
                let sealed = channel.and_then(|channel| channel.of_library(record));
                again.extend(sealed.into_iter().flatten());
            } else {
                again.extend_from_slice(record);
            }
        }
        again.into()
    }

    /// Makes the channel, which has more memory than its secrets, when it is needed and there are keys.
    fn open_channel(&mut self) -> Option<&mut Channel> {
        if self.channel.is_none() {
            let channel = Channel::new(&mut self.secrets, self.records_per_key)?;
            self.channel = Some(Box::new(channel));
        }
        self.channel.as_deref_mut()
    }

    /// Completes the handshake, if the peer showed a certificate that is accepted or needs none.
    pub(super) fn connect(&mut self) -> Result<(), SessionError> {
        if let Some(error) = self.refused.take() {
            return self.refuse(error);
        }
        if self.trust.is_some() && self.peer.is_none() {
            return self.fail(SessionError::Unproven {
                reason: "it showed no certificate".to_owned(),
            });
        }
        let (own, of_peer) = (self.gate.said, self.gate.heard());
        let Some(channel) = self.open_channel() else {
            return self.fail(SessionError::Library {
                message: "it has no keys".to_owned(),
            });
        };
        channel.sending.begin(own);
        channel.receiving.begin(of_peer);
        self.state = State::Open { sends: true };
        self.handshake_bytes = 0;
        let peer = self.peer;
        self.outputs.push_back(Output::Connected { peer });
        Ok(())
    }

    fn set_timer(&mut self, timer: Instant) {
        let now = self.clock.time_of_library();
        self.overdue = timer <= now;
        self.timer = Some(if self.overdue { now + PAUSE } else { timer });
        // A server has the whole handshake when it is connected. A client repeats the end of it until it is acknowledged.
        let is_complete = matches!(self.role, Role::Server) || self.clock.expiry(timer).is_none();
        if self.is_connected() && is_complete {
            self.is_confirmed = true;
            self.release_library();
        }
    }

    /// Ends the library's part.
    pub(super) fn release_library(&mut self) {
        self.handshake = None;
        (self.timer, self.overdue) = (None, false);
        if let Some(channel) = &mut self.channel {
            channel.forget_library();
        }
    }

    fn next_event(&mut self, buffer: &mut [u8]) -> Result<Event, SessionError> {
        self.call(|library| match library.poll_output(buffer) {
            dimpl::Output::Packet(datagram) => Event::Datagram(datagram.len()),
            dimpl::Output::PeerCert(certificate) => Event::Certificate(certificate.len()),
            dimpl::Output::BufferTooSmall { needed } => Event::TooSmall(needed),
            dimpl::Output::Connected => Event::Connected,
            dimpl::Output::CloseNotify => Event::Closed,
            dimpl::Output::Timeout(timer) => Event::Timer(timer),
            _ => Event::Other,
        })
    }

    /// Sends a datagram of the library. Those that leave together become one, until a timer has expired: the path may
    /// not carry the larger one (RFC 5238, section 3.5).
    fn send(&mut self, datagram: Bytes) -> Result<(), SessionError> {
        if datagram.len() > self.max_datagram && !self.is_connected() {
            return self.fail(SessionError::PathTooNarrow {
                needed: datagram.len(),
                max_datagram: self.max_datagram,
            });
        }
        self.depart(datagram);
        Ok(())
    }

    /// Sends a datagram of a connected session. What does not fit is not sent: one of the ends repeats it. RFC 9147, 4.4:
    /// once something may have been lost because of its size, each record has a datagram of its own.
    pub(super) fn depart(&mut self, datagram: Bytes) {
        if datagram.len() > self.max_datagram {
            return;
        }
        let limit = self.max_datagram.min(HANDSHAKE_DATAGRAM);
        if !self.repeats
            && let Some(Output::Send(last)) = self.outputs.back_mut()
            && last.len() + datagram.len() <= limit
        {
            *last = [&last[..], &datagram].concat().into();
            return;
        }
        self.outputs.push_back(Output::Send(datagram));
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
                let error = SessionError::Certificate(Box::new(error));
                if matches!(self.role, Role::Client { .. }) {
                    // It sends nothing: what waits in the library shows its own certificate.
                    return self.fail(error);
                }
                // The library can tell the client only once it has the whole of its flight.
                self.refused = Some(error);
                Ok(())
            }
        }
    }

    /// Fails because of the client's certificate. The client is connected already, and learns from the end of the
    /// session that the server does not go on.
    pub(super) fn refuse(&mut self, error: SessionError) -> Result<(), SessionError> {
        let failed = self.fail(error);
        self.take_last();
        self.announce_end();
        failed
    }

    /// Takes the last datagrams of the library.
    fn take_last(&mut self) {
        let mut buffer = vec![0; self.max_datagram];
        while let Ok(event) = self.next_event(&mut buffer) {
            match event {
                Event::Datagram(length) if length <= self.max_datagram => {
                    let datagram = self.sealed_again(&buffer[..length]);
                    self.outputs.push_back(Output::Send(datagram));
                }
                Event::TooSmall(needed) => buffer = vec![0; needed],
                Event::Timer(_) => break,
                _ => {}
            }
        }
        self.release_library();
    }

    pub(super) fn fail_with<T>(&mut self, error: &dimpl::Error) -> Result<T, SessionError> {
        self.fail_aloud(reason::of(error, self.handshake_timeout))
    }

    /// Fails, and tells the peer why if the handshake has no keys yet, or if the library does.
    pub(super) fn fail_aloud<T>(&mut self, error: SessionError) -> Result<T, SessionError> {
        let alert = match error {
            SessionError::OlderVersion => Some(Alert::PROTOCOL_VERSION),
            SessionError::NothingInCommon => Some(Alert::HANDSHAKE_FAILURE),
            _ => None,
        };
        if let Some(alert) = alert {
            let datagram = Bytes::copy_from_slice(&alert.in_the_clear());
            self.outputs.push_back(Output::Send(datagram));
        }
        let has_alert = error == SessionError::NoCertificate;
        let failed = self.fail(error);
        if has_alert {
            self.take_last();
        }
        failed
    }

    /// Fails. A session that has failed keeps its first error.
    pub(super) fn fail<T>(&mut self, error: SessionError) -> Result<T, SessionError> {
        if let State::Failed(first) = &self.state {
            return Err(first.clone());
        }
        self.state = State::Failed(error.clone());
        Err(error)
    }
}
