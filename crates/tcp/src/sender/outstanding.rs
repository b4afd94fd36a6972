//! The segments that were sent and are not acknowledged, in order.

use std::collections::VecDeque;

use fairwire_cc::Delivery;
use fairwire_units::Instant;

use super::scoreboard::Scoreboard;
use crate::config::SackAfterTimeout;
use crate::sack::SackBlocks;

/// A segment as it was first sent; a retransmission has the same bounds.
#[expect(
    clippy::struct_excessive_bools,
    reason = "marks of the scoreboard, each by itself"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) at: Instant,
    /// Whether it was ever retransmitted; if so its acknowledgement is no round-trip sample.
    resent: bool,
    /// Whether the peer has selected it.
    sacked: bool,
    /// Whether it is not selected and enough is selected above it (`IsLost` in RFC 6675).
    lost: bool,
    /// Whether it is not selected and was retransmitted in this recovery.
    repaired: bool,
}

impl Sent {
    pub(super) fn new(seq: u64, len: u32, sent_at: Instant) -> Self {
        Self {
            seq,
            len,
            at: sent_at,
            resent: false,
            sacked: false,
            lost: false,
            repaired: false,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.len))
    }

    fn clear(&mut self) {
        (self.sacked, self.lost, self.repaired) = (false, false, false);
    }
}

/// The segments that an acknowledgement covered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Covered {
    pub(super) segments: u32,
    pub(super) bytes: u64,
    /// The number of these segments that had been selected before.
    pub(super) selected: u32,
    /// The bytes of those.
    pub(super) selected_bytes: u64,
    /// When the newest of the segments left, if it was sent only once.
    pub(super) newest_sent: Option<Instant>,
}

/// The segments that an acknowledgement selected and no earlier one had.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Selected {
    pub(super) segments: u32,
    pub(super) bytes: u64,
    /// When the newest of them left that was sent only once.
    pub(super) newest_sent: Option<Instant>,
    /// The number after the last of them; zero without any.
    pub(super) highest: u64,
}

impl Covered {
    /// Returns what has arrived by an acknowledgement that covers these segments and selects others.
    pub(super) fn and(self, selected: Selected) -> Delivery {
        Delivery {
            packets: self.segments - self.selected + selected.segments,
            bytes: self.bytes - self.selected_bytes + selected.bytes,
            marked: 0,
            newest_sent: self.newest_sent.max(selected.newest_sent),
        }
    }
}

/// The segments between the oldest unacknowledged number and the newest one sent.
///
/// The first `in_flight` of them count as outstanding. A timeout gives up all of them, and they have to be sent again
/// from the front. With SACK the scoreboard says which of them have arrived or are lost.
#[derive(Debug)]
pub(super) struct Outstanding {
    segments: VecDeque<Sent>,
    in_flight: usize,
    max: u64,
    scoreboard: Scoreboard,
    /// The number of selected segments in flight.
    sacked: u32,
    /// The number of lost segments in flight.
    lost: u32,
    /// The number of segments in flight that were retransmitted in this recovery.
    repaired: u32,
}

impl Outstanding {
    pub(super) fn new(first: u64) -> Self {
        Self {
            segments: VecDeque::new(),
            in_flight: 0,
            max: first,
            scoreboard: Scoreboard::default(),
            sacked: 0,
            lost: 0,
            repaired: 0,
        }
    }

    /// Returns the number of segments in the network (`SetPipe` in RFC 6675): all in flight, less the selected and the
    /// lost ones, plus the retransmitted ones.
    pub(super) fn pipe(&self) -> u32 {
        (self.in_flight() + self.repaired).saturating_sub(self.sacked + self.lost)
    }

    /// Returns the number after the last one ever sent.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn in_flight(&self) -> u32 {
        u32::try_from(self.in_flight).unwrap_or(u32::MAX)
    }

    pub(super) fn bytes_in_flight(&self) -> u64 {
        let last = self.in_flight.checked_sub(1);
        match (
            self.segments.front(),
            last.and_then(|at| self.segments.get(at)),
        ) {
            (Some(first), Some(last)) => last.end().saturating_sub(first.seq),
            _ => 0,
        }
    }

    pub(super) fn all_in_flight(&self) -> bool {
        self.in_flight == self.segments.len()
    }

    /// Returns the oldest segment.
    pub(super) fn first(&self) -> Option<Sent> {
        self.segments.front().copied()
    }

    /// Returns the oldest segment that a timeout gave up.
    pub(super) fn next_given_up(&self) -> Option<Sent> {
        self.segments.get(self.in_flight).copied()
    }

    /// Adds a new segment; all before it are in flight.
    pub(super) fn push(&mut self, sent: Sent) {
        debug_assert!(self.all_in_flight(), "repeat before sending new data");
        debug_assert_eq!(sent.seq, self.max, "no gaps");
        self.max = sent.end();
        self.segments.push_back(sent);
        self.in_flight += 1;
    }

    /// Retransmits the oldest segment out of turn.
    pub(super) fn retransmit_first(&mut self, now: Instant) -> Option<Sent> {
        let first = self.segments.front_mut()?;
        first.at = now;
        first.resent = true;
        self.in_flight = self.in_flight.max(1);
        Some(*first)
    }

    /// Retransmits the segment of [`next_given_up`](Self::next_given_up).
    pub(super) fn retransmit_next(&mut self, now: Instant) -> Option<Sent> {
        let next = self.segments.get_mut(self.in_flight)?;
        next.at = now;
        next.resent = true;
        let next = *next;
        self.in_flight += 1;
        self.skip_selected();
        Some(next)
    }

    /// Removes everything below `ack`, which has arrived.
    pub(super) fn acknowledge(&mut self, ack: u64) -> Covered {
        let mut covered = Covered::default();
        while let Some(first) = self.segments.front_mut() {
            if first.end() > ack {
                // Segments keep their bounds, so this peer acknowledges parts of them.
                let part = ack.saturating_sub(first.seq);
                first.seq += part;
                first.len -= u32::try_from(part).unwrap_or(first.len);
                covered.bytes += part;
                break;
            }
            covered.segments += 1;
            covered.bytes += u64::from(first.len);
            if first.sacked {
                covered.selected += 1;
                covered.selected_bytes += u64::from(first.len);
            }
            covered.newest_sent = (!first.resent).then_some(first.at);
            if let Some(left) = self.in_flight.checked_sub(1) {
                self.in_flight = left;
                self.sacked -= u32::from(first.sacked);
                self.lost -= u32::from(first.lost);
                self.repaired -= u32::from(first.repaired);
            }
            self.segments.pop_front();
        }
        self.scoreboard.acknowledge(ack);
        self.skip_selected();
        covered
    }

    /// Gives up all segments after a timeout: none counts as outstanding any more.
    ///
    /// What the peer has selected is forgotten, or kept unless the peer has certainly discarded it.
    pub(super) fn give_up(&mut self, selected: SackAfterTimeout) {
        self.in_flight = 0;
        // RFC 6675, 5.1: a selected segment at the left edge should have been acknowledged, so the peer has reneged.
        // The left edge is sent again in any case.
        let has_reneged = self.first().is_some_and(|first| first.sacked);
        let keeps = selected == SackAfterTimeout::Keep && !has_reneged;
        for segment in &mut self.segments {
            let sacked = segment.sacked && keeps;
            segment.clear();
            segment.sacked = sacked;
        }
        if !keeps {
            self.scoreboard = Scoreboard::default();
        }
        (self.sacked, self.lost, self.repaired) = (0, 0, 0);
    }
}

/// The detection of spurious timeouts.
impl Outstanding {
    /// Counts all segments as outstanding again: a timeout may have given them up too early.
    pub(super) fn resume(&mut self) {
        self.in_flight = self.segments.len();
        let sacked = self.segments.iter().filter(|segment| segment.sacked);
        self.sacked = u32::try_from(sacked.count()).unwrap_or(u32::MAX);
    }
}

/// The processing of selective acknowledgements (RFC 6675, section 4).
impl Outstanding {
    /// Records `blocks` and returns which segments they select that were not selected before.
    pub(super) fn select(&mut self, blocks: &SackBlocks) -> Selected {
        let mut news = Selected::default();
        // A block with the oldest segment contradicts the acknowledgement number.
        let least = self.first().map_or(self.max, |first| first.end());
        for (start, end) in blocks.iter() {
            let (segments, max) = (&mut self.segments, self.max);
            let (sacked, lost, repaired) = (&mut self.sacked, &mut self.lost, &mut self.repaired);
            let in_flight = self.in_flight;
            let (start, end) = (start.max(least), end.min(max));
            self.scoreboard.insert(start, end, |start, end| {
                let from = segments.partition_point(|segment| segment.seq < start);
                for (at, segment) in (from..).zip(segments.range_mut(from..)) {
                    if segment.end() > end {
                        break;
                    }
                    let was = *segment;
                    segment.clear();
                    segment.sacked = true;
                    if !was.sacked {
                        news.segments += 1;
                        news.bytes += u64::from(was.len);
                        let left = (!was.resent).then_some(was.at);
                        news.newest_sent = news.newest_sent.max(left);
                        news.highest = news.highest.max(was.end());
                    }
                    if at < in_flight {
                        *sacked += u32::from(!was.sacked);
                        *lost -= u32::from(was.lost);
                        *repaired -= u32::from(was.repaired);
                    }
                }
            });
        }
        self.skip_selected();
        news
    }

    /// Returns whether the oldest segment is lost, because of what is selected above it (`IsLost`).
    pub(super) fn is_first_lost(&self, mss: u32) -> bool {
        let edge = self.scoreboard.edge(mss);
        self.first().is_some_and(|first| first.seq < edge)
    }

    /// Begins a recovery, just before the oldest segment is retransmitted.
    pub(super) fn begin_repair(&mut self, mss: u32) {
        let Some(first) = self.segments.front_mut() else {
            return;
        };
        self.repaired += u32::from(!first.repaired);
        first.repaired = true;
        self.scoreboard.begin(first.end(), self.max);
        self.find_losses(mss);
    }

    /// Marks the segments that are lost by the scoreboard.
    pub(super) fn find_losses(&mut self, mss: u32) {
        let edge = self.scoreboard.edge(mss);
        let from = self.scoreboard.searched_up_to(edge);
        let at = self.segments.partition_point(|segment| segment.seq < from);
        for segment in self.segments.range_mut(at..) {
            if segment.seq >= edge {
                break;
            }
            if !segment.sacked && !segment.lost {
                segment.lost = true;
                self.lost += 1;
            }
        }
    }

    /// Ends the recovery and clears its marks on the segments still outstanding.
    pub(super) fn end_repair(&mut self) {
        let searched = self.scoreboard.searched();
        for segment in &mut self.segments {
            if segment.seq >= searched {
                break;
            }
            self.lost -= u32::from(segment.lost);
            self.repaired -= u32::from(segment.repaired);
            (segment.lost, segment.repaired) = (false, false);
        }
    }

    /// Returns the next lost segment to retransmit (`NextSeg`, rule 1). If there is none and `any` is set, returns the
    /// next one with selected data above it (rule 3).
    pub(super) fn next_hole(&mut self, any: bool) -> Option<Sent> {
        let highest = self.scoreboard.highest()?;
        let from = self.scoreboard.repeated();
        let at = self.segments.partition_point(|segment| segment.seq < from);
        let hole = self.segments.range(at..).find(|segment| !segment.sacked)?;
        // Everything below it is selected or was retransmitted, so it need not be searched again.
        self.scoreboard.repeated_up_to(hole.seq);
        (hole.seq < highest && (hole.lost || any)).then_some(*hole)
    }

    /// Returns the newest segment that is not selected, once in a recovery (`NextSeg`, rule 4).
    pub(super) fn next_rescue(&self) -> Option<Sent> {
        let first = self.segments.front()?;
        if !self.scoreboard.may_rescue(first.seq) {
            return None;
        }
        let newest = self.segments.iter().rev().find(|segment| !segment.sacked)?;
        Some(*newest)
    }

    /// Records the retransmission of the segment at `seq`, which [`next_hole`](Self::next_hole) returned.
    pub(super) fn repair(&mut self, seq: u64, now: Instant) {
        if let Some(end) = self.retransmit(seq, now) {
            self.scoreboard.repeated_up_to(end);
        }
    }

    /// Records the retransmission of the segment at `seq`, which [`next_rescue`](Self::next_rescue) returned.
    pub(super) fn rescue(&mut self, seq: u64, now: Instant) {
        self.retransmit(seq, now);
        self.scoreboard.end_rescue();
    }

    fn retransmit(&mut self, seq: u64, now: Instant) -> Option<u64> {
        let at = self.segments.partition_point(|segment| segment.seq < seq);
        let segment = self.segments.get_mut(at)?;
        segment.at = now;
        segment.resent = true;
        self.repaired += u32::from(!segment.repaired);
        segment.repaired = true;
        Some(segment.end())
    }

    /// Skips segments that have arrived: they need not be sent again after a timeout (RFC 6675, 5.1).
    fn skip_selected(&mut self) {
        while let Some(next) = self.segments.get(self.in_flight).filter(|next| next.sacked) {
            debug_assert!(!next.lost && !next.repaired);
            self.in_flight += 1;
            self.sacked += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Covered, Outstanding, SackAfterTimeout, Sent};
    use fairwire_units::Instant;

    /// After a timeout of three segments and one retransmission, an acknowledgement may cover more than was
    /// retransmitted.
    #[test]
    fn a_timeout_starts_again_from_the_front() {
        let mut outstanding = Outstanding::new(1);
        for index in 0..3 {
            outstanding.push(segment(1 + 100 * index));
        }
        assert_eq!(
            (outstanding.in_flight(), outstanding.bytes_in_flight()),
            (3, 300)
        );
        outstanding.give_up(SackAfterTimeout::Forget);
        assert_eq!(
            (outstanding.in_flight(), outstanding.bytes_in_flight()),
            (0, 0)
        );
        let repeated = outstanding.retransmit_next(Instant::START).unwrap();
        assert_eq!((repeated.seq, repeated.len), (1, 100));
        assert_eq!(outstanding.next_given_up(), Some(segment(101)));
        let covered = outstanding.acknowledge(201);
        assert_eq!((covered.segments, covered.bytes), (2, 200));
        assert_eq!(covered.newest_sent, Some(Instant::START), "sent once");
        assert_eq!((outstanding.in_flight(), outstanding.max()), (0, 301));
        assert_eq!(outstanding.next_given_up(), Some(segment(201)));
    }

    /// Segments selected before a timeout are sent again if selections are forgotten (RFC 2018, section 8). If they are
    /// kept, only the left edge and unselected segments are. A selected left edge shows that the peer has discarded
    /// data (RFC 6675, section 5.1).
    #[test]
    fn selections_outlive_a_timeout_or_do_not() {
        let again = |kept, acked: u64| {
            let mut outstanding = Outstanding::new(1);
            (0..5).for_each(|index| outstanding.push(segment(1 + 100 * index)));
            outstanding.select(&[(101, 301)].into_iter().collect());
            outstanding.acknowledge(acked);
            outstanding.give_up(kept);
            assert_eq!((outstanding.pipe(), outstanding.in_flight()), (0, 0));
            let repeat = || outstanding.retransmit_next(Instant::START).map(|it| it.seq);
            std::iter::from_fn(repeat).collect::<Vec<_>>()
        };
        assert_eq!(again(SackAfterTimeout::Forget, 1), [1, 101, 201, 301, 401]);
        assert_eq!(again(SackAfterTimeout::Keep, 1), [1, 301, 401]);
        assert_eq!(again(SackAfterTimeout::Keep, 101), [101, 201, 301, 401]);
    }

    /// An acknowledgement in the middle of a segment leaves the rest of the segment outstanding.
    #[test]
    fn a_segment_may_be_acknowledged_in_parts() {
        let mut outstanding = Outstanding::new(1);
        outstanding.push(segment(1));
        assert_eq!(
            outstanding.acknowledge(41),
            Covered {
                bytes: 40,
                ..Covered::default()
            }
        );
        let rest = outstanding.first().unwrap();
        assert_eq!((rest.seq, rest.len), (41, 60));
        assert_eq!(
            outstanding.acknowledge(101),
            Covered {
                segments: 1,
                bytes: 60,
                newest_sent: Some(Instant::START),
                ..Covered::default()
            }
        );
        assert!(outstanding.is_empty());
    }

    fn segment(seq: u64) -> Sent {
        Sent::new(seq, 100, Instant::START)
    }

    /// RFC 6675, 4, `IsLost` and `SetPipe`: after any blocks, retransmissions and acknowledgements, the counters agree
    /// with a count segment by segment.
    #[test]
    fn the_pipe_is_what_the_rfc_counts() {
        for seed in 0..200_u64 {
            let mut random = seed;
            let mut below = |bound: u64| {
                // Knuth's MMIX generator; its high bits are random enough for a test.
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % bound
            };
            let mut outstanding = Outstanding::new(1);
            for index in 0..40 {
                outstanding.push(segment(1 + 100 * index));
            }
            let mut una = 0;
            for step in 0..30 {
                let from = una + 1 + below(39 - una);
                let to = (from + 1 + below(4)).min(40);
                let block = (1 + 100 * from, 1 + 100 * to);
                outstanding.select(&[block].into_iter().collect());
                if step == 0 {
                    outstanding.begin_repair(100);
                } else {
                    outstanding.find_losses(100);
                }
                if let Some(hole) = outstanding
                    .next_hole(below(4) == 0)
                    .filter(|_| below(2) == 0)
                {
                    outstanding.repair(hole.seq, Instant::START);
                }
                if below(5) == 0 && una < 30 {
                    // Cumulative acknowledgements stop at holes.
                    una += 1 + below(2);
                    while outstanding
                        .segments
                        .iter()
                        .any(|it| it.seq == 1 + 100 * una && it.sacked)
                    {
                        una += 1;
                    }
                    outstanding.acknowledge(1 + 100 * una);
                }
                if outstanding.segments.len() < 8 {
                    break;
                }
                assert_eq!(
                    outstanding.pipe(),
                    counted(&outstanding),
                    "seed {seed}, {step}"
                );
            }
        }
    }

    fn counted(outstanding: &Outstanding) -> u32 {
        let all: Vec<Sent> = outstanding.segments.iter().copied().collect();
        let mut pipe = 0;
        for (at, segment) in all.iter().enumerate().filter(|(_, it)| !it.sacked) {
            let above = &all[at + 1..];
            let selected = above.iter().filter(|it| it.sacked).count();
            let ranges = above
                .split(|it| !it.sacked)
                .filter(|range| !range.is_empty());
            let is_lost = selected > 2 || ranges.count() >= 3;
            pipe += u32::from(!is_lost) + u32::from(segment.repaired);
        }
        pipe
    }
}
