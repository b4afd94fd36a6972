//! Tests of the sums against the example of RFC 1071 and a slow reference.

use super::{PseudoHeader, Sum, compute, coverage, verify};
use crate::DecodeError;

/// Sums one byte at a time, directly from the definition.
fn reference(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for (at, &byte) in bytes.iter().enumerate() {
        sum += if at % 2 == 0 {
            u32::from(byte) << 8
        } else {
            u32::from(byte)
        };
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

/// RFC 1071, section 3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
#[test]
fn the_example_of_rfc_1071() {
    let sum = Sum::of(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]);
    assert_eq!(sum.value(), 0xDDF2);
    assert_eq!(sum.len(), 8);
}

/// Joining two parts gives the sum of the whole, for every length and every split point, odd ones included.
///
/// All ones stay all ones, and only zero bytes give zero.
#[test]
fn parts_add_up_to_the_whole() {
    let patterns: [fn(usize) -> u8; 3] = [
        |n| (n * 167).to_le_bytes()[0],
        |_| 0xFF,
        |n| u8::from(n == 3),
    ];
    for pattern in patterns {
        let bytes: Vec<u8> = (0..41).map(pattern).collect();
        for len in 0..=bytes.len() {
            let whole = &bytes[..len];
            assert_eq!(Sum::of(whole).value(), reference(whole), "{len}");
            for split in 0..=len {
                let (a, b) = whole.split_at(split);
                assert_eq!(Sum::of(a).join(Sum::of(b)), Sum::of(whole), "{split}/{len}");
            }
        }
    }
    assert_eq!(Sum::zeros(1500), Sum::of(&[0; 1500]));
    assert_eq!(
        Sum::of(&vec![0xFF; 65_536]).value(),
        0xFFFF,
        "no carry is lost"
    );
}

/// RFC 4340, 9.2: the values of the Checksum Coverage field.
#[test]
fn coverage_values() {
    assert_eq!(coverage(0, 1000), 1000);
    assert_eq!(coverage(1, 1000), 0);
    assert_eq!(coverage(2, 1000), 4);
    assert_eq!(coverage(15, 3), 56, "more than there is: the packet is bad");
}

/// RFC 4340, 9.1: the pseudo-header consists of the addresses, protocol 33 and the length of the whole packet.
///
/// The expected sums are written out by hand for IPv4 and IPv6.
#[test]
fn pseudo_headers_by_hand() {
    let head = [0u8; 12];
    let v4 = PseudoHeader::v4([10, 0, 1, 2].into(), [10, 0, 3, 2].into());
    let by_hand = [10, 0, 1, 2, 10, 0, 3, 2, 0, 33, 0, 112];
    assert_eq!(
        compute(v4, &head, Sum::zeros(100), 100),
        !reference(&by_hand)
    );
    let (source, destination) = ([0xFD; 16], [0x12; 16]);
    let v6 = PseudoHeader::v6(source.into(), destination.into());
    let mut by_hand = [source, destination].concat();
    by_hand.extend([0, 0, 0, 112, 0, 0, 0, 33]);
    assert_eq!(
        compute(v6, &head, Sum::zeros(100), 100),
        !reference(&by_hand)
    );
    let v4 = std::net::IpAddr::from([10, 0, 1, 2]);
    let v6 = std::net::IpAddr::from(source);
    assert_eq!(PseudoHeader::new(v4, v6), None);
    assert!(PseudoHeader::new(v6, v6).is_some());
}

/// Adversarial item 7: a checksum of zero passes in both its forms.
///
/// The old content of the Checksum field does not change the result of `compute`.
#[test]
fn item_7_both_zeros_pass() {
    let pseudo = PseudoHeader::v4([0, 0, 0, 0].into(), [0, 0, 0, 0].into());
    let mut head = [0u8; 12];
    // 0xFFFF - protocol 33 - length 12: the whole sum is 0xFFFF and its complement zero.
    head[0..2].copy_from_slice(&(0xFFFFu16 - 33 - 12).to_be_bytes());
    assert_eq!(compute(pseudo, &head, Sum::EMPTY, 0), 0);
    for form in [0x0000u16, 0xFFFF] {
        head[6..8].copy_from_slice(&form.to_be_bytes());
        assert_eq!(verify(pseudo, &head, Sum::EMPTY, 0), Ok(()));
        assert_eq!(compute(pseudo, &head, Sum::EMPTY, 0), 0);
    }
    head[6..8].copy_from_slice(&[0x12, 0x34]);
    assert_eq!(compute(pseudo, &head, Sum::EMPTY, 0), 0);
    let refused = DecodeError::Checksum {
        found: 0x1234,
        expected: 0,
    };
    assert_eq!(verify(pseudo, &head, Sum::EMPTY, 0), Err(refused));
}
