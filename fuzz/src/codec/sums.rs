//! Checks of checksums and the UDP header against the arithmetic of RFC 1071 and the rules of RFC 6773.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairwire_wire::checksum::{self, PseudoHeader, Sum, coverage};
use fairwire_wire::udp::{self, UdpError, UdpHeader};
use fairwire_wire::{DecodeError, Encoder, HeadBuf, Packet, data_checksum};

use super::Nowhere;

/// Returns the one's complement sum of `start` and the 16-bit words of these bytes (RFC 1071).
fn plain(bytes: &[u8], start: u64) -> u16 {
    let mut sum = start;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from);
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    u16::try_from(sum).expect("folded")
}

/// Checks that the sum of parts is the sum of the whole, wherever the cuts are.
pub(super) fn of_parts(data: &[u8]) {
    let whole = Sum::of(data);
    assert_eq!((whole.value(), whole.len()), (plain(data, 0), data.len()));
    // The first bytes select where to cut.
    let at = |n: usize| data.get(n).map_or(0, |&byte| usize::from(byte)) % (data.len() + 1);
    let (first, second) = (at(0).min(at(1)), at(0).max(at(1)));
    let parts = [&data[..first], &data[first..second], &data[second..]].map(Sum::of);
    let joined = parts[0].join(parts[1]).join(parts[2]);
    assert_eq!(joined, whole);
    assert_eq!(
        parts[0].join(parts[1].join(parts[2])),
        whole,
        "grouped otherwise"
    );
    let zeros = Sum::zeros(first);
    assert_eq!(zeros.join(whole).len(), first + data.len());
    assert_eq!(whole.join(zeros).value(), whole.value());

    let tail = &data[data.len().saturating_sub(64)..];
    assert_eq!(data_checksum::of(tail), crc32c(tail));
    assert_eq!(
        data_checksum::of_zeros(first % 64),
        crc32c(&[0; 64][..first % 64])
    );
}

/// Returns CRC-32c, computed bit by bit (RFC 3309), with its bytes in the order of RFC 4340, 9.3.
fn crc32c(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 }
        })
    });
    (!crc).swap_bytes()
}

const V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 77));
const V6: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 0x1234),
    Ipv6Addr::new(0x2001, 0xDB8, 2, 0, 0, 0xFFFF, 0, 9),
);

/// Returns the plain sum of the pseudo-header of a packet of `len` bytes.
fn plain_pseudo(v6: bool, protocol: u8, len: usize) -> u64 {
    let addresses = if v6 {
        u64::from(plain(&V6.0.octets(), 0)) + u64::from(plain(&V6.1.octets(), 0))
    } else {
        u64::from(plain(&V4.0.octets(), 0)) + u64::from(plain(&V4.1.octets(), 0))
    };
    addresses + u64::from(protocol) + len as u64
}

/// Checks the checksum of a decoded packet: computed, verified, and written by the encoder.
pub(super) fn of_packet(packet: &Packet<'_>, head: &[u8], payload: &[u8]) {
    let covers = coverage(packet.cscov, payload.len());
    let covered = Sum::of(&payload[..covers]);
    for v6 in [false, true] {
        let pseudo = if v6 {
            PseudoHeader::v6(V6.0, V6.1)
        } else {
            PseudoHeader::v4(V4.0, V4.1)
        };
        let computed = checksum::compute(pseudo, head, covered, payload.len());
        let whole = head.len() + payload.len();
        // RFC 4340, 9.1: over pseudo-header, header, options and the covered part, with the Checksum field as zero.
        let start = plain_pseudo(v6, 33, whole);
        let start = start + u64::from(plain(&head[..6], 0)) + u64::from(plain(&head[8..], 0));
        let expected = !plain(&payload[..covers], start);
        // In one's complement, all ones and all zeros are the same number.
        let same = |a: u16, b: u16| a == b || (a == 0 && b == 0xFFFF) || (a == 0xFFFF && b == 0);
        assert!(
            same(computed, expected),
            "{computed:#06x} for {expected:#06x}"
        );
        let verdict = packet.verify_checksum(pseudo, head, covered, payload.len());
        match verdict {
            Ok(()) => assert!(same(packet.checksum, expected)),
            Err(DecodeError::Checksum {
                found,
                expected: told,
            }) => {
                assert_eq!((found, told), (packet.checksum, computed));
                assert!(!same(found, expected));
            }
            Err(other) => panic!("{other:?} is no verdict on a checksum"),
        }
        written(packet, pseudo, covered, payload.len());
    }
}

/// Checks that a head which is finished with its checksum verifies, and does not verify with one bit changed.
fn written(packet: &Packet<'_>, pseudo: PseudoHeader, covered: Sum, payload_len: usize) {
    let mut buf = HeadBuf::new();
    let Packet {
        ports,
        seq,
        kind,
        ccval,
        cscov,
        ..
    } = *packet;
    let encoder = Encoder::new(&mut buf, ports, seq, &kind, ccval, cscov);
    let head = encoder.finish_with_checksum(pseudo, covered, payload_len);
    let head = head.as_slice();
    let verdict = checksum::verify(pseudo, head, covered, payload_len);
    assert_eq!(verdict, Ok(()));
    let mut flipped = [0; 28];
    flipped[..head.len()].copy_from_slice(head);
    let at = usize::from(ports.source) % (head.len() * 8);
    flipped[at / 8] ^= 1 << (at % 8);
    let verdict = checksum::verify(pseudo, &flipped[..head.len()], covered, payload_len);
    assert!(verdict.is_err(), "bit {at} is not noticed");
}

/// Checks the input as a UDP datagram, and as the contents of one.
pub(super) fn udp(data: &[u8]) {
    match UdpHeader::decode(data) {
        Ok((header, inside)) => {
            assert_eq!(header.to_bytes(), data[..8]);
            // RFC 6773, 3.3.
            assert!(header.checksum != 0 && header.length >= 20);
            assert_eq!(inside, &data[8..usize::from(header.length)]);
        }
        Err(error) => {
            write!(Nowhere, "{error}").expect("an error can be printed");
            match error {
                UdpError::Truncated { got } => assert!(got == data.len() && got < 8),
                UdpError::NoChecksum => assert_eq!(data[6..8], [0, 0]),
                UdpError::TooShort { length } => assert!(length < 20),
                UdpError::BeyondPacket { length, got } => {
                    assert!(length > got && got == data.len());
                }
                UdpError::Checksum { .. } => panic!("the checksum is looked at later"),
            }
        }
    }
    assert_eq!(udp::check_payload(data).is_ok(), data.len() >= 12);
    let addresses = (IpAddr::from(V6.0), IpAddr::from(V6.1));
    let pseudo = udp::pseudo_header(addresses.0, addresses.1).expect("one family");
    let sum = Sum::of(data);
    let Some(header) = UdpHeader::for_packet(6_511, 40_000, pseudo, sum) else {
        assert!(data.len() > 0xFFFF - 8);
        return;
    };
    assert_eq!(header.verify(pseudo, sum), Ok(()));
    assert_ne!(header.checksum, 0);
    let bytes = header.to_bytes();
    let total = plain_pseudo(true, 17, 8 + data.len()) + u64::from(plain(&bytes, 0));
    assert_eq!(plain(data, total), 0xFFFF, "RFC 768");
}
