//! Datagrams that are sent again by an encrypted connection (`docs/resend.md`).
//!
//! Without encryption an option of DCCP says which datagram a copy is. Options are not authenticated. So with
//! encryption the number of the first packet stands inside the record, in front of the data, and the data is sealed
//! anew for each copy: the peer's protection against replays would refuse a record that came twice. Each end chooses the
//! tag that marks such records of its peer, and announces it inside the session. Nobody on the path can therefore make
//! an end take data for a number, or a number for data. Neither can somebody whose data an application passes on: data
//! that would pass for an announcement is escaped.

use bytes::Bytes;
use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::connection::parts::close_code::CloseCode;
use crate::marks::Agreement;
use crate::part::Part;

/// The bytes of a tag.
pub(crate) const TAG: usize = 8;

/// The bytes in front of the data of a datagram that may be sent again or is a part of a message: tag, what it is, number.
/// A part has its [place](Part::bytes) behind that.
pub(crate) const FRAME: usize = TAG + 1 + NUMBER;

/// What a datagram is: a copy, a part of a message, or both.
const IS_COPY: u8 = 1;
const IS_PART: u8 = 2;

const NUMBER: usize = 6;

/// The beginning of an announcement.
const MAGIC: [u8; 16] = [
    0xE7, 0x2B, 0x91, 0x5C, 0x0D, 0xF4, 0x63, 0xA8, 0x1E, 0xB5, 0x7A, 0xC9, 0x34, 0x86, 0xDF, 0x02,
];

/// What is put in front of data that begins like an announcement or like this, and removed by the peer.
const ESCAPE: [u8; 16] = [
    0x95, 0x0E, 0xC4, 0x3B, 0xF8, 0x61, 0x17, 0xDA, 0x70, 0x2C, 0xBF, 0x46, 0xE3, 0x09, 0x58, 0xA1,
];

/// The beginning of what an application says as it closes (`docs/close.md`).
const CLOSE_MAGIC: [u8; 16] = [
    0x3D, 0xA0, 0x58, 0xE6, 0x9B, 0x14, 0xCF, 0x72, 0x86, 0x0B, 0xD3, 0x49, 0xFE, 0x25, 0x91, 0x6C,
];

/// What an announcement says besides the tag: that the peer's has arrived, and that its sender takes copies, or parts.
const HEARD: u8 = 1;
const TAKES_COPIES: u8 = 2;
const TAKES_PARTS: u8 = 4;

/// The bytes of an announcement: magic, tag, and what it says.
const ANNOUNCEMENT: usize = MAGIC.len() + TAG + 1;

/// The number of announcements that are sent without an answer.
const ATTEMPTS: u8 = 5;

/// The time to the second announcement. It doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(150);

/// What opened data turns out to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Opened {
    /// Data for the application.
    Plain(Bytes),
    /// Data that may be sent again, or is a part of a message: the number of the packet in which it was first sent, whether
    /// this is a copy, and its place.
    Numbered {
        data: Bytes,
        first: Seq,
        resent: bool,
        part: Option<Part>,
    },
    /// Nothing that concerns the application.
    Nothing,
}

/// Returns data of the application that cannot pass for an announcement, or for what is said at the close.
pub(crate) fn unmistakable(data: Bytes) -> Bytes {
    if [MAGIC, CLOSE_MAGIC, ESCAPE]
        .iter()
        .any(|begin| data.starts_with(begin))
    {
        return [&ESCAPE, &data[..]].concat().into();
    }
    data
}

/// Returns what the peer's application sent.
fn unescaped(mut data: Bytes) -> Bytes {
    if data.starts_with(&ESCAPE) {
        return data.split_off(ESCAPE.len());
    }
    data
}

fn is_announcement(data: &[u8]) -> bool {
    data.len() == ANNOUNCEMENT && data.starts_with(&MAGIC)
}

/// Returns what is sealed for an application that closes with these words, in at most `room` bytes.
pub(super) fn close_message(said: &CloseCode, room: usize) -> Option<Vec<u8>> {
    let said = said.bytes(room.checked_sub(CLOSE_MAGIC.len())?)?;
    Some([&CLOSE_MAGIC[..], &said].concat())
}

/// Reads it. Data of an application cannot look like it, so nobody on the path can make an end take data for it.
pub(super) fn close_code(data: &[u8]) -> Option<CloseCode> {
    CloseCode::read(data.strip_prefix(&CLOSE_MAGIC)?)
}

/// Reads data at an end that has not agreed on copies.
pub(super) fn read_without(data: Bytes) -> Opened {
    // What is said at the close has its place in an option. Somebody on the path has put it elsewhere.
    if is_announcement(&data) || data.starts_with(&CLOSE_MAGIC) {
        return Opened::Nothing;
    }
    Opened::Plain(unescaped(data))
}

/// What both ends of a session have agreed on.
#[derive(Debug)]
pub(super) struct Copies {
    /// The tag that we have chosen for the peer's datagrams.
    ours: [u8; TAG],
    /// The tag that the peer has chosen for ours, once it has announced it.
    theirs: Option<[u8; TAG]>,
    /// What we take, and what the peer does.
    takes: Agreement,
    peer_takes: Agreement,
    /// Whether the peer knows our tag.
    is_heard: bool,
    /// Whether an announcement of the peer waits for ours in answer.
    owes_answer: bool,
    /// When to announce again, how long to wait after that, and how often.
    due: Option<Instant>,
    wait: Duration,
    left: u8,
}

impl Copies {
    /// Begins to announce `tag`, which the peer cannot guess, and what is taken.
    pub(super) fn new(now: Instant, tag: [u8; TAG], takes: Agreement) -> Self {
        Self {
            ours: tag,
            theirs: None,
            takes,
            peer_takes: Agreement::NONE,
            is_heard: false,
            owes_answer: false,
            due: Some(now),
            wait: FIRST_WAIT,
            left: ATTEMPTS,
        }
    }

    /// Returns whether the peer's announcement has arrived.
    pub(super) fn is_ready(&self) -> bool {
        self.theirs.is_some()
    }

    /// Returns what both ends take.
    pub(super) fn agreed(&self) -> Agreement {
        Agreement {
            copies: self.takes.copies && self.peer_takes.copies,
            parts: self.takes.parts && self.peer_takes.parts,
        }
    }

    /// Returns what stands in front of the data, if the peer reads it.
    pub(super) fn frame(&self, first: Seq, is_copy: bool, is_part: bool) -> Option<[u8; FRAME]> {
        let mut frame = [0; FRAME];
        frame[..TAG].copy_from_slice(&self.theirs?);
        frame[TAG] = flag(IS_COPY, is_copy) | flag(IS_PART, is_part);
        let [_, _, number @ ..] = first.get().to_be_bytes();
        frame[TAG + 1..].copy_from_slice(&number);
        Some(frame)
    }

    /// Returns when to announce again.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let is_done = self.is_heard && self.is_ready();
        self.due.filter(|_| !is_done)
    }

    /// Returns the announcement that is due now, if there is one.
    pub(super) fn announce(&mut self, now: Instant) -> Option<[u8; ANNOUNCEMENT]> {
        let is_due = self.next_timeout().is_some_and(|at| at <= now);
        if is_due {
            self.left -= 1;
            self.due = (self.left > 0).then(|| now + self.wait);
            self.wait = self.wait * 2;
        }
        (std::mem::take(&mut self.owes_answer) || is_due).then(|| self.announcement())
    }

    fn announcement(&self) -> [u8; ANNOUNCEMENT] {
        let mut bytes = [0; ANNOUNCEMENT];
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        bytes[MAGIC.len()..ANNOUNCEMENT - 1].copy_from_slice(&self.ours);
        bytes[ANNOUNCEMENT - 1] = flag(HEARD, self.is_ready())
            | flag(TAKES_COPIES, self.takes.copies)
            | flag(TAKES_PARTS, self.takes.parts);
        bytes
    }

    /// Reads opened data.
    pub(super) fn read(&mut self, data: Bytes) -> Opened {
        if is_announcement(&data) {
            let (_, rest) = data.split_at(MAGIC.len());
            let tag = rest.first_chunk().copied();
            let says = data[ANNOUNCEMENT - 1];
            if self.theirs.is_none() {
                self.theirs = tag;
                self.peer_takes = Agreement {
                    copies: says & TAKES_COPIES != 0,
                    parts: says & TAKES_PARTS != 0,
                };
            }
            let hears_us = says & HEARD != 0;
            self.is_heard |= hears_us;
            // An answer is never answered.
            self.owes_answer |= !hears_us;
            return Opened::Nothing;
        }
        if !data.starts_with(&self.ours) || data.len() < FRAME {
            return read_without(data);
        }
        self.is_heard = true;
        let number = data[TAG + 1..FRAME].iter();
        let number = number.fold(0, |number, &byte| number << 8 | u64::from(byte));
        let (is, first) = (data[TAG], Seq::new(number));
        let (resent, mut data) = (is & IS_COPY != 0, data.slice(FRAME..));
        let mut part = None;
        if is & IS_PART != 0 {
            // Where none was agreed on, it is no data of its own.
            let Some(place) = data.first_chunk().filter(|_| self.takes.parts) else {
                return Opened::Nothing;
            };
            part = Some(Part::read(*place));
            data = data.slice(Part::LEN..);
        }
        Opened::Numbered {
            data,
            first,
            resent,
            part,
        }
    }
}

fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{
        ATTEMPTS, Agreement, Bytes, CLOSE_MAGIC, Copies, ESCAPE, Instant, MAGIC, Opened, Seq,
        unmistakable,
    };
    use fairwire_units::Duration;

    const BOTH: Agreement = Agreement {
        copies: true,
        parts: true,
    };

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn bytes(data: &[u8]) -> Bytes {
        Bytes::copy_from_slice(data)
    }

    /// Two ends that have heard each other.
    fn agreed() -> (Copies, Copies) {
        let mut ends = (
            Copies::new(at(0), [1; 8], BOTH),
            Copies::new(at(0), [2; 8], BOTH),
        );
        let (first, second) = (ends.0.announce(at(0)), ends.1.announce(at(0)));
        assert_eq!(ends.1.read(bytes(&first.unwrap())), Opened::Nothing);
        assert_eq!(ends.0.read(bytes(&second.unwrap())), Opened::Nothing);
        for (from, to) in [(0, 1), (1, 0)] {
            let both = [&mut ends.0, &mut ends.1];
            let answer = both[from].announce(at(1)).expect("an answer is owed");
            assert_eq!(both[to].read(bytes(&answer)), Opened::Nothing);
        }
        ends
    }

    /// The peer reads the number of a datagram, and whether it is a copy. Data without a frame is not touched.
    #[test]
    fn a_datagram_has_a_number() {
        let (here, mut there) = agreed();
        for (first, resent) in [(Seq::new(7), false), (Seq::new((1 << 48) - 1), true)] {
            let frame = here.frame(first, resent, false).expect("it takes copies");
            let framed = [&frame[..], b"data"].concat();
            let data = bytes(b"data");
            let expected = Opened::Numbered {
                data,
                first,
                resent,
                part: None,
            };
            assert_eq!(there.read(framed.into()), expected);
        }
        for plain in [&b"data"[..], &[1; 40], b""] {
            assert_eq!(there.read(bytes(plain)), Opened::Plain(bytes(plain)));
        }
    }

    /// Data that somebody else chose cannot set the tag of a peer, nor get lost, whatever it looks like.
    #[test]
    fn data_is_no_announcement() {
        let mut here = Copies::new(at(0), [1; 8], BOTH);
        let forged = Copies::new(at(0), [9; 8], BOTH).announcement();
        let escaped = [&ESCAPE[..], &forged].concat();
        for hostile in [&forged[..], &escaped, &ESCAPE, &MAGIC, &CLOSE_MAGIC] {
            let sent = unmistakable(bytes(hostile));
            assert_eq!(here.read(sent), Opened::Plain(bytes(hostile)));
        }
        assert!(!here.is_ready() && here.announce(at(0)).is_some());
        assert_eq!(unmistakable(bytes(b"data")), &b"data"[..]);
    }

    /// Announcements are repeated a few times with back-off until the peer has answered. Answers are not answered, so
    /// two ends fall silent.
    #[test]
    fn announcements_end() {
        let mut alone = Copies::new(at(0), [1; 8], BOTH);
        let mut times = Vec::new();
        while let Some(due) = alone.next_timeout() {
            assert!(alone.announce(due).is_some());
            times.push(due.saturating_since(Instant::START).as_millis());
        }
        assert_eq!(times, [0, 150, 450, 1_050, 2_250]);
        assert_eq!(times.len(), usize::from(ATTEMPTS));
        assert!(!alone.is_ready() && alone.frame(Seq::ZERO, false, false).is_none());
        let (mut here, mut there) = agreed();
        for end in [&mut here, &mut there] {
            assert_eq!((end.next_timeout(), end.announce(at(9_000))), (None, None));
            assert!(end.is_ready());
        }
    }

    /// A peer that announces late is heard, and answered once.
    #[test]
    fn a_late_announcement_counts() {
        let (mut here, mut there) = (
            Copies::new(at(0), [1; 8], BOTH),
            Copies::new(at(0), [2; 8], BOTH),
        );
        while let Some(due) = here.next_timeout() {
            here.announce(due);
        }
        let late = there.announce(at(5_000)).unwrap();
        assert_eq!(here.read(bytes(&late)), Opened::Nothing);
        assert!(here.is_ready());
        let answer = here.announce(at(5_000)).expect("it is owed");
        assert_eq!(there.read(bytes(&answer)), Opened::Nothing);
        assert!(there.is_ready() && there.next_timeout().is_none());
    }
}
