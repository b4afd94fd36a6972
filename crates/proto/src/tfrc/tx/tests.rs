use fairwire_cc::Permit;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{
    DccpOption, Encoder, HeadBuf, Kind, NO_LOSS, Packet, Ports, RTT_TOO_LARGE, Seq,
};

use super::{TfrcTx, rtt_estimate};
use crate::config::Ccid3Config;
use crate::half::{Sent, Tx, acknowledge};
use crate::tfrc::Profile;

const SIZE: u32 = 1_000;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config() -> Ccid3Config {
    Ccid3Config {
        oscillation_reduction: false,
        ..Ccid3Config::default()
    }
}

/// Returns a half; `loss_event_rate` says whether it accepts Linux's feedback.
fn half(loss_event_rate: bool) -> TfrcTx {
    TfrcTx::new(
        &config(),
        Profile::Ccid3,
        1_400,
        None,
        at(0),
        loss_event_rate,
    )
}

fn send(tx: &mut TfrcTx, now: Instant, seq: u64) -> u8 {
    let ccval = tx.ccval(now);
    let sent = Sent {
        seq: Seq::new(seq),
        data: Some(SIZE),
        id: None,
        nonce: false,
    };
    tx.on_sent(now, sent, 1);
    ccval
}

/// Delivers an Ack with number `seq` for packet `ackno`, with the options that `write` writes. Returns whether it made
/// progress.
fn ack(
    tx: &mut TfrcTx,
    now: Instant,
    seq: u64,
    ackno: u64,
    write: impl Fn(&mut Encoder<'_>),
) -> bool {
    let mut buf = HeadBuf::new();
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let ack = Seq::new(ackno);
    let kind = Kind::Ack { ack: ack.into() };
    let mut encoder = Encoder::new(&mut buf, ports, Seq::new(seq).into(), &kind, 0, 0);
    write(&mut encoder);
    let packet = Packet::decode(encoder.finish().as_slice()).expect("we wrote it");
    let told = acknowledge(tx, now, &packet, 1);
    assert!(
        told.fates.is_empty(),
        "CCID 3 acknowledges no single packet"
    );
    told.progress
}

fn put(encoder: &mut Encoder<'_>, options: &[DccpOption<'_>]) {
    for option in options {
        encoder.option(option).expect("there is room");
    }
}

/// Writes what the Linux kernel sends: no Elapsed Time, no Loss Intervals.
fn linux(rate: u32, inverse: u32) -> impl Fn(&mut Encoder<'_>) {
    move |encoder| {
        put(
            encoder,
            &[
                DccpOption::ReceiveRate(rate),
                DccpOption::LossEventRate(inverse),
            ],
        );
    }
}

/// Writes what RFC 4342, section 6, requires, with one interval of `lossless` packets without a loss.
fn full(rate: u32, elapsed: Duration, lossless: u32) -> impl Fn(&mut Encoder<'_>) {
    move |encoder| {
        let units = u32::try_from(elapsed.as_micros() / 10).expect("short");
        put(
            encoder,
            &[
                DccpOption::ElapsedTime(units),
                DccpOption::ReceiveRate(rate),
            ],
        );
        let interval = fairwire_wire::LossInterval {
            lossless_length: lossless,
            ..fairwire_wire::LossInterval::default()
        };
        encoder
            .loss_intervals(0, [interval])
            .expect("there is room");
    }
}

fn rate(tx: &TfrcTx) -> f64 {
    tx.gauges().rate_bytes_per_s.expect("a rate")
}

/// RFC 4342, 10.1: a round-trip time sample is the time since the acknowledged packet left, less the time that the peer
/// held it. RFC 5348, 4.2: the rate is then four packets of 1000 bytes per round trip.
#[test]
fn elapsed_time_is_subtracted() {
    let mut tx = half(false);
    send(&mut tx, at(1_000), 50);
    assert!(ack(&mut tx, at(1_130), 9, 50, full(0, ms(30), 1)));
    assert_eq!(tx.srtt(), Some(ms(100)));
    assert_eq!(rate(&tx), 40_000.0);
    assert_eq!(tx.packets_per_rtt(), 5, "four and one to round up");
    send(&mut tx, at(1_140), 51);
    assert_eq!(tx.next_timeout(), Some(at(1_530)), "four round trips");
}

/// A peer that claims to have held a packet for longer than we waited gives no sample; the rest of its report counts.
#[test]
fn item_9_impossible_elapsed_times_are_no_sample() {
    let mut tx = half(false);
    send(&mut tx, at(1_000), 50);
    ack(&mut tx, at(1_100), 9, 50, full(0, ms(0), 1));
    send(&mut tx, at(1_110), 51);
    assert!(ack(&mut tx, at(1_210), 10, 51, full(7_000, ms(101), 2)));
    assert_eq!(tx.srtt(), Some(ms(100)));
    assert_eq!(tx.gauges().x_recv_bytes_per_s, Some(7_000.0));
}

/// Linux sends only Receive Rate and Loss Event Rate. With feature 192 on, that is feedback, with the whole wait as the
/// round-trip time. Otherwise it does not count (RFC 4342, 6).
#[test]
fn the_kernels_feedback_counts_where_negotiated() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    assert!(ack(&mut tx, at(1_100), 9, 50, linux(0, NO_LOSS)));
    assert_eq!(rate(&tx), 40_000.0);
    send(&mut tx, at(1_110), 51);
    ack(&mut tx, at(1_210), 10, 51, linux(50_000, 100));
    assert_eq!(tx.gauges().p, Some(0.01));

    let mut strict = half(false);
    send(&mut strict, at(1_000), 50);
    assert!(
        ack(&mut strict, at(1_100), 9, 50, linux(0, NO_LOSS)),
        "it acknowledges"
    );
    assert_eq!(strict.srtt(), None);
    assert_eq!(rate(&strict), 1_000.0);
}

/// Finding 5: the kernel sends no Loss Intervals, so it would count a skipped number as a loss event that the sender
/// cannot undo. Therefore no number is skipped, and its reports count unchanged.
#[test]
fn finding_5_the_kernel_is_not_put_to_the_test() {
    let (mut plain, mut checked) = (half(true), half(true).checking_reports());
    for tx in [&mut plain, &mut checked] {
        for i in 0..200 {
            let now = at(1_000 + 20 * i);
            assert_eq!(tx.skips_of_65536(), 0);
            send(tx, now, 50 + i);
            if i >= 5 && i % 5 == 0 {
                let (rate, inverse) = if i == 5 { (0, NO_LOSS) } else { (50_000, 100) };
                ack(tx, now, 9 + i, 45 + i, linux(rate, inverse));
            }
        }
    }
    assert_eq!(plain.gauges(), checked.gauges());
    assert_eq!(checked.gauges().p, Some(0.01));
}

/// A packet without a Receive Rate is not a report, whatever else it has (RFC 4342, 6).
#[test]
fn a_report_needs_a_receive_rate() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    ack(&mut tx, at(1_100), 9, 50, |encoder| {
        put(
            encoder,
            &[DccpOption::LossEventRate(2), DccpOption::ElapsedTime(1)],
        );
    });
    assert_eq!(tx.gauges().p, Some(0.0));
    assert_eq!(tx.srtt(), None);
}

/// Feedback that is a copy, or older than earlier feedback, changes nothing.
#[test]
fn item_28_copies_and_stragglers_are_ignored() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    send(&mut tx, at(1_001), 51);
    assert!(ack(&mut tx, at(1_101), 10, 51, linux(0, NO_LOSS)));
    let before = tx.gauges();
    assert!(!ack(&mut tx, at(1_102), 10, 51, linux(99, 2)), "a copy");
    assert!(
        !ack(&mut tx, at(1_103), 9, 50, linux(99, 2)),
        "an older one"
    );
    assert!(
        !ack(&mut tx, at(1_104), 11, 50, linux(99, 2)),
        "an older number"
    );
    assert_eq!(tx.gauges(), before);
    send(&mut tx, at(1_105), 52);
    assert_eq!(tx.next_timeout(), Some(at(1_501)));
}

/// RFC 4342, 8.1: an acknowledgement advances the window counter to a round trip after the packet that it acknowledges,
/// with or without feedback.
#[test]
fn acknowledgements_move_the_counter() {
    let mut tx = TfrcTx::new(
        &config(),
        Profile::Ccid3,
        1_400,
        Some(ms(100)),
        at(0),
        false,
    );
    assert_eq!(send(&mut tx, at(1_000), 50), 0);
    assert_eq!(send(&mut tx, at(1_030), 51), 1);
    ack(&mut tx, at(1_040), 9, 51, |_| {});
    assert_eq!(send(&mut tx, at(1_041), 52), 5);
}

/// With a round-trip time from the handshake, the first packets leave at the initial rate, and the application is told
/// that rate.
#[test]
fn the_handshake_gives_the_first_rate() {
    let mut tx = TfrcTx::new(
        &config(),
        Profile::Ccid3,
        1_400,
        Some(ms(100)),
        at(0),
        false,
    );
    let before = tx.allowed_rate().expect("a rate");
    // 4380 bytes per 100 ms, in bits.
    assert_eq!(before.bits_per_s(), 350_400);
    send(&mut tx, at(0), 1);
    assert_eq!(tx.flight().packets, 1);
    assert!(matches!(tx.permit(at(0), 1, SIZE), Permit::At(_)));
    assert!(!tx.acknowledges_packets());
}

/// RFC 5622: intervals and Drop Counts in one packet give p; the nominal size and the share of the headers give the
/// rate. Packets of 80 bytes leave every 20 ms, from number 50 on. The intervals are those of
/// `short_intervals_count_packets_per_loss`: p = 3 / 37.5.
#[test]
fn small_packets_go_by_drop_counts_and_nominal_size() {
    let profile = Profile::small_packets(1_500, false);
    let mut tx = TfrcTx::new(&config(), profile, 1_400, None, at(0), false);
    let send = |tx: &mut TfrcTx, i: u64| {
        let now = at(1_000 + 20 * i);
        tx.ccval(now);
        let sent = Sent {
            seq: Seq::new(50 + i),
            data: Some(80),
            id: None,
            nonce: false,
        };
        tx.on_sent(now, sent, 1);
    };
    send(&mut tx, 0);
    for i in 1..50 {
        if i == 5 {
            ack(&mut tx, at(1_100), 9, 50, full(0, ms(0), 1));
            assert_eq!(rate(&tx), 3_200.0, "four packets of 80 bytes per 100 ms");
        }
        send(&mut tx, i);
    }
    let intervals = [(9, 1, 10), (10, 5, 15), (3, 2, 5), (20, 0, 20)];
    ack(&mut tx, at(2_080), 10, 99, |encoder| {
        let elapsed = DccpOption::ElapsedTime(0);
        put(encoder, &[elapsed, DccpOption::ReceiveRate(1_000_000)]);
        let intervals = intervals.map(|(lossless_length, loss_length, data_length)| {
            fairwire_wire::LossInterval {
                lossless_length,
                ecn_nonce: false,
                loss_length,
                data_length,
            }
        });
        encoder.loss_intervals(0, intervals).expect("there is room");
        encoder
            .dropped_packets([1, 3, 2, 0])
            .expect("there is room");
    });
    let p = tx.gauges().p.expect("a loss event rate");
    assert!((p - 0.08).abs() < 1e-12, "{p}");
    let equation = fairwire_cc::tfrc::Equation::RFC5348;
    let expected = equation.rate(1_460.0, ms(100), 0.08) * 80.0 / 116.0;
    assert!((rate(&tx) / expected - 1.0).abs() < 1e-9, "{}", rate(&tx));
    // f(0.08) = sqrt(0.16/3) + 12 sqrt(0.03) 0.08 (1 + 32 * 0.0064) = 0.23094 + 0.20032.
    assert!((expected / (14_600.0 / 0.43126 * 80.0 / 116.0) - 1.0).abs() < 1e-4);
}

/// RFC 4340, 3.4: an unknown round-trip time counts as 0.2 s, so the window counter advances every 50 ms (RFC 4342,
/// 8.1).
#[test]
fn an_unknown_round_trip_counts_as_two_tenths() {
    let mut tx = half(false);
    let ccvals = [
        (1_000, 50),
        (1_049, 51),
        (1_050, 52),
        (1_099, 53),
        (1_100, 54),
    ];
    let ccvals = ccvals.map(|(now, seq)| send(&mut tx, at(now), seq));
    assert_eq!(ccvals, [0, 0, 1, 1, 2]);
}

/// RFC 6323, 3.2.1 and 3.3: the option is in microseconds, rounded up. 0 means no estimate, so a round-trip time below
/// a microsecond is 1. Times longer than 16.777214 s have a value of their own.
#[test]
fn round_trips_as_options() {
    let us = |ns| rtt_estimate(Some(Duration::from_nanos(ns)));
    assert_eq!(rtt_estimate(None), 0);
    assert_eq!([us(0), us(1), us(1_000), us(1_001)], [1, 1, 1, 2]);
    assert_eq!(us(16_777_214_000), 0x00FF_FFFE);
    assert_eq!(us(16_777_214_001), RTT_TOO_LARGE);
    assert_eq!(us(u64::MAX), RTT_TOO_LARGE);
    let mut tx = half(false);
    assert_eq!(tx.rtt_estimate(), Some(0));
    send(&mut tx, at(1_000), 50);
    ack(&mut tx, at(1_100), 9, 50, full(0, ms(0), 1));
    assert_eq!(tx.rtt_estimate(), Some(100_000));
}

/// Checks that packets are paced. At one time, at most the packets of a round trip may leave (RFC 5348, 4.6), plus the
/// packet that is due and one that may be early (8.3). The next packet leaves s/X later, or half a millisecond later,
/// the least time between bursts, if that is more.
fn assert_paced(tx: &mut TfrcTx, now: Instant, first: u64) {
    let rtt = tx.srtt().expect("a round trip").as_secs_f64();
    let rate = rate(tx);
    let worth = rate * rtt / f64::from(SIZE);
    let mut left = 0;
    while tx.permit(now, 1, SIZE) == Permit::Now && left < 1_000 {
        send(tx, now, first + left);
        left += 1;
    }
    let what = format!("{left} at {now}, rate {rate}, round trip {rtt}");
    assert!(left as f64 <= worth + 2.0, "{what}");
    match tx.permit(now, 1, SIZE) {
        Permit::At(next) => {
            let wait = next.saturating_since(now).as_secs_f64();
            let interval = f64::from(SIZE) / rate;
            // Intervals are whole nanoseconds.
            let most = f64::max(interval, 0.000_5) + 2e-9;
            assert!(wait > 0.0 && wait <= most, "{wait}: {what}");
        }
        // The cap is more than a thousand packets in a millisecond.
        permit => assert!(left == 1_000 && permit == Permit::Now, "{permit:?}: {what}"),
    }
}

/// Item 27: reports with the extreme values of every field, at round-trip times of zero, a microsecond and minutes,
/// keep the rate finite. It stays between a packet in 64 seconds (RFC 5348, 4.3) and the cap, and packets are paced at
/// it.
#[test]
fn item_27_reports_at_the_ends_of_their_fields() {
    let lengths = [0, 1, 0x7F_FFFF, (1 << 24) - 1];
    for rate_told in [0, 1, u32::MAX] {
        for inverse in [0, 1, u32::MAX - 1, NO_LOSS] {
            for wait in [Duration::ZERO, Duration::from_micros(1), ms(200_000)] {
                for length in lengths {
                    let mut tx = half(true);
                    let mut now = at(1_000);
                    let mut newest = 49;
                    for i in 0..20 {
                        if tx.permit(now, 1, SIZE) == Permit::Now {
                            newest += 1;
                            send(&mut tx, now, newest);
                        }
                        now += wait;
                        ack(&mut tx, now, 9 + i, newest, |encoder| {
                            let elapsed =
                                DccpOption::ElapsedTime(if i % 4 == 3 { u32::MAX } else { 0 });
                            let rate = DccpOption::ReceiveRate(rate_told);
                            put(
                                encoder,
                                &[elapsed, rate, DccpOption::LossEventRate(inverse)],
                            );
                            let interval = fairwire_wire::LossInterval {
                                lossless_length: length,
                                ecn_nonce: false,
                                loss_length: length & 0x7F_FFFF,
                                data_length: length,
                            };
                            if i % 2 == 0 {
                                encoder
                                    .loss_intervals(0, [interval; 3])
                                    .expect("there is room");
                            }
                        });
                        let rate = rate(&tx);
                        let what = format!("{rate_told} {inverse} {wait} {length}: {rate}");
                        assert!(rate.is_finite(), "{what}");
                        let least = f64::from(SIZE) / 64.0;
                        assert!((least..=125e9).contains(&rate), "{what}");
                        assert!(
                            tx.gauges().p.is_some_and(|p| (0.0..=1.0).contains(&p)),
                            "{what}"
                        );
                    }
                    assert_paced(&mut tx, now, newest + 1);
                }
            }
        }
    }
}

/// RFC 4342, 9: a number that is skipped to check the peer takes the time of a packet, so that the departures around it
/// do not tell that nothing was lost there.
#[test]
fn a_skipped_number_takes_the_time_of_a_packet() {
    let departures = |skips: bool| {
        let mut tx = half(false);
        let (mut now, mut times) = (at(1_000), Vec::new());
        for seq in 1..=4 {
            while let Permit::At(next) = tx.permit(now, 1, SIZE) {
                now = next;
            }
            times.push(now);
            if skips && seq == 2 {
                tx.on_skipped(now, Seq::new(seq));
            } else {
                send(&mut tx, now, seq);
            }
        }
        times
    };
    assert_eq!(departures(true), departures(false));
}
