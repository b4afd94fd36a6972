//! What the applications say as they close, on an encrypted connection (`docs/close.md`).

use fairwire_proto::{CloseReason, SendOptions, Stats};
use fairwire_units::Duration;
use fairwire_wire::option_type::CLOSE_CODE;
use fairwire_wire::{Packet, PacketType};

use crate::ends::{Both, config};
use crate::net::{CLIENT, DELAY, SERVER};

fn said_to(ends: &Both, end: usize) -> Option<(u32, &str)> {
    match ends.closed(end)? {
        CloseReason::ApplicationClosed { code, text } => {
            Some((*code, text.as_ref().map_or("", |text| text.as_str())))
        }
        _ => None,
    }
}

fn stats(ends: &Both, end: usize) -> Stats {
    ends.ends[end]
        .stats(ends.id(end))
        .expect("it is not released")
}

fn close(ends: &mut Both, end: usize, code: u32, text: &str) {
    let (now, id) = (ends.now, ends.id(end));
    ends.ends[end].close_with(now, id, code, text);
}

fn packet_type(packet: &[u8]) -> PacketType {
    Packet::decode(packet).expect("our own").packet_type()
}

/// Returns where the value of the option is in a packet.
fn value_of(packet: &[u8]) -> std::ops::Range<usize> {
    let options = Packet::decode(packet).expect("our own").options;
    let raw = options.iter().find(|raw| raw.option_type == CLOSE_CODE);
    let len = raw.expect("a code").data.len();
    let at = packet
        .windows(2)
        .position(|two| two == [CLOSE_CODE, u8::try_from(len + 2).expect("short")]);
    let begin = at.expect("it is there") + 2;
    begin..begin + len
}

/// The code is not readable on the path, and the peer knows that this end closed even if its `close_notify` was lost:
/// whichever packets are.
#[test]
fn a_code_is_secret_and_authentic() {
    for end in [CLIENT, SERVER] {
        for lost in 0..6 {
            let mut ends = Both::secured(config());
            let begun = ends.sent[end].len();
            ends.loses = Box::new(move |from, number, _| from == end && number == begun + lost);
            ends.send(end, b"last", SendOptions::default());
            close(&mut ends, end, 7, "a secret reason");
            ends.run_for(Duration::from_secs(20));
            let context = format!("end {end}, packet {lost}");
            assert_eq!(
                said_to(&ends, 1 - end),
                Some((7, "a secret reason")),
                "{context}"
            );
            assert_eq!(ends.closed(end), Some(&CloseReason::Closed), "{context}");
            assert!(
                ends.ends[1 - end].is_end_announced(ends.id(1 - end)),
                "{context}"
            );
            assert_eq!(stats(&ends, 1 - end).unread_close_codes, 0, "{context}");
            let is_clear = |packet: &Vec<u8>| packet.windows(6).any(|part| part == b"secret");
            assert!(!ends.sent[end].iter().any(is_clear));
        }
    }
}

/// A text may have 211 bytes.
#[test]
fn a_long_text_is_cut() {
    let mut ends = Both::secured(config());
    close(&mut ends, CLIENT, 1, &"x".repeat(300));
    ends.run_for(Duration::from_secs(5));
    assert_eq!(said_to(&ends, SERVER), Some((1, &"x".repeat(211)[..])));
}

/// A value that was changed, one in clear text, and a record of data in its place give no code and are counted. The Close
/// counts all the same, as every header does, but shows nobody's end.
#[test]
fn a_forged_code_says_nothing() {
    type Forge = fn(&mut [u8], &[u8]);
    let forgeries: [(&str, Forge); 4] = [
        ("changed", |value, _| value[30] ^= 1),
        ("cut", |value, _| value[0] ^= 0xff),
        ("in clear text", |value, _| value.fill(b'7')),
        ("data", |value, record| {
            value[..record.len()].copy_from_slice(record);
        }),
    ];
    for (how, forge) in forgeries {
        let mut ends = Both::secured(config());
        ends.loses = Box::new(|from, _, _| from == CLIENT);
        // As long as what is sealed for this close: 16 bytes, the code and the text.
        ends.send(CLIENT, &[b'7'; 16 + 4 + 20], SendOptions::default());
        ends.run_for(DELAY);
        let data = ends.sent[CLIENT].last().expect("it was sent").clone();
        close(&mut ends, CLIENT, 7, "twenty bytes of text");
        ends.run_for(Duration::from_millis(500));
        let mut packet = ends.sent[CLIENT]
            .iter()
            .rev()
            .find(|packet| packet_type(packet) == PacketType::Close);
        let packet = packet.take().expect("a Close");
        let (mut forged, value) = (packet.clone(), value_of(packet));
        let record = &data[data.len() - value.len()..];
        forge(&mut forged[value], record);
        ends.loses = Box::new(|from, _, _| from == CLIENT);
        let at = ends.now + DELAY;
        ends.on_the_way.push_back((at, SERVER, forged));
        ends.run_for(Duration::from_secs(1));
        assert_eq!(ends.closed(SERVER), Some(&CloseReason::Closed), "{how}");
        assert_eq!(stats(&ends, SERVER).unread_close_codes, 1, "{how}");
        assert!(
            !ends.ends[SERVER].is_end_announced(ends.id(SERVER)),
            "{how}"
        );
        assert!(ends.data(SERVER).is_empty(), "{how}");
    }
}

/// What looks like a code in an application's data is data.
#[test]
fn data_is_no_code() {
    let magic = [
        0x3D, 0xA0, 0x58, 0xE6, 0x9B, 0x14, 0xCF, 0x72, 0x86, 0x0B, 0xD3, 0x49, 0xFE, 0x25, 0x91,
        0x6C,
    ];
    let mut ends = Both::secured(config());
    let data = [&magic[..], b"\0\0\0\x07forged"].concat();
    ends.send(CLIENT, &data, SendOptions::default());
    ends.run_for(Duration::from_secs(2));
    assert_eq!(ends.data(SERVER), [data]);
    assert_eq!(ends.closed(SERVER), None);
}

/// An end that was asked to close says what its own application says, too. An end whose peer has announced its own end
/// can seal nothing more, and closes without a code.
#[test]
fn both_may_close() {
    let mut ends = Both::secured(config());
    close(&mut ends, SERVER, 11, "server");
    close(&mut ends, CLIENT, 10, "client");
    ends.run_for(Duration::from_secs(5));
    for end in [CLIENT, SERVER] {
        assert!(
            ends.closed(end).is_some_and(CloseReason::is_orderly),
            "{end}"
        );
    }
    assert_eq!(said_to(&ends, SERVER), Some((10, "client")));
}
