//! Tests of traces and of the departures that they give.

use std::sync::Arc;

use fairwire_units::{Duration, Instant};

use super::{Opportunities, Trace, TraceError};

fn trace(times: &[u32]) -> Trace {
    Trace::new(times.to_vec()).expect("a trace")
}

fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns when packets of these sizes leave, in milliseconds, if all wait from the beginning.
fn departures(times: &[u32], sizes: &[u64]) -> Vec<u64> {
    let mut link = Opportunities::new(Arc::new(trace(times)));
    let mut last = Instant::START;
    let departure = |bytes: &u64| {
        last = link.take(*bytes, last);
        last.as_nanos() / 1_000_000
    };
    sizes.iter().map(departure).collect()
}

/// One packet of 1,500 bytes leaves at each time, and the trace starts again after its last time.
#[test]
fn a_packet_leaves_at_each_time() {
    assert_eq!(
        departures(&[1, 1, 4], &[1_500; 8]),
        [1, 1, 4, 5, 5, 8, 9, 9]
    );
    // A time of zero in a later period equals the last time of the period before.
    assert_eq!(departures(&[0, 3], &[1_500; 5]), [0, 3, 3, 6, 6]);
}

/// A file may begin with a byte order mark, and have empty lines and comments; errors count all lines.
#[test]
fn comments_and_a_byte_order_mark_mean_nothing() {
    let parsed = |text: &str| text.parse::<Trace>();
    let plain = Ok(trace(&[1, 2, 3]));
    for text in [
        "\u{feff}1\n2\n3\n",
        "# times\n1\n\n2\n  # more\n3",
        "1\r\n2\r\n3\r\n",
    ] {
        assert_eq!(parsed(text), plain, "{text:?}");
    }
    let error = parsed("# times\n5\n\n4\n").expect_err("it goes back");
    assert_eq!(error.line(), Some(4));
    assert_eq!(parsed("# none\n"), Err(TraceError::Empty));
}

/// A file of times and rates is refused with the key that takes them.
#[test]
fn two_columns_are_named() {
    for text in ["0.5 4.15\n1.0 3.75\n", "0.5,4.15", "# s, Mbit/s\n1;2"] {
        let error = text.parse::<Trace>().expect_err("no times").to_string();
        assert!(
            error.contains("several numbers") && error.contains("rate_changes"),
            "{error}"
        );
    }
    let error = "1 x".parse::<Trace>().expect_err("no times").to_string();
    assert!(error.contains("'1 x' is not a time"), "{error}");
}

/// Small packets share a time, a large packet takes several, and the rest of a time is used by the next packet.
#[test]
fn bytes_are_counted_not_packets() {
    assert_eq!(departures(&[2, 5, 9], &[700, 800, 1, 1_499]), [2, 2, 5, 5]);
    assert_eq!(
        departures(&[2, 5, 9], &[1_501, 1_499, 4_500, 9_000]),
        [5, 5, 14, 32]
    );
}

/// An opportunity that nobody uses is lost, including the present one, and so is the unused rest of a time.
#[test]
fn what_is_not_used_is_lost() {
    let mut link = Opportunities::new(Arc::new(trace(&[2, 5, 9])));
    assert_eq!(link.take(100, Instant::START), ms(2));
    link.pass(ms(2));
    assert_eq!(link.take(100, ms(2)), ms(5));
    link.pass(ms(8));
    assert_eq!(link.take(100, ms(8)), ms(9));
    link.pass(ms(9));
    assert_eq!(link.take(100, ms(9)), ms(11));
    link.pass(ms(9 * 1_000_000 + 4));
    assert_eq!(link.take(1_500, ms(9)), ms(9 * 1_000_000 + 5));
}

/// The mean rate and the bytes until a given time count the same packets: 3 in 9 ms are 4 Mbit/s.
#[test]
fn capacity_is_counted() {
    let trace = trace(&[2, 5, 9]);
    assert_eq!(trace.mean_rate().bits_per_s(), 4_000_000);
    assert_eq!(trace.period(), Duration::from_millis(9));
    for (at, packets) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (8, 2),
        (9, 3),
        (11, 4),
        (9_000, 3_000),
    ] {
        assert_eq!(trace.bytes_by(ms(at)), packets * 1_500, "{at} ms");
    }
}

/// Times saturate at the end of time.
#[test]
fn extremes_saturate() {
    let mut link = Opportunities::new(Arc::new(trace(&[u32::MAX])));
    link.pass(Instant::MAX);
    assert_eq!(link.take(1_500, Instant::MAX), Instant::MAX);
    assert_eq!(link.take(65_535, Instant::MAX), Instant::MAX);
    assert!(trace(&[1]).bytes_by(Instant::MAX) > 0);
}

/// A text that is not a trace is refused, with its line and a message.
#[test]
fn what_is_no_trace_is_refused() {
    let read = |text: &str| text.parse::<Trace>();
    assert_eq!(read("1\n1\r\n 4 \n"), Ok(trace(&[1, 1, 4])));
    assert_eq!(read(&trace(&[1, 1, 4]).to_string()), Ok(trace(&[1, 1, 4])));
    for (text, line, says) in [
        ("1\ntwo\n3\n", Some(2), "'two' is not a time"),
        ("1.5\n", Some(1), "'1.5' is not a time"),
        ("-1\n", Some(1), "whole number of milliseconds"),
        ("4294967296\n", Some(1), "is not a time"),
        ("1\n5\n4\n", Some(3), "4 follows 5"),
        ("", None, "the trace is empty"),
        ("0\n0\n", None, "must be above 0"),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.line(), line, "{text:?}");
        assert!(error.to_string().contains(says), "{text:?}: {error}");
    }
    let long = "1\n".repeat(Trace::MAX_TIMES);
    assert!(read(&long).is_ok());
    assert_eq!(read(&(long + "1\n")), Err(TraceError::TooLong));
}
