//! Changes of CCID in mid-connection (RFC 4340, section 10), and which packets they concern.

use fairwire_units::Instant;
use fairwire_wire::Seq;

use crate::feature::Location;

/// What a connection knows of its changes of CCID; one entry for each [`Location`].
#[derive(Debug, Default)]
pub(crate) struct CcidChanges {
    /// Did the application ask, and has not been answered?
    pub(crate) asked: [bool; 2],
    /// When the CCID last changed in mid-connection.
    pub(crate) changed_at: [Option<Instant>; 2],
    /// Did an option of the packet in hand agree on it?
    followed: [bool; 2],
}

impl CcidChanges {
    /// Another packet is in hand.
    pub(crate) fn begin_packet(&mut self) {
        self.followed = [false; 2];
    }

    /// An option agrees on the CCID at a location. Did another one of the same packet?
    pub(crate) fn follow(&mut self, location: Location) -> bool {
        std::mem::replace(&mut self.followed[location as usize], true)
    }
}

/// From which number on packets concern the halves of now; all of them while nothing changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since(pub(crate) Option<Seq>);

/// How far behind the number is forgotten: nothing as old is ever valid again, and the circle must
/// not bring it before us.
const FORGOTTEN: u64 = 1 << 46;

impl Since {
    /// Does a packet with this number count?
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
