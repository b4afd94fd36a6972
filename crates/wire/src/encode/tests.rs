//! Tests of what the encoder promises beyond a round trip through the decoder.

use super::{Encoder, HeadBuf, NoRoom};
use crate::{
    AckEntry, DccpOption, EntryState, Kind, LossInterval, MAX_HEAD, Packet, Ports, Seq, SeqNo,
};

const PORTS: Ports = Ports {
    source: 5001,
    destination: 5002,
};

fn ack(buf: &mut HeadBuf) -> Encoder<'_> {
    let kind = Kind::Ack {
        ack: SeqNo::Long(Seq::new(9)),
    };
    Encoder::new(buf, PORTS, SeqNo::Long(Seq::new(7)), &kind, 0, 0)
}

/// Returns the options area of a head with one option, padding included.
fn encoded(option: DccpOption<'_>) -> Vec<u8> {
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    encoder.option(&option).unwrap();
    encoder.finish().as_slice()[24..].to_vec()
}

/// RFC 4340, 7.7 and 13.2, and RFC 6323, 3.2.1: numbers are written in the smallest form that holds them.
#[test]
fn numbers_take_the_smallest_form() {
    assert_eq!(encoded(DccpOption::NdpCount(0)), [37, 3, 0, 0]);
    assert_eq!(encoded(DccpOption::NdpCount(255)), [37, 3, 255, 0]);
    assert_eq!(encoded(DccpOption::NdpCount(256)), [37, 4, 1, 0]);
    let largest = [37, 8, 255, 255, 255, 255, 255, 255];
    assert_eq!(encoded(DccpOption::NdpCount((1 << 48) - 1)), largest);
    assert_eq!(encoded(DccpOption::NdpCount(1 << 48)), largest, "held");

    assert_eq!(encoded(DccpOption::ElapsedTime(0xFFFF)), [43, 4, 255, 255]);
    let long = [43, 6, 0, 1, 0, 0, 0, 0];
    assert_eq!(encoded(DccpOption::ElapsedTime(0x1_0000)), long);

    let echo = |elapsed| DccpOption::TimestampEcho {
        timestamp: 1,
        elapsed,
    };
    assert_eq!(encoded(echo(None)), [42, 6, 0, 0, 0, 1, 0, 0]);
    assert_eq!(encoded(echo(Some(2))), [42, 8, 0, 0, 0, 1, 0, 2]);
    let long = [42, 10, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    assert_eq!(encoded(echo(Some(0x1_0000))), long);

    assert_eq!(encoded(DccpOption::RttEstimate(0)), [128, 3, 0, 0]);
    assert_eq!(encoded(DccpOption::RttEstimate(256)), [128, 4, 1, 0]);
    let too_large = [128, 5, 255, 255, 255, 0, 0, 0];
    assert_eq!(encoded(DccpOption::RttEstimate(u32::MAX)), too_large);
}

/// An option that does not fit leaves the head unchanged, and the error says how much room was missing.
#[test]
fn no_room_writes_nothing() {
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf).limit(31); // rounded down to 28: four bytes of options
    assert_eq!(encoder.room(), 4);
    let timestamp = DccpOption::Timestamp(1);
    let refused = NoRoom { needed: 6, room: 4 };
    assert_eq!(encoder.option(&timestamp), Err(refused));
    assert_eq!(encoder.option(&DccpOption::NdpCount(3)), Ok(()));
    assert_eq!(encoder.option(&DccpOption::Mandatory), Ok(()));
    let refused = NoRoom { needed: 1, room: 0 };
    assert_eq!(encoder.option(&DccpOption::Padding), Err(refused));
    assert_eq!(&encoder.finish().as_slice()[24..], [37, 3, 3, 1]);
}

/// The longest head has exactly 1,020 bytes. An option with more than 253 bytes of data fits nowhere.
#[test]
fn the_longest_head() {
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    let refused = encoder.raw_option(99, &[0; 254]);
    assert_eq!(
        refused,
        Err(NoRoom {
            needed: 256,
            room: 255
        })
    );
    for _ in 0..3 {
        encoder.raw_option(99, &[7; 253]).unwrap();
    }
    encoder.raw_option(99, &[7; 229]).unwrap();
    assert_eq!(encoder.room(), 0);
    let head = encoder.finish().as_slice();
    assert_eq!(head.len(), MAX_HEAD);
    let packet = Packet::decode(head).unwrap();
    assert_eq!(packet.data_offset, MAX_HEAD);
    assert_eq!(packet.options.iter().count(), 4);
}

/// Truncating to a mark removes what was written after it, and nothing before it.
#[test]
fn truncate_goes_back_to_the_mark() {
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    let start = encoder.mark();
    encoder.option(&DccpOption::NdpCount(3)).unwrap();
    let mark = encoder.mark();
    encoder.option(&DccpOption::Timestamp(u32::MAX)).unwrap();
    encoder.truncate(mark);
    assert_eq!(encoder.options_len(), 3);
    assert_eq!(encoder.padded_len(), 28);
    assert_eq!(&encoder.finish().as_slice()[24..], [37, 3, 3, 0]);
    let mut encoder = ack(&mut buf);
    encoder.option(&DccpOption::NdpCount(3)).unwrap();
    encoder.truncate(start);
    assert_eq!(encoder.finish().len(), 24);
}

/// A buffer can be reused: no bytes of a longer head appear in a shorter one.
///
/// While a head is being written, the buffer is empty.
#[test]
fn buffers_are_used_again() {
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    encoder.raw_option(99, &[0xEE; 100]).unwrap();
    encoder.finish();
    let mut encoder = ack(&mut buf);
    encoder.option(&DccpOption::SlowReceiver).unwrap();
    assert_eq!(&encoder.finish().as_slice()[24..], [2, 0, 0, 0]);
    let _ = ack(&mut buf);
    assert!(buf.is_empty(), "dropped unfinished");
}

/// RFC 4340, 11.4: entries beyond 253 go into a second option. If that does not fit, neither option is written.
#[test]
fn long_ack_vectors_take_several_options() {
    let entries = (0..=255u8).map(AckEntry::from_byte);
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    encoder.ack_vector(entries.clone()).unwrap();
    let head = encoder.finish().as_slice().to_vec();
    let mut told = Vec::new();
    let mut options = 0;
    for option in Packet::decode(&head).unwrap().options {
        if let Ok(DccpOption::AckVector { nonce, entries }) = option.decode() {
            assert!(!nonce);
            told.extend(entries.iter());
            options += 1;
        }
    }
    assert_eq!(options, 2);
    assert_eq!(told, entries.clone().collect::<Vec<_>>());

    let mut encoder = ack(&mut buf).limit(24 + 256);
    let refused = encoder.ack_vector(entries);
    assert_eq!(refused, Err(NoRoom { needed: 3, room: 1 }));
    assert_eq!(encoder.options_len(), 0);
    encoder.ack_vector([]).unwrap();
    assert_eq!(encoder.options_len(), 0, "no entries, no option");
    let lost = AckEntry::new(EntryState::NotReceived, 2);
    encoder.ack_vector([lost]).unwrap();
    assert_eq!(&encoder.finish().as_slice()[24..], [38, 3, 0xC1, 0]);
}

/// RFC 4342, 8.6.1, and RFC 5622, 8.7: an option holds at most 28 intervals or 84 counts.
///
/// Skip Length is zero in all options but the first.
#[test]
fn long_interval_lists_take_several_options() {
    let intervals = (0..30).map(|n| LossInterval {
        lossless_length: n,
        data_length: n,
        ..LossInterval::default()
    });
    let mut buf = HeadBuf::new();
    let mut encoder = ack(&mut buf);
    encoder.loss_intervals(3, intervals.clone()).unwrap();
    encoder.dropped_packets(0..85).unwrap();
    let head = encoder.finish().as_slice().to_vec();
    let (mut skips, mut told, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for option in Packet::decode(&head).unwrap().options {
        match option.decode().unwrap() {
            DccpOption::LossIntervals { skip, intervals } => {
                skips.push((skip, intervals.iter().len()));
                told.extend(intervals.iter());
            }
            DccpOption::DroppedPackets(drops) => counts.push(drops.iter().collect::<Vec<_>>()),
            other => assert_eq!(other, DccpOption::Padding),
        }
    }
    assert_eq!(skips, [(3, 28), (0, 2)]);
    assert_eq!(told, intervals.collect::<Vec<_>>());
    assert_eq!(counts, [(0..84).collect(), vec![84]]);
}

/// A short Acknowledgement Number in a long header is a bug, because a sender knows its own full numbers.
#[test]
#[should_panic(expected = "all 48 bits")]
fn short_ack_in_a_long_header_is_a_bug() {
    let kind = Kind::Ack {
        ack: SeqNo::Short(1),
    };
    let seq = SeqNo::Long(Seq::ZERO);
    Encoder::new(&mut HeadBuf::new(), PORTS, seq, &kind, 0, 0);
}

/// RFC 4340, 5.1: a Sync never has 24-bit sequence numbers; requesting them is a bug.
#[test]
#[should_panic(expected = "48-bit")]
fn short_sync_is_a_bug() {
    let kind = Kind::Sync {
        ack: SeqNo::Short(1),
    };
    Encoder::new(&mut HeadBuf::new(), PORTS, SeqNo::Short(2), &kind, 0, 0);
}
