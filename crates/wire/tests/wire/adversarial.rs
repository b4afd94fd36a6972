//! Hostile input to the parser. Each test sends one kind of input and asserts the required result.
//!
//! The item number in a test's name only distinguishes the kinds of input. The rules are in RFC 4340, sections 5.1, 5.8
//! and 9.2.

use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::{
    DccpOption, DecodeError, Encoder, EntryState, HeadBuf, Kind, OptionError, Options, Packet,
    PacketType, Peek, Ports, RawOption, ResetCode, Seq, SeqNo, ServiceCode, option_type,
};

const PORTS: Ports = Ports {
    source: 40_000,
    destination: 5001,
};

/// Returns every type in the long form, then the three types that have a short form.
fn every_kind() -> Vec<(SeqNo, Kind)> {
    let seq = SeqNo::Long(Seq::new(0x0102_0304_0506));
    let ack = SeqNo::Long(Seq::new(0x1112_1314_1516));
    let service = ServiceCode(42);
    let code = ResetCode::OptionError;
    let data = [1, 2, 3];
    let (short, short_ack) = (SeqNo::Short(0x0A_0B0C), SeqNo::Short(0x0D_0E0F));
    vec![
        (seq, Kind::Request { service }),
        (seq, Kind::Response { ack, service }),
        (seq, Kind::Data),
        (seq, Kind::Ack { ack }),
        (seq, Kind::DataAck { ack }),
        (seq, Kind::CloseReq { ack }),
        (seq, Kind::Close { ack }),
        (seq, Kind::Reset { ack, code, data }),
        (seq, Kind::Sync { ack }),
        (seq, Kind::SyncAck { ack }),
        (seq, Kind::Listen { service }),
        (short, Kind::Data),
        (short, Kind::Ack { ack: short_ack }),
        (short, Kind::DataAck { ack: short_ack }),
    ]
}

fn head(seq: SeqNo, kind: &Kind, options: &[DccpOption<'_>]) -> Vec<u8> {
    let mut buf = HeadBuf::new();
    let mut encoder = Encoder::new(&mut buf, PORTS, seq, kind, 0, 0);
    for option in options {
        encoder.option(option).expect("it fits");
    }
    encoder.finish().as_slice().to_vec()
}

/// Item 1: a packet cut anywhere before its Data Offset is refused, with and without options.
///
/// At its whole length it is accepted.
#[test]
fn item_1_every_truncation_is_refused() {
    for (seq, kind) in every_kind() {
        for options in [
            &[][..],
            &[DccpOption::Timestamp(7), DccpOption::SlowReceiver],
        ] {
            let head = head(seq, &kind, options);
            for len in 0..head.len() {
                let expected = if len < 12 {
                    DecodeError::Truncated {
                        needed: 12,
                        got: len,
                    }
                } else {
                    DecodeError::DataOffsetBeyondPacket {
                        offset: head.len(),
                        got: len,
                    }
                };
                let cut = &head[..len];
                assert_eq!(Packet::decode(cut), Err(expected), "{kind:?} {len}");
                assert_eq!(Peek::decode(cut), Err(expected), "{kind:?} {len}");
                // A payload in another buffer does not replace a missing part of the head.
                assert!(Packet::decode_head(cut, 1000).is_err(), "{kind:?} {len}");
            }
            let packet = Packet::decode(&head).unwrap();
            assert_eq!((packet.seq, packet.kind), (seq, kind));
        }
    }
}

/// Item 1: a Data Offset below the fixed header of its type or beyond the packet is refused.
///
/// Every Data Offset in between is accepted.
#[test]
fn item_1_every_data_offset() {
    for (seq, kind) in every_kind() {
        let mut packet = head(seq, &kind, &[]);
        let minimum = packet.len();
        packet.resize(200, 0);
        for words in 0..=255u8 {
            packet[4] = words;
            let offset = usize::from(words) * 4;
            let result = Packet::decode(&packet);
            if offset < minimum {
                let refused = DecodeError::DataOffsetTooSmall {
                    packet_type: kind.packet_type(),
                    offset,
                    minimum,
                };
                assert_eq!(result, Err(refused));
            } else if offset > packet.len() {
                let refused = DecodeError::DataOffsetBeyondPacket { offset, got: 200 };
                assert_eq!(result, Err(refused));
            } else {
                assert_eq!(result.unwrap().data_offset, offset);
            }
        }
    }
}

/// Item 2: types 11 to 15 are refused in both header forms.
#[test]
fn item_2_reserved_types_are_refused() {
    for number in 11..=15 {
        for x in [0, 1] {
            let mut packet = head(SeqNo::Long(Seq::ZERO), &Kind::Data, &[]);
            packet[8] = number << 1 | x;
            let refused = DecodeError::ReservedType { number };
            assert_eq!(Packet::decode(&packet), Err(refused));
            assert_eq!(Peek::decode(&packet), Err(refused));
        }
    }
}

/// Item 2: RFC 4340, 3.1: set reserved bits change nothing, and they are never sent.
///
/// The bits are above the type, before the Sequence Number and before the Acknowledgement Number.
#[test]
fn item_2_reserved_bits_are_ignored() {
    for (seq, kind) in every_kind() {
        let clean = head(seq, &kind, &[]);
        let mut dirty = clean.clone();
        dirty[8] |= 0xE0;
        match (seq.is_short(), kind.has_ack()) {
            (true, true) => dirty[12] = 0xFF,
            (true, false) => {}
            (false, true) => {
                dirty[9] = 0xFF;
                dirty[16..18].fill(0xFF);
            }
            (false, false) => dirty[9] = 0xFF,
        }
        assert_ne!(dirty, clean);
        let packet = Packet::decode(&dirty).unwrap();
        assert_eq!((packet.seq, packet.kind), (seq, kind));
        assert_eq!(head(packet.seq, &packet.kind, &[]), clean, "sent as zero");
    }
}

/// Item 3: X = 0 on any type except Data, Ack and `DataAck` is refused.
///
/// (The connection decides whether the peer may send it on those three types.)
#[test]
fn item_3_short_numbers_where_they_are_forbidden() {
    for (seq, kind) in every_kind() {
        let packet_type = kind.packet_type();
        let mut packet = head(seq, &kind, &[]);
        packet[8] &= !1;
        let result = Packet::decode(&packet);
        match packet_type {
            PacketType::Data | PacketType::Ack | PacketType::DataAck => {
                assert!(result.unwrap().is_short());
            }
            _ => {
                let refused = DecodeError::ShortSeqForbidden { packet_type };
                assert_eq!(result, Err(refused));
            }
        }
    }
}

/// Item 4: a length of 0 or 1, one beyond the area, or a missing length byte ends the options there.
///
/// The packet and the options before it stay valid.
#[test]
fn item_4_nonsensical_lengths_end_the_options() {
    let timestamp = [41, 6, 0, 0, 0, 9];
    let nonsense: [&[u8]; 5] = [
        &[37, 0, 1, 2, 0, 0],
        &[99, 1, 37, 3, 1, 0],
        &[37, 7, 1, 2, 0, 0], // one byte more than the area has
        &[0, 0, 0, 0, 0, 99], // a type in the last byte
        &[38, 255, 1, 2, 0, 0],
    ];
    for tail in nonsense {
        let area = [&timestamp[..], tail].concat();
        let mut buf = HeadBuf::new();
        let ack = SeqNo::Long(Seq::ZERO);
        Encoder::new(&mut buf, PORTS, ack, &Kind::Ack { ack }, 0, 0).finish();
        let mut packet = buf.as_slice().to_vec();
        packet.extend(&area);
        packet[4] += 3;
        let packet = Packet::decode(&packet).unwrap();
        let mut options = packet.options.iter();
        let first = options.next().unwrap().decode();
        assert_eq!(first, Ok(DccpOption::Timestamp(9)));
        for raw in options.by_ref() {
            assert_eq!(raw.decode(), Ok(DccpOption::Padding), "{tail:?}");
        }
        assert!(!options.remainder().is_empty(), "{tail:?}");
        assert!(options.next().is_none(), "it stays ended");
    }
    let exact = Options::new(&[37, 6, 1, 2, 3, 4]);
    assert_eq!(exact.iter().count(), 1, "up to the very end is no nonsense");
}

/// Item 5: Mandatory is returned at its position, also as the last byte or twice in a row.
///
/// A Reset can name an option by its type and first two bytes.
#[test]
fn item_5_mandatory_is_seen_in_its_place() {
    let told = |area| {
        let options = Options::new(area).iter();
        options.map(|raw| raw.option_type).collect::<Vec<_>>()
    };
    assert_eq!(told(&[0, 0, 0, 1]), [0, 0, 0, 1]);
    assert_eq!(told(&[1, 1, 32, 4, 4, 1]), [1, 1, 32]);
    assert_eq!(told(&[1, 0, 1, 99, 2]), [1, 0, 1, 99]);
    assert_eq!(
        told(&[1, 99, 1, 0]),
        [1],
        "the option it is about is cut off"
    );
    let reset_data = |option_type, data| RawOption { option_type, data }.reset_data();
    assert_eq!(reset_data(99, &[]), [99, 0, 0]);
    assert_eq!(reset_data(99, &[7]), [99, 7, 0]);
    assert_eq!(reset_data(32, &[200, 8, 9]), [32, 200, 8]);
    assert!(option_type::ignored_on_data(option_type::MANDATORY));
}

/// Item 7: coverage may end exactly at the end of the payload, but not one word further.
///
/// The payload may be in the same buffer or in another.
#[test]
fn item_7_coverage_beyond_the_payload() {
    for cscov in 0..=15u8 {
        for payload in 0..64usize {
            let mut buf = HeadBuf::new();
            let seq = SeqNo::Long(Seq::new(5));
            Encoder::new(&mut buf, PORTS, seq, &Kind::Data, 0, cscov).finish();
            let covers = coverage(cscov, payload);
            let expected = if covers > payload {
                Err(DecodeError::CsCovTooLarge {
                    cscov,
                    covers,
                    payload,
                })
            } else {
                Ok(cscov)
            };
            let head = buf.as_slice();
            let apart = Packet::decode_head(head, payload).map(|p| p.cscov);
            assert_eq!(apart, expected, "{cscov} {payload}");
            let whole = [head, &vec![0; payload]].concat();
            let together = Packet::decode(&whole).map(|p| p.cscov);
            assert_eq!(together, expected, "{cscov} {payload}");
        }
    }
}

/// Item 7: with a payload of odd length, a flipped bit inside the coverage is detected, and one beyond it is not.
#[test]
fn item_7_coverage_decides_what_is_noticed() {
    let pseudo = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let payload: [u8; 23] = std::array::from_fn(|n| b'a' ^ n.to_le_bytes()[0]);
    for cscov in 0..=6 {
        let covered = coverage(cscov, payload.len());
        let sum = |payload: &[u8]| Sum::of(&payload[..covered]);
        let mut buf = HeadBuf::new();
        let seq = SeqNo::Short(5);
        let encoder = Encoder::new(&mut buf, PORTS, seq, &Kind::Data, 3, cscov);
        let head = encoder.finish_with_checksum(pseudo, sum(&payload), payload.len());
        let head = head.as_slice();
        let packet = Packet::decode_head(head, payload.len()).unwrap();
        let verify = |head: &[u8], payload: &[u8]| {
            packet.verify_checksum(pseudo, head, sum(payload), payload.len())
        };
        assert_eq!(verify(head, &payload), Ok(()));
        for at in 0..payload.len() {
            let mut flipped = payload;
            flipped[at] ^= 0x40;
            assert_eq!(
                verify(head, &flipped).is_err(),
                at < covered,
                "{cscov} {at}"
            );
        }
        for at in 0..head.len() {
            let mut flipped = head.to_vec();
            flipped[at] ^= 0x01;
            assert!(verify(&flipped, &payload).is_err(), "head byte {at}");
        }
        // The length is covered even if the payload is not.
        let longer = [&payload[..], &[0, 0]].concat();
        assert!(verify(head, &longer).is_err());
    }
}

/// Items 8 and 9: every data length that an option cannot have gives a named error; every other length is accepted.
#[test]
fn items_8_and_9_bad_lengths_have_names() {
    type IsGood = fn(usize) -> bool;
    let good: [(u8, IsGood); 21] = [
        (option_type::CHANGE_L, |n| n >= 1),
        (option_type::CONFIRM_L, |n| n >= 1),
        (option_type::CHANGE_R, |n| n >= 1),
        (option_type::CONFIRM_R, |n| n >= 1),
        (option_type::INIT_COOKIE, |_| true),
        (option_type::NDP_COUNT, |n| (1..=6).contains(&n)),
        (option_type::ACK_VECTOR_0, |n| n >= 1),
        (option_type::ACK_VECTOR_1, |n| n >= 1),
        (option_type::DATA_DROPPED, |n| n >= 1),
        (option_type::TIMESTAMP, |n| n == 4),
        (option_type::TIMESTAMP_ECHO, |n| [4, 6, 8].contains(&n)),
        (option_type::ELAPSED_TIME, |n| [2, 4].contains(&n)),
        (option_type::DATA_CHECKSUM, |n| n == 4),
        (option_type::COPY_OF, |n| n == 6),
        (option_type::CLOSE_CODE, |n| n >= 4),
        (option_type::PART_OF, |n| n == 6),
        (option_type::RTT_ESTIMATE, |n| (1..=3).contains(&n)),
        (option_type::LOSS_EVENT_RATE, |n| n == 4),
        (option_type::LOSS_INTERVALS, |n| n >= 10 && n % 9 == 1),
        (option_type::RECEIVE_RATE, |n| n == 4),
        (option_type::DROPPED_PACKETS, |n| n >= 3 && n % 3 == 0),
    ];
    for (option_type, is_good) in good {
        for data in 0..=253 {
            let raw = RawOption {
                option_type,
                data: &[0; 253][..data],
            };
            match raw.decode() {
                Ok(option) => {
                    assert!(is_good(data), "{option_type} with {data}");
                    assert_eq!(option.option_type(), option_type);
                }
                Err(error) => {
                    assert!(!is_good(data), "{option_type} with {data}");
                    assert_eq!(error, OptionError::Length { option_type, data });
                }
            }
        }
    }
}

/// Item 9: RFC 4342, 8.6.1: a Skip Length above NDUPACK gives a named error; 3 is accepted.
#[test]
fn item_9_skip_length() {
    let with_skip = |skip| {
        let mut data = [0; 10];
        data[0] = skip;
        let option_type = option_type::LOSS_INTERVALS;
        let data = &data;
        RawOption { option_type, data }.decode().map(|_| ())
    };
    assert_eq!(with_skip(3), Ok(()));
    assert_eq!(with_skip(4), Err(OptionError::SkipLength { skip: 4 }));
}

/// Item 10, parser part: an entry in the reserved state is reported as reserved, and not as another state.
#[test]
fn item_10_reserved_state_is_told() {
    let option_type = option_type::ACK_VECTOR_0;
    let data = &[0x80, 0xBF];
    let Ok(DccpOption::AckVector { entries, .. }) = RawOption { option_type, data }.decode() else {
        panic!("an Ack Vector is one whatever its entries say");
    };
    for entry in entries.iter() {
        assert_eq!(entry.state(), EntryState::Reserved);
    }
    assert_eq!(entries.packets(), 65);
}

/// Item 6, parser part: the iterator yields each option of a full head exactly once.
#[test]
fn item_6_a_head_full_of_options() {
    let ack = SeqNo::Long(Seq::new(1));
    let mut buf = HeadBuf::new();
    let mut encoder = Encoder::new(&mut buf, PORTS, ack, &Kind::Ack { ack }, 0, 0);
    let change = DccpOption::ChangeR {
        feature: 1,
        value: &[2],
    };
    let mut written = 0;
    while encoder.option(&change).is_ok() {
        written += 1;
    }
    assert_eq!(written, (1020 - 24) / 4);
    let packet = Packet::decode(encoder.finish().as_slice()).unwrap();
    let seen = packet.options.iter().filter(|o| o.decode() == Ok(change));
    assert_eq!(seen.count(), written);
}
