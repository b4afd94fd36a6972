//! The datagrams that left and may have to be sent again.

use std::collections::{BTreeMap, BTreeSet};

use fairwire_units::Instant;
use fairwire_wire::Seq;

use crate::id::DatagramId;
use crate::payload::Payload;
use crate::sending::SendOptions;

/// What a datagram counts in addition to its payload: entries of two B-trees, whose nodes may be half empty, and the
/// allocator's overhead.
const OVERHEAD: usize = 384;

/// A datagram that left and may have to be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its data.
    pub(crate) data: Payload,
    /// How it is sent.
    pub(crate) options: SendOptions,
    /// The packet in which it was first sent.
    pub(crate) first: Seq,
}

/// Datagrams in flight that may have to be sent again, each until the moment after which it must not leave any more.
///
/// The limit in bytes counts memory and not only payload.
#[derive(Debug)]
pub(crate) struct ResendBuffer {
    kept: BTreeMap<DatagramId, Kept>,
    /// By the last moment at which a copy may leave.
    expiring: BTreeSet<(Instant, DatagramId)>,
    bytes: usize,
    max_bytes: usize,
}

impl ResendBuffer {
    /// Creates an empty buffer for at most `max_bytes` bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            kept: BTreeMap::new(),
            expiring: BTreeSet::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Returns the bytes that a datagram of `size` bytes counts.
    pub(crate) fn cost(size: usize) -> usize {
        size.saturating_add(OVERHEAD)
    }

    /// Keeps a datagram. Returns false if it must not be sent again, or if there is no room for it; then it is not
    /// kept.
    pub(crate) fn keep(&mut self, now: Instant, id: DatagramId, kept: Kept) -> bool {
        self.expire(now);
        let Some(until) = kept.options.resend_until() else {
            return false;
        };
        let bytes = self.bytes.saturating_add(Self::cost(kept.data.len()));
        if until < now || bytes > self.max_bytes {
            return false;
        }
        self.remove(id);
        self.bytes = self.bytes.saturating_add(Self::cost(kept.data.len()));
        self.expiring.insert((until, id));
        self.kept.insert(id, kept);
        true
    }

    /// Returns a datagram that is kept, if a copy of it may still leave.
    pub(crate) fn at(&mut self, now: Instant, id: DatagramId) -> Option<&Kept> {
        self.expire(now);
        self.kept.get(&id)
    }

    /// Removes a datagram, because its fate is known, or to send it again.
    pub(crate) fn remove(&mut self, id: DatagramId) -> Option<Kept> {
        let kept = self.kept.remove(&id)?;
        self.bytes -= Self::cost(kept.data.len());
        if let Some(until) = kept.options.resend_until() {
            self.expiring.remove(&(until, id));
        }
        Some(kept)
    }

    /// Removes the datagrams that must not leave any more.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(&(until, id)) = self.expiring.first()
            && until < now
        {
            self.remove(id);
        }
    }

    /// Returns the last moment at which the datagram that expires first may leave.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.expiring.first().map(|&(until, _)| until)
    }

    /// Returns whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the bytes that are kept, overhead included.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{DatagramId, Instant, Kept, OVERHEAD, ResendBuffer, SendOptions, Seq};
    use crate::payload::Payload;
    use crate::sending::Resend;
    use fairwire_units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn datagram(len: u32, until_ms: u64) -> Kept {
        Kept {
            data: Payload::synthetic(len, 0),
            options: SendOptions {
                resend: Resend::Until(at(until_ms)),
                ..SendOptions::default()
            },
            first: Seq::ZERO,
        }
    }

    /// A datagram is kept up to its last moment and no longer, and its memory is free then.
    #[test]
    fn kept_until_it_is_of_no_use() {
        let mut buffer = ResendBuffer::new(10_000);
        assert!(buffer.keep(at(0), DatagramId(1), datagram(100, 20)));
        assert!(buffer.keep(at(0), DatagramId(2), datagram(100, 10)));
        assert_eq!(buffer.next_expiry(), Some(at(10)));
        assert!(buffer.at(at(10), DatagramId(2)).is_some());
        assert!(buffer.at(at(11), DatagramId(2)).is_none());
        assert_eq!(buffer.bytes(), 100 + OVERHEAD);
        assert!(buffer.remove(DatagramId(1)).is_some());
        assert!(buffer.is_empty() && buffer.bytes() == 0 && buffer.next_expiry().is_none());
        assert!(
            !buffer.keep(at(30), DatagramId(3), datagram(100, 29)),
            "late"
        );
    }

    /// What does not fit is not kept; what is too old to be sent makes room.
    #[test]
    fn the_memory_is_limited() {
        let mut buffer = ResendBuffer::new(2 * (100 + OVERHEAD));
        assert!(buffer.keep(at(0), DatagramId(1), datagram(100, 10)));
        assert!(buffer.keep(at(0), DatagramId(2), datagram(100, 20)));
        assert!(!buffer.keep(at(0), DatagramId(3), datagram(1, 20)));
        assert!(buffer.keep(at(11), DatagramId(3), datagram(100, 20)));
    }

    /// The counted overhead covers the entries, twice because a node of a B-tree may be half empty.
    #[test]
    fn the_overhead_is_what_a_datagram_costs() {
        let entries = size_of::<(DatagramId, Kept)>() + size_of::<(Instant, DatagramId)>();
        assert!(2 * entries + 32 <= OVERHEAD, "{entries}");
    }
}
