//! SACK blocks (RFC 2018): the data that has arrived beyond the acknowledgement number.

/// The most blocks in a segment: as many as fit beside timestamps, which real hosts send (RFC 2018, section 3). The
/// receivers of ns-2 have as many.
pub const MAX_SACK_BLOCKS: usize = 3;

/// The blocks of one acknowledgement, the newest first. A block is its first number and the number after its last.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SackBlocks {
    blocks: [(u64, u64); MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// Returns the number of blocks.
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Returns whether there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the blocks, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.iter().take(usize::from(self.len)).copied()
    }

    /// Adds a block; returns `false` if there is no room.
    pub fn push(&mut self, block: (u64, u64)) -> bool {
        let Some(free) = self.blocks.get_mut(usize::from(self.len)) else {
            return false;
        };
        *free = block;
        self.len += 1;
        true
    }
}

impl FromIterator<(u64, u64)> for SackBlocks {
    /// Takes as many blocks as fit.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(blocks: I) -> Self {
        let mut all = Self::default();
        for block in blocks.into_iter().take(MAX_SACK_BLOCKS) {
            all.push(block);
        }
        all
    }
}
