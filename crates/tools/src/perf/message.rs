//! What the two sides of a measurement say, in bytes.
//!
//! A message is `FwP`, a letter, and what belongs to it: JSON for parameters and reports; for
//! data a number, the sender's time and, for a file, the offset, eight bytes each in network
//! order, then the bytes. Over DCCP and UDP a message is a datagram; over TCP its length goes
//! before it in four bytes.

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes before the data of a message of no file.
pub(crate) const DATA_HEADER: u32 = 20;
/// Bytes before the data of a message of a file.
pub(crate) const FILE_HEADER: u32 = 28;
/// The longest message in TCP's stream.
pub(crate) const MAX_FRAME: u32 = 1 << 20;

const MAGIC: &[u8; 3] = b"FwP";

/// One message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Message {
    /// The client says what it wants; JSON. Repeated until answered.
    Params(Bytes),
    /// Params with this number in them will be believed: plain UDP's server asks it of an address
    /// that anybody could have written into the packet.
    Prove(u64),
    /// The server is ready.
    Ready,
    /// This side cannot go on; why, in words.
    Abort(Bytes),
    /// A piece of the flow.
    Data(Piece),
    /// All is sent; the sender's report, JSON. Repeated until answered.
    Finish(Bytes),
    /// This side is alive: its report takes a moment, for the file is being summed, or data come
    /// in by a protocol that would not tell if they did not.
    Wait,
    /// The receiver's report, JSON.
    Report(Bytes),
    /// The report arrived.
    Done,
}

/// The fixed part of a data message, and what follows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    /// Counts up from zero.
    pub number: u64,
    /// When it was made, ns on the sender's clock.
    pub sent_ns: u64,
    /// Where its bytes belong in the file.
    pub offset: Option<u64>,
    /// The bytes of the file, or padding.
    pub data: Bytes,
}

impl Message {
    /// Reads a message; `None` if it is none.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Self> {
        let &[m0, m1, m2, letter] = bytes.first_chunk()?;
        if [m0, m1, m2] != *MAGIC {
            return None;
        }
        let rest = || bytes.slice(4..);
        Some(match letter {
            b'P' => Self::Params(rest()),
            b'T' => Self::Prove(word(bytes, 4)?),
            b'Y' => Self::Ready,
            b'A' => Self::Abort(rest()),
            b'D' => Self::Data(Piece {
                number: word(bytes, 4)?,
                sent_ns: word(bytes, 12)?,
                offset: None,
                data: bytes.slice(DATA_HEADER as usize..),
            }),
            b'O' => Self::Data(Piece {
                number: word(bytes, 4)?,
                sent_ns: word(bytes, 12)?,
                offset: Some(word(bytes, 20)?),
                data: bytes.slice(FILE_HEADER as usize..),
            }),
            b'F' => Self::Finish(rest()),
            b'W' => Self::Wait,
            b'R' => Self::Report(rest()),
            b'E' => Self::Done,
            _ => return None,
        })
    }

    /// Writes a message that is not data.
    pub(crate) fn encode(&self) -> Bytes {
        let none = Bytes::new();
        let proof;
        let (letter, body) = match self {
            Self::Params(json) => (b'P', json),
            Self::Prove(number) => {
                proof = Bytes::copy_from_slice(&number.to_be_bytes());
                (b'T', &proof)
            }
            Self::Ready => (b'Y', &none),
            Self::Abort(text) => (b'A', text),
            Self::Finish(json) => (b'F', json),
            Self::Wait => (b'W', &none),
            Self::Report(json) => (b'R', json),
            Self::Done => (b'E', &none),
            Self::Data(piece) => {
                let mut out = BytesMut::new();
                data_header(&mut out, piece.number, piece.sent_ns, piece.offset);
                out.put_slice(&piece.data);
                return out.freeze();
            }
        };
        let mut out = BytesMut::with_capacity(4 + body.len());
        out.put_slice(MAGIC);
        out.put_u8(letter);
        out.put_slice(body);
        out.freeze()
    }
}

/// Writes what comes before the bytes of a data message.
pub(crate) fn data_header(out: &mut BytesMut, number: u64, sent_ns: u64, offset: Option<u64>) {
    out.put_slice(MAGIC);
    out.put_u8(if offset.is_some() { b'O' } else { b'D' });
    out.put_u64(number);
    out.put_u64(sent_ns);
    if let Some(offset) = offset {
        out.put_u64(offset);
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::{Message, Piece};
    use bytes::Bytes;

    /// What is written is read back.
    #[test]
    fn messages_round_trip() {
        let piece = |offset| {
            Message::Data(Piece {
                number: 7,
                sent_ns: 1 << 40,
                offset,
                data: Bytes::from_static(b"abc"),
            })
        };
        for message in [
            Message::Params(Bytes::from_static(b"{}")),
            Message::Prove(1 << 60),
            Message::Ready,
            Message::Abort(Bytes::from_static(b"no")),
            piece(None),
            piece(Some(1_172)),
            Message::Finish(Bytes::new()),
            Message::Wait,
            Message::Report(Bytes::from_static(b"{}")),
            Message::Done,
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    /// Foreign and cut datagrams are no messages, and do not panic.
    #[test]
    fn foreign_datagrams_are_none() {
        for text in [
            "",
            "F",
            "FwP",
            "FwP?",
            "GET / HTTP/1.1",
            "FwPD123",
            "FwPO12345678",
        ] {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            assert_eq!(Message::decode(&bytes), None, "{text}");
        }
    }
}
