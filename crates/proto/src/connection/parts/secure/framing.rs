//! What stands in front of the data in a record, and how long it is.

use super::Secure;
use super::copies::FRAME;
use crate::marks::Agreement;
use crate::part::Part;

impl Secure {
    /// Returns whether datagrams may be sent again.
    pub(crate) fn takes_copies(&self) -> bool {
        self.agreed().copies
    }

    /// Returns whether messages may have several datagrams.
    pub(crate) fn takes_parts(&self) -> bool {
        self.agreed().parts
    }

    fn agreed(&self) -> Agreement {
        let copies = self.copies.as_ref();
        copies.map_or(Agreement::NONE, |copies| copies.agreed())
    }

    /// Returns the size of the largest datagram of the application, whether it may be sent again or not, where packets
    /// carry `max_datagram` bytes.
    pub(crate) fn max_data(&self, max_datagram: usize) -> usize {
        let frame = match self.agreed() {
            Agreement { parts: true, .. } => FRAME + Part::LEN,
            Agreement { copies: true, .. } => FRAME,
            _ => 0,
        };
        self.with.max_data(max_datagram).saturating_sub(frame)
    }

    /// Returns the bytes that sealing adds to a datagram that is framed, or a part, or neither.
    pub(crate) fn added(&self, is_framed: bool, is_part: bool) -> usize {
        let frame = if is_framed { FRAME } else { 0 };
        let place = if is_part { Part::LEN } else { 0 };
        frame + place + self.with.overhead()
    }
}
