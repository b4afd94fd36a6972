//! The one place where a channel meets the options of packets: what it adds to a packet with its data, and what it
//! reads from one that brings data.
//!
//! Today this is Copy Of (`docs/resend.md`).

use fairwire_wire::{DccpOption, Encoder, Seq};

use super::Channel;

/// What a packet says about the datagram in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// The packet in which it was first sent, if this is a copy.
    copy_of: Option<Seq>,
}

impl Marks {
    /// Reads an option of packet `seq`. Returns whether it was valid; `None` if it does not concern the channel, or if
    /// the peer has not agreed to send it.
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

    /// Returns the number by which the peer knows the datagram in packet `seq`, and whether it is a copy.
    pub(crate) fn number(&self, seq: Seq) -> (Seq, bool) {
        (self.copy_of.unwrap_or(seq), self.copy_of.is_some())
    }
}

impl Channel {
    /// Writes what the packet says about the datagram that leaves next. It always fits: it is written early, and room
    /// is reserved for it.
    pub(in crate::connection) fn write_options(&self, encoder: &mut Encoder<'_>) {
        // Options are not authenticated: where there is encryption, the number stands inside the data.
        if let Some(first) = self.queue.front_copy_of()
            && self.secure.is_none()
        {
            let written = encoder.option(&DccpOption::CopyOf(first));
            debug_assert!(written.is_ok(), "room for a Copy Of is kept");
        }
    }
}
