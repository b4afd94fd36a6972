//! Sequence and acknowledgement numbers: valid ones, and invalid ones at every edge.

use arbitrary::Unstructured;
use fairwire_wire::Seq;

use super::flow::Flow;
use crate::setup::{byte, pick};

/// Windows that may be in force (RFC 4340, 7.5.2).
const WINDOWS: [u64; 4] = [100, 1_024, 32, 1 << 17];

/// Returns a number from six bytes of the input.
fn raw(u: &mut Unstructured<'_>) -> Seq {
    let number = (0..6).fold(0, |n, _| n << 8 | u64::from(byte(u)));
    Seq::new(number)
}

/// Returns a sequence number for the peer's next packet.
pub(super) fn seq(flow: &Flow, u: &mut Unstructured<'_>) -> Seq {
    let how = byte(u);
    let by = u64::from(how >> 4);
    let window = pick(&WINDOWS, how >> 5);
    let next = flow.last.next();
    match how & 15 {
        0..=2 => next,
        3 => next.add(by),
        4 => flow.last.sub(by),
        // SWL and SWH, and the numbers just outside.
        5 => next.sub(window / 4 + (by & 1)),
        6 => flow.last.add(window - window / 4 + (by & 1)),
        7 => next.add(1 << (3 * by)),
        8 => next.sub(1 << (3 * by)),
        9 => raw(u),
        10 => flow.first.add(by),
        11 => Seq::MAX.sub(by),
        12 => next.add(window / 2 + by),
        13 => flow.heard.add(by),
        14 => next.add(by * 16),
        _ => next.add(1 << 47 | by),
    }
}

/// Returns an acknowledgement number for that packet.
pub(super) fn ack(flow: &Flow, u: &mut Unstructured<'_>) -> Seq {
    let how = byte(u);
    let by = u64::from(how >> 4);
    let window = pick(&WINDOWS, how >> 5);
    match how & 15 {
        0..=4 => flow.heard,
        5 => flow.heard.sub(by),
        6 => flow.heard.add(by + 1),
        7 => flow.heard.sub(by * 16),
        // AWL, and the number below it.
        8 => flow.heard.next().sub(window + (by & 1)),
        9 => raw(u),
        10 => flow.heard_first.add(by),
        11 => flow.heard_first.sub(by),
        12 => flow.heard.add(1 << (3 * by)),
        13 => flow.heard.sub(1 << (3 * by)),
        14 => Seq::new(by),
        _ => flow
            .numbers
            .iter()
            .rev()
            .nth(how as usize >> 4)
            .copied()
            .unwrap_or(flow.heard),
    }
}
