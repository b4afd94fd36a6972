//! What a connection costs its endpoint's memory (`EndpointConfig::max_memory`).
//!
//! Counted in constant time after each event: queues know their bytes, histories their capacity.
//! Each connection has room for one datagram each way set aside, so that where the budget is spent
//! every connection still goes on, a datagram at a time.

use super::Connection;
use crate::constants::DATAGRAM_OVERHEAD;

/// What surrounds a connection: its entries in the endpoint's tables (flow, timer, line of those
/// that may send, source, names of its features' options under way).
const ENTRIES: usize = 512;

/// What each queue may hold whatever the budget: one datagram of an Ethernet packet.
const ONE_DATAGRAM: usize = 2_048;

/// Both halves of a connection when they are made, before their histories grow.
const HALVES: usize = 8_192;

/// What a connection costs in the end if it does not much: nobody begins who has not so much room.
pub(crate) const NEW: usize = size_of::<Connection>() + ENTRIES + 2 * ONE_DATAGRAM + HALVES;

/// What a datagram of `size` bytes costs while it waits.
pub(crate) fn of_datagram(size: usize) -> usize {
    size.saturating_add(DATAGRAM_OVERHEAD)
}

impl Connection {
    /// Counts anew what it takes; gives what it took when it was last counted, and what it takes now.
    #[inline]
    pub(crate) fn recount(&mut self) -> (usize, usize) {
        let before = self.counted.all();
        self.counted = self.counted.next(self.queued(), || self.histories());
        (before, self.counted.all())
    }

    /// What it took when it was last counted, bytes.
    pub(crate) fn counted(&self) -> usize {
        self.counted.all()
    }

    /// What it takes, counted anew.
    #[cfg(feature = "inspect")]
    pub(super) fn held(&self) -> usize {
        self.histories().saturating_add(self.queued())
    }

    /// The connection itself, its halves and what it remembers of packets.
    fn histories(&self) -> usize {
        let halves = self.tx.as_ref().map_or(0, |tx| tx.footprint())
            + self.rx.as_ref().map_or(0, |rx| rx.footprint());
        let histories = self.dropped.footprint() + self.reported.footprint();
        size_of::<Self>() + ENTRIES + self.cookies.capacity() + halves + histories
    }

    /// What waits, either way.
    #[inline]
    fn queued(&self) -> usize {
        let overheads = self.queue.len().saturating_mul(DATAGRAM_OVERHEAD);
        let to_send = self.queue.bytes().saturating_add(overheads);
        // What was received counts its overheads itself.
        to_send
            .max(ONE_DATAGRAM)
            .saturating_add(self.received.bytes().max(ONE_DATAGRAM))
    }
}

#[cfg(test)]
mod tests {
    use super::{DATAGRAM_OVERHEAD, HALVES};
    use crate::Config;
    use crate::ccid;
    use crate::connection::parts::queue::Queued;
    use fairwire_units::Instant;
    use fairwire_wire::Seq;

    /// The constants cover what they stand for: an entry of the send queue, twice because a queue
    /// that grew is half empty, and the halves of every CCID.
    #[test]
    fn constants_cover_what_they_stand_for() {
        let entry = size_of::<Queued>();
        assert!(2 * entry + 32 <= DATAGRAM_OVERHEAD, "{entry}");
        let config = Config::default();
        for ccid in crate::constants::CCIDS {
            let setup = ccid::Setup {
                config: &config,
                max_datagram: 1_400,
                rtt: None,
                first: Seq::ZERO,
                short: false,
                loss_event_rate: false,
            };
            let row = ccid::row(ccid).unwrap();
            let tx = (row.sender)(Instant::START, setup).footprint();
            let rx = (row.receiver)(Instant::START, setup).footprint();
            assert!(tx + rx <= HALVES, "{ccid}: {tx} + {rx}");
        }
    }
}
