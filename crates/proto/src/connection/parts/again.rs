//! How a datagram is sent again.

use fairwire_wire::Seq;

/// How a datagram is sent again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Again {
    /// With the same data; it says in which packet it was first sent.
    CopyOf(Seq),
    /// With data that is made anew, and that tells the peer itself what it is.
    Anew,
}
