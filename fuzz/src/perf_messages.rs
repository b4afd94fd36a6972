//! The target `perf_messages`: the messages between the two sides of `fairwire perf`.
//!
//! The first byte of an input selects what the rest is: a message, a TCP stream of messages, the messages of one flow,
//! a report to print, or byte ranges of a file. JSON messages may come from anybody, so what is printed of them is
//! bounded as well.

use bytes::{Bytes, BytesMut};
use fairwire_tools::perf::fuzz::{self, Arrived, Receiving};

use fairwire_held::thread::measure;

/// The longest message in a TCP stream, bytes.
const MAX_FRAME: u64 = 1 << 20;

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else {
        return;
    };
    let length = rest.len() as u64;
    let with = |work: fn(&Bytes)| measure(|| work(&Bytes::copy_from_slice(rest))).1;
    let (what, bound, taken) = match mode % 5 {
        0 => ("a message", 0, with(message)),
        // A peer may announce the longest message and send four bytes; two buffers are used here.
        1 => ("a stream", 2 * (MAX_FRAME + 4), with(stream)),
        2 => ("a flow", 0, with(flow)),
        3 => ("a report", 0, with(report)),
        _ => ("ranges", 0, with(ranges)),
    };
    // Twenty ranges, a page of text and a few copies; JSON values are larger than their text.
    let bound = bound + 16_384 + 128 * length;
    assert!(taken.peak <= bound, "{what} of {length} bytes: {taken:?}");
    assert_eq!(taken.kept, 0, "{what}: {taken:?}");
    let calls = 1_024 + 16 * length;
    assert!(taken.calls <= calls, "{what} of {length} bytes: {taken:?}");
}

/// Checks that a message can be read, written and read again with the same result; most have the same bytes, too.
fn message(bytes: &Bytes) {
    let Some(again) = fuzz::message(bytes) else {
        return;
    };
    // Wait and Done have no contents, and Prove has a number: later bytes are ignored.
    let meant = match bytes[3] {
        b'W' | b'E' => 4,
        b'T' => 12,
        _ => bytes.len(),
    };
    assert_eq!(again, bytes[..meant]);
    assert_eq!(fuzz::message(&again), Some(again.clone()));
    if bytes[3] == b'P' {
        params(&bytes.slice(4..));
    }
}

/// Checks that accepted parameters are written as accepted parameters, and that no rate makes them wait for more than
/// the patience plus five minutes.
fn params(json: &Bytes) {
    match fuzz::params(json) {
        Ok((again, silence)) => {
            assert!((10..=310).contains(&silence.as_secs()), "{silence:?}");
            let third = fuzz::params(&again.clone().into()).map(|(json, _)| json.len());
            // The last digit of a fraction of a second may change.
            assert!(third.is_ok_and(|len| len.abs_diff(again.len()) < 8));
        }
        Err(why) => assert!(why.len() < 256 + 4 * json.len(), "{why}"),
    }
}

/// Checks that the messages are the same however a stream is cut.
fn stream(bytes: &Bytes) {
    let Some((&step, bytes)) = bytes.split_first() else {
        return;
    };
    let mut whole = BytesMut::from(bytes);
    let mut pieces = bytes.chunks(usize::from(step).max(1));
    let mut cut = BytesMut::new();
    let mut steps = 0;
    loop {
        let expected = fuzz::frame(&mut whole);
        let mut found = fuzz::frame(&mut cut);
        while found == Ok(None)
            && let Some(piece) = pieces.next()
        {
            cut.extend_from_slice(piece);
            found = fuzz::frame(&mut cut);
            steps += 1;
        }
        assert_eq!(found, expected);
        match found {
            Ok(Some(message)) => {
                let _ = fuzz::message(&message);
            }
            Ok(None) | Err(_) => break,
        }
        steps += 1;
    }
    // Each step takes at least four bytes, or one of the pieces.
    assert!(
        steps <= 2 * bytes.len(),
        "{steps} steps for {} bytes",
        bytes.len()
    );
}

/// Checks the messages of one flow, each after its length in one byte and a time: the counters do not overflow, and the
/// report fits into a datagram.
fn flow(bytes: &Bytes) {
    let mut rest = bytes.clone();
    if rest.len() < 9 {
        return;
    }
    let size = u64::from_be_bytes(*rest.first_chunk().expect("nine bytes"));
    let size = size >> (rest[8] % 64);
    let mut flow = Receiving::new(size).expect("nothing is saved");
    let mut now = 0_u64;
    rest = rest.slice(9..);
    while rest.len() >= 2 {
        now = now.saturating_add(1 << (rest[1] % 64));
        let length = usize::from(rest[0]).min(rest.len() - 2);
        flow.take(now, &rest.slice(2..2 + length));
        rest = rest.slice(2 + length..);
    }
    for (sent, max) in [(None, 1_200), (Some(now), 500), (Some(0), 0)] {
        let json = flow.report(sent, max);
        // Without ranges a report has some 370 bytes.
        assert!(
            json.len() + 4 <= max.max(600),
            "{}",
            String::from_utf8_lossy(&json)
        );
        let printed = fuzz::printed(&json, size);
        assert!(
            printed.contains("receiver"),
            "our own report is read: {printed}"
        );
    }
}

/// Checks that what is printed of a report is bounded and cannot move the cursor of a terminal.
fn report(bytes: &Bytes) {
    let Some((&shift, json)) = bytes.split_first() else {
        return;
    };
    let text = fuzz::printed(json, u64::MAX >> (shift % 64));
    let bad = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(bad, None, "{text:?}");
    // A number of a few digits with an exponent may print with three hundred digits.
    assert!(
        text.len() <= 8_192 + 80 * json.len(),
        "{} bytes",
        text.len()
    );
}

/// Checks that ranges agree with a plain list of bytes.
fn ranges(bytes: &Bytes) {
    const SIZE: usize = 256;
    let mut plain = [false; SIZE];
    let mut ranges = Arrived::default();
    for &[start, length] in bytes.as_chunks().0 {
        let (start, end) = (usize::from(start), usize::from(start) + usize::from(length));
        assert!(ranges.insert(start as u64, end as u64));
        plain[start..end.min(SIZE)].fill(true);
    }
    let holes = plain.chunk_by(|a, b| a == b).filter(|run| !run[0]);
    let (missing, most) = (ranges.missing(SIZE as u64, 20), holes.clone().count());
    assert_eq!(missing.count, most as u64);
    assert_eq!(
        missing.bytes,
        holes.map(|run| run.len() as u64).sum::<u64>()
    );
    assert_eq!(missing.first.len(), most.min(20));
    for (from, to) in missing.first {
        let at = |byte: u64| usize::try_from(byte).expect("below the size");
        assert!(plain[at(from)..at(to)].iter().all(|have| !have));
    }
}
