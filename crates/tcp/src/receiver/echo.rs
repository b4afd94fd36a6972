//! The echo of congestion marks in acknowledgements: the ECE flag.

use crate::config::EcnMode;
use crate::segment::Flags;

/// The receiver's ECN state.
#[derive(Debug)]
pub(super) struct Echo {
    mode: EcnMode,
    /// Whether both sides have agreed to use ECN.
    agreed: bool,
    /// Whether the next acknowledgement has ECE set (`DCTCP.CE` in RFC 8257, section 3.2).
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

    /// Reads the flags of a SYN: an ECN-setup SYN has both set (RFC 3168, 6.1.1).
    pub(super) fn on_syn(&mut self, flags: Flags) {
        self.agreed = self.mode != EcnMode::Off && flags.ece && flags.cwr;
    }

    /// Returns whether both sides have agreed to use ECN.
    pub(super) fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// Returns the ECE flag of an acknowledgement. On a SYN-ACK it accepts the offer (RFC 3168, section 6.1.1).
    pub(super) fn flag(&self, syn: bool) -> bool {
        self.agreed && (syn || self.echoes)
    }

    /// Returns whether a segment with this mark changes the echo, if acknowledgements report marks exactly.
    pub(super) fn changes_echo(&self, marked: bool) -> bool {
        self.agreed && self.mode == EcnMode::Dctcp && marked != self.echoes
    }

    /// Records a data segment within the window, with its mark and its CWR flag.
    pub(super) fn on_data(&mut self, marked: bool, cwr: bool) {
        match self.mode {
            EcnMode::Off => {}
            // RFC 3168, 6.1.3: from a mark until the sender signals that it has reduced its window. The segment with
            // this signal may itself be marked, which begins a new echo.
            EcnMode::Classic => self.echoes = marked || (self.echoes && !cwr),
            EcnMode::Dctcp => self.echoes = marked,
        }
    }
}
