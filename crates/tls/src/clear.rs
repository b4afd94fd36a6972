//! The hello messages, which arrive in the clear, put together before the library sees them.
//!
//! Anybody who passed the handshake of DCCP can send parts of a hello in any number, order and size. The library keeps
//! some 10 kB for each part, however short. So parts are collected here, in as many bytes as the message has, and the
//! library gets each message in one piece.

use std::ops::Range;

use crate::head::{PLAIN_HEADER, Part};

/// The longest hello of a client, in bytes. Those of today's libraries have 200 to 2,000.
pub(crate) const MAX_CLIENT_HELLO: usize = 4_096;

/// The longest hello of a server, in bytes, with its request to try again. A client returns the cookie of that request,
/// and its own message must fit into the 12 records that the library can keep.
pub(crate) const MAX_SERVER_HELLO: usize = 2_048;

/// Each end sends at most two hellos (RFC 9147, section 5.1).
const HELLOS: u16 = 2;

/// The gaps that a message may have while its parts arrive.
const MAX_GAPS: usize = 16;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// The hellos of one peer.
#[derive(Debug)]
pub(crate) struct Clear {
    kind: u8,
    limit: usize,
    /// How many different hellos the library got.
    passed: u16,
    message: Option<Message>,
}

/// A hello of which parts are missing.
#[derive(Debug)]
struct Message {
    number: u16,
    body: Vec<u8>,
    gaps: Vec<Range<usize>>,
}

impl Clear {
    pub(crate) const fn of_client() -> Self {
        Self::new(CLIENT_HELLO, MAX_CLIENT_HELLO)
    }

    pub(crate) const fn of_server() -> Self {
        Self::new(SERVER_HELLO, MAX_SERVER_HELLO)
    }

    const fn new(kind: u8, limit: usize) -> Self {
        Self {
            kind,
            limit,
            passed: 0,
            message: None,
        }
    }

    /// Returns how many different hellos were complete, which is the number of the peer's next message.
    pub(crate) const fn passed(&self) -> u16 {
        self.passed
    }

    /// Takes a record in the clear. Returns a record with the whole message if this one completes it, or if it is a
    /// message that came before: the peer may not have received the answer.
    ///
    /// # Errors
    /// The length and the limit, if the message is too long.
    pub(crate) fn add(&mut self, record: &[u8]) -> Result<Option<Vec<u8>>, (usize, usize)> {
        let (header, content) = record.split_at(record.len().min(PLAIN_HEADER));
        let Some((part, body, _)) = Part::read(content) else {
            return Ok(None);
        };
        let is_next = part.number <= self.passed && part.number < HELLOS;
        if part.kind != self.kind || !is_next || body.is_empty() {
            return Ok(None);
        }
        if part.length > self.limit {
            return Err((part.length, self.limit));
        }
        let kind = self.kind;
        let Some(message) = self.message_of(&part) else {
            return Ok(None);
        };
        message.fill(part.offset, body);
        if !message.gaps.is_empty() {
            return Ok(None);
        }
        let whole = message.record(header, kind);
        self.message = None;
        self.passed = self.passed.max(part.number + 1);
        Ok(Some(whole))
    }

    /// Returns the message that a part belongs to, unless it is older than the one that is being collected or disagrees
    /// with it.
    fn message_of(&mut self, part: &Part) -> Option<&mut Message> {
        let number = part.number;
        if self.message.as_ref().is_none_or(|of| of.number < number) {
            self.message = Some(Message {
                number,
                body: vec![0; part.length],
                gaps: vec![Range {
                    start: 0,
                    end: part.length,
                }],
            });
        }
        let message = self.message.as_mut()?;
        (message.number == number && message.body.len() == part.length).then_some(message)
    }
}

impl Message {
    /// Writes a part. A part that would leave too many gaps is dropped; the peer sends it again.
    fn fill(&mut self, offset: usize, part: &[u8]) {
        let (start, end) = (offset, offset + part.len());
        let left = self.gaps.iter().flat_map(|gap| {
            let before = gap.start..gap.end.min(start);
            let after = gap.start.max(end)..gap.end;
            [before, after].into_iter().filter(|gap| !gap.is_empty())
        });
        let left: Vec<Range<usize>> = left.collect();
        if left.len() <= MAX_GAPS {
            self.gaps = left;
            self.body[start..end].copy_from_slice(part);
        }
    }

    /// Returns a record with the whole message, with the type, version and number of the record `header`.
    fn record(&self, header: &[u8], kind: u8) -> Vec<u8> {
        let whole = Part {
            kind,
            length: self.body.len(),
            number: self.number,
            offset: 0,
        };
        let message = whole.write(&self.body);
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
        let header = &header[..PLAIN_HEADER - 2];
        [header, &length.to_be_bytes(), &message].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::Clear;
    use crate::head::Part;

    /// Returns a record with a part of a client's hello whose bytes count up.
    fn part(number: u16, length: usize, offset: usize, bytes: usize) -> Vec<u8> {
        let all: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        let part = Part {
            kind: 1,
            length,
            number,
            offset,
        };
        let message = part.write(&all[offset..offset + bytes]);
        let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9];
        record.extend_from_slice(&u16::try_from(message.len()).unwrap().to_be_bytes());
        record.extend_from_slice(&message);
        record
    }

    /// Parts in any order, with copies and overlaps, become one message; its copies pass again.
    #[test]
    fn parts_become_a_message() {
        let mut clear = Clear::of_client();
        for (offset, bytes) in [(200, 100), (0, 150), (0, 150), (100, 60), (290, 10)] {
            assert_eq!(clear.add(&part(0, 300, offset, bytes)), Ok(None));
        }
        assert_eq!(clear.passed(), 0);
        assert_eq!(
            clear.add(&part(0, 300, 160, 40)),
            Ok(Some(part(0, 300, 0, 300)))
        );
        assert_eq!(clear.passed(), 1);
        assert_eq!(
            clear.add(&part(0, 300, 0, 300)),
            Ok(Some(part(0, 300, 0, 300)))
        );
        assert_eq!(clear.add(&part(1, 20, 0, 20)), Ok(Some(part(1, 20, 0, 20))));
        assert_eq!(clear.passed(), 2);
    }

    /// Parts that no hello has use no memory: empty ones, those of later messages, and those beyond the limit.
    #[test]
    fn what_no_hello_has_is_not_kept() {
        let mut clear = Clear::of_client();
        assert_eq!(clear.add(&part(0, 300, 0, 0)), Ok(None));
        assert_eq!(clear.add(&part(1, 300, 0, 10)), Ok(None));
        assert!(clear.message.is_none());
        assert_eq!(clear.add(&part(0, 4_096, 0, 10)), Ok(None));
        assert_eq!(clear.add(&part(0, 4_097, 0, 10)), Err((4_097, 4_096)));
        for length in 0..40 {
            assert_eq!(clear.add(&part(0, 300, 0, 30)[..length]), Ok(None));
        }
    }

    /// A peer that leaves a gap after each byte does not make the list of gaps grow.
    #[test]
    fn gaps_are_bounded() {
        let mut clear = Clear::of_client();
        for offset in (1..2_000).step_by(2) {
            assert_eq!(clear.add(&part(0, 2_000, offset, 1)), Ok(None));
        }
        let message = clear.message.as_ref().expect("parts are missing");
        assert_eq!(message.gaps.len(), super::MAX_GAPS);
    }
}
