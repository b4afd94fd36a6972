//! Options of the peer: true ones, and lies of every kind.

use arbitrary::Unstructured;
use fairwire_wire::{Seq, data_checksum, option_type as ty};

use super::flow::Flow;
use crate::content::datagram;
use crate::setup::{byte, pick};

/// An option as it is written: its type and its data.
pub(super) type Written = (u8, Vec<u8>);

/// Numbers in options.
const WORDS: [u32; 16] = [
    0,
    1,
    2,
    100,
    1_000,
    65_535,
    65_536,
    100_000,
    1_000_000,
    10_000_000,
    1 << 24,
    (1 << 24) - 1,
    1 << 31,
    u32::MAX,
    u32::MAX - 1,
    20_000,
];

/// Values of Changes and Confirms.
const VALUES: [&[u8]; 16] = [
    &[2],
    &[3],
    &[4],
    &[1],
    &[0],
    &[2, 3],
    &[3, 2, 4],
    &[],
    &[0, 0, 0, 0, 0, 32],
    &[0, 0, 0, 0, 4, 0],
    &[0, 0, 0, 16, 0, 0],
    &[255; 6],
    &[0; 7],
    &[1, 0, 1, 0, 3, 2],
    &[0, 2],
    &[255; 250],
];

/// Features, known ones and others.
const FEATURES: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 192, 0, 10, 127, 120, 255];

/// Returns Confirms for everything that the endpoint asks for, with the first value of each list.
pub(super) fn confirms(flow: &Flow) -> Vec<Written> {
    let confirm = |ask: &super::flow::Ask| {
        let ty = if ask.left {
            ty::CONFIRM_R
        } else {
            ty::CONFIRM_L
        };
        let is_number = matches!(ask.feature, 3 | 5);
        let value = if is_number {
            &ask.value[..]
        } else {
            ask.value.get(..1).unwrap_or_default()
        };
        (ty, [&[ask.feature], value].concat())
    };
    flow.asks.iter().map(confirm).collect()
}

/// Returns the Init Cookie that the endpoint gave, if it did.
pub(super) fn cookie(flow: &Flow) -> Option<Written> {
    (!flow.cookie.is_empty()).then(|| (ty::INIT_COOKIE, flow.cookie.clone()))
}

/// Returns the Changes of a handshake.
pub(super) fn wishes(how: u8) -> Vec<Written> {
    match how & 15 {
        0..=2 => Vec::new(),
        3 => vec![
            (ty::CHANGE_L, vec![1, 3, 2, 4]),
            (ty::CHANGE_R, vec![1, 3, 2, 4]),
        ],
        4 => vec![(ty::CHANGE_L, vec![1, 2]), (ty::CHANGE_R, vec![1, 2])],
        5 => vec![
            (ty::CHANGE_L, vec![1, 4, 3, 2]),
            (ty::CHANGE_R, vec![1, 4, 3, 2]),
        ],
        6 => vec![(ty::CHANGE_L, vec![1, 2]), (ty::CHANGE_R, vec![1, 3])],
        7 => vec![(ty::CHANGE_L, vec![2, 1]), (ty::CHANGE_R, vec![2, 1])],
        8 => vec![(ty::CHANGE_L, vec![3, 0, 0, 0, 0, 4, 0])],
        9 => vec![(ty::CHANGE_L, vec![3, 0, 0, 0, 2, 0, 0])],
        10 => vec![(ty::CHANGE_R, vec![7, 1]), (ty::CHANGE_L, vec![7, 1])],
        11 => vec![(ty::CHANGE_R, vec![9, 1]), (ty::CHANGE_L, vec![8, 0, 1, 2])],
        12 => vec![(ty::CHANGE_R, vec![4, 1]), (ty::CHANGE_L, vec![4, 1])],
        13 => vec![(ty::TIMESTAMP, vec![0, 0, 0, 1])],
        14 => vec![(ty::CHANGE_L, vec![1, 3]), (ty::CHANGE_L, vec![128, 1])],
        _ => vec![(ty::CHANGE_R, vec![1, 4]), (ty::CHANGE_R, vec![192, 1])],
    }
}

/// Returns an Ack Vector of everything that the endpoint has sent: skipped numbers are missing, every `lost`th packet
/// was lost, and every `marked`th was marked.
fn vector(flow: &Flow, lost: usize, marked: usize) -> Written {
    let mut entries = Vec::new();
    let mut at = flow.heard;
    let mut numbers = flow.numbers.clone();
    numbers.sort_by_key(|seq| seq.distance(flow.heard));
    numbers.dedup();
    for (n, &seq) in numbers.iter().enumerate().take(200) {
        while at != seq && at.is_after(seq) && entries.len() < 250 {
            entries.push(0xC0);
            at = at.prev();
        }
        let state = if lost > 0 && n % lost == lost - 1 {
            0xC0
        } else if marked > 0 && n % marked == marked - 1 {
            0x40
        } else {
            0
        };
        entries.push(state);
        at = seq.prev();
    }
    entries.truncate(253);
    (ty::ACK_VECTOR_0, entries)
}

/// Returns a loss interval of 9 bytes.
fn interval(lossless: u32, loss: u32, data: u32) -> [u8; 9] {
    let mut bytes = [0; 9];
    for (three, number) in bytes.chunks_mut(3).zip([lossless, loss, data]) {
        three.copy_from_slice(&number.to_be_bytes()[1..]);
    }
    bytes
}

/// Returns the feedback of a receiver of any CCID; a sender reads what its CCID knows.
pub(super) fn honest(flow: &Flow, how: usize) -> Vec<Written> {
    let since = u32::try_from(flow.heard_first.distance(flow.heard) & 0xFF_FFFF).unwrap_or(0);
    let mut options = confirms(flow);
    options.push(vector(flow, 0, 0));
    options.push((ty::ELAPSED_TIME, vec![0, 10]));
    options.push((ty::RECEIVE_RATE, 100_000_u32.to_be_bytes().to_vec()));
    options.push((
        ty::LOSS_INTERVALS,
        [&[0][..], &interval(since, 0, since)].concat(),
    ));
    if how & 2 != 0 {
        options.push((ty::TIMESTAMP_ECHO, flow.timestamp.to_be_bytes().to_vec()));
    }
    options
}

/// Returns options as the input selects them.
pub(super) fn draw(
    flow: &Flow,
    count: usize,
    len: usize,
    u: &mut Unstructured<'_>,
) -> Vec<Written> {
    let mut options = Vec::new();
    for _ in 0..count {
        if u.is_empty() {
            break;
        }
        let what = byte(u);
        let by = what >> 5;
        match what & 31 {
            0 => options.push(vector(flow, 0, 0)),
            1 => options.push(vector(flow, usize::from(by) + 1, 0)),
            2 => options.push(vector(flow, 0, usize::from(by) + 1)),
            3 => options.push((ty::ACK_VECTOR_0 + (by & 1), bytes(u))),
            4..=15 => options.push(report(flow, what & 31, by, u)),
            16..=19 => {
                let (feature, value) = (byte(u), byte(u));
                let value = pick(&VALUES, value);
                let ty = ty::CHANGE_L + (what & 3);
                options.push((ty, [&[pick(&FEATURES, feature)], value].concat()));
            }
            20 => options.extend(confirms(flow)),
            21 => options.extend(cookie(flow)),
            22 => options.push((ty::INIT_COOKIE, bytes(u))),
            23 => options.push((ty::MANDATORY, Vec::new())),
            24 => options.push((ty::SLOW_RECEIVER, Vec::new())),
            25 => options.push((ty::DATA_CHECKSUM, checksum(len, by))),
            26 if by < 4 => options.push((ty::PADDING, Vec::new())),
            26 => options.push((ty::COPY_OF, copy_of(flow, by))),
            27 => options.push((pick(&[3, 31, 45, 46, 127, 129, 196, 255], by), plain(by, u))),
            28 => options.extend(honest(flow, usize::from(by))),
            29 => options.extend(wishes(by << 1 | 1)),
            _ => {
                // The last option again, until the head is full.
                if let Some(last) = options.last().cloned() {
                    options.extend(std::iter::repeat_n(last, 1_008));
                }
            }
        }
    }
    options
}

/// Returns up to 31 bytes of the input, perhaps repeated.
fn bytes(u: &mut Unstructured<'_>) -> Vec<u8> {
    let how = byte(u);
    let len = usize::from(how & 31).min(u.len());
    let piece = u.bytes(len).unwrap_or_default();
    let times = pick(&[1, 2, 8, 60], how >> 5);
    let mut all = piece.repeat(times);
    all.truncate(253);
    all
}

/// Returns data for an option of unknown type; options below 32 have none.
fn plain(by: u8, u: &mut Unstructured<'_>) -> Vec<u8> {
    if by < 2 { Vec::new() } else { bytes(u) }
}

/// Returns the number of a packet before the newest one, which may have arrived or not, or a wrong one.
fn copy_of(flow: &Flow, by: u8) -> Vec<u8> {
    let back = pick(&[0, 1, 2, 20_000], by);
    let number = flow.last.sub(back).get().to_be_bytes();
    number[2..].to_vec()
}

/// Returns the Data Checksum of a packet's data, which may be that of another packet.
fn checksum(len: usize, by: u8) -> Vec<u8> {
    let sum = data_checksum::of(&datagram(u64::from(by), len));
    sum.to_be_bytes().to_vec()
}

/// Returns an option about time, rates or losses.
fn report(flow: &Flow, what: u8, by: u8, u: &mut Unstructured<'_>) -> Written {
    let how = byte(u);
    let word = pick(&WORDS, how);
    let four = word.to_be_bytes();
    match what {
        4 if by & 1 == 0 => (ty::ELAPSED_TIME, four[2..].to_vec()),
        4 => (ty::ELAPSED_TIME, four.to_vec()),
        5 => (ty::TIMESTAMP, four.to_vec()),
        6 | 7 => {
            let lie = if by & 4 == 0 { 0 } else { word };
            let echo = flow.timestamp.wrapping_sub(lie).to_be_bytes();
            let elapsed = [&[][..], &four[2..], &four[..]][usize::from(by & 3) % 3];
            (ty::TIMESTAMP_ECHO, [&echo, elapsed].concat())
        }
        8 | 9 => (ty::LOSS_INTERVALS, intervals(flow, how, by, u)),
        10 => (ty::RECEIVE_RATE, four.to_vec()),
        11 => (ty::LOSS_EVENT_RATE, four.to_vec()),
        12 => (ty::DATA_DROPPED, bytes(u)),
        13 => (ty::NDP_COUNT, four[..=usize::from(by % 4)].to_vec()),
        14 => (ty::RTT_ESTIMATE, four[1..=usize::from(by % 3) + 1].to_vec()),
        _ => (ty::DROPPED_PACKETS, four[1..].repeat(usize::from(by) + 1)),
    }
}

/// Returns loss intervals, with lengths from what the endpoint sent or arbitrary ones.
fn intervals(flow: &Flow, how: u8, by: u8, u: &mut Unstructured<'_>) -> Vec<u8> {
    let mut data = vec![by & 3];
    let sent = u32::try_from(Seq::distance(flow.heard_first, flow.heard) & 0xFF_FFFF).unwrap_or(0);
    let (count, each) = (usize::from(how >> 4) + 1, byte(u));
    for n in 0..count.min(28) {
        let part = sent / u32::try_from(count).unwrap_or(1);
        let one = match each & 7 {
            0 | 1 => interval(part.saturating_sub(1), 1, part),
            2 => interval(0, part, part),
            3 => interval(pick(&WORDS, each >> 4), 1, part),
            4 => interval(part, pick(&WORDS, each >> 4), part),
            5 => interval(part, 1, pick(&WORDS, each >> 4)),
            6 => interval(u32::MAX, u32::MAX, u32::MAX),
            _ => interval(sent, u32::from(n > 0), sent),
        };
        data.extend_from_slice(&one);
    }
    data
}
