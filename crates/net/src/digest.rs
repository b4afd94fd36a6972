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

use crate::observer::{DropReason, Observation, Observer, Place};

/// The fate byte of a drop is this plus the number of the reason.
const DROPPED: u8 = 16;
const DEPARTED: u8 = 1;
const DELIVERED: u8 = 2;

/// An observer that computes a digest.
#[derive(Default)]
pub struct Digest {
    links: Vec<LinkDigest>,
    nodes: Records,
    records: u64,
}

#[derive(Clone, Default)]
struct LinkDigest {
    departures: Records,
    deliveries: Records,
    drops: Records,
}

/// One record.
type Record = [u8; 24];

/// Records digested at once: 3,072 bytes, a multiple of XXH3's block.
const BATCH: usize = 128;

/// The digest of a sequence of records.
#[derive(Clone, Default)]
struct Records {
    digest: Xxh3,
    /// The newest records, which are not digested yet.
    pending: Vec<Record>,
}

impl Records {
    #[inline]
    fn push(&mut self, record: Record) {
        if self.pending.len() == BATCH {
            self.digest.update(self.pending.as_flattened());
            self.pending.clear();
        }
        self.pending.push(record);
    }

    fn value(&self) -> u128 {
        let mut digest = self.digest.clone();
        digest.update(self.pending.as_flattened());
        digest.digest128()
    }
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
        let mut whole = Xxh3::new();
        for link in &self.links {
            for part in [&link.departures, &link.deliveries, &link.drops] {
                whole.update(&part.value().to_le_bytes());
            }
        }
        whole.update(&self.nodes.value().to_le_bytes());
        DigestValue(whole.digest128())
    }

    /// Returns the number of departures, deliveries and drops seen.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn link<S>(&mut self, seen: &Observation<'_, S>) -> Option<&mut LinkDigest> {
        self.records += 1;
        let Place::Link(id) = seen.place else {
            return None;
        };
        let index = id.0 as usize;
        if index >= self.links.len() {
            self.links.resize_with(index + 1, LinkDigest::default);
        }
        self.links.get_mut(index)
    }
}

impl<S> Observer<S> for Digest {
    fn departed(&mut self, seen: &Observation<'_, S>) {
        if let Some(link) = self.link(seen) {
            link.departures.push(record(seen, DEPARTED));
        }
    }

    fn delivered(&mut self, seen: &Observation<'_, S>) {
        if let Some(link) = self.link(seen) {
            link.deliveries.push(record(seen, DELIVERED));
        }
    }

    fn dropped(&mut self, seen: &Observation<'_, S>, reason: DropReason) {
        let record = record(seen, DROPPED + reason as u8);
        match self.link(seen) {
            Some(link) => link.drops.push(record),
            None => self.nodes.push(record),
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
