//! SACK blocks (RFC 2018): what has arrived beyond the acknowledgement number.

/// How many blocks a segment carries: as many as fit beside timestamps (RFC 2018, section 3), which real hosts
/// send, and as ns-2's receivers have.
pub const MAX_SACK_BLOCKS: usize = 3;

/// The blocks of one acknowledgement, the newest first; each is the first number of it and the one after
/// its last.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SackBlocks {
    blocks: [(u64, u64); MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// How many there are.
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Is there none?
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.iter().take(usize::from(self.len)).copied()
    }

    /// Adds a block; `false` if there is no room.
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
    /// As many as fit.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(blocks: I) -> Self {
        let mut all = Self::default();
        for block in blocks.into_iter().take(MAX_SACK_BLOCKS) {
            all.push(block);
        }
        all
    }
}
