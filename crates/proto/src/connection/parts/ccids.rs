//! Changes of CCID in mid-connection (RFC 4340, section 10), and the packets to which they apply.

use fairwire_units::Instant;
use fairwire_wire::Seq;

use crate::feature::Location;

/// A connection's changes of CCID; one entry for each [`Location`].
#[derive(Debug, Default)]
pub(crate) struct CcidChanges {
    /// Whether a request of the application is still unanswered.
    pub(crate) asked: [bool; 2],
    /// When the CCID last changed in mid-connection.
    pub(crate) changed_at: [Option<Instant>; 2],
    /// Whether an option of the present packet agreed on it.
    followed: [bool; 2],
}

impl CcidChanges {
    /// Starts another packet.
    pub(crate) fn begin_packet(&mut self) {
        self.followed = [false; 2];
    }

    /// Notes that an option agrees on the CCID at a location. Returns whether another option of the same packet already
    /// did.
    pub(crate) fn follow(&mut self, location: Location) -> bool {
        std::mem::replace(&mut self.followed[location as usize], true)
    }
}

/// The number from which on packets belong to the present halves; none while no half was replaced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValidFrom(pub(crate) Option<Seq>);

/// Distance after which the number is forgotten. No packet that old is ever valid again, and after a wrap the number
/// must not seem to lie ahead.
const FORGOTTEN: u64 = 1 << 46;

impl ValidFrom {
    /// Returns whether a packet with this number counts.
    pub(crate) fn counts(&mut self, seq: Seq) -> bool {
        match self.0 {
            Some(first) if seq.is_before(first) => false,
            Some(first) => {
                if first.distance(seq) >= FORGOTTEN {
                    self.0 = None;
                }
                true
            }
            None => true,
        }
    }
}
