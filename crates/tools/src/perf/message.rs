//! The messages between the two sides of a measurement.
//!
//! A message is `FwP`, a letter, and a body. The body is JSON for parameters and reports. For data it is a number, the
//! sender's time and, for a file, the offset (eight bytes each, in network order), then the bytes. Over DCCP and UDP a
//! message is a datagram. Over TCP its length comes before it, in four bytes.

use bytes::{BufMut, Bytes, BytesMut};

/// The bytes before the data of a message without a file.
pub(crate) const DATA_HEADER: u32 = 20;
/// The bytes before the data of a message with a part of a file.
pub(crate) const FILE_HEADER: u32 = 28;
/// The longest message in a TCP stream, bytes.
pub(crate) const MAX_FRAME: u32 = 1 << 20;

const MAGIC: &[u8; 3] = b"FwP";

/// One message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Message {
    /// The client's parameters, JSON. Repeated until answered.
    Params(Bytes),
    /// The server of plain UDP asks the client to repeat its parameters with this number. Anybody could have forged the
    /// source address of the first packet.
    Challenge(u64),
    /// The server is ready; its answer to the parameters, JSON. Older servers send nothing here.
    Ready(Bytes),
    /// This side cannot go on; the reason in words.
    Abort(Bytes),
    /// Data of the flow.
    Data(Piece),
    /// Everything was sent; the sender's report, JSON. Repeated until answered.
    Finish(Bytes),
    /// This side is alive. Its report takes a moment because the file is being hashed, or data arrives over a protocol
    /// that would not report a peer that is gone.
    Wait,
    /// The receiver's report, JSON.
    Report(Bytes),
    /// The report arrived.
    Done,
}

/// A data message: its fixed fields, and the bytes after them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    /// The message number, from zero.
    pub number: u64,
    /// When it was made, ns on the sender's clock.
    pub sent_ns: u64,
    /// The offset of its bytes in the file.
    pub offset: Option<u64>,
    /// The bytes of the file, or padding.
    pub data: Bytes,
}

impl Message {
    /// Decodes a message; `None` if it is not one.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Self> {
        let &[m0, m1, m2, letter] = bytes.first_chunk()?;
        if [m0, m1, m2] != *MAGIC {
            return None;
        }
        let rest = || bytes.slice(4..);
        Some(match letter {
            b'P' => Self::Params(rest()),
            b'T' => Self::Challenge(word(bytes, 4)?),
            b'Y' => Self::Ready(rest()),
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

    /// Encodes a message; data messages are usually written with [`data_header`].
    pub(crate) fn encode(&self) -> Bytes {
        let none = Bytes::new();
        let proof;
        let (letter, body) = match self {
            Self::Params(json) => (b'P', json),
            Self::Challenge(number) => {
                proof = Bytes::copy_from_slice(&number.to_be_bytes());
                (b'T', &proof)
            }
            Self::Ready(json) => (b'Y', json),
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

/// Returns whether a datagram is the first of a DTLS client: a record (RFC 9147, section 4) of type 22 (handshake) with
/// version 1.0 or 1.2.
pub(crate) fn is_dtls_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [22, 0xfe, 0xff | 0xfd, ..])
}

/// Writes the header of a data message.
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

    /// An encoded message is decoded to the same message.
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
            Message::Challenge(1 << 60),
            Message::Ready(Bytes::from_static(b"{}")),
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

    /// Foreign and truncated datagrams are not messages, and cause no panic.
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
