//! Encodes a decoded packet again and compares.
//!
//! The bytes are unchanged, except where RFC 4340 allows several encodings of one meaning. These are all of them:
//!
//! - reserved bits, above the type and before a Sequence or Acknowledgement Number, which a receiver ignores (section
//!   3.1) and we send as zero;
//! - the Checksum, which is computed from the rest;
//! - leading zero bytes of an NDP Count (section 7.7) and of an RTT Estimate (RFC 6323, 3.2.1);
//! - an elapsed time below 2^16 in four bytes (sections 13.2 and 13.3);
//! - options from the first invalid length on (section 5.8), which no receiver reads.
//!
//! [`smallest`] writes each option in the form that we send, without the encoder.

use fairwire_wire::{Encoder, HeadBuf, MAX_HEAD, Packet, PacketType};

/// Encodes `packet`, which was read from `head`, and compares bytes and values.
pub(super) fn encode(packet: &Packet<'_>, head: &[u8], payload: &[u8]) {
    let mut buf = HeadBuf::new();
    let encoded = write(packet, &mut buf);
    let (expected, len) = normal_form(packet, head);
    assert_eq!(encoded, &expected[..len], "the form that we send");
    // A head with an invalid tail becomes shorter, and may then have a few bytes of Padding.
    assert!(encoded.len() <= head.len());

    let read = Packet::decode_head(encoded, payload.len()).expect("it was just written");
    assert_eq!(
        (read.ports, read.seq, read.kind, read.ccval, read.cscov),
        (
            packet.ports,
            packet.seq,
            packet.kind,
            packet.ccval,
            packet.cscov
        )
    );
    let mut options = read.options.iter();
    for raw in packet.options {
        let same = options.next().expect("each option was written");
        assert_eq!(same.option_type, raw.option_type);
        assert_eq!(same.decode(), raw.decode());
        if raw.decode().is_err() {
            assert_eq!(same.data, raw.data);
        }
    }
    assert!(options.by_ref().all(|raw| raw.option_type == 0), "Padding");
    assert!(options.remainder().is_empty());

    let mut second = HeadBuf::new();
    assert_eq!(write(&read, &mut second), encoded, "written twice");
}

/// Writes a packet option by option; options that do not decode are copied.
fn write<'a>(packet: &Packet<'_>, buf: &'a mut HeadBuf) -> &'a [u8] {
    let Packet {
        ports,
        seq,
        kind,
        ccval,
        cscov,
        ..
    } = *packet;
    let mut encoder = Encoder::new(buf, ports, seq, &kind, ccval, cscov);
    for raw in packet.options {
        let before = (encoder.room(), encoder.options_len());
        let written = match raw.decode() {
            Ok(option) => encoder.option(&option),
            Err(_) => encoder.raw_option(raw.option_type, raw.data),
        };
        written.expect("no option becomes longer");
        let took = encoder.options_len() - before.1;
        assert_eq!(encoder.room() + took, before.0);
    }
    let padded = encoder.padded_len();
    let head = encoder.finish().as_slice();
    assert_eq!(head.len(), padded);
    head
}

/// Returns the bytes that `head` should become.
fn normal_form(packet: &Packet<'_>, head: &[u8]) -> ([u8; MAX_HEAD], usize) {
    let mut out = [0; MAX_HEAD];
    let fixed = packet.packet_type().header_len(packet.is_short());
    out[..fixed].copy_from_slice(&head[..fixed]);
    out[6..8].fill(0);
    out[8] &= 0x1F;
    let has_ack = !matches!(
        packet.packet_type(),
        PacketType::Request | PacketType::Data | PacketType::Listen
    );
    match (packet.is_short(), has_ack) {
        (true, true) => out[12] = 0,
        (true, false) => {}
        (false, _) => out[9] = 0,
    }
    if has_ack && !packet.is_short() {
        out[16..18].fill(0);
    }
    let mut len = fixed;
    for raw in packet.options {
        let (first, second) = smallest(raw.option_type, raw.data);
        out[len] = raw.option_type;
        len += 1;
        if raw.option_type < 32 {
            continue;
        }
        out[len] = u8::try_from(2 + first.len() + second.len()).expect("an option's length");
        for part in [first, second] {
            out[len + 1..len + 1 + part.len()].copy_from_slice(part);
            len += part.len();
        }
        len += 1;
    }
    len = len.next_multiple_of(4);
    out[4] = u8::try_from(len / 4).expect("Data Offset");
    (out, len)
}

/// Returns the data of an option in their smallest form, in two parts.
pub(crate) fn smallest(option_type: u8, data: &[u8]) -> (&[u8], &[u8]) {
    match (option_type, data.len()) {
        (37, 1..=6) | (128, 1..=3) => {
            let zeros = data.iter().take_while(|&&byte| byte == 0).count();
            (&[], &data[zeros.min(data.len() - 1)..])
        }
        (43, 4) if data.starts_with(&[0, 0]) => (&[], &data[2..]),
        (42, 8) if data[4..].starts_with(&[0, 0]) => (&data[..4], &data[6..]),
        _ => (&[], data),
    }
}
