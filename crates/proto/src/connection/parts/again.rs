//! How a datagram is sent again.

use fairwire_wire::Seq;

/// How a datagram is sent again: it says in which packet it was first sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Again {
    pub(crate) first: Seq,
}
