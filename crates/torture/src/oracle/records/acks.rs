//! Records of the acknowledgements that a receiver must send.

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// A vector that was sent: the position of its packet, and its newest and oldest number.
#[derive(Clone, Copy, Debug)]
pub(in crate::oracle) struct SentVector {
    pub(in crate::oracle) place: u64,
    pub(in crate::oracle) ackno: Seq,
    pub(in crate::oracle) low: Seq,
}

/// Packets that wait for an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Acks {
    /// The oldest data packet that no acknowledgement has named or passed, and when it arrived.
    pub(in crate::oracle) waits: Option<(Seq, Instant)>,
    /// Vectors that are not known to have arrived.
    pub(in crate::oracle) sent_vectors: Vec<SentVector>,
    /// The newest number of a vector that may be known to have arrived.
    pub(in crate::oracle) known: Option<Seq>,
    /// Packets that came after they were reported missing, until a vector that names them may be known to have arrived.
    /// The second element is the position of the first packet with such a vector.
    pub(in crate::oracle) late: Vec<(Seq, Option<u64>)>,
}
