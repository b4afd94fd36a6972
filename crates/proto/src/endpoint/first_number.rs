//! Connections that begin at a given sequence number, for tests near the wraps (feature `inspect`).

use fairwire_wire::Seq;

use super::Endpoint;

impl Endpoint {
    /// Lets every connection from now on begin with the sequence number `first`, instead of one that
    /// nobody can guess; `None` ends that. No two connections of one flow may begin in this way.
    pub fn set_first_sequence(&mut self, first: Option<Seq>) {
        self.secret.first = first;
    }
}
