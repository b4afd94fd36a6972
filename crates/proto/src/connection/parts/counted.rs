//! What a connection takes of its endpoint's memory, as it was last counted.

/// Histories grow by an entry for a packet, so they are looked at after this many events, not after
/// each.
const LOOK_EVERY: u8 = 32;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    all: usize,
    /// What halves and histories take of it.
    histories: usize,
    /// Events until these are looked at again.
    look_in: u8,
}

impl Counted {
    /// What it was when it was last counted.
    pub(crate) fn all(self) -> usize {
        self.all
    }

    /// What it is after another event, with what is `queued` now and, now and then, the histories.
    #[inline]
    pub(crate) fn next(self, queued: usize, histories: impl FnOnce() -> usize) -> Self {
        let (look_in, histories) = match self.look_in.checked_sub(1) {
            Some(left) => (left, self.histories),
            None => (LOOK_EVERY - 1, histories()),
        };
        Self {
            all: histories.saturating_add(queued),
            histories,
            look_in,
        }
    }
}
