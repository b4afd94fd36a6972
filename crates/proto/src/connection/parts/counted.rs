//! The last count of a connection's memory.

/// Number of events between two counts of the histories, which grow by at most an entry per packet.
const RECOUNT_EVERY: u8 = 32;

/// The last count, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    all: usize,
    /// The share of the halves and histories.
    histories: usize,
    /// Events until the histories are counted again.
    recount_in: u8,
}

impl Counted {
    /// Returns the last count, bytes.
    pub(crate) fn all(self) -> usize {
        self.all
    }

    /// Returns the count after another event: `queued` is counted now, the histories every 32 events.
    #[inline]
    pub(crate) fn next(self, queued: usize, histories: impl FnOnce() -> usize) -> Self {
        let (recount_in, histories) = match self.recount_in.checked_sub(1) {
            Some(left) => (left, self.histories),
            None => (RECOUNT_EVERY - 1, histories()),
        };
        Self {
            all: histories.saturating_add(queued),
            histories,
            recount_in,
        }
    }
}
