//! What the first bytes of records say, before any of it is believed (RFC 9147, section 4).

/// The header of a record that is not protected: type, version, epoch, sequence number, length.
pub(crate) const PLAIN_HEADER: usize = 13;
/// The shortest fragment of a protected record: its type and its tag.
const SHORTEST_SEALED: usize = 17;
/// The longest one: its content, its type with padding, its tag (RFC 8446, section 5.4).
const LONGEST_SEALED: usize = LONGEST_CONTENT + SHORTEST_SEALED;
/// The longest content of a record (RFC 8446, section 5.1).
pub(crate) const LONGEST_CONTENT: usize = 1 << 14;

/// Content types (RFC 9147, section 4.1).
pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const DATA: u8 = 23;
pub(crate) const ACK: u8 = 26;
/// The content type of messages that check a path (RFC 9853, section 4).
pub(crate) const RETURN_ROUTABILITY_CHECK: u8 = 27;
/// Flags of a protected record (RFC 9147, section 4).
const HAS_LENGTH: u8 = 0b0100;
pub(crate) const HAS_LONG_NUMBER: u8 = 0b1000;
pub(crate) const EPOCH_BITS: u8 = 0b11;

/// The message with which a server of DTLS 1.2 sends its cookie.
const HELLO_VERIFY_REQUEST: u8 = 3;

/// What kind of record a datagram begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Head {
    /// A record that is not protected.
    Plain {
        /// It has the message with which a server of DTLS 1.2 sends its cookie.
        hello_verify_request: bool,
    },
    /// A protected record.
    Sealed {
        /// The two lowest bits of its epoch.
        epoch_bits: u8,
    },
    /// No record of DTLS.
    Foreign,
}

impl Head {
    pub(crate) fn of(datagram: &[u8]) -> Self {
        match datagram {
            [
                kind @ (ALERT | HANDSHAKE | ACK),
                0xfe,
                0xfd | 0xff,
                rest @ ..,
            ] if rest.len() >= PLAIN_HEADER - 3 => {
                let hello_verify_request =
                    *kind == HANDSHAKE && datagram.get(PLAIN_HEADER) == Some(&HELLO_VERIFY_REQUEST);
                Self::Plain {
                    hello_verify_request,
                }
            }
            // Flags: no connection identifier, which nobody here negotiates.
            &[flags @ 0b0010_0000..=0b0010_1111, ..] => {
                let header = sealed_header(flags);
                let record = record_length(datagram).min(datagram.len());
                let has_length = flags & HAS_LENGTH != 0;
                let lengths = header + SHORTEST_SEALED..=header + LONGEST_SEALED;
                if !lengths.contains(&record) || has_length && record < record_length(datagram) {
                    return Self::Foreign;
                }
                Self::Sealed {
                    epoch_bits: flags & EPOCH_BITS,
                }
            }
            _ => Self::Foreign,
        }
    }
}

/// The header of a handshake message, or of a part of it (RFC 9147, section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Part {
    /// The type of the message.
    pub(crate) kind: u8,
    /// The length of the whole message.
    pub(crate) length: usize,
    /// The number of the message.
    pub(crate) number: u16,
    /// Where in the message the part begins.
    pub(crate) offset: usize,
}

impl Part {
    pub(crate) const HEADER: usize = 12;

    /// Reads a part: its header, its bytes, and what follows. A part that is cut off or ends beyond its message is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8], &[u8])> {
        let (&[kind, l0, l1, l2, n0, n1, o0, o1, o2, p0, p1, p2], rest) =
            bytes.split_first_chunk::<{ Self::HEADER }>()?;
        let [length, offset, own] =
            [[l0, l1, l2], [o0, o1, o2], [p0, p1, p2]].map(|[high, mid, low]| {
                usize::from(high) << 16 | usize::from(mid) << 8 | usize::from(low)
            });
        let part = Self {
            kind,
            length,
            number: u16::from_be_bytes([n0, n1]),
            offset,
        };
        let (body, after) = rest.split_at_checked(own)?;
        (offset + own <= length).then_some((part, body, after))
    }

    /// Returns the part with these bytes.
    pub(crate) fn write(self, body: &[u8]) -> Vec<u8> {
        let mut written = vec![0; Self::HEADER];
        written.extend_from_slice(body);
        self.write_header(&mut written);
        written
    }

    /// Writes the header of a part over the one at the start of `written`, which has all its bytes.
    pub(crate) fn write_header(self, written: &mut [u8]) {
        let three = |number: usize| {
            let [.., high, mid, low] = number.to_be_bytes();
            [high, mid, low]
        };
        let own = three(written.len().saturating_sub(Self::HEADER));
        let (length, offset) = (three(self.length), three(self.offset));
        let parts = [
            &[self.kind],
            &length[..],
            &self.number.to_be_bytes(),
            &offset,
            &own,
        ];
        for (to, from) in written.iter_mut().zip(parts.concat()) {
            *to = from;
        }
    }
}

/// Returns the first record of a datagram, if that is not empty.
pub(crate) fn first_record(datagram: &mut [u8]) -> Option<&mut [u8]> {
    let length = record_length(datagram).min(datagram.len());
    let record = datagram.get_mut(..length)?;
    (!record.is_empty()).then_some(record)
}

/// Returns the records of a datagram, in order (RFC 9147, section 4.3). What is cut off or has no length is the last one.
pub(crate) fn records(datagram: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (record, after) = rest.split_at(record_length(rest).min(rest.len()));
        rest = after;
        Some(record)
    })
}

/// Returns the length of the record at the start of `bytes` with its header, or one beyond their end.
fn record_length(bytes: &[u8]) -> usize {
    let length_field = match bytes {
        [flags @ 0b0010_0000..=0b0010_1111, ..] if flags & HAS_LENGTH != 0 => {
            sealed_header(*flags) - 2
        }
        [0b0010_0000..=0b0011_1111, ..] => return usize::MAX,
        _ => PLAIN_HEADER - 2,
    };
    match bytes.get(length_field..length_field + 2) {
        Some(&[high, low]) => length_field + 2 + usize::from(u16::from_be_bytes([high, low])),
        _ => usize::MAX,
    }
}

/// Returns the length of the header of a protected record without a connection identifier: flags, a sequence number of
/// one or two bytes, perhaps a length.
pub(crate) const fn sealed_header(flags: u8) -> usize {
    let number = if flags & HAS_LONG_NUMBER == 0 { 1 } else { 2 };
    let length = if flags & HAS_LENGTH == 0 { 0 } else { 2 };
    1 + number + length
}

/// Returns a part of a message with so many bytes.
#[cfg(test)]
pub(crate) fn part(kind: u8, number: u16, length: usize, offset: usize, bytes: usize) -> Vec<u8> {
    let part = Part {
        kind,
        length,
        number,
        offset,
    };
    part.write(&vec![1; bytes])
}

#[cfg(test)]
mod tests {
    use super::{Head, Part, records};

    /// A datagram is cut between its records; one without a length, or cut off, is the last.
    #[test]
    fn datagrams_are_cut_into_records() {
        let plain = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2];
        let sealed = [0x2e, 0, 1, 0, 3, 7, 7, 7];
        let short = [0x26, 0, 0, 2, 8, 8];
        let rest = [0x2a, 0, 1, 9, 9, 9, 9];
        let all = [&plain[..], &sealed, &short, &rest].concat();
        let found: Vec<&[u8]> = records(&all).collect();
        assert_eq!(found, [&plain[..], &sealed, &short, &rest]);
        for length in 0..all.len() {
            let found: Vec<&[u8]> = records(&all[..length]).collect();
            assert_eq!(found.concat(), &all[..length], "nothing is lost");
        }
        assert_eq!(records(&[0x3f; 40]).count(), 1, "a connection identifier");
        assert_eq!(records(&[0; 39]).count(), 3, "records without content");
    }

    /// A part of a message is read as it was written; one that is cut off, or ends beyond its message, is none.
    #[test]
    fn parts_of_messages() {
        let part = Part {
            kind: 11,
            length: 0x01_0203,
            number: 0x0405,
            offset: 0x01_0200,
        };
        let mut written = part.write(b"abc");
        assert_eq!(written[..9], [11, 1, 2, 3, 4, 5, 1, 2, 0]);
        assert_eq!(Part::read(&written), Some((part, &b"abc"[..], &b""[..])));
        for length in 0..written.len() {
            assert_eq!(Part::read(&written[..length]), None);
        }
        written[8] = 1;
        assert_eq!(Part::read(&written), None, "beyond its end");
    }

    /// Records are told from other datagrams by their first bytes.
    #[test]
    fn kinds_of_datagrams() {
        let mut hello = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 1];
        let plain = |hello_verify_request| Head::Plain {
            hello_verify_request,
        };
        assert_eq!(Head::of(&hello), plain(false));
        hello[13] = 3;
        assert_eq!(Head::of(&hello), plain(true));
        assert_eq!(Head::of(&hello[..12]), Head::Foreign);
        let mut sealed = vec![0x2f, 0, 1, 0, 17];
        sealed.resize(22, 0);
        assert_eq!(Head::of(&sealed), Head::Sealed { epoch_bits: 3 });
        assert_eq!(Head::of(&sealed[..21]), Head::Foreign, "cut off");
        for flags in [0x23, 0x27, 0x2b, 0x2f] {
            let empty = Head::of(&[flags, 0, 0, 0, 0]);
            assert_eq!(empty, Head::Foreign, "no room for a tag");
        }
        let short = [0x23; 19];
        assert_eq!(Head::of(&short), Head::Sealed { epoch_bits: 3 });
        assert_eq!(Head::of(&short[..18]), Head::Foreign);
        let mut long = [vec![0x2f, 0, 1, 0x40, 0x11], vec![0; 0x4011]].concat();
        assert_eq!(Head::of(&long), Head::Sealed { epoch_bits: 3 });
        long[4] = 0x12;
        long.push(0);
        assert_eq!(Head::of(&long), Head::Foreign, "too long");
        for foreign in [
            &b""[..],
            b"GET / HTTP/1.1\r\n",
            b"hello",
            &[0x16, 0x03, 0x01, 2, 0],
        ] {
            assert_eq!(Head::of(foreign), Head::Foreign, "{foreign:?}");
        }
    }
}
