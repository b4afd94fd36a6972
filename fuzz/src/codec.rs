//! The target `codec`: arbitrary bytes as a packet.
//!
//! A decoded packet is compared with [`model`], a second implementation of the RFCs' formats, and encoded again. The
//! bytes are then the same, or the values are, if the wire format has several encodings of one meaning. [`again`] lists
//! those encodings. [`sums`] compares the checksums with the arithmetic of RFC 1071.

mod again;
pub(crate) mod contents;
mod model;
mod sums;

use std::fmt::{self, Write};

use fairwire_wire::{MAX_HEAD, Packet, Peek};

use fairwire_held::thread::without_allocation;

/// Runs one input: a DCCP packet, or bytes that claim to be one.
pub fn run(data: &[u8]) {
    without_allocation("the codec", || {
        sums::of_parts(data);
        sums::udp(data);
        packet(data);
    });
}

fn packet(data: &[u8]) {
    let peek = Peek::decode(data);
    let decoded = Packet::decode(data);
    let expected = model::read(data);
    let packet = match (decoded, expected) {
        (Ok(packet), Ok(expected)) => {
            expected.compare(&packet, data);
            packet
        }
        (Err(refused), Err(expected)) => {
            assert_eq!(refused, expected, "refused for another reason");
            write!(Nowhere, "{refused}").expect("an error can be printed");
            // A peek does not see the payload; it refuses everything else for the same reason.
            assert!(
                peek.is_ok() || peek == Err(refused),
                "{peek:?} of {refused:?}"
            );
            return;
        }
        (decoded, expected) => panic!("{decoded:?} should be {expected:?}"),
    };
    let seen = peek.expect("a peek refuses no more than a decode");
    assert_eq!(
        (seen.ports, seen.packet_type, seen.short, seen.data_offset),
        (
            packet.ports,
            packet.packet_type(),
            packet.is_short(),
            packet.data_offset
        )
    );
    // The same packet in two parts, as the crates pass it on.
    let (head, payload) = data.split_at(packet.data_offset);
    assert!(head.len() <= MAX_HEAD);
    assert_eq!(Packet::decode_head(head, payload.len()), Ok(packet));
    let cut = Packet::decode_head(&head[..head.len() - 1], payload.len() + 1);
    assert!(
        cut.is_err(),
        "a head without its last byte decodes: {cut:?}"
    );
    contents::read(&packet);
    again::encode(&packet, head, payload);
    sums::of_packet(&packet, head, payload);
}

/// A writer that discards text without a buffer.
pub(crate) struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}
