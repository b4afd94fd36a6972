//! Records of the acknowledgements that a receiver must send.

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// Packets that wait for an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Acks {
    /// The oldest data packet that no acknowledgement has named or passed, and when it arrived.
    pub(in crate::oracle) waits: Option<(Seq, Instant)>,
    /// The oldest number that a vector has covered.
    pub(in crate::oracle) oldest: Option<Seq>,
    /// Packets that came after newer ones, until a vector that names them may be known to have arrived.
    /// The second element is the position of the first packet with such a vector.
    pub(in crate::oracle) late: Vec<(Seq, Option<u64>)>,
}
