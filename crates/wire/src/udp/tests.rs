//! Tests of the rules of RFC 6773, section 3.3 (adversarial item 31).

use std::net::IpAddr;

use super::{UdpError, UdpHeader, check_payload, port_reuse_data, pseudo_header};
use crate::PacketType;
use crate::checksum::{PseudoHeader, Sum};

const DCCP: [u8; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

fn pseudo() -> PseudoHeader {
    let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    pseudo_header(a, b).unwrap()
}

fn datagram() -> Vec<u8> {
    let header = UdpHeader::for_packet(40_000, 6511, pseudo(), Sum::of(&DCCP)).unwrap();
    [&header.to_bytes()[..], &DCCP].concat()
}

/// A datagram made here is decoded and verifies, and any flipped bit is detected.
#[test]
fn round_trip() {
    let packet = datagram();
    let (header, dccp) = UdpHeader::decode(&packet).unwrap();
    assert_eq!(dccp, DCCP);
    assert_eq!((header.source, header.destination), (40_000, 6511));
    assert_eq!(header.verify(pseudo(), Sum::of(dccp)), Ok(()));
    for bit in 0..DCCP.len() * 8 {
        let mut flipped = DCCP;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(header.verify(pseudo(), Sum::of(&flipped)).is_err(), "{bit}");
    }
    assert!(UdpHeader::for_packet(1, 2, pseudo(), Sum::zeros(65_528)).is_none());
}

/// The checksum matches one computed by hand: protocol 17, and the UDP length twice.
#[test]
fn checksum_by_hand() {
    let header = UdpHeader::for_packet(0x1111, 0x2222, pseudo(), Sum::zeros(12)).unwrap();
    let sum = 0x0A00 + 0x0001 + 0x0A00 + 0x0002 + 17 + 20 + 0x1111 + 0x2222 + 20;
    assert_eq!(header.checksum, !sum);
}

/// RFC 768: a computed checksum of zero is sent as all ones, so it is never zero.
#[test]
fn zero_is_sent_as_all_ones() {
    let rest = UdpHeader::for_packet(0, 0, pseudo(), Sum::zeros(12)).unwrap();
    let header = UdpHeader::for_packet(rest.checksum, 0, pseudo(), Sum::zeros(12)).unwrap();
    assert_eq!(header.checksum, 0xFFFF);
    assert_eq!(header.verify(pseudo(), Sum::zeros(12)), Ok(()));
}

/// RFC 6773, 3.3: a missing checksum, and a length below 20 or beyond the packet, are refused with their own errors.
#[test]
fn item_31_bad_headers_are_dropped() {
    let mut packet = datagram();
    packet[6..8].fill(0);
    assert_eq!(UdpHeader::decode(&packet), Err(UdpError::NoChecksum));

    let mut packet = datagram();
    packet[5] = 19;
    let refused = Err(UdpError::TooShort { length: 19 });
    assert_eq!(UdpHeader::decode(&packet), refused);
    packet[5] = 20;
    assert_eq!(UdpHeader::decode(&packet).unwrap().1, &DCCP[..12]);
    packet[5] = 21;
    assert!(UdpHeader::decode(&packet).is_ok());
    packet[5] = 22;
    let refused = UdpError::BeyondPacket {
        length: 22,
        got: 21,
    };
    assert_eq!(UdpHeader::decode(&packet), Err(refused));
    for len in 0..8 {
        let refused = Err(UdpError::Truncated { got: len });
        assert_eq!(UdpHeader::decode(&packet[..len]), refused);
    }

    assert_eq!(check_payload(&[0; 12]), Ok(()));
    let refused = Err(UdpError::TooShort { length: 19 });
    assert_eq!(check_payload(&[0; 11]), refused);
}

/// RFC 6773, 7.2: a Reset with code 12 contains the packet's type and its UDP source port.
#[test]
fn port_reuse_names_the_port() {
    let data = port_reuse_data(PacketType::Request, 0x1234);
    assert_eq!(data, [0, 0x12, 0x34]);
}
