//! What has arrived before its turn, as ranges; bounded by the window.

/// What a segment brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Arrival {
    /// The next data, perhaps with a gap that it filled or shortened.
    InOrder {
        /// Is there, or was there, data waiting behind a gap?
        filled_gap: bool,
    },
    /// Data behind a gap.
    OutOfOrder,
    /// Nothing new.
    Duplicate,
    /// Data that the window did not allow.
    BeyondWindow,
}

/// The receive sequence space.
#[derive(Debug)]
pub(super) struct Reassembly {
    next: u64,
    window: u64,
    /// Ascending, disjoint, not touching, all beyond `next`.
    waiting: Vec<(u64, u64)>,
}

impl Reassembly {
    /// The number of the first byte of data.
    pub(super) const FIRST: u64 = 1;

    pub(super) fn new(window_bytes: u32) -> Self {
        Self {
            next: Self::FIRST,
            window: u64::from(window_bytes),
            waiting: Vec::new(),
        }
    }

    /// The number expected next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Takes the bytes from `start` up to, not including, `end`.
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
            // Ranges do not touch, so whatever reaches the last of these is beyond it.
            self.waiting.drain(..count);
            self.next = last;
            return Arrival::InOrder { filled_gap };
        }
        self.keep(start, end)
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

    /// Gaps are kept, joined and filled; nothing is taken twice.
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

    /// The last byte of the window is taken, the one beyond it is not; absurd numbers are refused.
    #[test]
    fn the_window_bounds_what_is_kept() {
        let mut space = Reassembly::new(1_000);
        assert_eq!(space.insert(901, 1_002), Arrival::BeyondWindow);
        assert_eq!(space.insert(901, 1_001), Arrival::OutOfOrder);
        assert_eq!(space.insert(u64::MAX - 1, u64::MAX), Arrival::BeyondWindow);
        assert_eq!(space.insert(0, 1), Arrival::Duplicate);
    }
}
