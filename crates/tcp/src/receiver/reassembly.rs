//! The data that arrived out of order, as ranges; bounded by the window.

use crate::sack::{MAX_SACK_BLOCKS, SackBlocks};

/// The effect of an arriving segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Arrival {
    /// The next data; it may fill or shorten a gap.
    InOrder {
        /// Whether data waits, or waited, behind a gap.
        filled_gap: bool,
    },
    /// Data behind a gap.
    OutOfOrder,
    /// No new data.
    Duplicate,
    /// Data beyond the window.
    BeyondWindow,
}

/// The receive sequence space.
#[derive(Debug)]
pub(super) struct Reassembly {
    next: u64,
    window: u64,
    /// Ranges that wait: ascending, disjoint, not adjacent, all beyond `next`.
    waiting: Vec<(u64, u64)>,
    /// The starts of the newest arrivals in the ranges that changed last, the newest first, one for each range.
    newest: Vec<u64>,
}

impl Reassembly {
    /// The number of the first byte of data.
    pub(super) const FIRST: u64 = 1;

    pub(super) fn new(window_bytes: u32) -> Self {
        Self {
            next: Self::FIRST,
            window: u64::from(window_bytes),
            waiting: Vec::new(),
            newest: Vec::with_capacity(MAX_SACK_BLOCKS + 1),
        }
    }

    /// Returns the ranges that wait, those that changed last first.
    ///
    /// RFC 2018, section 4, asks for the range of the newest arrival first, followed by those reported most recently.
    pub(super) fn sack_blocks(&self) -> SackBlocks {
        let range = |&number: &u64| self.range_of(number);
        self.newest.iter().filter_map(range).collect()
    }

    /// Returns the waiting range that contains `number`.
    fn range_of(&self, number: u64) -> Option<(u64, u64)> {
        let at = self.waiting.partition_point(|range| range.1 <= number);
        self.waiting
            .get(at)
            .copied()
            .filter(|range| range.0 <= number)
    }

    /// Records that out-of-order data arrived at `start`: its range is reported first.
    fn touch(&mut self, start: u64) {
        let touched = self.range_of(start);
        let mut newest = std::mem::take(&mut self.newest);
        newest.retain(|&number| {
            let range = self.range_of(number);
            range.is_some() && range != touched
        });
        newest.insert(0, start);
        newest.truncate(MAX_SACK_BLOCKS);
        self.newest = newest;
    }

    /// Returns the number expected next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether the window contains some of the bytes from `start` up to, not including, `end`, and the others
    /// are before it.
    pub(super) fn window_holds(&self, start: u64, end: u64) -> bool {
        start < end && end > self.next && end <= self.next.saturating_add(self.window)
    }

    /// Inserts the bytes from `start` up to, not including, `end`.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Arrival {
        if end > self.next.saturating_add(self.window) {
            return Arrival::BeyondWindow;
        }
        if end <= self.next {
            return Arrival::Duplicate;
        }
        if start <= self.next {
            self.next = end;
            let filled_gap = !self.waiting.is_empty();
            let reached = self.waiting.iter().take_while(|range| range.0 <= end);
            let (mut count, mut last) = (0, end);
            for range in reached {
                count += 1;
                last = last.max(range.1);
            }
            // Ranges are not adjacent, so whatever reaches the last of these is beyond it.
            self.waiting.drain(..count);
            self.next = last;
            return Arrival::InOrder { filled_gap };
        }
        let arrival = self.keep(start, end);
        self.touch(start);
        arrival
    }

    fn keep(&mut self, start: u64, end: u64) -> Arrival {
        let from = self.waiting.partition_point(|range| range.1 < start);
        let to = self.waiting.partition_point(|range| range.0 <= end);
        let touched = &self.waiting[from..to];
        let (Some(first), Some(last)) = (touched.first(), touched.last()) else {
            self.waiting.insert(from, (start, end));
            return Arrival::OutOfOrder;
        };
        if first.0 <= start && end <= first.1 {
            return Arrival::Duplicate;
        }
        let joined = (first.0.min(start), last.1.max(end));
        self.waiting[from] = joined;
        self.waiting.drain(from + 1..to);
        Arrival::OutOfOrder
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Reassembly};

    const FILLED: Arrival = Arrival::InOrder { filled_gap: true };
    const PLAIN: Arrival = Arrival::InOrder { filled_gap: false };

    /// Gaps are kept, joined and filled; no data is counted twice.
    #[test]
    fn gaps_are_joined_and_filled() {
        let mut space = Reassembly::new(1_000);
        assert_eq!(space.insert(1, 101), PLAIN);
        assert_eq!(space.insert(201, 301), Arrival::OutOfOrder);
        assert_eq!(space.insert(401, 501), Arrival::OutOfOrder);
        assert_eq!(space.insert(201, 301), Arrival::Duplicate);
        assert_eq!(
            space.insert(301, 401),
            Arrival::OutOfOrder,
            "joins its neighbours"
        );
        assert_eq!(space.waiting, [(201, 501)]);
        assert_eq!(space.insert(601, 701), Arrival::OutOfOrder);
        assert_eq!(space.next(), 101);
        assert_eq!(space.insert(101, 201), FILLED);
        assert_eq!(space.next(), 501);
        assert_eq!(space.insert(1, 501), Arrival::Duplicate);
        assert_eq!(space.insert(450, 650), FILLED, "overlaps on both sides");
        assert_eq!(space.next(), 701);
        assert!(space.waiting.is_empty());
    }

    /// RFC 2018, 4: the block of the newest arrival is first, then the earlier ones, each once, three in all. Joined
    /// blocks are one; a filled gap leaves no block.
    #[test]
    fn blocks_are_reported_newest_first() {
        let mut space = Reassembly::new(10_000);
        let blocks = |space: &Reassembly| space.sack_blocks().iter().collect::<Vec<_>>();
        assert_eq!(blocks(&space), []);
        for start in [201, 401, 601, 801] {
            space.insert(start, start + 100);
        }
        assert_eq!(blocks(&space), [(801, 901), (601, 701), (401, 501)]);
        space.insert(501, 601);
        assert_eq!(blocks(&space), [(401, 701), (801, 901)]);
        space.insert(201, 301);
        assert_eq!(
            blocks(&space),
            [(201, 301), (401, 701), (801, 901)],
            "a copy"
        );
        space.insert(1, 201);
        assert_eq!(blocks(&space), [(401, 701), (801, 901)]);
        space.insert(301, 401);
        assert_eq!(blocks(&space), [(801, 901)]);
    }

    /// The last byte of the window is accepted, the next one is not; absurd numbers are refused.
    #[test]
    fn the_window_bounds_what_is_kept() {
        let mut space = Reassembly::new(1_000);
        assert_eq!(space.insert(901, 1_002), Arrival::BeyondWindow);
        assert_eq!(space.insert(901, 1_001), Arrival::OutOfOrder);
        assert_eq!(space.insert(u64::MAX - 1, u64::MAX), Arrival::BeyondWindow);
        assert_eq!(space.insert(0, 1), Arrival::Duplicate);
    }
}
