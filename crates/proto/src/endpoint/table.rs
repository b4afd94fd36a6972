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
    /// The flow that was last looked up, and its slot: packets come in trains.
    latest: Option<(Flow, usize)>,
    /// Number of flows begun on a socket that is bound to the unspecified address.
    wildcard_flows: usize,
}

impl Table {
    pub(super) fn new(hash: KeyedHash) -> Self {
        Self {
            slots: Map::with_hasher(hash),
            latest: None,
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
        self.latest = None;
        let before = self.slots.insert(flow, slot);
        debug_assert!(before.is_none(), "a flow has one connection");
        self.wildcard_flows += usize::from(is_wildcard(&flow));
    }

    pub(super) fn remove(&mut self, flow: &Flow) {
        self.latest = None;
        if self.slots.remove(flow).is_some() {
            self.wildcard_flows -= usize::from(is_wildcard(flow));
        }
    }

    /// Returns the slot of the connection for a packet that arrived on `flow`.
    pub(super) fn find(&mut self, flow: &Flow) -> Option<usize> {
        if let Some((latest, slot)) = &self.latest
            && latest == flow
        {
            return Some(*slot);
        }
        let found = match self.slots.get(flow) {
            None if self.wildcard_flows > 0 => self.slots.get(&flow.with_any_local()),
            exact => exact,
        };
        self.latest = found.map(|&slot| (*flow, slot));
        found.copied()
    }
}

fn is_wildcard(flow: &Flow) -> bool {
    match flow.path.local.ip() {
        IpAddr::V4(ip) => ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    }
}
