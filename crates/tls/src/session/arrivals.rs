//! What arrives: which records of a datagram the library gets, and when.
//!
//! The library gets one record at a time, and what it has to say is taken from it after each. If it got several at once,
//! it would keep them together in the order of their first message. When messages that were lost come again, in other
//! company, one of them may then hide behind a later message forever.

use bytes::Bytes;
use dimpl::ProtocolVersion;
use fairwire_units::{Duration, Instant};

use super::{Role, Session, State};
use crate::error::SessionError;
use crate::gate::Verdict;
use crate::head::{self, ALERT, HANDSHAKE, Head, PLAIN_HEADER, Part};

/// The most bytes of a handshake from one peer, with all that it sends again. Its longest honest part is a certificate
/// of some thousand bytes. Each record counts [`RECORD_COST`] bytes more.
pub(super) const MAX_HANDSHAKE: usize = 256 << 10;

/// What a record of a handshake costs besides its bytes: calls of the library.
pub(super) const RECORD_COST: usize = 64;

/// The most records with data that may overtake the end of the handshake.
const MAX_EARLY: usize = 32;

/// The most records that wait for messages before them, and their bytes.
const MAX_WAITING: usize = 16;
const MAX_WAITING_BYTES: usize = 24 << 10;

/// The most records of a datagram that are looked at: before the handshake is complete, and then. Honest peers put some
/// messages of a handshake into one.
const MAX_HANDSHAKE_RECORDS: usize = 12;
const MAX_RECORDS: usize = 32;

/// How many records of a datagram are tried that cannot be read: each costs a decryption.
const MAX_UNREAD: usize = 4;

/// For how long after the peer has sealed data its handshake may still arrive, because a packet was late.
pub(super) const LATE: Duration = Duration::from_secs(2);

/// The length of an alert's record in the clear.
const PLAIN_ALERT: usize = PLAIN_HEADER + 2;

/// What became of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Taken {
    /// It was read, or is one that nobody has to read.
    Read,
    /// It was not read.
    Unread,
    /// It failed authentication.
    Forged,
}

impl From<bool> for Taken {
    fn from(is_read: bool) -> Self {
        if is_read { Self::Read } else { Self::Unread }
    }
}

impl Session {
    /// Decides whether a datagram that arrives during the handshake is worth a look at its records.
    pub(super) fn is_dtls(&mut self, datagram: &[u8]) -> Result<bool, SessionError> {
        let is_server = matches!(self.role, Role::Server);
        match Head::of(datagram) {
            Head::Plain {
                hello_verify_request: true,
            } if !is_server && !self.spoke => self.fail(SessionError::OlderVersion),
            Head::Plain { .. } => {
                self.spoke = true;
                Ok(true)
            }
            // A server's protected messages may overtake its hello, but a client's are answers to the server.
            Head::Sealed { .. } if self.spoke || !is_server => Ok(true),
            Head::Foreign if self.spoke => Ok(false),
            Head::Foreign | Head::Sealed { .. } => self.fail(SessionError::NotDtls {
                length: datagram.len(),
                first: datagram.first().copied(),
            }),
        }
    }

    /// Takes the records of a datagram.
    pub(super) fn take_records(
        &mut self,
        now: Instant,
        datagram: &mut [u8],
    ) -> Result<(), SessionError> {
        let max = if self.is_connected() {
            MAX_RECORDS
        } else {
            MAX_HANDSHAKE_RECORDS
        };
        let mut unread = 0;
        let mut start = 0;
        for _ in 0..max {
            let Some(record) = head::first_record(&mut datagram[start..]) else {
                break;
            };
            let is_open = self.is_connected();
            let taken = self.take_record(now, record, start)?;
            start += record.len();
            if taken != Taken::Read {
                self.miss(now, record, taken);
                unread += 1;
                // During the handshake nothing honest follows a record that is not.
                if !is_open || unread == MAX_UNREAD {
                    break;
                }
            }
            self.take_later(now)?;
        }
        for record in head::records(&datagram[start..]) {
            self.miss(now, record, Taken::Unread);
        }
        if let Some(error) = self.refused.take() {
            return self.fail(error);
        }
        if self.is_connected() {
            self.later.clear();
            self.early = Vec::new();
            self.answer()?;
        }
        Ok(())
    }

    /// Notes that a record was not read, unless it cannot have carried data.
    ///
    /// Its head is not authenticated. While the peer may repeat its handshake, a head of those records is believed;
    /// afterwards somebody else can have made it of that of data.
    fn miss(&mut self, now: Instant, record: &[u8], taken: Taken) {
        let may_repeat = self.repeats_until.is_none_or(|until| now <= until);
        self.missed |= match (&self.state, Head::of(record)) {
            (State::Handshake, head) => head == Head::Sealed { epoch_bits: 3 },
            (_, Head::Plain { .. }) => !may_repeat,
            // RFC 9147, section 6.1: epoch 2 protects the handshake, and epoch 6 data.
            (_, Head::Sealed { epoch_bits: 2 }) => {
                self.has_newer_keys || !may_repeat || taken == Taken::Forged
            }
            (_, Head::Sealed { .. } | Head::Foreign) => true,
        };
    }

    /// Takes a record, which begins at `start` of its datagram.
    fn take_record(
        &mut self,
        now: Instant,
        record: &mut [u8],
        start: usize,
    ) -> Result<Taken, SessionError> {
        let head = Head::of(record);
        match (&self.state, head) {
            (State::Failed(error), _) => return Err(error.clone()),
            // Nothing in the clear is believed once there are keys.
            (State::Ended, _) | (_, Head::Foreign) | (State::Open { .. }, Head::Plain { .. }) => {
                return Ok(Taken::Unread);
            }
            (State::Open { .. }, Head::Sealed { .. }) => {
                return self.take_protected(now, record, start);
            }
            (State::Handshake, Head::Sealed { epoch_bits: 3 }) => {
                return Ok(self.take_early(record, start).into());
            }
            (State::Handshake, _) => {}
        }
        self.handshake_bytes = self
            .handshake_bytes
            .saturating_add(record.len() + RECORD_COST);
        if self.handshake_bytes > MAX_HANDSHAKE {
            return self.fail(SessionError::HandshakeTooLarge {
                limit: MAX_HANDSHAKE,
            });
        }
        let is_read = match head {
            Head::Sealed { epoch_bits: 2 } => self.take_sealed(now, record)?,
            Head::Sealed { .. } | Head::Foreign => false,
            Head::Plain { .. } => self.take_plain(now, record)?,
        };
        Ok(is_read.into())
    }

    /// Takes a record in the clear: a hello, or an alert.
    fn take_plain(&mut self, now: Instant, record: &[u8]) -> Result<bool, SessionError> {
        if record.first() == Some(&ALERT) && record.len() == PLAIN_ALERT {
            return self.give(now, record).map(|_| true);
        }
        if record.first() != Some(&HANDSHAKE) {
            return Ok(false);
        }
        // A peer that says the same again may not have received the answer.
        let part = record.get(PLAIN_HEADER..).and_then(Part::read);
        let place = part.map(|(part, ..)| (part.number, part.offset));
        self.repeats |= place.is_some() && place <= self.heard;
        self.heard = self.heard.max(place);
        match self.clear.add(record) {
            Ok(Some(hello)) => self.give(now, &hello).map(|_| true),
            Ok(None) => Ok(place.is_some()),
            Err((length, limit)) => self.fail(SessionError::MessageTooLarge { length, limit }),
        }
    }

    /// Leaves a record that overtook the end of the handshake for the caller to keep, unless it is of no use. Such records
    /// do not count as bytes of the handshake. Returns whether the next record is worth a look.
    fn take_early(&mut self, record: &[u8], start: usize) -> bool {
        if self.early.len() == MAX_EARLY || self.clear.passed() == 0 {
            self.missed = true;
            return true;
        }
        // A server has the keys before a client can use them. A client has them only when its handshake is complete.
        if matches!(self.role, Role::Server) {
            let Some(number) = self.look_early(record) else {
                return false;
            };
            // RFC 9147, 4.5.1. A copy of what the caller has kept takes no place from others.
            if self.early.contains(&number) {
                return true;
            }
            // What lies between would be kept, too, and need not be authentic.
            if self
                .early_in
                .as_ref()
                .is_some_and(|early| early.end != start)
            {
                self.missed = true;
                return true;
            }
            self.early.push(number);
        }
        let end = start + record.len();
        self.early_in.get_or_insert(start..end).end = end;
        true
    }

    /// Takes a protected record of the handshake. Returns whether it was authentic.
    fn take_sealed(&mut self, now: Instant, record: &[u8]) -> Result<bool, SessionError> {
        // The library would keep what a client protects before it has keys.
        if matches!(self.role, Role::Server) && !self.gate.is_keyed {
            return Ok(false);
        }
        let verdict = self.give(now, record)?;
        self.follow(verdict, record)
    }

    /// Does what the verdict on a protected record of the handshake asks for. Returns whether it was authentic.
    fn follow(&mut self, verdict: Verdict, record: &[u8]) -> Result<bool, SessionError> {
        match verdict {
            Verdict::Unread => Ok(false),
            Verdict::Later(number, offset) => {
                if self.later.len() < MAX_WAITING
                    && self.waiting() + record.len() <= MAX_WAITING_BYTES
                {
                    let record = Bytes::copy_from_slice(record);
                    self.later.insert((number, offset), record);
                }
                Ok(true)
            }
            Verdict::Misplaced(kind) => self.fail(SessionError::Protocol {
                reason: format!("its handshake has no message of type {kind} here"),
            }),
            Verdict::TooLong { length, limit } => {
                self.fail(SessionError::MessageTooLarge { length, limit })
            }
            Verdict::TooManyParts { length, limit } => {
                self.fail(SessionError::TooManyParts { length, limit })
            }
            Verdict::Pass | Verdict::Drop => Ok(true),
        }
    }

    /// Returns the bytes of the records that wait.
    fn waiting(&self) -> usize {
        self.later.values().map(Bytes::len).sum()
    }

    /// Takes records that waited for others, as far as those have come.
    fn take_later(&mut self, now: Instant) -> Result<(), SessionError> {
        while self.state == State::Handshake
            && let Some(entry) = self.later.first_entry()
            && self.gate.is_ready_for(entry.key().0, entry.key().1)
        {
            let record = entry.remove();
            let verdict = self.give(now, &record)?;
            self.follow(verdict, &record)?;
        }
        Ok(())
    }

    /// Gives a record to the library, and takes from it what follows.
    fn give(&mut self, now: Instant, record: &[u8]) -> Result<Verdict, SessionError> {
        if self.told != Some(now) {
            self.handle_timeout(now)?;
        }
        self.gate.expect(self.clear.passed());
        self.longest_record = self.longest_record.max(record.len());
        let (result, version) = self.call(|library| {
            let result = library.handle_packet(record);
            (result, library.protocol_version())
        })?;
        let verdict = self.gate.verdict;
        self.gate.is_keyed |= version.is_some();
        self.stats.opened = self.stats.opened.saturating_add(self.gate.opened);
        self.stats.forged = self.stats.forged.saturating_add(self.gate.forged);
        if version == Some(ProtocolVersion::DTLS1_2) {
            return self.fail_aloud(SessionError::OlderVersion);
        }
        result.or_else(|error| self.fail_with(&error))?;
        self.drain()?;
        if self.overdue {
            self.handle_timeout(now)?;
        }
        Ok(verdict)
    }

    /// Tells the library what a record had that was opened here.
    pub(super) fn tell_library(
        &mut self,
        now: Instant,
        kind: u8,
        content: &[u8],
    ) -> Result<(), SessionError> {
        let channel = self.channel.as_mut();
        let Some(record) = channel.and_then(|channel| channel.for_library(kind, content)) else {
            return Ok(());
        };
        let counted = self.stats.opened;
        self.give(now, &record)?;
        self.stats.opened = counted;
        Ok(())
    }
}
