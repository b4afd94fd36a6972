//! The endpoint's budget of memory (`EndpointConfig::max_memory`).
//!
//! The sum is kept as connections change, never counted out. What is spent is refused where it
//! begins: new connections, arriving data, datagrams to send. Acknowledgements, Syncs and the ends
//! of connections go on. They need memory for histories alone, each with its bound in a connection:
//! Drop Codes (64 kB each way), records of reports (32 kB, two of them), Ack Vector runs, and an entry
//! of some 50 bytes for each packet in flight. So the budget is what is handed out, not a wall: peers
//! that make all their connections remember as much as they can take up to some 200 kB for each.
//!
//! Beside the budget stand, each with its bound: names in TIMEWAIT (2^20 of some 48 bytes),
//! Responses without state that wait to leave (1,024 of 1.2 kB), and the shares of strangers.

use fairwire_units::plant::{Plant, planted};

use super::Endpoint;
use crate::connection::{Connection, NEW_FOOTPRINT};

/// One connection's share of what is left of the budget.
const SHARE: usize = 16;

impl Endpoint {
    /// Bytes of the budget that are left for connections and datagrams. An eighth of it all is kept
    /// for what open connections remember of packets, which cannot be refused.
    pub(super) fn room(&self) -> usize {
        let most = self.config.max_memory - self.config.max_memory / 8;
        most.saturating_sub(self.memory)
    }

    /// Bytes that `connection` may take beside what it has: no connection has more than a fraction of
    /// what is left, so however many take what they can, something is left for those that come.
    pub(super) fn room_of(&self, connection: &Connection) -> usize {
        let beyond = connection.counted().saturating_sub(NEW_FOOTPRINT);
        (self.room() / SHARE).saturating_sub(beyond)
    }

    /// Is there memory for another connection?
    pub(super) fn has_memory(&self) -> bool {
        self.room() >= NEW_FOOTPRINT
    }

    /// The connection in `slot` may take more or less than before.
    pub(super) fn recount(&mut self, slot: usize) {
        if let Some(connection) = self.connections.get_mut(slot) {
            let (before, after) = connection.recount();
            self.memory = self.memory.saturating_sub(before).saturating_add(after);
        }
    }

    /// Lets go of a connection and of all that it held.
    pub(super) fn drop_connection(&mut self, slot: usize) {
        if let Some(connection) = self.connections.try_remove(slot) {
            let mut took = Connection::counted(&connection);
            if planted(Plant::BudgetLeak) {
                // Planted: what it had grown by is not given back.
                took = took.min(NEW_FOOTPRINT);
            }
            self.memory = self.memory.saturating_sub(took);
        }
    }
}
