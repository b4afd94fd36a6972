//! The endpoint's memory budget (`EndpointConfig::max_memory`).
//!
//! The sum is updated as connections change; it is never recomputed from all of them. When the budget is used up, new
//! connections, received data and datagrams to send are refused. Acknowledgements, Syncs and the closing of connections
//! continue.
//!
//! These need memory only for histories, each bounded per connection: Drop Codes (64 kB in each direction), records of
//! reports (32 kB, two of them), Ack Vector entries, and about 50 bytes for each packet in flight. So the budget limits
//! what is handed out, but is not a hard limit. Peers that make all connections remember as much as possible can use up
//! to about 200 kB for each.
//!
//! Four things are not in the budget, each with its own bound: names in TIMEWAIT (2^20 of about 48 bytes), stateless
//! Responses that wait to be sent (1,024 of 1.2 kB), the rate limits of unknown sources, and the buffers in which records
//! are sealed and opened (574 KiB).

use super::Endpoint;
use crate::connection::{Connection, NEW_FOOTPRINT};

/// One connection may use at most 1/`SHARE` of what is left of the budget.
const SHARE: usize = 16;

impl Endpoint {
    /// Returns the bytes of the budget that are left for connections and datagrams.
    ///
    /// One eighth of the budget is kept for the packet histories of open connections, which cannot be refused.
    pub(super) fn room(&self) -> usize {
        let most = self.config.max_memory - self.config.max_memory / 8;
        most.saturating_sub(self.memory)
    }

    /// Returns the bytes that `connection` may take in addition to what it has.
    ///
    /// No connection has more than a fraction of what is left. So some memory is always left for new connections, even
    /// if many connections take as much as they can.
    pub(super) fn room_of(&self, connection: &Connection) -> usize {
        let own = connection.counted().saturating_sub(connection.encryption());
        let beyond = own.saturating_sub(NEW_FOOTPRINT);
        (self.room() / SHARE).saturating_sub(beyond)
    }

    /// Returns whether there is memory for another connection.
    pub(super) fn has_memory(&self) -> bool {
        self.room() >= NEW_FOOTPRINT
    }

    /// Returns the budget: `EndpointConfig::max_memory`.
    pub fn max_memory(&self) -> usize {
        self.config.max_memory
    }

    /// Updates the memory sum after a change of the connection in `slot`.
    pub(super) fn recount(&mut self, slot: usize) {
        if let Some(connection) = self.connections.get_mut(slot) {
            let (before, after) = connection.recount();
            self.memory = self.memory.saturating_sub(before).saturating_add(after);
        }
    }

    /// Removes a connection and frees its memory.
    pub(super) fn drop_connection(&mut self, slot: usize) {
        if let Some(connection) = self.connections.try_remove(slot) {
            self.memory = self.memory.saturating_sub(connection.counted());
        }
    }
}
