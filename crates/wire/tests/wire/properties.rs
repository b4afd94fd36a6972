//! Properties of all packets: nothing panics, and decoding an encoded packet gives the same packet.
//!
//! A failing test prints the input that it was reduced to.

use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::udp::UdpHeader;
use fairwire_wire::{
    AckEntries, DccpOption, DropBlocks, DropCounts, Encoder, HeadBuf, Kind, LossIntervals, Options,
    Packet, Peek, Ports, RTT_TOO_LARGE, RawOption, ResetCode, Seq, SeqNo, ServiceCode,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The values that an option is built from. Options borrow, so their data are stored here.
#[derive(Clone, Debug)]
struct Material {
    which: u8,
    small: u8,
    number: u32,
    large: u64,
    flag: bool,
    bytes: Vec<u8>,
}

impl Material {
    /// Builds an option; over all inputs, every kind of option with every value it can have.
    fn option(&self) -> DccpOption<'_> {
        let (feature, value) = (self.small, &self.bytes[..]);
        let elapsed = self.flag.then_some(self.number);
        match self.which % 22 {
            0 => DccpOption::Padding,
            1 => DccpOption::Mandatory,
            2 => DccpOption::SlowReceiver,
            3 => DccpOption::ChangeL { feature, value },
            4 => DccpOption::ConfirmL { feature, value },
            5 => DccpOption::ChangeR { feature, value },
            6 => DccpOption::ConfirmR { feature, value },
            7 => DccpOption::InitCookie(value),
            8 => DccpOption::NdpCount(self.large >> 16 >> (self.small % 48)),
            9 => DccpOption::AckVector {
                nonce: self.flag,
                entries: AckEntries(value),
            },
            10 => DccpOption::DataDropped(DropBlocks(value)),
            11 => DccpOption::Timestamp(self.number),
            12 => DccpOption::TimestampEcho {
                timestamp: !self.number,
                elapsed: elapsed.map(|e| e >> (self.small % 32)),
            },
            13 => DccpOption::ElapsedTime(self.number >> (self.small % 32)),
            14 => DccpOption::DataChecksum(self.number),
            15 => DccpOption::RttEstimate((self.number & RTT_TOO_LARGE) >> (self.small % 24)),
            16 => DccpOption::LossEventRate(self.number),
            17 => DccpOption::LossIntervals {
                skip: self.small % 4,
                intervals: LossIntervals::new(value.as_chunks().0),
            },
            18 => DccpOption::ReceiveRate(self.number),
            19 => DccpOption::DroppedPackets(DropCounts::new(value.as_chunks().0)),
            20 => DccpOption::Unknown {
                option_type: 45 + self.small % 75,
                data: value,
            },
            _ => DccpOption::Unknown {
                option_type: 3 + self.small % 29,
                data: &[],
            },
        }
    }
}

fn material() -> impl Strategy<Value = Material> {
    let bytes = prop_oneof![4 => vec(any::<u8>(), 9..20), 1 => vec(any::<u8>(), 200..=252)];
    (any::<(u8, u8, u32, u64, bool)>(), bytes).prop_map(
        |((which, small, number, large, flag), bytes)| Material {
            which,
            small,
            number,
            large,
            flag,
            bytes,
        },
    )
}

fn long() -> impl Strategy<Value = SeqNo> {
    any::<u64>().prop_map(|n| SeqNo::Long(Seq::new(n)))
}

/// Generates every type with every value of its fields, in both header forms where there are two.
fn seq_and_kind() -> impl Strategy<Value = (SeqNo, Kind)> {
    let any_service = any::<u32>().prop_map(ServiceCode);
    let long_kind = (0..11u8, long(), any_service, any::<u8>(), any::<[u8; 3]>()).prop_map(
        |(number, ack, service, code, data)| match number {
            0 => Kind::Request { service },
            1 => Kind::Response { ack, service },
            2 => Kind::Data,
            3 => Kind::Ack { ack },
            4 => Kind::DataAck { ack },
            5 => Kind::CloseReq { ack },
            6 => Kind::Close { ack },
            7 => Kind::Reset {
                ack,
                code: ResetCode::from_number(code),
                data,
            },
            8 => Kind::Sync { ack },
            9 => Kind::SyncAck { ack },
            _ => Kind::Listen { service },
        },
    );
    let short = (0..3u8, 0..1u32 << 24, 0..1u32 << 24).prop_map(|(number, seq, ack)| {
        let ack = SeqNo::Short(ack);
        let kind = match number {
            0 => Kind::Data,
            1 => Kind::Ack { ack },
            _ => Kind::DataAck { ack },
        };
        (SeqNo::Short(seq), kind)
    });
    prop_oneof![4 => (long(), long_kind), 1 => short]
}

/// Decodes everything that can be decoded, and checks that it lies inside `bytes`.
fn read_everything(bytes: &[u8]) {
    let peek = Peek::decode(bytes);
    let _ = UdpHeader::decode(bytes);
    let Ok(packet) = Packet::decode(bytes) else {
        return;
    };
    let peek = peek.expect("a peek refuses less than a decode");
    assert_eq!(
        (peek.ports, peek.packet_type, peek.data_offset, peek.short),
        (
            packet.ports,
            packet.packet_type(),
            packet.data_offset,
            packet.is_short()
        )
    );
    assert!(packet.data_offset <= bytes.len());
    read_options(packet.options);
    let pseudo = PseudoHeader::v4([1, 2, 3, 4].into(), [5, 6, 7, 8].into());
    let _ = packet.verify_checksum(pseudo, bytes, Sum::EMPTY, 0);
}

/// Checks that each option that decodes gives the same option after encoding and decoding it again.
fn read_options(options: Options<'_>) {
    let mut buf = HeadBuf::new();
    let ack = SeqNo::Long(Seq::ZERO);
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    for raw in options {
        let Ok(option) = raw.decode() else { continue };
        let mut encoder = Encoder::new(&mut buf, ports, ack, &Kind::Ack { ack }, 0, 0);
        encoder.option(&option).expect("one option always fits");
        let again = Packet::decode(encoder.finish().as_slice()).expect("it was written here");
        let again = again.options.iter().next().map(RawOption::decode);
        assert_eq!(again, Some(Ok(option)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random bytes never panic the decoder, neither as they are nor with a plausible header.
    #[test]
    fn random_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..1100), number in 0..11u8) {
        read_everything(&bytes);
        if bytes.len() > 8 {
            bytes[8] = number << 1 | 1;
            bytes[4] = bytes[4].min(u8::try_from(bytes.len() / 4).unwrap_or(255)).max(7);
            bytes[5] &= 0xF0;
            read_everything(&bytes);
        }
        read_options(Options::new(&bytes));
    }

    /// A decoded packet equals the encoded one in every field and option, for every type.
    ///
    /// The checksum is valid. The head is as long as its parts plus at most three bytes of padding.
    #[test]
    fn what_is_encoded_is_decoded(
        (seq, kind) in seq_and_kind(),
        ports in any::<(u16, u16)>(),
        ccval in 0..16u8,
        cscov in 0..16u8,
        materials in vec(material(), 0..12),
        payload in vec(any::<u8>(), 56..80),
    ) {
        let ports = Ports { source: ports.0, destination: ports.1 };
        let pseudo = PseudoHeader::v6([7; 16].into(), [8; 16].into());
        let mut buf = HeadBuf::new();
        let mut encoder = Encoder::new(&mut buf, ports, seq, &kind, ccval, cscov);
        let mut written = Vec::new();
        for material in &materials {
            let option = material.option();
            let before = encoder.options_len();
            match encoder.option(&option) {
                Ok(()) => written.push(option),
                Err(no_room) => {
                    prop_assert!(no_room.needed > no_room.room);
                    prop_assert_eq!(encoder.options_len(), before);
                }
            }
        }
        let options_len = encoder.options_len();
        let covered = Sum::of(&payload[..coverage(cscov, payload.len())]);
        let head = encoder.finish_with_checksum(pseudo, covered, payload.len()).as_slice();

        let packet = Packet::decode_head(head, payload.len()).unwrap();
        prop_assert_eq!((packet.ports, packet.seq, packet.kind), (ports, seq, kind));
        prop_assert_eq!((packet.ccval, packet.cscov), (ccval, cscov));
        prop_assert_eq!(packet.ack(), kind.ack());
        prop_assert_eq!(packet.data_offset, head.len());
        let fixed_len = kind.packet_type().header_len(seq.is_short());
        prop_assert_eq!(head.len(), (fixed_len + options_len).next_multiple_of(4));
        prop_assert!(packet.verify_checksum(pseudo, head, covered, payload.len()).is_ok());
        let mut read: Vec<_> = packet.options.iter().map(|raw| raw.decode().unwrap()).collect();
        prop_assert!(read.len() - written.len() < 4);
        prop_assert!(read[written.len()..].iter().all(|o| *o == DccpOption::Padding));
        read.truncate(written.len());
        prop_assert_eq!(read, written);
    }

    /// Joining the sums of parts gives the sum of the whole, wherever it is cut.
    #[test]
    fn sums_join(parts in vec(vec(any::<u8>(), 0..70), 0..6)) {
        let joined = parts.iter().fold(Sum::EMPTY, |sum, part| sum.join(Sum::of(part)));
        prop_assert_eq!(joined, Sum::of(&parts.concat()));
    }

    /// Distances add up, order never holds in both directions, and windows contain exactly the numbers between their
    /// ends (RFC 4340, 7.5.1).
    #[test]
    fn sequence_numbers_on_the_circle(start in any::<u64>(), n in 0..1u64 << 47, m in 0..1u64 << 46) {
        let a = Seq::new(start);
        let b = a.add(n);
        prop_assert_eq!(a.distance(b), n);
        prop_assert_eq!(b.delta(a), n.cast_signed());
        prop_assert_eq!(a.delta(b), -n.cast_signed());
        prop_assert_eq!(b.sub(n), a);
        prop_assert_eq!(a.is_before(b), n != 0);
        prop_assert_eq!(b.is_after(a), n != 0);
        prop_assert!(!b.is_before(a));
        prop_assert_eq!(Seq::max(a, b), b);
        prop_assert_eq!(Seq::min(a, b), a);
        prop_assert_eq!(a.add(m).in_window(a, b), m <= n);
    }

    /// A 24-bit number is extended to the number it was cut from, if that is less than 2^23 from the reference (RFC
    /// 4340, 7.6).
    #[test]
    fn short_numbers_extend_back(start in any::<u64>(), n in 0..1u64 << 23, back in any::<bool>()) {
        let reference = Seq::new(start);
        let seq = if back { reference.sub(n) } else { reference.add(n) };
        prop_assert_eq!(SeqNo::Short(seq.short()).extend(reference), seq);
    }

    /// Parsing a printed Service Code gives the same code.
    #[test]
    fn service_codes_are_read_back(code in 0..u32::MAX) {
        let code = ServiceCode(code);
        prop_assert_eq!(code.to_string().parse(), Ok(code));
    }
}
