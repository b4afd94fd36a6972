//! Captures of a real kernel's DCCP (Linux 6.1): every packet is decoded, its checksum verified, and encoding the
//! result gives the same bytes.

mod capture;

use capture::{Captured, read};
use fairwire_wire::checksum::{PseudoHeader, Sum};
use fairwire_wire::feature::{Feature, Rule};
use fairwire_wire::{
    DccpOption, Encoder, EntryState, HeadBuf, Kind, Packet, PacketType, ResetCode, ServiceCode,
    option_type,
};

/// The number of packets of each type, from Request to Listen, in each capture, as tshark counts them.
const CAPTURES: [(&str, [usize; 11]); 6] = [
    ("ccid2-cbr-rcv", [1, 1, 0, 145, 147, 0, 1, 1, 0, 0, 0]),
    ("ccid2-ipv6-rcv", [1, 1, 0, 95, 97, 0, 1, 1, 0, 0, 0]),
    ("ccid2-sat-rcv", [1, 1, 0, 924, 934, 0, 1, 1, 0, 0, 0]),
    ("ccid3-cbr-rcv", [1, 1, 143, 38, 4, 0, 1, 1, 0, 0, 0]),
    ("ccid3-sat-rcv", [1, 1, 1334, 113, 4, 0, 1, 1, 0, 0, 0]),
    ("reset", [2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]),
];

/// Every packet of every capture decodes, and each capture has the expected number of packets of each type.
#[test]
fn every_packet_decodes() {
    for (name, expected) in CAPTURES {
        let mut counts = [0; 11];
        for captured in read(name) {
            let packet = Packet::decode(&captured.dccp).expect(name);
            counts[usize::from(packet.packet_type().number())] += 1;
        }
        assert_eq!(counts, expected, "{name}");
    }
}

/// RFC 4340, 9.1: every checksum is valid over IPv4 and IPv6, and none is with a flipped bit.
#[test]
fn every_checksum_holds() {
    for (name, _) in CAPTURES {
        for Captured { pseudo, mut dccp } in read(name) {
            verify(pseudo, &dccp).expect(name);
            let last = dccp.len() - 1;
            dccp[last] ^= 0x10;
            assert!(verify(pseudo, &dccp).is_err(), "{name}");
        }
    }
}

fn verify(pseudo: PseudoHeader, dccp: &[u8]) -> Result<(), fairwire_wire::DecodeError> {
    let packet = Packet::decode(dccp)?;
    let (head, payload) = dccp.split_at(packet.data_offset);
    packet.verify_checksum(pseudo, head, Sum::of(payload), payload.len())
}

/// Encoding the decoded packet with its options in the same order gives the same bytes, checksum included.
///
/// Every option has a known type and a valid value, and the iterator reaches the end of the area.
#[test]
fn what_is_read_gives_the_same_bytes() {
    let mut buf = HeadBuf::new();
    for (name, _) in CAPTURES {
        for Captured { pseudo, dccp } in read(name) {
            let packet = Packet::decode(&dccp).expect(name);
            let (head, payload) = dccp.split_at(packet.data_offset);
            let Packet {
                ports,
                seq,
                ref kind,
                ccval,
                cscov,
                ..
            } = packet;
            let mut encoder = Encoder::new(&mut buf, ports, seq, kind, ccval, cscov);
            let mut options = packet.options.iter();
            for raw in options.by_ref() {
                let option = raw.decode().expect(name);
                let known = !matches!(option, DccpOption::Unknown { .. });
                assert!(known, "{name}: {option:?}");
                check_negotiation(&option);
                encoder.option(&option).expect(name);
            }
            assert!(options.remainder().is_empty(), "{name}");
            let covered = Sum::of(payload);
            let again = encoder.finish_with_checksum(pseudo, covered, payload.len());
            assert_eq!(again.as_slice(), head, "{name}: {packet:?}");
        }
    }
}

/// Asserts that the features which the kernel negotiates are known, and that their values are valid.
fn check_negotiation(option: &DccpOption<'_>) {
    match *option {
        DccpOption::ChangeL { feature, value } | DccpOption::ChangeR { feature, value } => {
            let feature = Feature::from_number(feature).expect("a known feature");
            match feature.rule() {
                Rule::ServerPriority => assert_eq!(feature.decode_list(value), Ok(value)),
                Rule::NonNegotiable => {
                    let number = feature.decode_value(value).expect("a valid value");
                    assert_eq!(feature.encode_value(number).as_slice(), value);
                }
            }
        }
        DccpOption::ConfirmL { feature, value } | DccpOption::ConfirmR { feature, value } => {
            let feature = Feature::from_number(feature).expect("a known feature");
            feature.decode_confirm(value).expect("a valid Confirm");
        }
        _ => {}
    }
}

/// The number of packets with an option, as tshark counts them: capture, option type, packets.
const CARRIERS: [(&str, u8, usize); 10] = [
    ("ccid2-sat-rcv", option_type::CHANGE_L, 170),
    ("ccid2-sat-rcv", option_type::CONFIRM_R, 165),
    ("ccid2-sat-rcv", option_type::ACK_VECTOR_0, 1856),
    ("ccid2-sat-rcv", option_type::TIMESTAMP_ECHO, 2),
    ("ccid2-ipv6-rcv", option_type::ACK_VECTOR_0, 190),
    ("ccid3-sat-rcv", option_type::MANDATORY, 2),
    ("ccid3-sat-rcv", option_type::NDP_COUNT, 113),
    ("ccid3-sat-rcv", option_type::LOSS_EVENT_RATE, 112),
    ("ccid3-sat-rcv", option_type::RECEIVE_RATE, 112),
    ("ccid3-sat-rcv", option_type::LOSS_INTERVALS, 0),
];

/// Each option is found in as many packets as tshark finds.
#[test]
fn options_are_where_another_reader_finds_them() {
    for (name, number, expected) in CARRIERS {
        let carries = |captured: &Captured| {
            let packet = Packet::decode(&captured.dccp).expect(name);
            packet.options.iter().any(|o| o.option_type == number)
        };
        let carriers = read(name).iter().filter(|c| carries(c)).count();
        assert_eq!(carriers, expected, "{name}: option {number}");
    }
}

/// The Ack Vectors of ccid2-sat report lost packets, and no marked ones.
#[test]
fn ack_vectors_tell_of_losses() {
    let (mut received, mut lost) = (0u64, 0u64);
    for captured in read("ccid2-sat-rcv") {
        let packet = Packet::decode(&captured.dccp).unwrap();
        for raw in packet.options {
            let Ok(DccpOption::AckVector { nonce, entries }) = raw.decode() else {
                continue;
            };
            assert!(!nonce);
            for entry in entries.iter() {
                match entry.state() {
                    EntryState::Received => received += u64::from(entry.run()),
                    EntryState::NotReceived => lost += u64::from(entry.run()),
                    other => panic!("{other:?} in a capture without ECN"),
                }
            }
        }
    }
    assert!(lost > 0);
    assert!(received > lost);
}

/// The reset capture has two refused Requests: first no listener, then a wrong service.
#[test]
fn two_refused_requests() {
    let captured = read("reset");
    let packets: Vec<Packet<'_>> = captured
        .iter()
        .map(|captured| Packet::decode(&captured.dccp).unwrap())
        .collect();
    let [first, refused, second, wrong] = packets[..] else {
        panic!("{} packets instead of four", packets.len());
    };
    let service = |code| Kind::Request {
        service: ServiceCode(code),
    };
    assert_eq!(first.kind, service(42));
    assert_eq!(second.kind, service(43));
    for (request, reset, code) in [
        (first, refused, ResetCode::NoConnection),
        (second, wrong, ResetCode::BadServiceCode),
    ] {
        let answer = Kind::Reset {
            ack: request.seq,
            code,
            data: [0; 3],
        };
        assert_eq!(reset.kind, answer);
        assert_eq!(reset.ports, request.ports.swapped());
        assert_eq!(request.packet_type(), PacketType::Request);
    }
    let options: Vec<_> = first.options.iter().map(|o| o.decode().unwrap()).collect();
    let ccid = DccpOption::ChangeR {
        feature: Feature::Ccid.number(),
        value: &[2],
    };
    // This kernel puts its padding in front.
    let padding = DccpOption::Padding;
    let timestamp = DccpOption::Timestamp(0x0063_47FD);
    assert_eq!(options[..3], [padding, padding, timestamp]);
    assert!(options.contains(&ccid));
}
