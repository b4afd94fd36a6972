//! The entries of an Ack Vector (RFC 4340, section 11.4).

use std::fmt;

/// The state of the packets of an entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum EntryState {
    /// Received without an ECN mark.
    Received = 0,
    /// Received with Congestion Experienced.
    Marked = 1,
    /// Reserved; a vector with such an entry must not be trusted.
    Reserved = 2,
    /// Not yet received.
    NotReceived = 3,
}

/// An Ack Vector entry, which is one byte: a state and a number of consecutive packets in that state.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct AckEntry(u8);

impl AckEntry {
    /// The most packets in one entry.
    pub const MAX_RUN: u8 = 64;

    /// Creates an entry of `run` packets in `state`; `run` is clamped to 1 and [`Self::MAX_RUN`].
    pub const fn new(state: EntryState, run: u8) -> Self {
        let run = if run < 1 {
            1
        } else if run > Self::MAX_RUN {
            Self::MAX_RUN
        } else {
            run
        };
        // RFC 4340, 11.4: run length 0 means one packet, 63 means 64 packets.
        Self((state as u8) << 6 | (run - 1))
    }

    /// Returns the entry with this encoding. Every byte is valid.
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// Returns the byte on the wire.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Returns the state of its packets.
    pub const fn state(self) -> EntryState {
        match self.0 >> 6 {
            0 => EntryState::Received,
            1 => EntryState::Marked,
            2 => EntryState::Reserved,
            _ => EntryState::NotReceived,
        }
    }

    /// Returns the number of packets, 1 to 64.
    pub const fn run(self) -> u8 {
        (self.0 & 0x3F) + 1
    }
}

impl fmt::Debug for AckEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} x {}", self.state(), self.run())
    }
}

/// The entries of one Ack Vector option.
///
/// The first covers the packet that the Acknowledgement Number names, or continues the previous option. Later entries
/// cover older packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AckEntries<'a>(pub &'a [u8]);

impl<'a> AckEntries<'a> {
    /// Returns the entries, newest packet first.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = AckEntry> + use<'a> {
        self.0.iter().map(|&byte| AckEntry(byte))
    }

    /// Returns the number of packets that all entries cover.
    pub fn packets(self) -> u64 {
        self.iter().map(|entry| u64::from(entry.run())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{AckEntries, AckEntry, EntryState};

    /// RFC 4340, 11.4, the example: bytes 0, 192, 3, 64, 5 with acknowledgement number 100.
    #[test]
    fn the_example_of_the_rfc() {
        let entries = AckEntries(&[0, 192, 3, 64, 5]);
        let told: Vec<_> = entries.iter().map(|c| (c.state(), c.run())).collect();
        assert_eq!(
            told,
            [
                (EntryState::Received, 1),
                (EntryState::NotReceived, 1),
                (EntryState::Received, 4),
                (EntryState::Marked, 1),
                (EntryState::Received, 6),
            ]
        );
        assert_eq!(entries.packets(), 13, "packets 100 down to 88");
    }

    /// Every byte is a valid entry, and encoding the decoded entry gives the same byte.
    #[test]
    fn every_byte_is_a_cell() {
        for byte in 0..=255 {
            let entry = AckEntry::from_byte(byte);
            assert_eq!(AckEntry::new(entry.state(), entry.run()).byte(), byte);
        }
        assert_eq!(AckEntry::new(EntryState::Received, 0).run(), 1);
        assert_eq!(AckEntry::new(EntryState::Received, 65).run(), 64);
    }
}
