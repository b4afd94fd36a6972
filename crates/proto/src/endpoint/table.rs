//! The table that finds the connection of a packet.
//!
//! Over UDP all six parts of a flow identify it (RFC 6773, section 3.8).

use std::net::IpAddr;

#[expect(
    clippy::disallowed_types,
    reason = "it is only looked up, never iterated, so its order is not observable"
)]
type Map<K, V, S> = std::collections::HashMap<K, V, S>;

use super::secret::KeyedHash;
use crate::flow::Flow;

/// Slots of connections by flow. The hash is keyed, so that nobody outside can fill one bucket.
#[derive(Debug)]
pub(super) struct Table {
    slots: Map<Flow, usize, KeyedHash>,
    /// Number of flows begun on a socket that is bound to the unspecified address.
    wildcard_flows: usize,
}

impl Table {
    pub(super) fn new(hash: KeyedHash) -> Self {
        Self {
            slots: Map::with_hasher(hash),
            wildcard_flows: 0,
        }
    }

    /// Reserves room for this many connections.
    pub(super) fn reserve(&mut self, connections: usize) {
        let more = connections.saturating_sub(self.slots.len());
        self.slots.reserve(more);
    }

    /// Returns whether `flow` is in use.
    pub(super) fn contains(&self, flow: &Flow) -> bool {
        self.slots.contains_key(flow)
    }

    pub(super) fn insert(&mut self, flow: Flow, slot: usize) {
        let before = self.slots.insert(flow, slot);
        debug_assert!(before.is_none(), "a flow has one connection");
        self.wildcard_flows += usize::from(is_wildcard(&flow));
    }

    pub(super) fn remove(&mut self, flow: &Flow) {
        if self.slots.remove(flow).is_some() {
            self.wildcard_flows -= usize::from(is_wildcard(flow));
        }
    }

    /// Returns the slot of the connection for a packet that arrived on `flow`.
    pub(super) fn find(&self, flow: &Flow) -> Option<usize> {
        let exact = self.slots.get(flow).copied();
        if exact.is_some() || self.wildcard_flows == 0 {
            return exact;
        }
        self.slots.get(&flow.with_any_local()).copied()
    }
}

fn is_wildcard(flow: &Flow) -> bool {
    match flow.path.local.ip() {
        IpAddr::V4(ip) => ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    }
}
