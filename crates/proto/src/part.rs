//! A message of several datagrams: which part of which message a datagram is (`docs/messages.md`).

use fairwire_wire::DccpOption;

/// The most bytes of a message.
pub(crate) const MAX_MESSAGE: usize = 64 << 10;

/// The most parts of a message.
pub(crate) const MAX_PARTS: usize = 256;

/// The place of a datagram in its message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Part {
    /// The number of the message among those of its sender.
    pub(crate) message: u32,
    /// The number of the part, from 0.
    pub(crate) index: u8,
    /// The number of the last part.
    pub(crate) last: u8,
}

impl Part {
    /// The bytes of a part's place on the wire.
    pub(crate) const LEN: usize = 6;

    /// Returns whether there can be such a part. A message that fits into one datagram has no parts.
    pub(crate) fn is_valid(self) -> bool {
        self.index <= self.last && self.last > 0
    }

    pub(crate) fn bytes(self) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.message.to_be_bytes();
        [a, b, c, d, self.index, self.last]
    }

    pub(crate) fn read([a, b, c, d, index, last]: [u8; Self::LEN]) -> Self {
        Self {
            message: u32::from_be_bytes([a, b, c, d]),
            index,
            last,
        }
    }

    pub(crate) fn option(self) -> DccpOption<'static> {
        DccpOption::PartOf {
            message: self.message,
            index: self.index,
            last: self.last,
        }
    }

    /// Returns the group of the parts of this message, if the application has chosen none.
    pub(crate) fn group(message: u32) -> u64 {
        u64::MAX - u64::from(message)
    }
}
