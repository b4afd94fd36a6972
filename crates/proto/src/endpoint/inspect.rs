//! Access to internal state for tests (feature `inspect`).

use fairwire_units::Instant;

use super::Endpoint;
use crate::connection::Connection;
use crate::id::ConnectionId;

impl Endpoint {
    /// Returns the connection with this id.
    pub(crate) fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.get(id)
    }

    /// Returns every connection that has a record, closed ones included.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().map(|(_, connection)| &**connection)
    }

    /// Returns when the endpoint wakes up for a connection.
    pub(crate) fn wakes_at(&self, id: ConnectionId) -> Option<Instant> {
        self.timers.at(id.slot())
    }
}
