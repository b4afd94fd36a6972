//! The blocks of a Data Dropped option (RFC 4340, section 11.7).

/// The reason why received data were not delivered to the application as usual.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DropCode {
    /// 0: the protocol did not allow the data there, for example with too little Checksum Coverage.
    ProtocolConstraints,
    /// 1: the application no longer reads.
    NotListening,
    /// 2: the receive buffer was full.
    ReceiveBuffer,
    /// 3: the data were corrupt.
    Corrupt,
    /// 4 to 6: not assigned.
    Reserved(u8),
    /// 7: the data were corrupt, but were delivered.
    DeliveredCorrupt,
}

impl DropCode {
    /// Returns the code in the low three bits of `number`.
    pub const fn from_number(number: u8) -> Self {
        match number & 7 {
            0 => Self::ProtocolConstraints,
            1 => Self::NotListening,
            2 => Self::ReceiveBuffer,
            3 => Self::Corrupt,
            7 => Self::DeliveredCorrupt,
            reserved => Self::Reserved(reserved),
        }
    }

    /// Returns the number on the wire, below 8.
    pub const fn number(self) -> u8 {
        match self {
            Self::ProtocolConstraints => 0,
            Self::NotListening => 1,
            Self::ReceiveBuffer => 2,
            Self::Corrupt => 3,
            Self::Reserved(number) => number & 7,
            Self::DeliveredCorrupt => 7,
        }
    }
}

/// One byte of a Data Dropped option.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DropBlock {
    /// The data of these packets, as far as they arrived, were delivered to the application.
    Delivered {
        /// The number of packets, 1 to 128.
        run: u8,
    },
    /// The data of these packets were not delivered as usual.
    Dropped {
        /// The reason.
        code: DropCode,
        /// The number of packets, 1 to 16.
        run: u8,
    },
}

impl DropBlock {
    /// The most delivered packets in one block.
    pub const MAX_DELIVERED: u8 = 128;
    /// The most dropped packets in one block.
    pub const MAX_DROPPED: u8 = 16;

    /// Returns the block with this encoding. Every byte is valid.
    pub const fn from_byte(byte: u8) -> Self {
        if byte & 0x80 == 0 {
            Self::Delivered { run: byte + 1 }
        } else {
            Self::Dropped {
                code: DropCode::from_number(byte >> 4),
                run: (byte & 0x0F) + 1,
            }
        }
    }

    /// Returns the byte on the wire; the number of packets is clamped to 1 and the maximum.
    pub fn byte(self) -> u8 {
        match self {
            Self::Delivered { run } => run.clamp(1, Self::MAX_DELIVERED) - 1,
            Self::Dropped { code, run } => {
                0x80 | code.number() << 4 | (run.clamp(1, Self::MAX_DROPPED) - 1)
            }
        }
    }

    /// Returns the number of packets.
    pub const fn run(self) -> u8 {
        match self {
            Self::Delivered { run } | Self::Dropped { run, .. } => run,
        }
    }
}

/// The blocks of one Data Dropped option.
///
/// The first covers the packet that the Acknowledgement Number names. Later blocks cover older packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DropBlocks<'a>(pub &'a [u8]);

impl<'a> DropBlocks<'a> {
    /// Returns the blocks, newest packet first.
    pub fn iter(self) -> impl ExactSizeIterator<Item = DropBlock> + use<'a> {
        self.0.iter().map(|&byte| DropBlock::from_byte(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::{DropBlock, DropBlocks, DropCode};

    /// RFC 4340, 11.7, the example: bytes 0, 160, 3, 162 with acknowledgement number 100.
    #[test]
    fn the_example_of_the_rfc() {
        let buffer = |run| DropBlock::Dropped {
            code: DropCode::ReceiveBuffer,
            run,
        };
        let told: Vec<_> = DropBlocks(&[0, 160, 3, 162]).iter().collect();
        assert_eq!(
            told,
            [
                DropBlock::Delivered { run: 1 },
                buffer(1),
                DropBlock::Delivered { run: 4 },
                buffer(3),
            ]
        );
    }

    /// Every byte is a valid block, and encoding the decoded block gives the same byte.
    #[test]
    fn every_byte_is_a_block() {
        for byte in 0..=255 {
            assert_eq!(DropBlock::from_byte(byte).byte(), byte);
        }
        assert_eq!(DropBlock::Delivered { run: 255 }.byte(), 127);
        assert_eq!(DropBlock::Delivered { run: 0 }.byte(), 0);
    }
}
