//! Access to internal state for tests (feature `inspect`).

use fairwire_units::Instant;
use fairwire_wire::Seq;

use super::{Endpoint, SourceLimits};
use crate::config::EndpointConfig;
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

    /// Returns how many attempts to connect wait for their first answer.
    pub(crate) fn attempts(&self) -> usize {
        self.connecting.len()
    }

    /// Sets the initial sequence number of every new connection, in place of an unguessable one: for tests near the
    /// wraps.
    ///
    /// `None` restores the default. No two connections of one flow may begin in this way.
    pub fn set_first_sequence(&mut self, first: Option<Seq>) {
        self.secret.first = first;
    }

    /// Skips sequence numbers of a connection, as if their packets had been lost.
    pub fn skip_numbers(&mut self, id: ConnectionId, numbers: u64) {
        if let Some(connection) = self.connections.get_mut(id.slot()) {
            connection.subflow_mut().skip(numbers);
        }
    }

    /// Changes the settings of an endpoint that is in use. Room that it has reserved by them stays as it is.
    pub fn reconfigure(&mut self, change: impl FnOnce(&mut EndpointConfig)) {
        let answers = self.config.max_answers_per_source_per_s;
        change(&mut self.config);
        if self.config.max_answers_per_source_per_s != answers {
            self.source_limits = SourceLimits::new(self.config.max_answers_per_source_per_s);
        }
    }
}
