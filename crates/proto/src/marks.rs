//! What a packet says about the datagram in it: the one place where what belongs to an application's data, and not to
//! the path, meets the options of packets.
//!
//! Today this is Copy Of (`docs/resend.md`).

use fairwire_wire::{DccpOption, Encoder, Seq};

/// What a packet says about the datagram in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// The packet in which it was first sent, if this is a copy.
    pub(crate) copy_of: Option<Seq>,
}

impl Marks {
    /// Reads an option of packet `seq`. Returns whether it was valid; `None` if it says nothing about the datagram, or
    /// if the peer has not agreed to send it.
    pub(crate) fn read(
        &mut self,
        option: &DccpOption<'_>,
        seq: Seq,
        is_agreed: bool,
    ) -> Option<bool> {
        let DccpOption::CopyOf(first) = *option else {
            return None;
        };
        if !is_agreed {
            return None;
        }
        // A number that is not older than the packet's own is invalid.
        let is_older = first.is_before(seq);
        self.copy_of = is_older.then_some(first);
        Some(is_older)
    }

    /// Writes them. They always fit: they are written early, and room is reserved for them.
    pub(crate) fn write(self, encoder: &mut Encoder<'_>) {
        if let Some(first) = self.copy_of {
            let written = encoder.option(&DccpOption::CopyOf(first));
            debug_assert!(written.is_ok(), "room for a Copy Of is kept");
        }
    }

    /// Returns the number by which the peer knows the datagram in packet `seq`, and whether it is a copy.
    pub(crate) fn number(self, seq: Seq) -> (Seq, bool) {
        (self.copy_of.unwrap_or(seq), self.copy_of.is_some())
    }
}
