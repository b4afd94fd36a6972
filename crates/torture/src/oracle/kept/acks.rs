//! Of acknowledgements that a receiver owes.

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// A vector that left: on which of our packets, its newest and its oldest number.
#[derive(Clone, Copy, Debug)]
pub(in crate::oracle) struct Told {
    pub(in crate::oracle) place: u64,
    pub(in crate::oracle) ackno: Seq,
    pub(in crate::oracle) low: Seq,
}

/// What waits to be acknowledged.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Acks {
    /// The oldest data packet that no acknowledgement names or passes, and when it came.
    pub(in crate::oracle) waits: Option<(Seq, Instant)>,
    /// Vectors of which nobody knows yet whether they came.
    pub(in crate::oracle) told: Vec<Told>,
    /// The newest number of a vector that may be known to have come.
    pub(in crate::oracle) known: Option<Seq>,
    /// Packets that came after they were reported missing, until a vector that names them may be known to have
    /// come; and which packet of ours was the first with such a vector.
    pub(in crate::oracle) late: Vec<(Seq, Option<u64>)>,
}
