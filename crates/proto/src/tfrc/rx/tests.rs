mod overtaken;
mod stacks;

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{
    DccpOption, Encoder, HeadBuf, Kind, LossInterval, NO_LOSS, Packet, Ports, Seq,
};

use super::{TfrcRx, inverse};
use crate::config::{Ccid3Config, FeedbackRate};
use crate::half::{AckDue, Arrival, Rx};
use crate::tfrc::Profile;

const R: Duration = Duration::from_millis(100);
const SIZE: u32 = 1_000;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Returns a half whose first packet is number 0.
fn half() -> TfrcRx {
    half_of(Profile::Ccid3)
}

/// Returns the same for small packets.
fn small_half() -> TfrcRx {
    half_of(Profile::small_packets(1_500, false))
}

fn half_of(profile: Profile) -> TfrcRx {
    half_with(profile, FeedbackRate::PerRoundTrip(1))
}

fn half_with(profile: Profile, feedback: FeedbackRate) -> TfrcRx {
    let config = Ccid3Config {
        history_discounting: false,
        feedback,
        ..Ccid3Config::default()
    };
    TfrcRx::new(&config, profile, Some(R), at(0), Seq::ZERO.prev())
}

fn data(seq: u64, ccval: u8) -> Arrival {
    Arrival {
        seq: Seq::new(seq),
        data: Some(SIZE),
        ecn: Ecn::Ect0,
        ccval,
        ndp_count: None,
        has_ndp_counts: false,
        rtt_estimate: None,
    }
}

fn non_data(seq: u64) -> Arrival {
    Arrival {
        data: None,
        ..data(seq, 0)
    }
}

/// The options of one feedback packet.
#[derive(Debug, Default)]
struct FeedbackOptions {
    bytes: Vec<u8>,
    rate: u32,
    inverse: u32,
    elapsed: u32,
    skip: u8,
    intervals: Vec<LossInterval>,
    drops: Vec<u32>,
}

/// Writes feedback that acknowledges `ackno` and reads it back.
fn feedback(rx: &mut TfrcRx, now: Instant, ackno: u64) -> FeedbackOptions {
    let mut buf = HeadBuf::new();
    let ack = Seq::new(ackno);
    let kind = Kind::Ack { ack: ack.into() };
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let mut encoder = Encoder::new(&mut buf, ports, Seq::ZERO.into(), &kind, 0, 0);
    let announced = rx.options_len(now);
    rx.write_options(now, Seq::ZERO, ack, &mut encoder)
        .expect("there is room");
    assert_eq!(
        encoder.options_len(),
        announced,
        "the announced length is kept"
    );
    let packet = Packet::decode(encoder.finish().as_slice()).expect("we wrote it");
    let mut told = FeedbackOptions {
        bytes: packet.options.as_bytes().to_vec(),
        ..FeedbackOptions::default()
    };
    for option in packet.options {
        match option.decode().expect("we wrote it") {
            DccpOption::ReceiveRate(rate) => told.rate = rate,
            DccpOption::LossEventRate(inverse) => told.inverse = inverse,
            DccpOption::ElapsedTime(units) => told.elapsed = units,
            DccpOption::LossIntervals { skip, intervals } => {
                told.skip = skip;
                told.intervals = intervals.iter().collect();
            }
            DccpOption::DroppedPackets(counts) => told.drops = counts.iter().collect(),
            DccpOption::Padding => {}
            other => panic!("{other:?}"),
        }
    }
    told
}

/// RFC 5348, 6.3: the first data packet is answered at once, with a receive rate of zero and no loss. RFC 4342, 6.1.1:
/// the first interval has no data length yet.
#[test]
fn the_first_packet_is_answered_at_once() {
    let mut rx = half();
    assert_eq!(rx.ack_due(at(1)), AckDue::No);
    rx.on_packet(at(5), non_data(0).into());
    assert_eq!(
        rx.ack_due(at(6)),
        AckDue::No,
        "acknowledgements need no feedback"
    );
    rx.on_packet(at(10), data(1, 0).into());
    assert_eq!(rx.ack_due(at(10)), AckDue::Now);
    let told = feedback(&mut rx, at(12), 1);
    assert_eq!((told.rate, told.inverse, told.skip), (0, NO_LOSS, 0));
    assert_eq!(told.elapsed, 200, "two milliseconds");
    let first = LossInterval {
        lossless_length: 2,
        ..LossInterval::default()
    };
    assert_eq!(told.intervals, [first]);
    assert_eq!(rx.ack_due(at(13)), AckDue::No);
    assert_eq!(rx.options_len(at(13)), 0);
}

/// RFC 5348, 6: k reports per round trip come R/k apart. A fixed interval gives at least one per round trip, and no
/// setting more than one per packet, of which there are fifty per round trip here. Each report gives the rate of the
/// whole round trip: 1,000 B in 2 ms.
#[test]
fn more_feedback_is_for_the_same_round_trip() {
    for (feedback, in_a_second) in [
        (FeedbackRate::PerRoundTrip(2), 20),
        (FeedbackRate::PerRoundTrip(10), 100),
        (FeedbackRate::PerRoundTrip(100), 500),
        (FeedbackRate::Every(Duration::from_millis(50).into()), 20),
        (FeedbackRate::Every(Duration::from_secs(3).into()), 10),
    ] {
        let mut rx = half_with(Profile::Ccid3, feedback);
        let mut reports = 0;
        for n in 0..1_000u64 {
            let now = at(2 * n);
            // One counter step per quarter of a round trip.
            rx.on_packet(now, data(n, (2 * n / 25 % 16) as u8).into());
            if rx.ack_due(now) == AckDue::Now {
                let told = self::feedback(&mut rx, now, n);
                if n >= 500 {
                    reports += 1;
                    assert!(told.rate.abs_diff(500_000) <= 10_000, "{}", told.rate);
                }
            }
            assert_ne!(rx.ack_due(now), AckDue::Now, "one for each packet at most");
        }
        assert!(
            u32::abs_diff(reports, in_a_second) <= in_a_second / 20,
            "{feedback:?}: {reports}"
        );
    }
}

/// RFC 5348, 6.2: data after which no later packet makes feedback due waits for the rest of R/k.
#[test]
fn more_feedback_waits_less() {
    for (feedback, due) in [
        (FeedbackRate::PerRoundTrip(4), 35),
        (FeedbackRate::Every(Duration::from_millis(40).into()), 50),
        (FeedbackRate::Every(Duration::from_secs(40).into()), 110),
    ] {
        let mut rx = half_with(Profile::Ccid3, feedback);
        rx.on_packet(at(10), data(0, 0).into());
        self::feedback(&mut rx, at(10), 0);
        assert_eq!(rx.ack_due(at(11)), AckDue::No, "nothing new");
        rx.on_packet(at(20), data(1, 0).into());
        assert_eq!(rx.ack_due(at(20)), AckDue::At(at(due)), "{feedback:?}");
    }
}

/// RFC 4342, 10.3: feedback is due when the window counter has advanced by four since the last feedback, across its
/// wrap. Before that, a timer reports data that no later packet makes due.
#[test]
fn feedback_once_per_round_trip() {
    let mut rx = half();
    // RFC 4342, 6.2: whatever the Ack Ratio.
    rx.set_ack_ratio(1);
    rx.on_packet(at(10), data(0, 14).into());
    feedback(&mut rx, at(10), 0);
    rx.on_packet(at(40), data(1, 15).into());
    rx.on_packet(at(90), data(2, 1).into());
    assert_eq!(
        rx.ack_due(at(90)),
        AckDue::At(at(210)),
        "two round trips after the last"
    );
    rx.on_packet(at(110), data(3, 2).into());
    assert_eq!(rx.ack_due(at(110)), AckDue::Now);
    // Three packets within the last round trip.
    assert_eq!(feedback(&mut rx, at(110), 3).rate, 30_000);
    rx.on_packet(at(130), data(4, 2).into());
    assert_eq!(rx.ack_due(at(309)), AckDue::At(at(310)));
    assert_eq!(rx.ack_due(at(310)), AckDue::Now);
    let told = feedback(&mut rx, at(310), 4);
    assert!(
        told.rate > 0,
        "the rate up to the last packet, not of the silence after it"
    );
    assert_eq!(rx.ack_due(at(900)), AckDue::No, "nothing new");
}

/// RFC 5348, 6: with less than one packet per round trip, each packet is answered.
#[test]
fn a_slow_stream_is_answered_packet_by_packet() {
    let mut rx = half();
    for i in 0..5 {
        // Every 150 ms, which is six quarters of the round trip: the counter moves by five.
        let now = at(10 + 150 * i);
        rx.on_packet(now, data(i, (5 * i % 16) as u8).into());
        assert_eq!(rx.ack_due(now), AckDue::Now, "packet {i}");
        feedback(&mut rx, now, i);
    }
}

/// RFC 4342, 10.3, and RFC 5348, 6.1: a new loss event is reported at once; a further loss of the same event is not.
/// Marks are treated alike.
#[test]
fn loss_events_are_told_at_once() {
    let mut rx = half();
    for seq in [0, 1, 3, 4] {
        rx.on_packet(at(10 + seq), data(seq, 0).into());
    }
    feedback(&mut rx, at(14), 4);
    rx.on_packet(at(15), data(5, 0).into());
    assert_eq!(rx.ack_due(at(15)), AckDue::Now, "2 is lost");
    assert_eq!(rx.loss_events(), 1);
    let told = feedback(&mut rx, at(15), 5);
    assert_eq!(told.intervals[0].loss_length, 1);
    assert!(told.inverse >= 1 && told.inverse < NO_LOSS);
    // 6 is lost within the same round trip.
    for seq in 7..=9 {
        rx.on_packet(at(10 + seq), data(seq, 1).into());
    }
    assert!(matches!(rx.ack_due(at(19)), AckDue::At(_)));
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..data(10, 3)
    };
    rx.on_packet(at(60), marked.into());
    assert!(
        matches!(rx.ack_due(at(60)), AckDue::At(_)),
        "three quarters later: the same event"
    );
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..data(11, 5)
    };
    rx.on_packet(at(61), marked.into());
    assert_eq!(
        rx.ack_due(at(61)),
        AckDue::Now,
        "more than a round trip later"
    );
    assert_eq!(rx.loss_events(), 2);
}

/// RFC 4342, 8.6.2: the example's packets give the example's option, except for the nonces, which are no longer used,
/// and the length that the first interval counts as.
#[test]
fn the_example_of_the_rfc() {
    let told = feedback_of_the_example(half());
    let option = told.bytes.windows(39).find(|w| w.starts_with(&[193, 39]));
    let option = option.expect("a Loss Intervals option of four intervals");
    assert_eq!(
        option[..36],
        [
            193, 39, 2, 0, 0, 10, 0, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1,
            0, 0, 8, 0, 0, 10, 0, 0, 0,
        ]
    );
    assert!(told.drops.is_empty(), "CCID 3 has no such option");
}

/// RFC 5622, 8.7.1: over CCID 4 the same packets give the example's Drop Counts for the same intervals, in the same
/// report.
#[test]
fn the_drop_counts_of_the_rfc() {
    let told = feedback_of_the_example(small_half());
    let option = told.bytes.windows(14).find(|w| w.starts_with(&[195, 14]));
    let option = option.expect("a Dropped Packets option of four intervals");
    assert_eq!(option[2..], [0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0]);
    assert_eq!(told.intervals.len(), told.drops.len());
}

/// Returns the feedback that acknowledges the last of the 44 packets of the examples.
fn feedback_of_the_example(mut rx: TfrcRx) -> FeedbackOptions {
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let without_data = [12, 25, 26, 27, 40];
    for seq in (0..=44).filter(|seq| !lost.contains(seq)) {
        // Packets before an interval's first loss arrive five quarters of a round trip later than those before the
        // first loss of the interval before.
        let ccval = match seq {
            0..=9 => 0,
            10..=23 => 5,
            24..=31 => 10,
            _ => 11,
        };
        let arrival = if without_data.contains(&seq) {
            non_data(seq)
        } else {
            data(seq, ccval)
        };
        rx.on_packet(at(100 + seq), arrival.into());
    }
    feedback(&mut rx, at(150), 44)
}

/// RFC 4828, 4.4, and RFC 5622, 8.4: an interval in which the window counter advanced by at most eight is short, and
/// the Loss Event Rate counts it as packets per loss. The current interval is left out.
#[test]
fn short_intervals_count_packets_per_loss() {
    // The counter before the second event: 8 more than before the first is short, 9 is not.
    for (counter, counts_as) in [(8, 11.0 / 3.0), (9, 11.0)] {
        let mut rx = small_half();
        let lost = [10, 12, 14, 21];
        for seq in (0..=24).filter(|seq| !lost.contains(seq)) {
            let ccval = match seq {
                0..=15 => 0,
                16..=18 => 5,
                _ => counter,
            };
            rx.on_packet(at(seq * 20), data(seq, ccval).into());
        }
        let told = feedback(&mut rx, at(500), 24);
        assert_eq!(told.drops, [1, 3, 0]);
        assert_eq!(told.intervals[1].data_length, 11, "told as packets");
        let first = f64::from(told.intervals[2].data_length);
        // The first interval is reported in whole packets, so the mean may be wrong by half a packet.
        let mean = f64::midpoint(counts_as, first);
        let inverse = f64::from(told.inverse);
        assert!(
            (mean - 0.25..=mean + 1.25).contains(&inverse),
            "{inverse}: {mean}"
        );
    }
}

/// RFC 4342, 8.6.1: at most three packets are left out of every interval, however long the undecided gap is.
#[test]
fn at_most_three_packets_are_skipped() {
    let mut rx = half();
    for seq in [0, 1, 2, 13, 14] {
        rx.on_packet(at(seq), data(seq, 0).into());
    }
    let told = feedback(&mut rx, at(20), 14);
    assert_eq!(told.skip, 3);
    assert_eq!(
        told.intervals[0].lossless_length, 12,
        "0 to 2, and 3 to 11 for now"
    );
    rx.on_packet(at(21), data(15, 0).into());
    let told = feedback(&mut rx, at(22), 15);
    assert_eq!(
        (told.skip, told.intervals[0].loss_length),
        (0, 10),
        "3 to 12 are lost"
    );
}

/// RFC 4342, 6.1: a lost packet is not a loss if NDP Counts show that it carried no data.
#[test]
fn lost_acknowledgements_are_no_loss() {
    let mut rx = half();
    rx.on_packet(at(0), data(0, 0).into());
    let after = Arrival {
        ndp_count: Some(2),
        ..data(3, 0)
    };
    rx.on_packet(at(1), after.into());
    for seq in 4..10 {
        rx.on_packet(at(seq), data(seq, 0).into());
    }
    assert_eq!(rx.loss_events(), 0);
    assert_eq!(feedback(&mut rx, at(20), 9).inverse, NO_LOSS);
}

/// RFC 5348, 6.3.1: after the first loss, the first interval is the length at which the equation gives the rate
/// received so far, within 5 %.
#[test]
fn the_first_interval_matches_the_receive_rate() {
    first_interval(half(), 1_000.0);
}

/// RFC 4828, 1: for small packets the equation uses the nominal size, not the size of the packets.
#[test]
fn the_first_interval_of_small_packets_is_one_of_large_ones() {
    first_interval(small_half(), 1_460.0);
}

/// Checks that the first interval makes the equation, for segments of `s` bytes, give the rate received.
fn first_interval(mut rx: TfrcRx, s: f64) {
    let mut seq = 0;
    // A packet every 4 ms is 250 kB/s; the counter advances every 25 ms.
    while seq < 200 {
        if seq != 180 {
            let ccval = (seq * 4 / 25 % 16) as u8;
            rx.on_packet(at(seq * 4), data(seq, ccval).into());
        }
        if rx.ack_due(at(seq * 4)) == AckDue::Now {
            let told = feedback(&mut rx, at(seq * 4), seq);
            if rx.loss_events() > 0 {
                let first = told.intervals.last().expect("the first");
                let p = 1.0 / f64::from(first.data_length);
                let rtt = rx.rtt();
                let rate = fairwire_cc::tfrc::Equation::RFC5348.rate(s, rtt, p);
                assert!((rate / 250_000.0 - 1.0).abs() < 0.05, "{rate} at {rtt}");
                return;
            }
        }
        seq += 1;
    }
    panic!("the loss was not found");
}

/// RFC 5348, 6.3.1: if the very first data packet is lost, half a packet per round trip is allowed.
#[test]
fn a_lost_first_packet_means_half_a_packet_per_round_trip() {
    let mut rx = half();
    rx.on_packet(at(0), non_data(0).into());
    for seq in 2..=4 {
        rx.on_packet(at(seq), data(seq, 0).into());
    }
    let told = feedback(&mut rx, at(5), 4);
    // f(p) = 2 of RFC 5348, 8.1, holds at p = 1 / 4.85: rounded up, five packets.
    assert_eq!(told.inverse, 5);
    let null = told.intervals.last().expect("the null interval");
    assert_eq!(null.data_length, 5);
}

/// RFC 4340, 3.4: an unknown round-trip time counts as 0.2 s, so data that no later packet makes due is reported after
/// twice that.
#[test]
fn an_unknown_round_trip_counts_as_two_tenths() {
    let config = Ccid3Config::default();
    let mut rx = TfrcRx::new(&config, Profile::Ccid3, None, at(0), Seq::ZERO.prev());
    rx.on_packet(at(10), data(0, 0).into());
    feedback(&mut rx, at(10), 0);
    rx.on_packet(at(40), data(1, 0).into());
    assert_eq!(rx.ack_due(at(40)), AckDue::At(at(410)));
}

/// RFC 4342, 8.6.1: reports contain nine intervals as soon as there are nine, and no more.
#[test]
fn nine_intervals_are_told() {
    let mut rx = half();
    for seq in (0..400u64).filter(|seq| seq % 20 != 7) {
        let ccval = (seq / 4 % 16) as u8;
        rx.on_packet(at(seq * 6), data(seq, ccval).into());
    }
    assert!(rx.loss_events() > 9);
    let told = feedback(&mut rx, at(2_400), 399);
    assert_eq!(told.intervals.len(), 9);
    assert!(
        told.intervals
            .iter()
            .all(|i| i.data_length == 20 || *i == told.intervals[0])
    );
    assert_eq!(told.inverse, 20);
}

/// Feedback that does not fit is not written at all and stays due.
#[test]
fn feedback_without_room_stays_due() {
    let mut rx = half();
    rx.on_packet(at(0), data(0, 0).into());
    let mut buf = HeadBuf::new();
    let ack = Seq::ZERO.into();
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let kind = Kind::DataAck { ack };
    let mut encoder = Encoder::new(&mut buf, ports, ack, &kind, 0, 0).limit(24 + 24);
    assert!(rx.options_len(at(1)) > 24);
    let written = rx.write_options(at(1), Seq::ZERO, Seq::ZERO, &mut encoder);
    assert!(written.is_err());
    assert_eq!(encoder.options_len(), 0);
    assert_eq!(rx.ack_due(at(1)), AckDue::Now);
}

/// Returns a half whose sender tells its round-trip time: first `us`, on packet 0 at 0 ms.
fn told(us: u32) -> TfrcRx {
    let mut rx = half();
    rx.set_rtt_estimates(true);
    data_with(&mut rx, at(0), us, data(0, 0));
    feedback(&mut rx, at(0), 0);
    rx
}

/// Delivers data that carries the round-trip time.
fn data_with(rx: &mut TfrcRx, now: Instant, us: u32, arrival: Arrival) {
    let arrival = Arrival {
        rtt_estimate: Some(us),
        ..arrival
    };
    rx.on_packet(now, arrival.into());
}

/// RFC 6323, 3.3: if the sender tells its round-trip time, that time decides when feedback is due, whatever the window
/// counter says. RFC 6323, 3.4: half a second counts until there is a value.
#[test]
fn feedback_goes_by_the_round_trip_told() {
    let mut rx = told(100_000);
    data_with(&mut rx, at(40), 100_000, data(1, 5));
    data_with(&mut rx, at(99), 100_000, data(2, 10));
    assert_eq!(rx.ack_due(at(99)), AckDue::At(at(100)));
    data_with(&mut rx, at(100), 100_000, data(3, 10));
    assert_eq!(rx.ack_due(at(100)), AckDue::Now);
    feedback(&mut rx, at(100), 3);
    data_with(&mut rx, at(120), 30_000, data(4, 10));
    assert_eq!(rx.ack_due(at(120)), AckDue::At(at(130)));

    let mut rx = told(0);
    data_with(&mut rx, at(40), 0, data(1, 0));
    assert_eq!(rx.ack_due(at(40)), AckDue::At(at(500)));
}

/// RFC 6323, 2.2.2 and 3.3: the time that the sender tells also groups losses into events; with the feature off,
/// counters do.
#[test]
fn loss_events_go_by_the_round_trip_told() {
    // A packet every 10 ms. By counters, losses 10 and 25 are one event if the counter does not advance, and losses 10
    // and 15 are two if it does.
    for (step, lost, by_time, by_counter) in [(0, [10, 25], 2, 1), (2, [10, 15], 1, 2)] {
        for (on, expected) in [(true, by_time), (false, by_counter)] {
            let mut rx = told(100_000);
            rx.set_rtt_estimates(on);
            for seq in (1..40u64).filter(|seq| !lost.contains(seq)) {
                let ccval = (seq * step % 16) as u8;
                data_with(&mut rx, at(seq * 10), 100_000, data(seq, ccval));
            }
            assert_eq!(rx.loss_events(), expected, "{lost:?}, {on}");
        }
    }
}

/// RFC 6323, 3.3: the receive rate is measured over the round-trip time that the sender tells. Ten packets of 1000
/// bytes arrived in the last 100 ms and none in the second before.
#[test]
fn the_receive_rate_goes_by_the_round_trip_told() {
    for (us, rate) in [(100_000, 100_000.0), (400_000, 25_000.0)] {
        let mut rx = told(us);
        for seq in 1..=10 {
            data_with(&mut rx, at(1_000 + seq * 10), us, data(seq, 0));
        }
        let rate_told = f64::from(feedback(&mut rx, at(1_100), 10).rate);
        // The window may hold one packet more or less, and is divided into eighths.
        assert!((rate_told / rate - 1.0).abs() < 0.13, "{us}: {rate_told}");
    }
}

/// RFC 4342, 8.5: the option holds packets per loss interval, rounded up, and at most the largest value that is not "no
/// loss".
#[test]
fn loss_event_rates_are_rounded_up() {
    let told = [0.02, 1.0 / 87.5, 1.0 / 87.1, 0.4, 1.0, 1e-12, 0.0].map(inverse);
    assert_eq!(told, [50, 88, 88, 3, 1, NO_LOSS - 1, NO_LOSS]);
}

/// RFC 4342, 10.2: losses or marks whose counters are four apart are one event; five apart, two.
#[test]
fn a_round_trip_of_counters_is_one_event() {
    let mut rx = half();
    rx.on_packet(at(10), data(0, 0).into());
    for (seq, ccval, events) in [(1, 0, 1), (2, 4, 1), (3, 5, 2), (4, 9, 2), (5, 10, 3)] {
        let marked = Arrival {
            ecn: Ecn::Ce,
            ..data(seq, ccval)
        };
        rx.on_packet(at(10 + seq), marked.into());
        assert_eq!(rx.loss_events(), events, "packet {seq}");
    }
}
