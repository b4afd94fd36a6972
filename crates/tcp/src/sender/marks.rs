//! Where the sender stands with ECN.

use crate::config::EcnMode;
use crate::segment::Flags;

/// Where the sender stands with ECN.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) mode: EcnMode,
    /// Have both sides agreed to use it?
    pub(super) agreed: bool,
    /// The next new data has CWR set.
    pub(super) cwr_due: bool,
    /// The end of what had been sent when the window was last reduced.
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

    /// RFC 3168, 6.1.1: an ECN-setup SYN has both flags set.
    pub(super) fn offer(&self) -> Flags {
        let offers = self.mode != EcnMode::Off;
        Flags {
            ece: offers,
            cwr: offers,
            ..Flags::default()
        }
    }

    /// RFC 3168, 6.1.1: an ECN-setup SYN-ACK has ECE alone; one that reflects both flags is not one.
    pub(super) fn on_answer(&mut self, flags: Flags) {
        self.agreed = self.mode != EcnMode::Off && flags.ece && !flags.cwr;
    }

    /// The window was reduced, with data sent up to `max`: RFC 3168, 6.1.2, has the next new data say so.
    pub(super) fn on_reduced(&mut self, max: u64) {
        self.cwr_due = self.agreed;
        self.reduced_at = max;
    }
}
