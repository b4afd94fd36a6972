//! Connections that begin at a given sequence number, for tests near the wraps (feature `inspect`).

use fairwire_wire::Seq;

use super::Endpoint;

impl Endpoint {
    /// Sets the initial sequence number of every new connection, in place of an unguessable one.
    ///
    /// `None` restores the default. No two connections of one flow may begin in this way.
    pub fn set_first_sequence(&mut self, first: Option<Seq>) {
        self.secret.first = first;
    }
}
