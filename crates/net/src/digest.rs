//! One number for everything that happens on the wires.
//!
//! The digest covers what an observer on the wire sees: for each departure, drop and delivery the time, the link, the
//! flow, the length, the ECN field and the fate. It covers no handle and no internal state. Departures, deliveries and
//! drops of each link are digested separately, in the order of time. So the digest does not depend on the order in
//! which the simulator handles simultaneous events at several places.
//!
//! Each part is the XXH3-128 of records of 24 bytes, little-endian: time in ns (8), link (4), flow (4), length in bytes
//! (4), ECN (1), fate (1), zero (2). The whole is the XXH3-128 of all parts: by link departures, deliveries and drops,
//! and at the end the drops at nodes. A test pins this layout.

use std::fmt;

use fairwire_units::Instant;
use xxhash_rust::xxh3::Xxh3;

use crate::LinkId;
use crate::observer::{DropReason, Observation, Observer, Place};

/// The fate byte of a drop is this plus the number of the reason.
const DROPPED: u8 = 16;
const DEPARTED: u8 = 1;
const DELIVERED: u8 = 2;

/// One record.
type Record = [u8; 24];

/// A record of a link, with the number of the part that it belongs to: its link and kind.
#[derive(Clone, Copy)]
struct Note {
    part: u32,
    record: Record,
}

/// The kinds of records of a link, each of which is digested by itself: departures, deliveries, drops.
const KINDS: u32 = 3;
const DEPARTURES: u32 = 0;
const DELIVERIES: u32 = 1;
const DROPS: u32 = 2;

/// The least number of records that are digested at once.
const LEAST_BATCH: usize = 1_024;

/// An observer that computes a digest.
///
/// It notes the records of all links in one list. When the list is full, it sorts them by link and kind, and digests
/// each part. With a list for each part, every packet would touch memory that was last used a long time ago.
#[derive(Default)]
pub struct Digest {
    /// The digests of the records that are not in `newest`, by link and kind; `None` if there are none.
    parts: Vec<Option<Box<Xxh3>>>,
    newest: Vec<Note>,
    /// The buffers in which they are sorted.
    sorted: Sorted,
    nodes: Xxh3,
    records: u64,
}

/// The value of a [`Digest`]; prints as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DigestValue(pub u128);

impl Digest {
    /// Creates an empty digest.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the digest of everything seen so far.
    pub fn value(&self) -> DigestValue {
        let mut newest = Sorted::default();
        newest.sort(&self.newest, self.parts.len());
        let mut whole = Xxh3::new();
        for number in 0..newest.parts() {
            let digested = self.parts.get(number).and_then(Option::as_deref);
            let mut part = digested.cloned().unwrap_or_default();
            part.update(newest.part(number));
            whole.update(&part.digest128().to_le_bytes());
        }
        whole.update(&self.nodes.digest128().to_le_bytes());
        DigestValue(whole.digest128())
    }

    /// Returns the number of departures, deliveries and drops seen.
    pub fn records(&self) -> u64 {
        self.records + self.newest.len() as u64
    }

    /// Notes a record of a link.
    #[inline]
    fn note(&mut self, LinkId(link): LinkId, kind: u32, record: Record) {
        if self.newest.len() == self.newest.capacity() {
            self.digest_newest();
        }
        let part = KINDS * link + kind;
        self.newest.push(Note { part, record });
    }

    #[cold]
    fn digest_newest(&mut self) {
        self.sorted.sort(&self.newest, self.parts.len());
        self.parts.resize(self.sorted.parts(), None);
        for (number, digested) in self.parts.iter_mut().enumerate() {
            let part = self.sorted.part(number);
            if !part.is_empty() {
                digested.get_or_insert_default().update(part);
            }
        }
        self.records += self.newest.len() as u64;
        self.newest.clear();
        self.newest.reserve(LEAST_BATCH.max(self.parts.len()));
    }
}

/// Records, sorted by link and kind. Those of one link and kind keep their order.
#[derive(Default)]
struct Sorted {
    records: Vec<Record>,
    /// The end of each part in `records`.
    ends: Vec<u32>,
}

impl Sorted {
    /// Sorts `notes` by their parts, of which there are `least` or more, and whole links.
    fn sort(&mut self, notes: &[Note], least: usize) {
        let most = notes.iter().map(|note| note.part / KINDS).max();
        let parts = most.map_or(0, |link| (KINDS * (link + 1)) as usize);
        self.ends.clear();
        self.ends.resize(least.max(parts), 0);
        for note in notes {
            self.ends[note.part as usize] += 1;
        }
        // First the place of a part's next record, after all of them the end of the part.
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        self.records.resize(notes.len(), [0; 24]);
        for Note { part, record } in notes {
            let next = &mut self.ends[*part as usize];
            self.records[*next as usize] = *record;
            *next += 1;
        }
    }

    fn parts(&self) -> usize {
        self.ends.len()
    }

    fn part(&self, number: usize) -> &[u8] {
        let Some(end) = self.ends.get(number) else {
            return &[];
        };
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.records[start as usize..*end as usize].as_flattened()
    }
}

impl<S> Observer<S> for Digest {
    #[inline]
    fn departed(&mut self, seen: &Observation<'_, S>) {
        if let Place::Link(link) = seen.place {
            self.note(link, DEPARTURES, record(seen, DEPARTED));
        }
    }

    #[inline]
    fn delivered(&mut self, seen: &Observation<'_, S>) {
        if let Place::Link(link) = seen.place {
            self.note(link, DELIVERIES, record(seen, DELIVERED));
        }
    }

    fn dropped(&mut self, seen: &Observation<'_, S>, reason: DropReason) {
        let record = record(seen, DROPPED + reason as u8);
        match seen.place {
            Place::Link(link) => self.note(link, DROPS, record),
            Place::Node(_) => {
                self.records += 1;
                self.nodes.update(&record);
            }
        }
    }
}

#[inline]
fn record<S>(seen: &Observation<'_, S>, fate: u8) -> Record {
    let place = match seen.place {
        Place::Link(link) => link.0,
        Place::Node(node) => node.0,
    };
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&Instant::as_nanos(seen.at).to_le_bytes());
    bytes[8..12].copy_from_slice(&place.to_le_bytes());
    bytes[12..16].copy_from_slice(&seen.packet.flow.0.to_le_bytes());
    bytes[16..20].copy_from_slice(&seen.packet.wire_len.to_le_bytes());
    bytes[20] = seen.packet.ecn.bits();
    bytes[21] = fate;
    bytes
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({} of {} records)", self.value(), self.records)
    }
}

impl fmt::Display for DigestValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests;
