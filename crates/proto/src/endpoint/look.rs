//! What tests may look at (feature `inspect`).

use fairwire_units::Instant;

use super::Endpoint;
use crate::connection::Connection;
use crate::id::ConnectionId;

impl Endpoint {
    /// The connection of this name.
    pub(crate) fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.get(id)
    }

    /// Every connection that has a record.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().map(|(_, connection)| &**connection)
    }

    /// When the endpoint is to be woken for a connection.
    pub(crate) fn wakes_at(&self, id: ConnectionId) -> Option<Instant> {
        self.timers.at(id.slot())
    }
}
