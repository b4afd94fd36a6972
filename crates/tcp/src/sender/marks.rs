//! The sender's ECN state.

use crate::config::EcnMode;
use crate::segment::Flags;

/// The sender's ECN state.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) mode: EcnMode,
    /// Whether both sides have agreed to use ECN.
    pub(super) agreed: bool,
    /// Whether the next new data has CWR set.
    pub(super) cwr_due: bool,
    /// The end of the data sent when the window was last reduced.
    pub(super) reduced_at: u64,
}

impl Marks {
    pub(super) fn new(mode: EcnMode, handshake: bool) -> Self {
        Self {
            mode,
            agreed: mode != EcnMode::Off && !handshake,
            cwr_due: false,
            reduced_at: 0,
        }
    }

    /// Returns the flags of a SYN: an ECN-setup SYN has both set (RFC 3168, 6.1.1).
    pub(super) fn offer(&self) -> Flags {
        let offers = self.mode != EcnMode::Off;
        Flags {
            ece: offers,
            cwr: offers,
            ..Flags::default()
        }
    }

    /// Reads the flags of a SYN-ACK. An ECN-setup SYN-ACK has only ECE; one that reflects both flags is not ECN-setup
    /// (RFC 3168, 6.1.1).
    pub(super) fn on_answer(&mut self, flags: Flags) {
        self.agreed = self.mode != EcnMode::Off && flags.ece && !flags.cwr;
    }

    /// Records that the window was reduced with data sent up to `max`; the next new data has to say so (RFC 3168,
    /// 6.1.2).
    pub(super) fn on_reduced(&mut self, max: u64) {
        self.cwr_due = self.agreed;
        self.reduced_at = max;
    }
}
