//! A writer of captures: classic pcap of raw IP packets, with DCCP native or in UDP.
//!
//! It has no need of a library, because the headers have a fixed form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairwire_wire::checksum::{self, PseudoHeader, Sum};
use fairwire_wire::udp::{self, UdpHeader};
use fairwire_wire::{Encoder, HeadBuf, Packet, RawOption};

use super::packets::{PORTS, Sample};

/// The encapsulation of the packets of a capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Carrier {
    /// IP protocol 33, with valid checksums.
    Native,
    /// UDP to this port, with a DCCP checksum of zero (RFC 6773, section 3.3).
    Udp { port: u16 },
}

/// The UDP source port of the client, which Wireshark assigns to no protocol.
const UDP_CLIENT: u16 = 52_345;

/// The addresses of the client and of the server, for each address family.
pub(crate) const FAMILIES: [(&str, IpAddr, IpAddr); 2] = [
    (
        "IPv4",
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V4(Ipv4Addr::new(198, 51, 100, 77)),
    ),
    (
        "IPv6",
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 0x1234)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 2, 0, 0, 0xFFFF, 0, 9)),
    ),
];

/// Returns the header of a capture file; the output of [`packets`] follows it.
pub(crate) fn header() -> Vec<u8> {
    const MAGIC: u32 = 0xA1B2_C3D4;
    const LINKTYPE_RAW: u32 = 101;
    let mut file = Vec::new();
    file.extend(MAGIC.to_le_bytes());
    // Version 2.4; time zone and accuracy are zero.
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(65_535u32.to_le_bytes());
    file.extend(LINKTYPE_RAW.to_le_bytes());
    file
}

/// Returns `samples` as records of a capture file, sent from the client to the server.
pub(crate) fn packets(
    samples: &[Sample],
    client: IpAddr,
    server: IpAddr,
    carrier: Carrier,
) -> Vec<u8> {
    let mut records = Vec::new();
    for sample in samples {
        let head = sample.head(client, server, carrier);
        let transport = match carrier {
            Carrier::Native => [&head, sample.payload.as_slice()].concat(),
            Carrier::Udp { port } => in_udp(&head, &sample.payload, client, server, port),
        };
        let protocol = match carrier {
            Carrier::Native => checksum::IP_PROTOCOL,
            Carrier::Udp { .. } => 17,
        };
        records.extend(record(client, server, protocol, &transport));
    }
    records
}

/// Returns one record of a capture file: an IP packet from the client to the server with this content.
pub(crate) fn record(client: IpAddr, server: IpAddr, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let packet = ip(client, server, protocol, transport);
    let length = u32::try_from(packet.len()).expect("a small packet");
    // All packets have the same time, because no test reads it.
    let words = [0, 0, length, length].map(u32::to_le_bytes);
    [words.as_flattened(), &packet].concat()
}

/// Returns the same records as in a capture that keeps only the first `length` bytes of each packet.
pub(crate) fn cut(mut records: &[u8], length: u32) -> Vec<u8> {
    let mut cut = Vec::new();
    while let Some((record, rest)) = records.split_first_chunk::<16>() {
        let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *record;
        let whole = u32::from_le_bytes([a, b, c, d]);
        let kept = whole.min(length);
        cut.extend(&record[..8]);
        cut.extend(kept.to_le_bytes());
        cut.extend(&record[12..]);
        cut.extend(&rest[..kept as usize]);
        records = &rest[whole as usize..];
    }
    cut
}

impl Sample {
    /// Returns the head that the encoder writes for the sample.
    pub(crate) fn head(&self, client: IpAddr, server: IpAddr, carrier: Carrier) -> Vec<u8> {
        let mut buf = HeadBuf::new();
        let mut encoder = Encoder::new(
            &mut buf, PORTS, self.seq, &self.kind, self.ccval, self.cscov,
        );
        for option in &self.options {
            encoder.option(option).expect(&self.name);
        }
        let head = match carrier {
            Carrier::Udp { .. } => encoder.finish(),
            Carrier::Native => {
                let pseudo = PseudoHeader::new(client, server).expect("one family");
                let covered = checksum::coverage(self.cscov, self.payload.len());
                let sum = Sum::of(&self.payload[..covered]);
                encoder.finish_with_checksum(pseudo, sum, self.payload.len())
            }
        };
        let head = head.as_slice().to_vec();
        self.is_read_back_from(&head);
        head
    }
}

impl Sample {
    /// Asserts that our decoder reads from `head` what was encoded, and nothing else.
    fn is_read_back_from(&self, head: &[u8]) {
        let packet = Packet::decode_head(head, self.payload.len()).expect(&self.name);
        let told = (self.seq, self.kind, self.ccval, self.cscov);
        let read = (packet.seq, packet.kind, packet.ccval, packet.cscov);
        assert_eq!((packet.ports, read), (PORTS, told), "{}", self.name);
        let mut options = packet.options.iter();
        for option in &self.options {
            let read = options.next().map(RawOption::decode);
            assert_eq!(read, Some(Ok(*option)), "{}", self.name);
        }
        assert!(options.all(|raw| raw.option_type == 0), "{}", self.name);
    }
}

fn in_udp(head: &[u8], payload: &[u8], client: IpAddr, server: IpAddr, port: u16) -> Vec<u8> {
    let pseudo = udp::pseudo_header(client, server).expect("one family");
    let sum = Sum::of(head).join(Sum::of(payload));
    let header = UdpHeader::for_packet(UDP_CLIENT, port, pseudo, sum).expect("fits into UDP");
    [&header.to_bytes(), head, payload].concat()
}

fn ip(client: IpAddr, server: IpAddr, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let length = |header| u16::try_from(transport.len() + header).expect("fits into IP");
    let mut packet = Vec::new();
    match (client, server) {
        (IpAddr::V4(client), IpAddr::V4(server)) => {
            packet.extend([0x45, 0]);
            packet.extend(length(20).to_be_bytes());
            // No identification, Don't Fragment, 64 hops; the checksum is filled in below.
            packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
            packet.extend(client.octets());
            packet.extend(server.octets());
            let sum = !Sum::of(&packet).value();
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(client), IpAddr::V6(server)) => {
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(length(0).to_be_bytes());
            packet.extend([protocol, 64]);
            packet.extend(client.octets());
            packet.extend(server.octets());
        }
        _ => panic!("{client} and {server} are of two families"),
    }
    packet.extend(transport);
    packet
}
