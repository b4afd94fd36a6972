//! What the protected records of a peer's handshake may have, checked between their decryption and the library.
//!
//! The library keeps each record of a handshake until the messages before it are complete, in some 10 kB however short
//! it is, and it gives up the session when too many wait. A peer that numbers its messages wrongly, cuts them into
//! bytes or leaves one out would use that memory or end the session. So the library gets messages in order and in few
//! parts. What is refused looks to it like a record that cannot be authenticated: it is dropped and not acknowledged,
//! and an honest peer sends it again.

use crate::head::{ACK, ALERT, HANDSHAKE, Part};

/// Records that wait inside the library, each in some 10 kB. It gets messages in order, so these are the parts of one.
pub(crate) const QUEUED_RECEIVED: usize = 16;

/// The longest message of a handshake, in bytes: a chain of several certificates.
const MAX_MESSAGE: usize = 12 << 10;

/// The most bytes of the records that one message comes in, with their headers of parts and their padding (RFC 9147,
/// section 4). The library keeps them until the message is complete.
const MAX_PADDED: usize = MAX_MESSAGE + (1 << 10);

/// The most messages of a record that the library reads.
const MAX_MESSAGES: usize = 8;

/// The shortest parts that a message is cut into on narrow paths, in bytes. The first and the last may be shorter.
const SHORT_PART: usize = 128;

/// How far ahead a message of a flight may be. A flight has at most five.
const AHEAD: u16 = 5;

/// Types of messages (RFC 8446, section 4).
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_REQUEST: u8 = 13;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;

/// The protected messages that a peer sends during the handshake.
pub(crate) const OF_SERVER: &[u8] = &[
    ENCRYPTED_EXTENSIONS,
    CERTIFICATE_REQUEST,
    CERTIFICATE,
    CERTIFICATE_VERIFY,
    FINISHED,
];
pub(crate) const OF_CLIENT: &[u8] = &[CERTIFICATE, CERTIFICATE_VERIFY, FINISHED];
pub(crate) const OF_ANONYMOUS_CLIENT: &[u8] = &[FINISHED];

/// What happens to a record.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Nothing was decrypted: no key, a copy, or no authentication.
    #[default]
    Unread,
    Pass,
    Drop,
    /// Parts before this one are missing: the number of its message and its place.
    Later(u16, usize),
    /// The handshake has no message of this type.
    Misplaced(u8),
    /// A message is too long.
    TooLong {
        length: usize,
        limit: usize,
    },
    /// A message of this length has more parts than the library holds.
    TooManyParts {
        length: usize,
        limit: usize,
    },
}

/// How far the messages of a handshake have come, and what was seen of the records of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    /// Records that were authentic, in the last call.
    pub(crate) opened: u64,
    /// Records that were not, in the last call.
    pub(crate) forged: u64,
    /// What happened to the last record of the last call.
    pub(crate) verdict: Verdict,
    /// The library has taken a hello, so that it can have keys.
    pub(crate) is_keyed: bool,
    /// The number of the next message of this end.
    pub(crate) said: u16,
    allowed: &'static [u8],
    progress: Progress,
}

/// The place in the stream of a peer's messages that was reached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Progress {
    /// The number of the message that is next.
    number: u16,
    /// Type and length of that message, once a part of it came.
    message: Option<(u8, usize)>,
    /// How many bytes of it came, and in how many parts.
    bytes: usize,
    parts: usize,
    /// How many bytes the records of those parts had.
    padded: usize,
    /// The longest message so far.
    longest: usize,
    has_begun: bool,
    /// The peer has asked for a certificate.
    has_asked: bool,
    is_finished: bool,
}

impl Gate {
    /// A gate for a peer that sends these messages.
    pub(crate) const fn new(allowed: &'static [u8]) -> Self {
        Self {
            opened: 0,
            forged: 0,
            verdict: Verdict::Unread,
            is_keyed: false,
            said: 0,
            allowed,
            progress: Progress {
                number: 0,
                message: None,
                bytes: 0,
                parts: 0,
                padded: 0,
                longest: 0,
                has_begun: false,
                has_asked: false,
                is_finished: false,
            },
        }
    }

    /// Forgets what was seen of records before, and sets the number of the first protected message unless it came.
    pub(crate) fn expect(&mut self, first: u16) {
        (self.opened, self.forged, self.verdict) = (0, 0, Verdict::Unread);
        if !self.progress.has_begun {
            self.progress.number = first;
        }
    }

    /// Returns whether a part is next that the library can use.
    pub(crate) fn is_ready_for(&self, number: u16, offset: usize) -> bool {
        (number, offset) <= (self.progress.number, self.progress.bytes)
    }

    /// Returns the number of the peer's next message.
    pub(crate) const fn heard(&self) -> u16 {
        self.progress.number
    }

    /// Returns whether the peer has asked for a certificate.
    pub(crate) const fn has_asked(&self) -> bool {
        self.progress.has_asked
    }

    /// Looks at a record of this end before it is protected: content and type.
    pub(crate) fn note(&mut self, inner: &[u8]) {
        if let Some((&HANDSHAKE, content)) = inner.split_last()
            && let Some((part, ..)) = Part::read(content)
        {
            self.said = self.said.max(part.number.saturating_add(1));
        }
    }

    /// Returns the length of the longest message so far.
    pub(crate) const fn longest(&self) -> usize {
        self.progress.longest
    }

    /// Looks at a record that was decrypted: content, type, zeros (RFC 9147, section 4). Returns whether the library
    /// gets it.
    pub(crate) fn admit(&mut self, inner: &[u8]) -> bool {
        self.opened += 1;
        self.verdict = self.look_at(inner);
        self.verdict == Verdict::Pass
    }

    fn look_at(&mut self, inner: &[u8]) -> Verdict {
        let Some(end) = inner.iter().rposition(|byte| *byte != 0) else {
            return Verdict::Drop;
        };
        let length = inner.len();
        match inner[end] {
            ALERT | ACK => Verdict::Pass,
            HANDSHAKE => self.messages(&inner[..end], length),
            _ => Verdict::Drop,
        }
    }

    /// Takes all messages of a record, or none. `length` is that of the record with its padding.
    fn messages(&mut self, mut content: &[u8], length: usize) -> Verdict {
        let mut place = self.progress;
        let (mut old, mut new) = (0, 0);
        while !content.is_empty() {
            let Some((part, body, after)) = Part::read(content) else {
                return Verdict::Drop;
            };
            match place.take(self.allowed, &part, body.len()) {
                Ok(true) => new += 1,
                Ok(false) => old += 1,
                Err(verdict) => return verdict,
            }
            content = after;
        }
        // Beside a message that came before, the library loses a new one.
        let is_mixed = old > 0 && new > 0;
        if is_mixed || !(1..=MAX_MESSAGES).contains(&(old + new)) {
            return Verdict::Drop;
        }
        // What is kept with this record: the ones before it, unless their message is complete and it has the next one.
        let padded = self.progress.padded + length;
        if new > 0 && !self.progress.is_finished && padded > MAX_PADDED {
            return Verdict::TooLong {
                length: padded,
                limit: MAX_PADDED,
            };
        }
        if new > 0 {
            place.padded = match place.message {
                None => 0,
                Some(_) if place.number == self.progress.number => padded,
                Some(_) => length,
            };
        }
        self.progress = place;
        Verdict::Pass
    }
}

impl Progress {
    /// Takes a part of a message. Returns whether it is new.
    fn take(&mut self, allowed: &[u8], part: &Part, bytes: usize) -> Result<bool, Verdict> {
        if part.number < self.number {
            // The library takes it if it could not read the one that came first, which may have been shorter.
            self.longest = self.longest.max(part.length);
            let is_possible = part.length <= MAX_MESSAGE;
            return if is_possible {
                Ok(false)
            } else {
                Err(Verdict::Drop)
            };
        }
        let is_next = part.number == self.number;
        if self.is_finished {
            return Err(Verdict::Drop);
        }
        let end = part.offset + bytes;
        if !allowed.contains(&part.kind) {
            return Err(Verdict::Misplaced(part.kind));
        }
        if part.length > MAX_MESSAGE {
            return Err(Verdict::TooLong {
                length: part.length,
                limit: MAX_MESSAGE,
            });
        }
        if bytes == 0 && part.length > 0 || part.number > self.number.saturating_add(AHEAD) {
            return Err(Verdict::Drop);
        }
        if !is_next || part.offset > self.bytes {
            return Err(Verdict::Later(part.number, part.offset));
        }
        let message = (part.kind, part.length);
        let agrees = *self.message.get_or_insert(message) == message;
        let is_known = end <= self.bytes && part.length > 0;
        if !agrees || is_known || self.parts > part.length / SHORT_PART + 1 {
            return Err(Verdict::Drop);
        }
        if self.parts == QUEUED_RECEIVED {
            return Err(Verdict::TooManyParts {
                length: part.length,
                limit: QUEUED_RECEIVED,
            });
        }
        self.has_begun = true;
        self.bytes = end;
        self.parts += 1;
        self.longest = self.longest.max(part.length);
        if end == part.length {
            self.complete();
            self.has_asked |= part.kind == CERTIFICATE_REQUEST;
            self.is_finished = part.kind == FINISHED;
        }
        Ok(true)
    }

    fn complete(&mut self) {
        self.number = self.number.saturating_add(1);
        (self.message, self.bytes, self.parts) = (None, 0, 0);
    }
}

#[cfg(test)]
mod tests;
