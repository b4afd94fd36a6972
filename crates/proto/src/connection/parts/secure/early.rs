//! Data that leaves, or arrives, before the end of the handshake has arrived at its receiver.
//!
//! The last message of a handshake and the first data leave one after the other. That message may be lost, or overtaken.
//! RFC 9147, section 4.2.1, lets the receiver keep records that it cannot read yet. So this end sends no more of them than
//! it would keep itself: what DCCP has acknowledged is then read, however late that message is. The keys are those of the
//! session, and not those of TLS's early data: nobody can replay such a record.

use std::collections::VecDeque;

use bytes::Bytes;
use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use crate::constants::DATAGRAM_OVERHEAD;
use crate::resend::Missing;

/// The most datagrams that leave before their receiver is known to have all keys, and the most that it keeps.
const DATAGRAMS: usize = 16;

/// The same in bytes.
const BYTES: usize = 24 << 10;

/// What may still leave before the peer is known to have all keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    datagrams: usize,
    bytes: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            datagrams: DATAGRAMS,
            bytes: BYTES,
        }
    }
}

impl Allowance {
    /// Returns whether a datagram has left.
    pub(crate) fn is_used(self) -> bool {
        self.datagrams < DATAGRAMS
    }

    /// Returns whether a sealed datagram of this size may leave.
    pub(crate) fn has_room(self, sealed: usize) -> bool {
        self.datagrams > 0 && sealed <= self.bytes
    }

    /// Counts a sealed datagram that leaves.
    pub(crate) fn spend(&mut self, sealed: usize) {
        self.datagrams = self.datagrams.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(sealed);
    }
}

/// What is known about a datagram beside its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) ecn: Ecn,
    pub(crate) at: Instant,
    pub(crate) seq: Seq,
    /// The tag of a synthetic payload.
    pub(crate) tag: Option<u64>,
}

/// Records that wait for the end of the handshake: the end of a datagram.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) records: Bytes,
    pub(crate) arrived: Arrived,
    /// The datagrams that were missing before this one.
    pub(crate) lost_before: u64,
}

/// What became of records that came early.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keeping {
    Kept,
    /// They are kept already.
    Copy,
    NoRoom,
}

/// The records that wait for the end of the handshake, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Early {
    kept: VecDeque<Kept>,
    bytes: usize,
}

impl Early {
    /// Keeps the records of a datagram that came early, if there are `room` bytes of memory, with the count of those that
    /// are missing before it.
    pub(crate) fn keep(
        &mut self,
        room: usize,
        records: &[u8],
        arrived: Arrived,
        missing: &mut Missing,
    ) -> Keeping {
        // RFC 9147, 5.8.1: data that come before the end of the handshake are kept back or dropped. RFC 9147, 4.5.1: copies
        // are dropped. They take no place from others.
        if self.kept.iter().any(|kept| kept.records == records) {
            return Keeping::Copy;
        }
        let has_place = self.kept.len() < DATAGRAMS && self.bytes + records.len() <= BYTES;
        if !has_place || room < records.len() + DATAGRAM_OVERHEAD {
            return Keeping::NoRoom;
        }
        self.bytes += records.len();
        // They are few, and all of their memory is counted.
        self.kept.reserve_exact(1);
        self.kept.push_back(Kept {
            records: Bytes::copy_from_slice(records),
            arrived,
            lost_before: missing.take(),
        });
        Keeping::Kept
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns of how many datagrams there are records.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Removes and returns those that came first.
    pub(crate) fn take(&mut self) -> Option<Kept> {
        let kept = self.kept.pop_front()?;
        self.bytes -= kept.records.len();
        if self.kept.is_empty() {
            *self = Self::default();
        }
        Some(kept)
    }

    /// Returns the memory that they use, in bytes.
    pub(crate) fn footprint(&self) -> usize {
        self.bytes + self.kept.len() * DATAGRAM_OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, Arrived, BYTES, DATAGRAM_OVERHEAD, DATAGRAMS, Early, Keeping, Kept};
    use super::{Ecn, Instant, Missing, Seq};

    fn keep(early: &mut Early, room: usize, records: &[u8], seq: u64) -> Keeping {
        let arrived = Arrived {
            ecn: Ecn::Ce,
            at: Instant::START,
            seq: Seq::new(seq),
            tag: None,
        };
        let mut missing = Missing::default();
        missing.miss(seq);
        early.keep(room, records, arrived, &mut missing)
    }

    /// As many datagrams leave, and as many bytes, as a receiver keeps, and no more.
    #[test]
    fn no_more_leaves_than_is_kept() {
        for size in [
            1,
            1_200,
            BYTES / DATAGRAMS,
            BYTES / DATAGRAMS + 1,
            BYTES,
            BYTES + 1,
        ] {
            let (mut allowance, mut early) = (Allowance::default(), Early::default());
            let mut sent = 0;
            while allowance.has_room(size) {
                allowance.spend(size);
                sent += 1;
                let records = vec![sent; size];
                let kept = keep(&mut early, usize::MAX, &records, sent.into());
                assert_eq!(kept, Keeping::Kept, "{size}");
            }
            assert_eq!(usize::from(sent), DATAGRAMS.min(BYTES / size), "{size}");
            let kept = keep(&mut early, usize::MAX, &vec![0; size], 100);
            assert_eq!(kept, Keeping::NoRoom, "{size}");
        }
    }

    /// What is kept comes back in order, with all that is known about it, and then uses no memory. A copy takes no place.
    #[test]
    fn what_is_kept_comes_back() {
        let mut early = Early::default();
        assert_eq!(keep(&mut early, 10_000, b"one", 1), Keeping::Kept);
        assert_eq!(keep(&mut early, 10_000, b"one", 2), Keeping::Copy);
        assert_eq!(keep(&mut early, 10_000, b"two", 3), Keeping::Kept);
        let tight = b"three".len() + DATAGRAM_OVERHEAD;
        assert_eq!(keep(&mut early, tight - 1, b"three", 4), Keeping::NoRoom);
        assert_eq!(keep(&mut early, tight, b"three", 5), Keeping::Kept);
        assert_eq!(early.footprint(), 11 + 3 * DATAGRAM_OVERHEAD);
        let kept: Vec<_> = std::iter::from_fn(|| early.take())
            .map(|kept| (kept.records, kept.arrived.seq.get(), kept.lost_before))
            .collect();
        let expected = [(&b"one"[..], 1, 1), (b"two", 3, 3), (b"three", 5, 5)];
        assert_eq!(
            kept,
            expected.map(|(data, seq, lost)| (data.into(), seq, lost))
        );
        assert_eq!(early.footprint(), 0);
    }

    /// The counted overhead covers the memory of an entry, and twice an allocator's header and rounding.
    #[test]
    fn the_overhead_is_what_an_entry_costs() {
        let mut early = Early::default();
        for seq in 0..DATAGRAMS as u64 {
            assert_eq!(keep(&mut early, 10_000, &[], seq), Keeping::Kept);
            early.kept.back_mut().expect("it is kept").records = vec![0; early.kept.len()].into();
            let held = early.kept.capacity() * size_of::<Kept>() + early.kept.len() * 64;
            assert!(held <= early.footprint(), "{held}");
        }
    }
}
