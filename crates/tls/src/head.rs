//! What the first bytes of records say, before any of it is believed (RFC 9147, section 4).

/// The header of a record that is not protected: type, version, epoch, sequence number, length.
const PLAIN_HEADER: usize = 13;
/// The header of a protected record as this crate and most others send it: flags, sequence number, length.
const SEALED_HEADER: usize = 5;
/// The shortest fragment of a protected record: its type and its tag.
const SHORTEST_SEALED: usize = 17;

/// Content types (RFC 9147, section 4.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const ACK: u8 = 26;
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
            &[flags @ 0b0010_0000..=0b0011_1111, _, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([high, low]));
                // Without a length, or with a short sequence number or a connection identifier, the rest is the record.
                let usual = flags & 0b0001_1100 == 0b0000_1100;
                if usual && (length < SHORTEST_SEALED || datagram.len() < SEALED_HEADER + length) {
                    return Self::Foreign;
                }
                Self::Sealed {
                    epoch_bits: flags & 0b11,
                }
            }
            _ => Self::Foreign,
        }
    }
}

/// Returns the number and the place of the message whose part is in the first record of a datagram, if that record is
/// not protected (RFC 9147, section 5.2).
pub(crate) fn message_part(datagram: &[u8]) -> Option<(u16, u32)> {
    let &[HANDSHAKE, .., s0, s1, o0, o1, o2] = datagram.first_chunk::<{ PLAIN_HEADER + 9 }>()?
    else {
        return None;
    };
    let place = u32::from_be_bytes([0, o0, o1, o2]);
    Some((u16::from_be_bytes([s0, s1]), place))
}

/// Returns the records of a datagram, in order. What is cut off or has no length is the last one.
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
        // Flags: a connection identifier, a sequence number of two bytes, a length.
        [flags @ 0b0010_0000..=0b0011_1111, ..] => match flags >> 2 & 0b111 {
            0b001 => 2,
            0b011 => 3,
            _ => return usize::MAX,
        },
        _ => PLAIN_HEADER - 2,
    };
    match bytes.get(length_field..length_field + 2) {
        Some(&[high, low]) => length_field + 2 + usize::from(u16::from_be_bytes([high, low])),
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, message_part, records};

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

    /// The number and the place of a message are those of the first record.
    #[test]
    fn parts_of_messages() {
        let mut part = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12];
        part.extend_from_slice(&[1, 0, 1, 0, 3, 4, 1, 2, 3, 0, 0, 0]);
        assert_eq!(message_part(&part), Some((0x0304, 0x01_0203)));
        assert_eq!(message_part(&part[..21]), None);
        part[0] = 21;
        assert_eq!(message_part(&part), None);
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
