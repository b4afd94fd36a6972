//! Changing the bytes of packets without the codec under test (RFC 4340, section 5).

use std::ops::Range;

use bytes::Bytes;
use fairwire_wire::checksum::{PseudoHeader, Sum, compute, coverage};

use super::layout::{Layout, number};
use super::store::{Content, Parcel};
use crate::dice::Dice;
use crate::plan::fault::Lie;

/// Writes a number to `place`.
pub(super) fn set_number(head: &mut [u8], place: Range<usize>, number: u64) {
    let len = place.len();
    head[place].copy_from_slice(&number.to_be_bytes()[8 - len..]);
}

/// Returns how much of the payload the checksum covers, in bytes.
pub(super) fn covered(head: &[u8], payload: usize) -> usize {
    let cscov = head.get(5).map_or(0, |byte| byte & 15);
    coverage(cscov, payload).min(payload)
}

/// Recomputes the checksums.
pub(super) fn seal(parcel: &mut Parcel, udp: bool) {
    parcel.intact = true;
    let pseudo = PseudoHeader::new(parcel.from.ip(), parcel.to.ip());
    let Content::Dccp { head, payload } = &mut parcel.content else {
        return;
    };
    if let (false, Some(pseudo)) = (udp || head.len() < 12, pseudo) {
        let sum = Sum::of(&payload[..covered(head, payload.len())]);
        let checksum = compute(pseudo, head, sum, payload.len());
        head[6..8].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Flips a bit of `bytes`.
pub(super) fn flip(bytes: &mut [u8], dice: &mut Dice) {
    if !bytes.is_empty() {
        let place = dice.index(bytes.len());
        bytes[place] ^= 1 << dice.below(8);
    }
}

/// Flips a bit of the data in `range`.
pub(super) fn flip_data(payload: &mut Bytes, range: Range<usize>, dice: &mut Dice) {
    let mut data = payload.to_vec();
    flip(&mut data[range], dice);
    *payload = data.into();
}

/// Splits damaged bytes into head and payload as a receiver would.
pub(super) fn split(head: &[u8], payload: &Bytes) -> (Vec<u8>, Bytes) {
    let mut all = head.to_vec();
    all.extend_from_slice(payload);
    let end = all.get(4).map_or(0, |&offset| usize::from(offset) * 4);
    if end < 12 || end > all.len() {
        return (all, Bytes::new());
    }
    let rest = all.split_off(end);
    (all, rest.into())
}

/// Changes the acknowledgement in a packet. Returns false if nothing has changed.
pub(super) fn lie(head: &mut [u8], lie: Lie, dice: &mut Dice) -> bool {
    let Some(layout) = Layout::of(head) else {
        return false;
    };
    let options = layout.list(head);
    let before = head.to_vec();
    match lie {
        Lie::Ahead | Lie::Behind => {
            let Some(place) = layout.ack else {
                return false;
            };
            let by = dice.magnitude(1, 1_000);
            let ack = number(head, place.clone());
            let ack = if lie == Lie::Ahead {
                ack.wrapping_add(by)
            } else {
                ack.wrapping_sub(by)
            };
            let bits = place.len() * 8;
            set_number(head, place, ack & ((1 << bits) - 1));
        }
        Lie::RandomOption if !layout.options.is_empty() => {
            let place = layout.options.start + dice.index(layout.options.len());
            head[place] = dice.byte();
        }
        _ => {
            for (kind, place) in options {
                one_option(head, (kind, place), lie, dice);
            }
        }
    }
    head != before
}

fn one_option(head: &mut [u8], (kind, place): (u8, Range<usize>), lie: Lie, dice: &mut Dice) {
    let value = (place.start + 2).min(place.end)..place.end;
    match (lie, kind) {
        // Each byte of an Ack Vector has two bits of state and six of run length (RFC 4340, 11.4).
        (Lie::AllReceived, 38 | 39) => head[value].iter_mut().for_each(|run| *run &= 0x3F),
        (Lie::NothingReceived, 38 | 39) => head[value].iter_mut().for_each(|run| *run |= 0xC0),
        (Lie::AllMarked, 38 | 39) => {
            head[value]
                .iter_mut()
                .for_each(|run| *run = *run & 0x3F | 0x40);
        }
        (Lie::RandomVector, 38 | 39)
        | (Lie::RandomIntervals, 193)
        | (Lie::RandomTimes, 42 | 43) => {
            head[value].iter_mut().for_each(|byte| *byte = dice.byte());
        }
        // The loss event rate is an inverse, and all ones mean no loss; the receive rate is in bytes per second (RFC
        // 4342, 8).
        (Lie::Lossless, 192 | 194) | (Lie::FalseFeatures, 33 | 35) => {
            head[value].fill(0xFF);
        }
        (Lie::Lossy, 192 | 194) => {
            let last = value.end - 1;
            head[value].fill(0);
            head[last] = 3;
        }
        (Lie::NoOptions, _) | (Lie::NoFeatures, 32..=35) => head[place].fill(0),
        _ => {}
    }
}
