//! What a packet says about the datagram in it: the one place where what belongs to an application's data, and not to
//! the path, meets the options of packets.
//!
//! These are Copy Of (`docs/resend.md`) and Part Of (`docs/messages.md`).

use fairwire_wire::{DccpOption, Encoder, Seq};

use crate::part::Part;

/// What a packet says about the datagram in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// The packet in which it was first sent, if this is a copy.
    pub(crate) copy_of: Option<Seq>,
    /// The place of the datagram in its message, if it is a part of one. A place that cannot be is kept: the data is none
    /// of its own.
    pub(crate) part: Option<Part>,
}

/// Which of them the peer agreed to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    pub(crate) copies: bool,
    pub(crate) parts: bool,
}

impl Agreement {
    pub(crate) const NONE: Self = Self {
        copies: false,
        parts: false,
    };

    /// Returns whether something was agreed on.
    pub(crate) fn is_any(self) -> bool {
        self.copies || self.parts
    }
}

impl Marks {
    /// Reads an option of packet `seq`. Returns whether it was valid; `None` if it says nothing about the datagram, or
    /// if the peer has not agreed to send it.
    pub(crate) fn read(
        &mut self,
        option: &DccpOption<'_>,
        seq: Seq,
        agreed: impl Fn() -> Agreement,
    ) -> Option<bool> {
        match *option {
            DccpOption::CopyOf(first) if agreed().copies => {
                // A number that is not older than the packet's own is invalid.
                let is_older = first.is_before(seq);
                self.copy_of = is_older.then_some(first);
                Some(is_older)
            }
            DccpOption::PartOf {
                message,
                index,
                last,
            } if agreed().parts => {
                let part = Part {
                    message,
                    index,
                    last,
                };
                self.part = Some(part);
                Some(part.is_valid())
            }
            _ => None,
        }
    }

    /// Writes them. They always fit: they are written early, and room is reserved for them.
    pub(crate) fn write(self, encoder: &mut Encoder<'_>) {
        if let Some(first) = self.copy_of {
            let written = encoder.option(&DccpOption::CopyOf(first));
            debug_assert!(written.is_ok(), "room for a Copy Of is kept");
        }
        if let Some(part) = self.part {
            let written = encoder.option(&part.option());
            debug_assert!(written.is_ok(), "room for a Part Of is kept");
        }
    }

    /// Returns the number by which the peer knows the datagram in packet `seq`, and whether it is a copy.
    pub(crate) fn number(self, seq: Seq) -> (Seq, bool) {
        (self.copy_of.unwrap_or(seq), self.copy_of.is_some())
    }
}
