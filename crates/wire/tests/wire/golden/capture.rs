//! A reader of the fixtures: classic pcap files of Ethernet frames, written by a little-endian machine.
//!
//! It has no need of a library, because three headers of fixed form are all it reads. A file of any other form fails
//! the test.

use std::path::Path;

use fairwire_wire::checksum::{IP_PROTOCOL, PseudoHeader};

/// A DCCP packet with the pseudo-header of its checksum.
pub(crate) struct Captured {
    /// The pseudo-header, without the length.
    pub(crate) pseudo: PseudoHeader,
    /// The packet from the DCCP header on, as long as the IP header says.
    pub(crate) dccp: Vec<u8>,
}

/// Reads every packet of the capture with this name.
pub(crate) fn read(name: &str) -> Vec<Captured> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
        .with_extension("pcap");
    let file = std::fs::read(&path).expect(name);
    let (header, mut records) = file.split_at(24);
    assert_eq!(header[..4], [0xD4, 0xC3, 0xB2, 0xA1], "{name}: pcap, us");
    assert_eq!(header[20..], [1, 0, 0, 0], "{name}: Ethernet");
    let mut packets = Vec::new();
    while let Some((record, rest)) = records.split_at_checked(16) {
        let length =
            |at| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        assert_eq!(length(8), length(12), "{name}: captured whole");
        let (frame, rest) = rest.split_at(length(8) as usize);
        packets.push(dccp_of(frame).expect(name));
        records = rest;
    }
    assert!(records.is_empty(), "{name}: cut short");
    packets
}

/// Returns the DCCP packet in an Ethernet frame, without the padding of the frame.
fn dccp_of(frame: &[u8]) -> Option<Captured> {
    let (ethernet, ip) = frame.split_at_checked(14)?;
    match *ethernet.last_chunk()? {
        [0x08, 0x00] => {
            let header_len = usize::from(ip[0] & 0x0F) * 4;
            let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            let source: [u8; 4] = ip[12..16].try_into().ok()?;
            let destination: [u8; 4] = ip[16..20].try_into().ok()?;
            (ip[9] == IP_PROTOCOL).then(|| Captured {
                pseudo: PseudoHeader::v4(source.into(), destination.into()),
                dccp: ip[header_len..total_len].to_vec(),
            })
        }
        [0x86, 0xDD] => {
            let payload_len = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
            let source: [u8; 16] = ip[8..24].try_into().ok()?;
            let destination: [u8; 16] = ip[24..40].try_into().ok()?;
            (ip[6] == IP_PROTOCOL).then(|| Captured {
                pseudo: PseudoHeader::v6(source.into(), destination.into()),
                dccp: ip[40..40 + payload_len].to_vec(),
            })
        }
        _ => None,
    }
}
