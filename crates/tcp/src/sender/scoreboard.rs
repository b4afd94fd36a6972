//! The scoreboard: the ranges that the peer has selected, and the progress of a recovery (RFC 6675, sections 2 and 4).
//!
//! The work for an acknowledgement is bounded by what is new in it. Ranges are joined as they arrive, and the marks
//! below which nothing has to be searched again only increase.

use crate::recovery::DUPLICATES;

/// The selected ranges and the marks of a recovery.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    /// The selected ranges: ascending, disjoint and not adjacent.
    ranges: Vec<(u64, u64)>,
    /// Below this number every loss has been marked.
    searched: u64,
    /// Below this number every hole has been retransmitted or filled (`HighRxt`).
    repeated: u64,
    /// A rescue retransmission needs more than this to be acknowledged (`RescueRxt`).
    rescued: u64,
    /// The end of the recovery (`RecoveryPoint`).
    recover: u64,
}

impl Scoreboard {
    /// Inserts the numbers from `start` up to, not including, `end`, and calls `new` with each part that was not
    /// selected before.
    pub(super) fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        let mut joined = (start, end);
        let mut at = start;
        for range in &self.ranges[from..to] {
            if at < range.0 {
                new(at, range.0);
            }
            at = at.max(range.1);
            joined = (joined.0.min(range.0), joined.1.max(range.1));
        }
        if at < end {
            new(at, end);
        }
        if from == to {
            self.ranges.insert(from, joined);
        } else {
            self.ranges[from] = joined;
            self.ranges.drain(from + 1..to);
        }
    }

    /// Removes everything below `ack`, which has arrived.
    pub(super) fn acknowledge(&mut self, ack: u64) {
        let done = self.ranges.partition_point(|range| range.1 <= ack);
        self.ranges.drain(..done);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(ack);
        }
    }

    /// Returns the number after the highest selected one.
    pub(super) fn highest(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.1)
    }

    /// Returns the number below which everything that is not selected is lost (`IsLost`); zero if nothing is lost.
    ///
    /// Above it there are three ranges, or more than the bytes of two segments.
    pub(super) fn edge(&self, mss: u32) -> u64 {
        let enough = u64::from(mss) * u64::from(DUPLICATES - 1);
        let mut bytes = 0;
        for (count, range) in (1..).zip(self.ranges.iter().rev()) {
            bytes += range.1 - range.0;
            if count >= DUPLICATES || bytes > enough {
                return range.0;
            }
        }
        0
    }

    /// Begins a recovery that ends at `recover`: no loss is marked yet.
    ///
    /// Everything below `first` counts as retransmitted (RFC 6675, 5, step 4.3).
    pub(super) fn begin(&mut self, first: u64, recover: u64) {
        self.searched = 0;
        self.repeated = first;
        self.rescued = first;
        self.recover = recover;
    }

    /// Moves the mark of searched numbers up to `edge`; returns the mark before.
    pub(super) fn searched_up_to(&mut self, edge: u64) -> u64 {
        let before = self.searched;
        self.searched = before.max(edge);
        before
    }

    pub(super) fn searched(&self) -> u64 {
        self.searched.max(self.repeated)
    }

    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    pub(super) fn repeated_up_to(&mut self, seq: u64) {
        self.repeated = self.repeated.max(seq);
    }

    /// Returns whether a rescue is allowed while `una` is the oldest unacknowledged number.
    pub(super) fn may_rescue(&self, una: u64) -> bool {
        una > self.rescued
    }

    /// Records that a rescue left: there is no other one in this recovery.
    pub(super) fn end_rescue(&mut self) {
        self.rescued = self.recover;
    }
}

#[cfg(test)]
mod tests {
    use super::Scoreboard;

    fn news(board: &mut Scoreboard, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut news = Vec::new();
        board.insert(start, end, |start, end| news.push((start, end)));
        news
    }

    /// Only parts that were not selected before are reported as new, for any overlap of blocks.
    #[test]
    fn only_new_parts_are_news() {
        let mut board = Scoreboard::default();
        assert_eq!(news(&mut board, 201, 301), [(201, 301)]);
        assert_eq!(news(&mut board, 401, 501), [(401, 501)]);
        assert_eq!(news(&mut board, 201, 301), []);
        assert_eq!(
            news(&mut board, 101, 601),
            [(101, 201), (301, 401), (501, 601)]
        );
        assert_eq!(board.ranges, [(101, 601)]);
        assert_eq!(news(&mut board, 601, 701), [(601, 701)]);
        assert_eq!(news(&mut board, 301, 301), []);
        board.acknowledge(401);
        assert_eq!(board.ranges, [(401, 701)]);
        assert_eq!(board.highest(), Some(701));
        board.acknowledge(701);
        assert_eq!(board.highest(), None);
    }

    /// RFC 6675, 4, `IsLost`: a segment is lost if three separate ranges are above it, or more than the bytes of two
    /// segments. Exactly two full segments are not enough.
    #[test]
    fn losses_lie_below_the_edge() {
        let mut board = Scoreboard::default();
        assert_eq!(board.edge(100), 0);
        board.insert(501, 701, |_, _| ());
        assert_eq!(board.edge(100), 0, "two segments in one range");
        board.insert(701, 702, |_, _| ());
        assert_eq!(board.edge(100), 501, "a byte more");

        let mut small = Scoreboard::default();
        for start in [301, 501] {
            small.insert(start, start + 10, |_, _| ());
            assert_eq!(small.edge(100), 0);
        }
        small.insert(401, 411, |_, _| ());
        assert_eq!(small.edge(100), 301, "three ranges");
    }
}
