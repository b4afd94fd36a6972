//! The parts of a file that have arrived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The largest number of ranges. A file with a million missing pieces takes about 40 MB. A peer that sends only every
/// other byte must not use more.
const MAX_RANGES: usize = 1 << 20;

/// Byte ranges that have arrived, merged. Pieces in order cost no memory; each gap costs one entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// First byte and the byte after the last of each range; the ranges do not overlap or touch.
    have: BTreeMap<u64, u64>,
}

/// The parts of a file that did not arrive.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Missing {
    /// The number of missing bytes.
    pub bytes: u64,
    /// The number of missing ranges.
    pub count: u64,
    /// The first missing ranges: first byte and the byte after the last.
    pub first: Vec<(u64, u64)>,
}

impl Ranges {
    /// Records that the bytes from `start` to `end` arrived, `end` excluded. Returns false if there is no room for it;
    /// the bytes then count as missing.
    pub(crate) fn insert(&mut self, mut start: u64, mut end: u64) -> bool {
        if start >= end {
            return true;
        }
        let before = self.have.range(..=end).next_back();
        let touches = before.is_some_and(|(_, &to)| to >= start);
        if !touches && self.have.len() >= MAX_RANGES {
            return false;
        }
        // Merges all ranges that touch the new one, from the last to the first.
        while let Some((&from, &to)) = self.have.range(..=end).next_back() {
            if to < start {
                break;
            }
            start = start.min(from);
            end = end.max(to);
            self.have.remove(&from);
        }
        self.have.insert(start, end);
        true
    }

    /// Returns what is missing of a file of `size` bytes, with at most `limit` ranges listed.
    pub(crate) fn missing(&self, size: u64, limit: usize) -> Missing {
        let mut missing = Missing::default();
        let mut next = 0;
        let end = std::iter::once((size, size));
        for (from, to) in self.have.iter().map(|(a, b)| (*a, *b)).chain(end) {
            let from = from.min(size);
            if from > next {
                missing.bytes += from - next;
                missing.count += 1;
                if missing.first.len() < limit {
                    missing.first.push((next, from));
                }
            }
            next = next.max(to);
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    /// Pieces in any order, twice or overlapping, leave exactly the missing ranges.
    #[test]
    fn holes_are_what_never_came() {
        let mut ranges = Ranges::default();
        for (start, end) in [(10, 20), (40, 50), (20, 30), (45, 47), (60, 60), (48, 55)] {
            ranges.insert(start, end);
        }
        let missing = ranges.missing(70, 10);
        assert_eq!(missing.first, [(0, 10), (30, 40), (55, 70)]);
        assert_eq!((missing.bytes, missing.count), (35, 3));
        ranges.insert(0, 100);
        assert_eq!(ranges.missing(70, 10), super::Missing::default());
        assert_eq!(ranges.have.len(), 1);
    }

    /// The list is bounded; the counts are not. An empty file misses nothing.
    #[test]
    fn the_list_is_bounded() {
        let mut ranges = Ranges::default();
        for i in 0..100 {
            ranges.insert(20 * i, 20 * i + 10);
        }
        let missing = ranges.missing(2_000, 3);
        assert_eq!(missing.first, [(10, 20), (30, 40), (50, 60)]);
        assert_eq!((missing.bytes, missing.count), (1_000, 100));
        assert_eq!(Ranges::default().missing(0, 3).count, 0);
    }

    /// A peer cannot fill the memory: beyond a million gaps, a separate piece is refused, but a piece that touches a
    /// range is not.
    #[test]
    fn holes_are_bounded() {
        let mut ranges = Ranges::default();
        let most = super::MAX_RANGES as u64;
        for i in 0..most {
            assert!(ranges.insert(2 * i, 2 * i + 1), "{i}");
        }
        assert!(!ranges.insert(2 * most, 2 * most + 1));
        assert_eq!(ranges.have.len(), super::MAX_RANGES);
        assert!(ranges.insert(1, 2));
        assert_eq!(ranges.have.len(), super::MAX_RANGES - 1);
        assert!(ranges.insert(2 * most, 2 * most + 1));
    }

    /// If a file is shorter than what arrived, nothing beyond its end is missing.
    #[test]
    fn beyond_the_end_is_nothing() {
        let mut ranges = Ranges::default();
        ranges.insert(5, 9);
        ranges.insert(20, 30);
        assert_eq!(ranges.missing(7, 3).first, [(0, 5)]);
    }
}
