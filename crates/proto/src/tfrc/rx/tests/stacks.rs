//! Options that imitate receivers of other DCCP implementations.

use fairwire_units::Duration;
use fairwire_wire::{NO_LOSS, Seq};

use super::{R, at, data, feedback};
use crate::config::{Ccid3Config, LossEvents, ReceiveRateOver, Reports};
use crate::half::{AckDue, Rx};
use crate::tfrc::{Profile, TfrcRx};

fn half(change: impl FnOnce(&mut Ccid3Config)) -> TfrcRx {
    half_of(Profile::Ccid3, change)
}

fn half_of(profile: Profile, change: impl FnOnce(&mut Ccid3Config)) -> TfrcRx {
    let mut config = Ccid3Config::default();
    change(&mut config);
    TfrcRx::new(&config, profile, Some(R), at(0), Seq::ZERO.prev())
}

/// Reports can give only the loss event rate (RFC 4342, 8.5), with its inverse rounded down. A sender of CCID 4 needs
/// intervals (RFC 5622, 8.7), so its receiver reports them anyway.
#[test]
fn reports_can_tell_the_rate_alone() {
    for (profile, has_intervals) in [
        (Profile::Ccid3, false),
        (Profile::small_packets(1_500, false), true),
    ] {
        let mut rx = half_of(profile, |config| config.reports = Reports::Rate);
        for seq in [0, 1, 2, 4, 5, 6] {
            rx.on_packet(at(10 * seq), data(seq, 0).into());
        }
        let told = feedback(&mut rx, at(60), 6);
        assert_ne!(told.inverse, NO_LOSS);
        assert_eq!(!told.intervals.is_empty(), has_intervals);
        assert_eq!(!told.drops.is_empty(), has_intervals);
        if !has_intervals {
            let p = rx.loss_rate().unwrap_or_default();
            assert_eq!(f64::from(told.inverse), (1.0 / p).floor());
        }
    }
}

/// Each of three packets lost in a row can be a loss event of its own.
#[test]
fn each_lost_packet_can_be_an_event() {
    for (rule, events) in [(LossEvents::RoundTrip, 1), (LossEvents::EachPacket, 3)] {
        let mut rx = half(|config| config.loss_events = rule);
        for seq in [0, 1, 5, 6, 7] {
            rx.on_packet(at(seq), data(seq, 0).into());
        }
        assert_eq!(rx.loss_events(), events, "{rule:?}");
    }
}

/// The receive rate covers the last round trip of 100 ms, or the time since the last report. After a report, four
/// packets of 1,000 bytes arrive 10 ms apart. The round trip then holds at most five packets, and the 40 ms hold four.
#[test]
fn the_receive_rate_has_its_time() {
    for (over, rate) in [
        (ReceiveRateOver::RoundTrip, 50_000),
        (ReceiveRateOver::AtLeastRoundTrip, 50_000),
        (ReceiveRateOver::SinceReport, 100_000),
        (ReceiveRateOver::SinceReportButLoss, 0),
    ] {
        let mut rx = half(|config| config.receive_rate = over);
        rx.on_packet(at(1_000), data(0, 0).into());
        assert_eq!(feedback(&mut rx, at(1_000), 0).rate, 0, "the first");
        // 2 is lost, which the last packet shows.
        for (ms, seq) in [(1_010, 1), (1_020, 3), (1_030, 4), (1_040, 5)] {
            rx.on_packet(at(ms), data(seq, 1).into());
        }
        assert_eq!(rx.ack_due(at(1_040)), AckDue::Now);
        assert_eq!(feedback(&mut rx, at(1_040), 5).rate, rate, "{over:?}");
    }
    // More than a round trip after the last report: eight packets in 200 ms.
    for (over, rate) in [
        (ReceiveRateOver::RoundTrip, 40_000),
        (ReceiveRateOver::AtLeastRoundTrip, 40_000),
        (ReceiveRateOver::SinceReportButLoss, 40_000),
    ] {
        let mut rx = half(|config| config.receive_rate = over);
        rx.on_packet(at(1_000), data(0, 0).into());
        feedback(&mut rx, at(1_000), 0);
        for n in 1..=8_u64 {
            let counter = u8::try_from(n / 2).unwrap_or(0);
            rx.on_packet(at(1_000 + 25 * n), data(n, counter).into());
        }
        let told = feedback(&mut rx, at(1_200), 8).rate;
        // The rate is measured over whole packets, and a round trip holds four.
        assert!(told.abs_diff(rate) <= 10_000, "{over:?}: {told}");
    }
}

/// Each report counts only the data since the report before.
#[test]
fn what_was_told_is_not_told_again() {
    let mut rx = half(|config| config.receive_rate = ReceiveRateOver::SinceReport);
    let mut now = at(1_000);
    for n in 0..20_u64 {
        now += Duration::from_millis(25);
        rx.on_packet(now, data(n, u8::try_from(n % 16).unwrap_or(0)).into());
        if rx.ack_due(now) == AckDue::Now {
            let told = feedback(&mut rx, now, n).rate;
            assert!(n == 0 || told == 40_000, "{n}: {told}");
        }
    }
}
