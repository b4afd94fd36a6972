use fairwire_cc::tfrc::{LossAverage, LossMean};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, LossInterval, Options, Packet, Ports, Seq};

use super::super::report::{Intervals, Report};
use super::ReportedIntervals;
use crate::packet_options::PacketOptions;

const R: Duration = Duration::from_millis(100);

/// Returns intervals with these (lossless, loss, data) lengths, newest first, encoded and decoded.
fn intervals(skip: u8, lengths: &[(u32, u32, u32)]) -> Intervals {
    with_drops(skip, lengths, &[])
}

/// Returns the same with these Drop Counts.
fn with_drops(skip: u8, lengths: &[(u32, u32, u32)], drops: &[u32]) -> Intervals {
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
    encoder
        .dropped_packets(drops.iter().copied())
        .expect("there is room");
    let head = encoder.finish();
    let packet = Packet::decode(head.as_slice()).expect("we wrote it");
    read(packet.options)
}

fn read(options: Options<'_>) -> Intervals {
    Report::of(&PacketOptions::read(options))
        .intervals
        .expect("intervals")
}

fn observe(
    reported: &mut ReportedIntervals,
    ackno: u64,
    lengths: &[(u32, u32, u32)],
) -> Option<(f64, bool)> {
    reported.observe(Seq::new(ackno), &intervals(0, lengths), R)
}

#[track_caller]
fn assert_p(told: Option<(f64, bool)>, p: f64, new: bool) {
    let (got, got_new) = told.expect("a valid report");
    assert!((got - p).abs() < 1e-12, "{got}, not {p}");
    assert_eq!(got_new, new);
}

/// RFC 4342, 8.6.2: the example has intervals of 10, 10 and 8 data packets after a first one that counts as 15. The
/// current interval raises the mean: p = 3 / max(10+10+8, 10+8+15) = 3/33.
#[test]
fn the_example_of_the_rfc() {
    let bytes = [
        193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0,
        0, 8, 0, 0, 10, 128, 0, 0, 0, 0, 15,
    ];
    let mut reported = ReportedIntervals::new(LossAverage::new(true), false);
    let told = reported.observe(Seq::new(44), &read(Options::new(&bytes)), R);
    assert_p(told, 3.0 / 33.0, true);
    assert_eq!(reported.newest_start, Some(Seq::new(32)));
}

/// Before a loss p is zero. The same intervals reported again are no new loss event; a further interval is.
#[test]
fn new_events_are_told_from_known_ones() {
    let mut reported = ReportedIntervals::new(LossAverage::new(true), false);
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
    // 131 is lost, so the interval of 30 is closed: p = 2 / (30 + 50).
    let told = observe(&mut reported, 135, &[(4, 1, 5), (29, 1, 30), first]);
    assert_p(told, 2.0 / 80.0, true);
}

/// RFC 5348, 5.5: discounts last from report to report. An interval of 200 after one of 50 discounts the latter by
/// 2*50/200; the discount still applies after the next event.
#[test]
fn discounts_last() {
    let mut reported = ReportedIntervals::new(LossAverage::new(true), false);
    let first = (100, 0, 50);
    observe(&mut reported, 110, &[(9, 1, 10), first]);
    assert_p(
        observe(&mut reported, 300, &[(199, 1, 200), first]),
        1.0 / 200.0,
        false,
    );
    let told = observe(&mut reported, 301, &[(0, 1, 1), (199, 1, 200), first]);
    assert_p(told, 1.5 / (200.0 + 0.5 * 50.0), true);
    // The result is the same if the report of the long interval was lost: the next report gives its length.
    let mut other = ReportedIntervals::new(LossAverage::new(true), false);
    observe(&mut other, 110, &[(9, 1, 10), first]);
    assert_eq!(
        observe(&mut other, 301, &[(0, 1, 1), (199, 1, 200), first]),
        told
    );
}

/// With all eight weights, and zeros for missing intervals, the sum of weights is six. After a first interval that
/// counts as 50 and a current one of 10, p = 6 / 60. The result is the same after a peer has withdrawn its losses.
#[test]
fn all_weights_of_reported_intervals() {
    let all = LossAverage::new(false).with_mean(LossMean::AllWeights);
    let mut reported = ReportedIntervals::new(all, false);
    let first = (100, 0, 50);
    assert_p(observe(&mut reported, 110, &[(9, 1, 10), first]), 0.1, true);
    assert_p(observe(&mut reported, 120, &[(120, 0, 120)]), 0.0, false);
    assert_p(observe(&mut reported, 130, &[(9, 1, 10), first]), 0.1, true);
}

/// Several new events in one report all count; an older interval that the peer no longer reports is remembered (RFC
/// 4342, 8.6.1).
#[test]
fn short_reports_keep_what_is_known() {
    let mut reported = ReportedIntervals::new(LossAverage::new(false), false);
    let first = (100, 0, 50);
    let told = observe(
        &mut reported,
        160,
        &[(9, 1, 10), (19, 1, 20), (29, 1, 30), first],
    );
    assert_p(told, 3.0 / (20.0 + 30.0 + 50.0), true);
    // 161 begins a new interval; only that one and the one before it are reported.
    let told = observe(&mut reported, 175, &[(14, 1, 15), (9, 1, 10)]);
    assert_p(told, 4.0 / (10.0 + 20.0 + 30.0 + 50.0), true);
}

/// RFC 4342, 6.1: only the first interval can be without a loss. Data packets beyond the interval's own length do not
/// count.
#[test]
fn contradictions_are_refused() {
    let mut reported = ReportedIntervals::new(LossAverage::new(true), false);
    assert_eq!(
        observe(&mut reported, 200, &[(9, 1, 10), (5, 0, 5), (9, 1, 10)]),
        None
    );
    assert!(reported.average.is_empty());
    let told = observe(&mut reported, 200, &[(1, 1, 9_999_999), (9, 1, 9_999_999)]);
    assert_p(told, 0.1, true);
}

/// A length at its field's maximum hides where the interval begins, so the interval is not a new event.
#[test]
fn saturated_lengths_are_no_news() {
    let mut reported = ReportedIntervals::new(LossAverage::new(false), false);
    let first = (100, 0, 50);
    observe(&mut reported, 110, &[(9, 1, 10), first]);
    let long = (1 << 24) - 1;
    let told = observe(&mut reported, 40_000_000, &[(long, 1, long), first]);
    assert_p(told, 1.0 / f64::from(long), false);
}

/// A wrap of the sequence numbers between two reports is not a loss event.
#[test]
fn the_wrap_is_no_event() {
    let mut reported = ReportedIntervals::new(LossAverage::new(false), false);
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

/// Returns a history for small packets after packets 50 to 149, one every 20 ms: ten in two round trips.
fn small() -> ReportedIntervals {
    let mut reported = ReportedIntervals::new(LossAverage::new(false), true);
    for i in 0..100 {
        let now = Instant::START + Duration::from_millis(20) * i;
        reported.on_sent(Seq::new(50 + i), now);
    }
    reported
}

/// RFC 4828, 4.4, and RFC 5622, 6.1: the current interval began 180 ms ago and is left out. Packets 75 to 89 took 300
/// ms and count as 15; 70 to 74 took 100 ms and count as packets per loss.
#[test]
fn short_intervals_count_packets_per_loss() {
    let lengths = [(9, 1, 10), (10, 5, 15), (3, 2, 5), (20, 0, 20)];
    let told = small().observe(Seq::new(99), &with_drops(0, &lengths, &[1, 3, 2, 0]), R);
    assert_p(told, 3.0 / (15.0 + 2.5 + 20.0), true);
    // The interval in the middle has as many data packets as the receiver reports: 4 of 5.
    let lengths = [(9, 1, 10), (10, 5, 15), (3, 2, 4), (20, 0, 20)];
    let told = small().observe(Seq::new(99), &with_drops(0, &lengths, &[1, 3, 1]), R);
    assert_p(told, 3.0 / (15.0 + 4.0 + 20.0), true);
    // RFC 5622, 8.7: without counts, or with one that is too large, all of the lossy part is lost. A count of zero is
    // taken as one, because the interval begins with a loss.
    for (drops, k) in [(&[][..], 2.0), (&[9, 9, 9, 9], 2.0), (&[1, 3, 0, 0], 1.0)] {
        let told = small().observe(Seq::new(99), &with_drops(0, &lengths, drops), R);
        assert_p(told, 3.0 / (15.0 + 4.0 / k + 20.0), true);
    }
}

/// RFC 4828, 3: an interval of up to two round trips is short; the current one is measured by the packets that it
/// holds. A longer current interval counts if it makes the mean longer.
#[test]
fn two_round_trips_are_short_still() {
    let lengths = |newest| [(newest, 1, newest + 1), (3, 2, 5), (20, 0, 4)];
    let at = |newest: u32, rtt| {
        let ackno = Seq::new(75 + u64::from(newest));
        small().observe(ackno, &with_drops(0, &lengths(newest), &[1, 2]), rtt)
    };
    // 75 to 85: 200 ms.
    assert_p(at(10, R), 2.0 / (2.5 + 4.0), true);
    // 75 to 86, 12 packets: 2 / max(12 + 2.5, 2.5 + 4).
    assert_p(at(11, R), 2.0 / 14.5, true);
    // With a round-trip time of a tenth, no interval is short: 2 / max(11 + 5, 5 + 4).
    assert_p(at(10, R / 10), 2.0 / 16.0, true);
}

/// Whether an interval is short is decided when it is closed, and does not change with later round-trip times.
#[test]
fn closed_intervals_stay_what_they_were() {
    let mut reported = small();
    let first = [(9, 1, 10), (3, 2, 5), (20, 0, 20)];
    let told = reported.observe(Seq::new(84), &with_drops(0, &first, &[1, 2]), R);
    assert_p(told, 2.0 / 22.5, true);
    let later = [(19, 1, 20), (3, 2, 5), (20, 0, 20)];
    let told = reported.observe(Seq::new(94), &with_drops(0, &later, &[1, 2]), R / 10);
    // The current interval, of 20 packets, counts: 2 / max(20 + 2.5, 2.5 + 20).
    assert_p(told, 2.0 / 22.5, false);
    let mut afresh = small();
    let told = afresh.observe(Seq::new(94), &with_drops(0, &later, &[1, 2]), R / 10);
    assert_p(told, 2.0 / 25.0, true);
}

/// Intervals of forgotten packets count as short, and reports about packets that were never sent cause no harm.
#[test]
fn forgotten_intervals_count_their_losses() {
    let mut reported = ReportedIntervals::new(LossAverage::new(false), true);
    for i in 0..5_000 {
        reported.on_sent(Seq::new(i), Instant::START + Duration::from_millis(20) * i);
    }
    let lengths = [(4_000, 1, 4_001), (499, 10, 500), (20, 0, 20)];
    let told = reported.observe(Seq::new(4_999), &with_drops(0, &lengths, &[1, 5]), R);
    assert_p(told, 2.0 / (4_001.0 + 100.0), true);
    let mut reported = ReportedIntervals::new(LossAverage::new(false), true);
    let told = reported.observe(Seq::new(9), &with_drops(0, &lengths, &[1, 5]), R);
    assert_p(told, 2.0 / (100.0 + 20.0), true);
}
