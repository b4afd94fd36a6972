use fairwire_wire::{HeadBuf, Kind, LossInterval, Options, Packet, Ports, Seq};

use super::super::report::{Intervals, Report};
use super::ReportedIntervals;

/// (lossless, loss, data) lengths, newest first, through the wire's encoder and back.
fn intervals(skip: u8, lengths: &[(u32, u32, u32)]) -> Intervals {
    let mut buf = HeadBuf::new();
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let ack = Seq::new(7).into();
    let kind = Kind::Ack { ack };
    let mut encoder = fairwire_wire::Encoder::new(&mut buf, ports, ack, &kind, 0, 0);
    let lengths = lengths.iter().map(|&(lossless, loss, data)| LossInterval {
        lossless_length: lossless,
        ecn_nonce: false,
        loss_length: loss,
        data_length: data,
    });
    encoder
        .loss_intervals(skip, lengths)
        .expect("there is room");
    let head = encoder.finish();
    let packet = Packet::decode(head.as_slice()).expect("we wrote it");
    read(packet.options)
}

fn read(options: Options<'_>) -> Intervals {
    Report::read(options).intervals.expect("intervals")
}

fn observe(
    reported: &mut ReportedIntervals,
    ackno: u64,
    lengths: &[(u32, u32, u32)],
) -> Option<(f64, bool)> {
    reported.observe(Seq::new(ackno), &intervals(0, lengths))
}

#[track_caller]
fn assert_p(told: Option<(f64, bool)>, p: f64, new: bool) {
    let (got, got_new) = told.expect("a valid report");
    assert!((got - p).abs() < 1e-12, "{got}, not {p}");
    assert_eq!(got_new, new);
}

/// RFC 4342, 8.6.2, the example: intervals of 10, 10 and 8 data packets after a first one that
/// counts as 15. The current one raises the mean: p = 3 / max(10+10+8, 10+8+15) = 3/33.
#[test]
fn the_example_of_the_rfc() {
    let bytes = [
        193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0,
        0, 8, 0, 0, 10, 128, 0, 0, 0, 0, 15,
    ];
    let mut reported = ReportedIntervals::new(true);
    let told = reported.observe(Seq::new(44), &read(Options::new(&bytes)));
    assert_p(told, 3.0 / 33.0, true);
    assert_eq!(reported.newest_start, Some(Seq::new(32)));
}

/// Before a loss p is zero; the same intervals again are no new loss event, a further one is.
#[test]
fn new_events_are_told_from_known_ones() {
    let mut reported = ReportedIntervals::new(true);
    assert_p(observe(&mut reported, 100, &[(100, 0, 0)]), 0.0, false);
    let first = (100, 0, 50);
    assert_p(
        observe(&mut reported, 110, &[(9, 1, 10), first]),
        0.02,
        true,
    );
    assert_p(
        observe(&mut reported, 130, &[(29, 1, 30), first]),
        0.02,
        false,
    );
    // 131 is lost: 30 is closed. p = 2 / (30 + 50).
    let told = observe(&mut reported, 135, &[(4, 1, 5), (29, 1, 30), first]);
    assert_p(told, 2.0 / 80.0, true);
}

/// RFC 5348, 5.5: discounts last from report to report. An interval of 200 after one of 50 discounts
/// that one by 2*50/200; the next event keeps the discount.
#[test]
fn discounts_last() {
    let mut reported = ReportedIntervals::new(true);
    let first = (100, 0, 50);
    observe(&mut reported, 110, &[(9, 1, 10), first]);
    assert_p(
        observe(&mut reported, 300, &[(199, 1, 200), first]),
        1.0 / 200.0,
        false,
    );
    let told = observe(&mut reported, 301, &[(0, 1, 1), (199, 1, 200), first]);
    assert_p(told, 1.5 / (200.0 + 0.5 * 50.0), true);
    // The same when the report of the long interval was lost: the next one tells its length.
    let mut other = ReportedIntervals::new(true);
    observe(&mut other, 110, &[(9, 1, 10), first]);
    assert_eq!(
        observe(&mut other, 301, &[(0, 1, 1), (199, 1, 200), first]),
        told
    );
}

/// Several new events in one report are all taken; an older interval that the peer no longer
/// repeats is remembered (RFC 4342, 8.6.1).
#[test]
fn short_reports_keep_what_is_known() {
    let mut reported = ReportedIntervals::new(false);
    let first = (100, 0, 50);
    let told = observe(
        &mut reported,
        160,
        &[(9, 1, 10), (19, 1, 20), (29, 1, 30), first],
    );
    assert_p(told, 3.0 / (20.0 + 30.0 + 50.0), true);
    // 161 begins a new one; only it and the one before are told.
    let told = observe(&mut reported, 175, &[(14, 1, 15), (9, 1, 10)]);
    assert_p(told, 4.0 / (10.0 + 20.0 + 30.0 + 50.0), true);
}

/// RFC 4342, 6.1: an interval without a loss can only be the first; data beyond the interval's
/// own length do not count.
#[test]
fn contradictions_are_refused() {
    let mut reported = ReportedIntervals::new(true);
    assert_eq!(
        observe(&mut reported, 200, &[(9, 1, 10), (5, 0, 5), (9, 1, 10)]),
        None
    );
    assert!(reported.average.is_empty());
    let told = observe(&mut reported, 200, &[(1, 1, 9_999_999), (9, 1, 9_999_999)]);
    assert_p(told, 0.1, true);
}

/// A length at its field's limit hides where the interval begins: that is no new event.
#[test]
fn saturated_lengths_are_no_news() {
    let mut reported = ReportedIntervals::new(false);
    let first = (100, 0, 50);
    observe(&mut reported, 110, &[(9, 1, 10), first]);
    let long = (1 << 24) - 1;
    let told = observe(&mut reported, 40_000_000, &[(long, 1, long), first]);
    assert_p(told, 1.0 / f64::from(long), false);
}

/// Sequence numbers wrap between two reports like any others.
#[test]
fn the_wrap_is_no_event() {
    let mut reported = ReportedIntervals::new(false);
    let first = (100, 0, 50);
    let top = (1u64 << 48) - 5;
    observe(&mut reported, top, &[(9, 1, 10), first]);
    assert_p(
        observe(&mut reported, top + 20, &[(29, 1, 30), first]),
        0.02,
        false,
    );
    assert_p(
        observe(&mut reported, top + 25, &[(4, 1, 5), (29, 1, 30), first]),
        2.0 / 80.0,
        true,
    );
}
