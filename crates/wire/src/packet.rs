//! A decoded head.

use crate::checksum::{self, PseudoHeader, Sum};
use crate::header::{MIN_HEADER, at};
use crate::{
    DecodeError, Kind, Options, PacketType, Peek, Ports, ResetCode, Seq, SeqNo, ServiceCode,
};

/// What a head says. Options are not yet read: [`Packet::options`] walks them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet<'a> {
    /// Who sent it to whom.
    pub ports: Ports,
    /// Four bits from the sending CCID to the receiving one.
    pub ccval: u8,
    /// Checksum Coverage: 0 for everything, n for header, options and 4(n - 1) bytes of payload.
    pub cscov: u8,
    /// The checksum as received. Over UDP it is to be ignored (RFC 6773, section 3.3).
    pub checksum: u16,
    /// The Sequence Number.
    pub seq: SeqNo,
    /// The type and the fields that only this type has.
    pub kind: Kind,
    /// The options, unread.
    pub options: Options<'a>,
    /// Where the head ends and the payload begins, bytes.
    pub data_offset: usize,
}

impl<'a> Packet<'a> {
    /// Reads a whole packet: a head with its payload behind it, or a head alone whose payload is
    /// empty.
    ///
    /// The checksum is not looked at: over UDP it means nothing, natively
    /// [`Packet::verify_checksum`] does it.
    ///
    /// # Errors
    /// [`DecodeError`]; the packet is to be ignored then, options and all.
    #[inline]
    pub fn decode(packet: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_head(packet, 0)
    }

    /// Reads `head`, which is followed elsewhere by `payload_len` bytes; what `head` holds beyond
    /// its Data Offset counts as payload too.
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
        // `Peek` checked fixed_len <= data_offset <= head.len(); should it ever not hold, the
        // packet is refused like any other that is cut short.
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
        // RFC 4340, 9.2: coverage beyond the payload makes the packet be ignored.
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

    /// The bare type.
    #[inline]
    pub const fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    /// The Acknowledgement Number, on the types that have one.
    #[inline]
    pub const fn ack(&self) -> Option<SeqNo> {
        self.kind.ack()
    }

    /// Does it use 24-bit sequence numbers? If the peer may not send them (Allow Short Sequence
    /// Numbers is 0), such a packet is to be ignored (RFC 4340, section 7.6.1).
    pub const fn is_short(&self) -> bool {
        self.seq.is_short()
    }

    /// Checks the checksum of a packet that came natively (IP protocol 33).
    ///
    /// `head` is what was decoded, up to its Data Offset or further, `covered` the sum of the
    /// first [`checksum::coverage`] bytes of the payload, `payload_len` the whole payload's
    /// length.
    ///
    /// # Errors
    /// [`DecodeError::Checksum`]; the packet is to be ignored then (RFC 4340, section 9.1).
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

/// The Sequence Number and the fixed bytes behind the generic header.
///
/// `fixed` is the fixed header of its type, so at least 12 bytes, or 16 unless `short`.
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

/// Reads the fields behind the generic header; `rest` has the length that the type and `short`
/// give it.
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
