//! A decoded head.

use crate::checksum::{self, PseudoHeader, Sum};
use crate::header::{MIN_HEADER, at};
use crate::{
    DecodeError, Kind, Options, PacketType, Peek, Ports, ResetCode, Seq, SeqNo, ServiceCode,
};

/// A decoded head. The options are not decoded yet; iterate over [`Packet::options`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet<'a> {
    /// The source and destination ports.
    pub ports: Ports,
    /// Four bits that the sending CCID passes to the receiving one.
    pub ccval: u8,
    /// Checksum Coverage: 0 for everything, n for header, options and the first 4(n - 1) bytes of payload.
    pub cscov: u8,
    /// The checksum as received. Over UDP it must be ignored (RFC 6773, section 3.3).
    pub checksum: u16,
    /// The Sequence Number.
    pub seq: SeqNo,
    /// The type and the fields that only this type has.
    pub kind: Kind,
    /// The options, not decoded.
    pub options: Options<'a>,
    /// The offset in bytes at which the head ends and the payload begins.
    pub data_offset: usize,
}

impl<'a> Packet<'a> {
    /// Decodes a packet: a head followed by its payload, or a head alone if the payload is empty.
    ///
    /// The checksum is not verified. Native DCCP uses [`Packet::verify_checksum`]; over UDP the field has no meaning.
    ///
    /// # Errors
    /// [`DecodeError`]; ignore the packet, including its options.
    #[inline]
    pub fn decode(packet: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_head(packet, 0)
    }

    /// Decodes `head`, whose payload of `payload_len` bytes is elsewhere.
    ///
    /// The bytes of `head` beyond its Data Offset count as payload too.
    ///
    /// # Errors
    /// As [`Packet::decode`].
    #[inline]
    pub fn decode_head(head: &'a [u8], payload_len: usize) -> Result<Self, DecodeError> {
        let Peek {
            ports,
            packet_type,
            short,
            data_offset,
        } = Peek::decode(head)?;
        let fixed_len = packet_type.header_len(short);
        // `Peek` checked fixed_len <= data_offset <= head.len(). If that were ever false, the packet would be refused
        // as truncated.
        let Some((fixed, options)) = head
            .get(..data_offset)
            .and_then(|head| head.split_at_checked(fixed_len))
        else {
            return Err(DecodeError::DataOffsetBeyondPacket {
                offset: data_offset,
                got: head.len(),
            });
        };
        let ccval_cscov = fixed[at::CCVAL_CSCOV];
        let cscov = ccval_cscov & 0x0F;
        // RFC 4340, 9.2: a packet with coverage beyond its payload is ignored.
        let payload = (head.len() - data_offset).saturating_add(payload_len);
        let covers = checksum::coverage(cscov, payload);
        if covers > payload {
            return Err(DecodeError::CsCovTooLarge {
                cscov,
                covers,
                payload,
            });
        }
        let (seq, rest) = sequence_number(fixed, short);
        Ok(Self {
            ports,
            ccval: ccval_cscov >> 4,
            cscov,
            checksum: u16::from_be_bytes([fixed[at::CHECKSUM], fixed[at::CHECKSUM + 1]]),
            seq,
            kind: decode_kind(packet_type, short, rest),
            options: Options::new(options),
            data_offset,
        })
    }

    /// Returns the packet type.
    #[inline]
    pub const fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    /// Returns the Acknowledgement Number, if the type has one.
    #[inline]
    pub const fn ack(&self) -> Option<SeqNo> {
        self.kind.ack()
    }

    /// Returns whether the packet has 24-bit sequence numbers.
    ///
    /// If the peer may not send them (Allow Short Sequence Numbers is 0), the packet must be ignored (RFC 4340, section
    /// 7.6.1).
    pub const fn is_short(&self) -> bool {
        self.seq.is_short()
    }

    /// Verifies the checksum of a native packet (IP protocol 33).
    ///
    /// `head` is the buffer that was decoded, up to its Data Offset or further. `covered` is the sum of the first
    /// [`checksum::coverage`] bytes of the payload, and `payload_len` the length of the whole payload.
    ///
    /// # Errors
    /// [`DecodeError::Checksum`]; ignore the packet (RFC 4340, section 9.1).
    pub fn verify_checksum(
        &self,
        pseudo: PseudoHeader,
        head: &[u8],
        covered: Sum,
        payload_len: usize,
    ) -> Result<(), DecodeError> {
        let head = head.get(..self.data_offset).unwrap_or(head);
        checksum::verify(pseudo, head, covered, payload_len)
    }
}

/// Returns the Sequence Number and the fixed bytes behind the generic header.
///
/// `fixed` is the fixed header of the packet's type. It has at least 12 bytes, or 16 unless `short`.
#[inline]
fn sequence_number(fixed: &[u8], short: bool) -> (SeqNo, &[u8]) {
    if short {
        let (generic, rest) = fixed.split_at(MIN_HEADER);
        (SeqNo::Short(u24(generic, at::SHORT_SEQ)), rest)
    } else {
        let (generic, rest) = fixed.split_at(MIN_HEADER + 4);
        // RFC 4340, 3.1: the reserved byte before the number is ignored.
        (SeqNo::Long(seq48(generic, at::LONG_SEQ)), rest)
    }
}

/// Decodes the fields behind the generic header; `rest` has the length that the type and `short` determine.
#[inline]
fn decode_kind(packet_type: PacketType, short: bool, rest: &[u8]) -> Kind {
    // RFC 4340, 3.1: the reserved bytes before an Acknowledgement Number are ignored.
    let ack = || {
        if short {
            SeqNo::Short(u24(rest, 1))
        } else {
            SeqNo::Long(seq48(rest, 2))
        }
    };
    let service = |at| ServiceCode(u32(rest, at));
    match packet_type {
        PacketType::Request => Kind::Request {
            service: service(0),
        },
        PacketType::Response => Kind::Response {
            ack: ack(),
            service: service(8),
        },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { ack: ack() },
        PacketType::DataAck => Kind::DataAck { ack: ack() },
        PacketType::CloseReq => Kind::CloseReq { ack: ack() },
        PacketType::Close => Kind::Close { ack: ack() },
        PacketType::Reset => Kind::Reset {
            ack: ack(),
            code: ResetCode::from_number(rest[8]),
            data: [rest[9], rest[10], rest[11]],
        },
        PacketType::Sync => Kind::Sync { ack: ack() },
        PacketType::SyncAck => Kind::SyncAck { ack: ack() },
        PacketType::Listen => Kind::Listen {
            service: service(0),
        },
    }
}

#[inline]
fn u24(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

#[inline]
fn u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
fn seq48(bytes: &[u8], at: usize) -> Seq {
    let high = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    Seq::new(u64::from(high) << 32 | u64::from(u32(bytes, at + 2)))
}
