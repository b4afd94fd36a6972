//! What acknowledgements say of congestion marks: the ECE flag.

use crate::config::EcnMode;
use crate::segment::Flags;

/// The receiver's part of ECN.
#[derive(Debug)]
pub(super) struct Echo {
    mode: EcnMode,
    /// Have both sides agreed to use it?
    agreed: bool,
    /// Does the next acknowledgement have ECE set (`DCTCP.CE` in RFC 8257, section 3.2)?
    echoes: bool,
}

impl Echo {
    pub(super) fn new(mode: EcnMode, handshake: bool) -> Self {
        Self {
            mode,
            agreed: mode != EcnMode::Off && !handshake,
            echoes: false,
        }
    }

    /// RFC 3168, 6.1.1: an ECN-setup SYN has both flags set.
    pub(super) fn on_syn(&mut self, flags: Flags) {
        self.agreed = self.mode != EcnMode::Off && flags.ece && flags.cwr;
    }

    /// The ECE flag of an acknowledgement, or of a SYN-ACK: there it takes the offer (RFC 3168, section 6.1.1).
    pub(super) fn flag(&self, syn: bool) -> bool {
        self.agreed && (syn || self.echoes)
    }

    /// Will a segment with this mark make acknowledgements say something else, where each of them speaks of
    /// certain segments?
    pub(super) fn is_about_to_turn(&self, marked: bool) -> bool {
        self.agreed && self.mode == EcnMode::Dctcp && marked != self.echoes
    }

    /// A data segment arrived within the window, marked or not, with CWR set or not.
    pub(super) fn on_data(&mut self, marked: bool, cwr: bool) {
        match self.mode {
            EcnMode::Off => {}
            // RFC 3168, 6.1.3: from a mark on until the sender says that it reduced its window. The segment
            // that says so may be marked itself, which begins it anew.
            EcnMode::Classic => self.echoes = marked || (self.echoes && !cwr),
            EcnMode::Dctcp => self.echoes = marked,
        }
    }
}
