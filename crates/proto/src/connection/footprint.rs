//! The memory that a connection uses (`EndpointConfig::max_memory`).
//!
//! It is counted in constant time: queues know their bytes, and histories their capacity. Each connection has room for
//! one datagram in each direction reserved. So when the endpoint's memory is used up, every connection still makes
//! progress, one datagram at a time.

use super::Connection;
use crate::constants::DATAGRAM_OVERHEAD;
use crate::resend::Window;
use crate::sending::SendOptions;

/// Memory around a connection: its entries in the endpoint's tables (flow, timer, send list, source, feature options
/// under negotiation).
const ENTRIES: usize = 512;

/// What each queue may hold when the endpoint's memory is used up: one datagram of an Ethernet packet.
const ONE_DATAGRAM: usize = 2_048;

/// Both halves of a connection when they are created, before their histories grow.
const HALVES: usize = 8_192;

/// The connection itself, with the part of it that is kept apart.
const OWN: usize = size_of::<Connection>() + size_of::<super::parts::target::Target>();

/// Memory that a connection with little traffic needs in the end. No connection begins without this much left.
pub(crate) const NEW: usize = OWN + ENTRIES + 2 * ONE_DATAGRAM + HALVES;

/// What a datagram with options uses in addition: entries of three B-trees, whose nodes may be half empty.
const OPTIONS_OVERHEAD: usize = 384;

/// Returns the memory that a queued datagram of `size` bytes uses.
pub(crate) fn of_datagram(size: usize) -> usize {
    size.saturating_add(DATAGRAM_OVERHEAD)
}

/// Returns the memory that a datagram of `size` bytes uses in the send queue.
pub(crate) fn of_queued(size: usize, options: SendOptions) -> usize {
    let plain = of_datagram(size);
    if options == SendOptions::default() {
        return plain;
    }
    plain.saturating_add(OPTIONS_OVERHEAD)
}

impl Connection {
    /// Counts the memory again; returns the previous count and the new one, in bytes.
    #[inline]
    pub(crate) fn recount(&mut self) -> (usize, usize) {
        let before = self.counted.all();
        self.counted = self.counted.next(self.queued(), || self.histories());
        (before, self.counted.all())
    }

    /// Returns the last count of its memory, bytes.
    pub(crate) fn counted(&self) -> usize {
        self.counted.all()
    }

    /// Returns the memory of its encryption, in bytes. It is part of the count.
    pub(crate) fn encryption(&self) -> usize {
        let secure = self.channel.secure.as_ref();
        secure.map_or(0, |secure| secure.footprint())
    }

    /// Returns its memory, counted again, bytes.
    #[cfg(any(test, feature = "inspect"))]
    pub(super) fn held(&self) -> usize {
        self.histories().saturating_add(self.queued())
    }

    /// Returns the memory of the connection itself, its halves and its histories.
    fn histories(&self) -> usize {
        let groups = self.channel.groups.footprint();
        let copies = self.channel.copies.as_ref().map_or(0, Window::footprint);
        OWN + ENTRIES + self.subflow.footprint() + groups + copies
    }

    /// Returns the memory of both queues, of the datagrams that may have to be sent again, and of the encryption.
    #[inline]
    fn queued(&self) -> usize {
        let queue = &self.channel.queue;
        let overheads = queue.len().saturating_mul(DATAGRAM_OVERHEAD);
        let options = queue.with_options().saturating_mul(OPTIONS_OVERHEAD);
        let to_send = queue.bytes().saturating_add(overheads + options);
        // The receive queue includes the overheads in its bytes.
        to_send
            .max(ONE_DATAGRAM)
            .saturating_add(self.channel.received.bytes().max(ONE_DATAGRAM))
            .saturating_add(self.channel.assembly.as_ref().map_or(0, |all| all.bytes()))
            .saturating_add(self.channel.kept.as_ref().map_or(0, |kept| kept.bytes()))
            .saturating_add(self.encryption())
    }
}

#[cfg(test)]
mod tests {
    use super::{DATAGRAM_OVERHEAD, HALVES, OPTIONS_OVERHEAD};
    use crate::Config;
    use crate::ccid;
    use crate::connection::parts::queue::{ORDERED_ENTRY, Queued};
    use fairwire_units::Instant;
    use fairwire_wire::Seq;

    /// The constants cover what they stand for: an entry of the send queue, twice because a queue that grew, or a node
    /// of a B-tree, may be half empty, and the halves of every CCID.
    #[test]
    fn constants_cover_what_they_stand_for() {
        let entry = size_of::<Queued>();
        assert!(2 * entry + 32 <= DATAGRAM_OVERHEAD, "{entry}");
        let (entry, counted) = (ORDERED_ENTRY, DATAGRAM_OVERHEAD + OPTIONS_OVERHEAD);
        assert!(2 * entry + 32 <= counted, "{entry}");
        let config = Config::default();
        for profile in ccid::ccid_profiles() {
            let setup = ccid::Setup {
                config: &config,
                max_datagram: 1_400,
                rtt: None,
                first: Seq::ZERO,
                short: false,
                loss_event_rate: false,
            };
            let tx = profile.sender(Instant::START, setup).footprint();
            let rx = profile.receiver(Instant::START, setup).footprint();
            assert!(tx + rx <= HALVES, "{profile}: {tx} + {rx}");
        }
    }
}
