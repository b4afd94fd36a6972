//! Tests of when acknowledgements leave.

mod linux;

use fairwire_units::{Duration, Instant};

use super::Receiver;
use crate::config::{Config, DelayedAcks};
use crate::recovery::RecoveryKind;
use crate::segment::{Flags, TcpSegment, Timestamps};

/// Without delay every segment is acknowledged.
#[test]
fn each_segment_is_acknowledged() {
    let mut receiver = Receiver::new(Config::one_way(140));
    assert_eq!(acks_after(&mut receiver, ms(0), 0), [101]);
    assert_eq!(acks_after(&mut receiver, ms(1), 1), [201]);
    assert_eq!(receiver.next_timeout(), None);
    assert_eq!(receiver.stats().bytes_delivered, 200);
}

/// RFC 5681, 4.2: every second segment is acknowledged at once, a single one after the delay.
#[test]
fn delayed_acknowledgements_pair_or_wait() {
    let mut receiver = delaying();
    assert_eq!(acks_after(&mut receiver, ms(0), 0), [0_u64; 0]);
    assert_eq!(acks_after(&mut receiver, ms(1), 1), [201]);
    assert_eq!(receiver.next_timeout(), None);
    assert_eq!(acks_after(&mut receiver, ms(10), 2), [0_u64; 0]);
    assert_eq!(receiver.next_timeout(), Some(ms(210)));
    receiver.handle_timeout(ms(209));
    assert_eq!(drain(&mut receiver), [0_u64; 0]);
    receiver.handle_timeout(ms(210));
    assert_eq!(drain(&mut receiver), [301]);
}

/// The first segments are acknowledged one by one if the configuration says so.
#[test]
fn quick_acknowledgements_come_first() {
    let mut receiver = Receiver::new(Config {
        delayed_acks: Some(DelayedAcks {
            quick: 2,
            ..DelayedAcks::default()
        }),
        ..Config::one_way(140)
    });
    for (index, acks) in [(0, vec![101]), (1, vec![201]), (2, vec![]), (3, vec![401])] {
        assert_eq!(acks_after(&mut receiver, ms(index), index), acks, "{index}");
    }
}

/// RFC 7323, 4.3: a delayed acknowledgement echoes the first segment that it covers. One for a segment behind a gap
/// echoes the last segment in order, and one that fills the gap echoes the segment that filled it.
#[test]
fn echoes_measure_what_the_sender_waited_for() {
    let mut receiver = Receiver::new(Config {
        delayed_acks: Some(DelayedAcks::default()),
        timestamps: true,
        ..Config::one_way(152)
    });
    let mut echo = |at: u64, index: u64| {
        let segment = TcpSegment {
            seq: 1 + index * 100,
            len: 100,
            timestamps: Some(Timestamps {
                value: u32::try_from(at).unwrap(),
                echo: 7,
            }),
            ..TcpSegment::default()
        };
        receiver.handle_segment(ms(at), &segment);
        let ack = receiver.poll_transmit(ms(at))?;
        Some((ack.ack, ack.timestamps?.echo))
    };
    assert_eq!(echo(10, 0), None);
    assert_eq!(echo(12, 1), Some((201, 10)), "the first of two");
    assert_eq!(echo(20, 3), Some((201, 10)), "beyond a hole");
    assert_eq!(echo(30, 2), Some((401, 30)), "fills it");
    assert_eq!(echo(25, 4), None);
    assert_eq!(echo(40, 5), Some((601, 30)), "an older time is not echoed");
}

/// RFC 2018, 3 and 4: with SACK every acknowledgement reports the waiting ranges, and a SYN-ACK permits SACK.
#[test]
fn what_waits_is_selected() {
    let mut receiver = Receiver::new(Config {
        recovery: RecoveryKind::Sack,
        ..Config::one_way(140)
    });
    let blocks = |receiver: &mut Receiver, index: u64| {
        let segment = TcpSegment {
            seq: 1 + index * 100,
            len: 100,
            ..TcpSegment::default()
        };
        receiver.handle_segment(ms(0), &segment);
        let ack = receiver.poll_transmit(ms(0)).unwrap();
        (ack.ack, ack.sack.iter().collect::<Vec<_>>(), ack.wire_len())
    };
    assert_eq!(blocks(&mut receiver, 0), (101, vec![], 40));
    assert_eq!(blocks(&mut receiver, 2), (101, vec![(201, 301)], 52));
    let two = vec![(401, 501), (201, 301)];
    assert_eq!(blocks(&mut receiver, 4), (101, two, 60));
    assert_eq!(blocks(&mut receiver, 1), (301, vec![(401, 501)], 52));
    let syn = TcpSegment {
        flags: Flags {
            syn: true,
            ..Flags::default()
        },
        ..TcpSegment::default()
    };
    receiver.handle_segment(ms(1), &syn);
    let answer = receiver.poll_transmit(ms(1)).unwrap();
    assert!(answer.sack_permitted);
    assert_eq!(answer.wire_len(), 52);
}

/// RFC 5681, 4.2: a segment that is out of order, fills a gap or is a copy is acknowledged at once.
#[test]
fn disorder_is_acknowledged_at_once() {
    let mut receiver = delaying();
    assert_eq!(acks_after(&mut receiver, ms(0), 1), [1]);
    assert_eq!(acks_after(&mut receiver, ms(1), 3), [1]);
    assert_eq!(
        acks_after(&mut receiver, ms(2), 0),
        [201],
        "shortens the gap"
    );
    assert_eq!(acks_after(&mut receiver, ms(3), 2), [401], "fills it");
    assert_eq!(acks_after(&mut receiver, ms(4), 2), [401], "again");
    assert_eq!(
        acks_after(&mut receiver, ms(5), 4),
        [0_u64; 0],
        "in order once more"
    );
    let stats = receiver.stats();
    assert_eq!(
        (stats.segments, stats.out_of_order, stats.duplicates),
        (6, 2, 1)
    );
    assert_eq!(stats.bytes_delivered, 500);
}

/// A SYN is answered each time it arrives, and data before it is not accepted.
#[test]
fn a_syn_is_answered() {
    let mut receiver = Receiver::new(Config {
        wire_size: 140,
        ..Config::default()
    });
    assert_eq!(acks_after(&mut receiver, ms(0), 0), [0_u64; 0]);
    assert_eq!(receiver.stats().segments, 0);
    let syn = TcpSegment {
        flags: Flags {
            syn: true,
            ..Flags::default()
        },
        ..TcpSegment::default()
    };
    for _ in 0..2 {
        receiver.handle_segment(ms(1), &syn);
        let answer = receiver.poll_transmit(ms(1)).unwrap();
        assert!(answer.flags.syn);
        assert!(answer.flags.ack);
        assert_eq!(answer.ack, 1);
        assert_eq!(answer.mss, 100);
    }
    assert_eq!(receiver.poll_transmit(ms(1)), None);
}

fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn delaying() -> Receiver {
    Receiver::new(Config {
        delayed_acks: Some(DelayedAcks::default()),
        ..Config::one_way(140)
    })
}

/// Passes the `index`th segment of 100 bytes and returns the numbers that are acknowledged.
fn acks_after(receiver: &mut Receiver, now: Instant, index: u64) -> Vec<u64> {
    let segment = TcpSegment {
        seq: 1 + index * 100,
        len: 100,
        ..TcpSegment::default()
    };
    receiver.handle_segment(now, &segment);
    drain(receiver)
}

fn drain(receiver: &mut Receiver) -> Vec<u64> {
    std::iter::from_fn(|| receiver.poll_transmit(ms(0)))
        .map(|ack| ack.ack)
        .collect()
}
