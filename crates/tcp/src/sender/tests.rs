//! Tests of the sender with artificial acknowledgements.

use fairwire_cc::NewReno;
use fairwire_units::{Duration, Instant};

use super::Sender;
use crate::config::{Config, Source};
use crate::event::Event;
use crate::segment::{Flags, TcpSegment, Timestamps};

/// The connection opens with SYN, SYN-ACK, ACK and data; the handshake is the first round-trip sample.
#[test]
fn the_handshake_measures_the_first_round_trip() {
    let mut sender = sender(handshaking(), Source::Finite(150));
    assert_eq!(sender.next_timeout(), Some(ms(10)));
    assert_eq!(sender.poll_transmit(ms(9)), None, "not yet");
    let syn = sender.poll_transmit(ms(10)).unwrap();
    assert!(syn.flags.syn);
    assert!(!syn.flags.ack);
    assert_eq!((syn.seq, syn.wire_len()), (0, 48));
    assert_eq!(sender.poll_transmit(ms(10)), None);
    sender.handle_segment(ms(60), &syn_ack());
    let sent = drain(&mut sender, ms(60));
    assert_eq!(sent, [(1, 0), (1, 100), (101, 50)], "the last one is short");
    assert_eq!(sender.stats().srtt, Some(Duration::from_millis(50)));
    sender.handle_segment(ms(110), &ack(151));
    assert!(sender.is_done());
    assert_eq!(sender.next_timeout(), None, "nothing is outstanding");
    assert_eq!(sender.stats().bytes_acked, 150);
}

/// A lost SYN is repeated with back-off. Then data starts with one segment and a timeout of three seconds (RFC 5681,
/// 3.1; RFC 6298, 5.7), and a repeated SYN gives no sample.
#[test]
fn a_lost_syn_makes_the_start_careful() {
    let mut sender = sender(handshaking(), Source::Greedy);
    assert_eq!(drain(&mut sender, ms(10)), [(0, 0)]);
    for (at, next) in [(1_010, 3_010), (3_010, 7_010)] {
        assert_eq!(sender.next_timeout(), Some(ms(at)));
        sender.handle_timeout(ms(at));
        assert_eq!(drain(&mut sender, ms(at)), [(0, 0)]);
        assert_eq!(sender.next_timeout(), Some(ms(next)));
    }
    sender.handle_segment(ms(3_060), &syn_ack());
    assert_eq!(drain(&mut sender, ms(3_060)), [(1, 0), (1, 100)]);
    assert_eq!(sender.stats().srtt, None);
    assert_eq!(sender.next_timeout(), Some(ms(6_060)));
    sender.handle_segment(ms(3_110), &ack(101));
    assert!(
        drain(&mut sender, ms(3_110)).len() > 1,
        "then it goes on as usual"
    );
}

/// A repeated SYN-ACK means that our acknowledgement was lost, and is acknowledged again.
#[test]
fn a_repeated_syn_ack_is_answered() {
    let mut sender = sender(handshaking(), Source::Written);
    drain(&mut sender, ms(10));
    for at in [60, 1_060] {
        sender.handle_segment(ms(at), &syn_ack());
        assert_eq!(drain(&mut sender, ms(at)), [(1, 0)]);
    }
    sender.write(100);
    assert_eq!(drain(&mut sender, ms(2_000)), [(1, 100)]);
}

/// RFC 6298, 5.4 to 5.6: a timeout retransmits the first outstanding segment and doubles, until a segment that was sent
/// only once is acknowledged. The window is in slow start meanwhile (RFC 5681, 3.1).
#[test]
fn timeouts_back_off_until_a_sample() {
    let mut sender = sender(plain(), Source::Greedy);
    assert_eq!(drain(&mut sender, ms(10)), [(1, 100), (101, 100)]);
    for (at, next) in [(1_010, 3_010), (3_010, 7_010), (7_010, 15_010)] {
        sender.handle_timeout(ms(at));
        assert_eq!(drain(&mut sender, ms(at)), [(1, 100)]);
        assert_eq!(sender.next_timeout(), Some(ms(next)));
        assert_eq!(sender.stats().cwnd_packets, Some(1.0));
    }
    sender.handle_segment(ms(7_060), &ack(101));
    assert_eq!(drain(&mut sender, ms(7_060)), [(101, 100), (201, 100)]);
    assert_eq!(sender.stats().srtt, None, "Karn: it was sent four times");
    assert_eq!(sender.stats().rto, Duration::from_secs(8));
    sender.handle_segment(ms(7_110), &ack(301));
    assert_eq!(sender.stats().srtt, Some(Duration::from_millis(50)));
    assert_eq!(sender.stats().rto, Duration::from_secs(1));
}

/// Segments that a timeout gave up are not sent again if an acknowledgement covers them.
#[test]
fn what_had_arrived_is_not_repeated() {
    let mut sender = sender(plain(), Source::Greedy);
    drain(&mut sender, ms(10));
    sender.handle_timeout(ms(1_010));
    assert_eq!(drain(&mut sender, ms(1_010)), [(1, 100)]);
    sender.handle_segment(ms(1_060), &ack(201));
    assert_eq!(drain(&mut sender, ms(1_060)), [(201, 100), (301, 100)]);
    assert_eq!(sender.stats().segments_retransmitted, 1);
}

/// No byte leaves beyond the receiver's window, and a window that the receiver limits does not grow.
#[test]
fn the_receivers_window_is_the_limit() {
    let mut sender = sender(plain(), Source::Greedy);
    let mut end = 1;
    for index in 0..500 {
        let acknowledged = 1 + 100 * index;
        let now = ms(10 + 50 * index);
        if index > 0 {
            sender.handle_segment(now, &ack(acknowledged));
        }
        for (seq, len) in drain(&mut sender, now) {
            end = seq + u64::from(len);
        }
        assert!(end <= acknowledged + 2_000, "20 segments of 100 bytes");
    }
    let stats = sender.stats();
    // The round trip in which the window was last full still counts, and slow start doubles it once.
    assert!(stats.cwnd_packets.unwrap() <= 40.0, "{stats:?}");
    assert_eq!(stats.outstanding, 20, "and all of it is used");
}

/// What the application wrote is unsent until it leaves for the first time.
#[test]
fn unsent_data_waits_for_the_window() {
    let mut sender = sender(plain(), Source::Written);
    assert_eq!(sender.unsent(), 0);
    sender.write(550);
    assert_eq!(sender.unsent(), 550);
    drain(&mut sender, ms(10));
    assert_eq!(sender.unsent(), 350, "a window of two");
    sender.handle_segment(ms(60), &ack(201));
    drain(&mut sender, ms(60));
    assert_eq!(sender.unsent(), 50, "a window of three");
    sender.handle_segment(ms(110), &ack(501));
    drain(&mut sender, ms(110));
    assert_eq!(sender.unsent(), 0);
    assert!(!sender.is_done(), "the last bytes are not acknowledged");
}

/// RFC 5681, section 2: an acknowledgement with a changed window or data, or with nothing outstanding, is no duplicate.
#[test]
fn only_true_duplicates_count() {
    let mut sender = sender(plain(), Source::Finite(200));
    drain(&mut sender, ms(10));
    sender.handle_segment(
        ms(50),
        &TcpSegment {
            window: 1_000,
            ..ack(1)
        },
    );
    sender.handle_segment(
        ms(51),
        &TcpSegment {
            window: 1_000,
            len: 10,
            ..ack(1)
        },
    );
    sender.handle_segment(
        ms(52),
        &TcpSegment {
            window: 1_000,
            ..ack(0)
        },
    );
    assert_eq!(sender.stats().duplicate_acks, 0);
    sender.handle_segment(
        ms(53),
        &TcpSegment {
            window: 1_000,
            ..ack(1)
        },
    );
    assert_eq!(sender.stats().duplicate_acks, 1);
    sender.handle_segment(ms(60), &ack(201));
    sender.handle_segment(ms(61), &ack(201));
    assert_eq!(sender.stats().duplicate_acks, 1, "all is acknowledged");
}

/// RFC 7323, 4.1: with timestamps the acknowledgement of a retransmitted segment is a sample and ends the back-off.
/// Without them it is none (Karn's algorithm). An acknowledgement without new data is never a sample.
#[test]
fn timestamps_measure_what_was_sent_twice() {
    for (timestamps, wire_size, rto) in [(false, 140, 2_000), (true, 152, 1_000)] {
        let config = Config {
            timestamps,
            ..Config::one_way(wire_size)
        };
        let mut sender = sender(config, Source::Greedy);
        let stamp = sender.poll_transmit(ms(10)).unwrap().timestamps;
        assert_eq!(stamp.is_some(), timestamps);
        drain(&mut sender, ms(10));
        sender.handle_timeout(ms(1_010));
        let again = sender.poll_transmit(ms(1_010)).unwrap();
        assert_eq!(again.seq, 1);
        let echoing = |number, sent: &TcpSegment| TcpSegment {
            timestamps: sent.timestamps.map(|sent| Timestamps {
                value: 5,
                echo: sent.value,
            }),
            ..ack(number)
        };
        sender.handle_segment(ms(1_050), &echoing(1, &again));
        assert_eq!(sender.stats().srtt, None, "nothing new");
        sender.handle_segment(ms(1_060), &echoing(101, &again));
        let srtt = timestamps.then_some(Duration::from_millis(50));
        assert_eq!(sender.stats().srtt, srtt);
        assert_eq!(sender.stats().rto, Duration::from_millis(rto));
        let echoed = sender.poll_transmit(ms(1_070)).unwrap().timestamps;
        assert_eq!(echoed.map(|stamps| stamps.echo), timestamps.then_some(5));
    }
}

/// RFC 7323, 3.2: the option's bytes reduce the data of a full segment. RFC 6691, 2: the size in a SYN does not count
/// them.
#[test]
fn timestamps_take_their_room() {
    let config = Config {
        timestamps: true,
        ..handshaking()
    };
    let mut sender = sender(config, Source::Greedy);
    let syn = sender.poll_transmit(ms(10)).unwrap();
    assert_eq!((syn.mss, syn.wire_len()), (100, 60));
    sender.handle_segment(ms(20), &syn_ack());
    let sizes: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(ms(20)))
        .map(|segment| (segment.len, segment.wire_len()))
        .collect();
    assert_eq!(sizes, [(0, 52), (88, 140), (88, 140)]);
}

/// ns-2 counts the ticks of a clock between a segment and its acknowledgement; a tick is the `G` of RFC 6298, 2.3.
#[test]
fn a_host_measures_in_ticks() {
    for (left, came, srtt) in [(10, 59, 40), (10, 60, 50), (19, 60, 50), (10, 18, 10)] {
        let config = Config {
            tick: Some(Duration::from_millis(10)),
            ..plain()
        };
        let mut sender = Sender::new(
            config,
            Box::new(config.window(NewReno)),
            Source::Greedy,
            ms(left),
        );
        drain(&mut sender, ms(left));
        sender.handle_segment(ms(came), &ack(101));
        let measured = sender.stats().srtt;
        assert_eq!(
            measured,
            Some(Duration::from_millis(srtt)),
            "{left} to {came} ms"
        );
    }
}

/// Acknowledgements of data that was never sent, and segments without valid flags, change nothing.
#[test]
fn nonsense_is_counted_and_ignored() {
    let mut sender = sender(plain(), Source::Greedy);
    let before = drain(&mut sender, ms(10)).len();
    for nonsense in [ack(202), ack(u64::MAX), TcpSegment::default()] {
        sender.handle_segment(ms(20), &nonsense);
    }
    assert_eq!(sender.stats().discarded, 3);
    assert_eq!(sender.stats().outstanding as usize, before);
    assert_eq!(drain(&mut sender, ms(20)), []);
}

/// RFC 6582, section 6: the acknowledgement that ends a recovery lets at most `max_burst` segments leave, even if the
/// window has room for more.
#[test]
fn the_end_of_a_recovery_is_no_burst() {
    let config = Config {
        initial_window: Some(16.0),
        limited_transmit: false,
        max_burst: 3,
        trace: true,
        ..plain()
    };
    let mut sender = sender(config, Source::Greedy);
    assert_eq!(drain(&mut sender, ms(10)).len(), 16);
    for _ in 0..3 {
        sender.handle_segment(ms(60), &ack(1));
    }
    assert_eq!(drain(&mut sender, ms(60)), [(1, 100)]);
    // All further duplicates were lost on their way; the window is eight.
    sender.handle_segment(ms(110), &ack(1_601));
    assert_eq!(drain(&mut sender, ms(110)).len(), 3);
    sender.handle_segment(ms(160), &ack(1_701));
    assert_eq!(
        drain(&mut sender, ms(160)).len(),
        6,
        "the next one fills the window"
    );
    let events: Vec<_> = std::iter::from_fn(|| sender.poll_event())
        .map(|traced| traced.event)
        .filter(|event| !matches!(event, Event::Sent { .. } | Event::Acked { .. }))
        .collect();
    let duplicate = |count| Event::DuplicateAck { count };
    assert_eq!(
        events,
        [
            duplicate(1),
            duplicate(2),
            Event::RecoveryBegan { recover: 1_601 },
            duplicate(3),
            Event::RecoveryEnded,
        ]
    );
}

pub(super) fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns a configuration with segments of 100 bytes, no handshake, an initial window of two and a receive window of
/// 20.
pub(super) fn plain() -> Config {
    Config::one_way(140)
}

fn handshaking() -> Config {
    Config {
        handshake: true,
        ..plain()
    }
}

/// Returns a sender that starts at 10 ms.
pub(super) fn sender(config: Config, source: Source) -> Sender {
    Sender::new(config, Box::new(config.window(NewReno)), source, ms(10))
}

/// Returns the number and the length of all segments that leave now.
pub(super) fn drain(sender: &mut Sender, now: Instant) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|segment| (segment.seq, segment.len))
        .collect()
}

pub(super) fn ack(ack: u64) -> TcpSegment {
    TcpSegment {
        seq: 1,
        ack,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        window: 2_000,
        ..TcpSegment::default()
    }
}

fn syn_ack() -> TcpSegment {
    TcpSegment {
        seq: 0,
        flags: Flags {
            syn: true,
            ack: true,
            ..Flags::default()
        },
        mss: 100,
        ..ack(1)
    }
}
