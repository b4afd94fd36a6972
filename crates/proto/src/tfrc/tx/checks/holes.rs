//! Skipped sequence numbers ("holes"), and what reports say about them (RFC 4342, section 9).
//!
//! An honest receiver takes a hole for a lost packet: the hole begins a loss event or belongs to one. A report that has
//! the hole in the lossless part of an interval is a lie. The sender knows that no packet was lost there. It therefore
//! joins an interval that begins with nothing but a hole to the interval before it, as RFC 4342, section 6.1.1, allows
//! a sender to do.

use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use super::super::report::Intervals;

/// The number of holes remembered. At most one hole is made in three reports, and each of the nine intervals of a
/// report can begin with a different hole.
const KEPT: usize = 12;

/// Packets that must arrive after a hole before it counts as lost (RFC 5348, section 5.1). Each report acknowledges a
/// packet that arrived, so this many reports on different packets show that enough did.
const NDUPACK: u32 = 3;

/// What a report says about the holes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    /// The newest hole that it claims, for the first time, to have received.
    pub lie: Option<Seq>,
    /// Whether a hole was reported as lost for the first time.
    pub truth: bool,
    /// The time since the third packet after that hole left. That packet had arrived when the hole was reported as
    /// lost.
    pub proof: Option<Duration>,
}

/// The newest holes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holes {
    newest_first: [Option<Hole>; KEPT],
}

#[derive(Clone, Copy, Debug)]
struct Hole {
    seq: Seq,
    /// The number of packets sent after it, up to three, and when the third left.
    followers: u32,
    third_left: Option<Instant>,
    /// The number of reports on different packets after it, and the newest of those packets.
    reports: u32,
    acked: Seq,
    state: State,
    /// The interval before it and that interval's drops, if only the hole ended that interval.
    before: Option<(LossInterval, u32)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Unknown,
    ReportedLost,
    Claimed,
}

/// What an interval says about a sequence number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reported {
    Nothing,
    Lost,
    Received,
}

/// An interval with the number that it begins with, and how many of its packets were lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub start: Seq,
    pub interval: LossInterval,
    pub drops: u32,
}

impl Holes {
    /// Records that the number `seq` was skipped.
    pub(super) fn push(&mut self, seq: Seq) {
        self.newest_first.rotate_right(1);
        self.newest_first[0] = Some(Hole {
            seq,
            followers: 0,
            third_left: None,
            reports: 0,
            acked: seq,
            state: State::Unknown,
            before: None,
        });
    }

    /// Records that a packet left.
    pub(super) fn on_sent(&mut self, now: Instant) {
        if let Some(hole) = &mut self.newest_first[0]
            && hole.followers < NDUPACK
        {
            hole.followers += 1;
            if hole.followers == NDUPACK {
                hole.third_left = Some(now);
            }
        }
    }

    /// Returns whether a number was ever skipped.
    pub(super) fn any(&self) -> bool {
        self.newest_first[0].is_some()
    }

    /// Returns whether the newest hole is undecided: not reported as lost, not claimed, and fewer than three reports
    /// came after it.
    pub(super) fn is_open(&self) -> bool {
        self.newest_first[0]
            .is_some_and(|hole| hole.state == State::Unknown && hole.reports < NDUPACK)
    }

    /// Handles an acknowledgement of packet `ackno`. Returns whether that packet was never sent, the first time that it
    /// is acknowledged.
    pub(super) fn on_ack(&mut self, ackno: Seq) -> bool {
        let mut lie = false;
        for hole in self.newest_first.iter_mut().flatten() {
            if ackno == hole.seq && hole.state != State::Claimed {
                hole.state = State::Claimed;
                lie = true;
            }
            if ackno.is_after(hole.acked) {
                hole.acked = ackno;
                hole.reports = hole.reports.saturating_add(1);
            }
        }
        lie
    }

    /// Judges what `pieces`, newest first, say about the holes.
    pub(super) fn judge(&mut self, now: Instant, pieces: &[Piece]) -> Verdict {
        let mut verdict = Verdict::default();
        for hole in self.newest_first.iter_mut().flatten() {
            match reported(hole.seq, pieces) {
                Reported::Lost if hole.state == State::Unknown => {
                    hole.state = State::ReportedLost;
                    verdict.truth = true;
                    let left = hole.third_left;
                    verdict.proof = left.map(|left| now.saturating_since(left));
                }
                // RFC 4342, 8.6.1: while fewer than three packets have arrived after the hole, a receiver may have to
                // count it as received.
                Reported::Received
                    if hole.state == State::ReportedLost
                        || (hole.state == State::Unknown && hole.reports >= NDUPACK) =>
                {
                    hole.state = State::Claimed;
                    verdict.lie.get_or_insert(hole.seq);
                }
                _ => {}
            }
        }
        verdict
    }

    /// Returns the intervals without the holes, as the peer would have reported them had no number been skipped.
    pub(super) fn without(&mut self, skip: u8, pieces: &[Piece]) -> Intervals {
        let mut joined: Option<Piece> = None;
        let mut whole = [None; fairwire_cc::tfrc::INTERVALS + 1];
        let mut len = 0;
        for &piece in pieces.iter().rev() {
            let mut piece = piece;
            let (mut inside, mut lost) = (0, 0);
            let mut begins = None;
            for (i, hole) in self.newest_first.iter().enumerate() {
                let Some(hole) = hole.filter(|hole| hole.state != State::Claimed) else {
                    continue;
                };
                match reported(hole.seq, std::slice::from_ref(&piece)) {
                    Reported::Nothing => continue,
                    Reported::Lost => lost += 1,
                    Reported::Received => {}
                }
                inside += 1;
                if hole.seq == piece.start && piece.interval.loss_length == 1 {
                    begins = Some(i);
                }
            }
            // RFC 4342, 6.1.1: no data packet had that number.
            piece.interval.data_length = piece.interval.data_length.saturating_sub(inside);
            piece.drops = piece.drops.saturating_sub(lost);
            let hole = begins.and_then(|i| self.newest_first[i].as_mut());
            let Some(hole) = hole else {
                if let Some(done) = joined.replace(piece) {
                    whole[len] = Some(done);
                    len += 1;
                }
                continue;
            };
            if let Some(before) = joined {
                hole.before = Some((before.interval, before.drops));
            }
            // If the interval before it is not reported now, and was not when the hole was new, the loss average still
            // has it.
            let before = hole.before;
            joined = before.map(|(before, drops)| join(before, drops, &piece));
        }
        let mut intervals = Intervals::new(skip);
        let older = whole[..len].iter().rev().flatten();
        for piece in joined.iter().chain(older) {
            intervals.push(piece.interval, piece.drops);
        }
        if joined.is_none()
            && len == 0
            && let Some(newest) = pieces.first()
        {
            // The report contains no other interval.
            intervals.push(newest.interval, newest.drops);
        }
        intervals
    }
}

/// Returns what `pieces`, newest first, say about number `seq`.
fn reported(seq: Seq, pieces: &[Piece]) -> Reported {
    for piece in pieces {
        if seq.is_before(piece.start) {
            continue;
        }
        let place = piece.start.distance(seq);
        let lossy = u64::from(piece.interval.loss_length);
        return if place < lossy {
            Reported::Lost
        } else if place < lossy + u64::from(piece.interval.lossless_length) {
            Reported::Received
        } else {
            Reported::Nothing
        };
    }
    Reported::Nothing
}

/// Joins the interval `before` and `piece`, which begins where `before` ends.
fn join(before: LossInterval, drops: u32, piece: &Piece) -> Piece {
    let length = u64::from(before.lossless_length) + u64::from(before.loss_length);
    let lossless = before
        .lossless_length
        .saturating_add(piece.interval.lossless_length)
        .saturating_add(piece.interval.loss_length);
    Piece {
        start: piece.start.sub(length),
        interval: LossInterval {
            lossless_length: lossless,
            data_length: before
                .data_length
                .saturating_add(piece.interval.data_length),
            ..before
        },
        drops: drops.saturating_add(piece.drops),
    }
}
