use fairwire_cc::tfrc::Equation;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use super::super::report::Intervals;
use super::{Checked, Checks, Measure};

const R: Duration = Duration::from_millis(100);
const MEASURE: Measure = Measure {
    equation: Equation::RFC5348,
    size: 1_000.0,
    rtt: R,
};

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Returns the checks after packets 1 to `last`, a millisecond apart, with the numbers in `holes` skipped.
fn sent(last: u64, holes: &[u64]) -> Checks {
    let mut checks = Checks::new();
    for number in 1..=last {
        if holes.contains(&number) {
            checks.on_skipped(at(number), Seq::new(number), R);
        } else {
            checks.on_sent(at(number), Seq::new(number), Some(1_000), R);
        }
    }
    checks
}

/// Returns a report of intervals with these (lossless, loss, data) lengths, newest first.
fn told(lengths: &[(u32, u32, u32)]) -> Intervals {
    let mut told = Intervals::new(0);
    for &(lossless_length, loss_length, data_length) in lengths {
        let interval = LossInterval {
            lossless_length,
            ecn_nonce: false,
            loss_length,
            data_length,
        };
        told.push(interval, loss_length);
    }
    told
}

/// Checks a report on packet `ackno`, which must have been sent.
fn report(checks: &mut Checks, ackno: u64, lengths: &[(u32, u32, u32)]) -> Checked {
    assert_eq!(checks.on_ack(Seq::new(ackno)), None, "{ackno} was sent");
    checks.check(at(ackno + 100), Seq::new(ackno), &told(lengths), MEASURE)
}

fn lengths(checked: &Checked) -> Vec<(u32, u32, u32)> {
    let intervals = checked.intervals.as_slice().iter();
    intervals
        .map(|i| (i.lossless_length, i.loss_length, i.data_length))
        .collect()
}

/// After 400 packets, intervals of 2^24 packets are cut to what was sent, and intervals before the first packet are
/// dropped.
#[test]
fn finding_5_intervals_are_no_longer_than_what_was_sent() {
    let mut checks = sent(400, &[]);
    let long = ((1 << 24) - 1, 1, (1 << 24) - 1);
    let checked = report(&mut checks, 400, &[(99, 1, 100), long, long]);
    let cut = lengths(&checked);
    assert_eq!(cut.len(), 2);
    assert_eq!(cut[0], (99, 1, 100));
    assert_eq!((cut[1].0, cut[1].1), (299, 1));
    // The first interval's data length stands for a rate, which is bounded by what was received.
    let mut checks = sent(400, &[]);
    checks.receive_rate(1e9, at(300), R);
    let first = (300, 0, (1 << 24) - 1);
    let checked = report(&mut checks, 400, &[(99, 1, 100), first]);
    let most = super::FIRST_INTERVAL_SLACK * MEASURE.interval(checks.largest_rate);
    let first = f64::from(lengths(&checked)[1].2);
    assert!(first <= most + 1.0 && most < 1e6, "{first} of {most}");
}

/// A loss event that begins with nothing but a hole is removed: its interval is joined to the one before it, without
/// the hole. An event with further losses stays, and so does one that a hole falls into.
#[test]
fn holes_are_no_losses() {
    let mut checks = sent(400, &[101, 202, 303]);
    // 101 is a hole alone; 151 is lost; 202 is a hole and 203 is lost; 300 is lost, and 303 is a hole within that round
    // trip.
    let heard = [
        (97, 4, 101),
        (96, 2, 98),
        (50, 1, 51),
        (49, 1, 50),
        (100, 0, 90),
    ];
    let checked = report(&mut checks, 400, &heard);
    assert_eq!(checked.restart, None);
    let found = lengths(&checked);
    let lossless: Vec<_> = found
        .iter()
        .map(|&(lossless, loss, _)| (lossless, loss))
        .collect();
    assert_eq!(lossless, [(97, 4), (96, 2), (50, 1), (150, 0)]);
    assert_eq!((found[0].2, found[1].2), (100, 97), "a hole is no data");
}

/// RFC 4342, 8.6.1: at most nine intervals are reported. If holes divide an interval into more, the part that is no
/// longer reported is remembered.
#[test]
fn what_holes_push_out_is_remembered() {
    let mut checks = sent(2_000, &[]);
    let mut heard = vec![(49, 1, 50), (50, 0, 50)];
    report(&mut checks, 100, &heard);
    for hole in (0..15).map(|i| 101 + 100 * i) {
        checks.on_skipped(at(hole), Seq::new(hole), R);
        heard.insert(0, (98, 1, 99));
        heard.truncate(9);
        // For each hole, one hundred packets after the loss of 51, and the hole.
        let checked = report(&mut checks, hole + 98, &heard);
        assert_eq!(checked.restart, None);
        let newest = lengths(&checked)[0];
        let packets = u32::try_from(hole + 98 - 51).unwrap();
        assert_eq!((newest.0, newest.1), (packets, 1), "hole {hole}");
        // 99 to 100 numbers from one hole to the next, because a report ends before the next hole.
        heard[0] = (99, 1, 100);
    }
}

/// RFC 4342, 9: a receiver that reports a skipped number as received lies. This is not judged at once: until three
/// later packets have arrived, an honest receiver may have to count it as received (8.6.1).
#[test]
fn finding_5_a_hole_received_is_a_lie() {
    let mut checks = sent(600, &[101]);
    for ackno in [102, 103] {
        let checked = report(&mut checks, ackno, &[(u32::try_from(ackno).unwrap(), 0, 0)]);
        assert_eq!(checked.restart, None, "{ackno}");
        assert_eq!(checks.skips_of_65536(9.0), 0, "one at a time");
    }
    let checked = report(&mut checks, 104, &[(104, 0, 0)]);
    assert_eq!(checked.restart, Some(Seq::new(101)));
    assert_eq!(
        lengths(&checked),
        [(3, 1, 4)],
        "a loss, and nothing before it"
    );
    assert!(checks.skips_of_65536(9.0) > 2_048, "it is suspected");
    let again = report(&mut checks, 105, &[(105, 0, 0)]);
    assert_eq!(again.restart, None, "one lie, told twice");
    assert_eq!(lengths(&again), [(4, 1, 5)]);
    // To acknowledge a skipped number is a lie as well.
    checks.on_skipped(at(601), Seq::new(601), R);
    assert_eq!(checks.on_ack(Seq::new(601)), Some(Seq::new(601)));
}

/// A hole that was reported as lost stays lost: a receiver that takes this back lies.
#[test]
fn finding_5_what_was_lost_stays_lost() {
    let mut checks = sent(600, &[101]);
    let checked = report(&mut checks, 200, &[(99, 1, 100), (100, 0, 50)]);
    assert_eq!(checked.restart, None);
    assert_eq!(checks.skips_of_65536(9.0), 256, "on trial");
    let checked = report(&mut checks, 201, &[(201, 0, 0)]);
    assert_eq!(checked.restart, Some(Seq::new(101)));
}

/// The next hole waits for some round trips, even if the last one was reported at once. Two holes within a round trip
/// would be one loss event to an honest receiver, longer than one hole, and would look like a real loss.
#[test]
fn finding_5_holes_are_events_of_their_own() {
    let mut checks = sent(400, &[301]);
    let first = [(20, 1, 21), (300, 0, 300)];
    report(&mut checks, 321, &first);
    for number in 401..=800 {
        let skips = checks.skips_of_65536(9.0);
        assert_eq!(skips > 0, number > 701, "{number}: {skips}");
        checks.on_sent(at(number), Seq::new(number), Some(1_000), R);
    }
}

/// If a receiver's first interval begins later than before, the receiver has forgotten its losses. Whatever the reason,
/// the sender restarts its history, too.
#[test]
fn finding_5_forgetting_gains_nothing() {
    let mut checks = sent(400, &[]);
    let checked = report(&mut checks, 200, &[(200, 0, 0)]);
    assert_eq!(checked.restart, None);
    let checked = report(&mut checks, 300, &[(50, 0, 0)]);
    assert_eq!(checked.restart, Some(Seq::new(251)));
    assert_eq!(lengths(&checked), [(49, 1, 50)]);
    let checked = report(&mut checks, 350, &[(100, 0, 0)]);
    assert_eq!(
        (checked.restart, lengths(&checked)),
        (None, vec![(99, 1, 100)])
    );
}
