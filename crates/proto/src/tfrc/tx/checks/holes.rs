//! Numbers that were passed over, and what reports say of them (RFC 4342, section 9).
//!
//! An honest receiver takes such a hole for a lost packet: it begins a loss event with it, or counts it
//! to one. A report that has it in the lossless part of an interval is a lie. The sender knows better
//! than the honest: an interval that begins with nothing but a hole is none, and is joined to the one
//! before it, as RFC 4342, section 6.1.1, lets a sender do.

use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use super::super::report::Intervals;

/// Holes remembered. There are no more than one in three reports, so each of the nine intervals of a
/// report begins with a different one, at most.
const KEPT: usize = 12;

/// Packets that must come after a hole before it counts as lost (RFC 5348, section 5.1). Each report
/// acknowledges one that came, so this many reports on different packets tell that they did.
const NDUPACK: u32 = 3;

/// What a report says of the holes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    /// The newest hole that it newly claims to have received.
    pub lie: Option<Seq>,
    /// Was a hole reported as lost for the first time?
    pub truth: bool,
    /// How long ago the packet left that must have come before it was.
    pub proof: Option<Duration>,
}

/// The newest holes, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holes {
    newest_first: [Option<Hole>; KEPT],
}

#[derive(Clone, Copy, Debug)]
struct Hole {
    seq: Seq,
    /// Packets that left after it, up to three, and when the third did.
    followers: u32,
    third_left: Option<Instant>,
    /// Reports on different packets after it, and the newest of these.
    reports: u32,
    acked: Seq,
    state: State,
    /// The interval that ended with it, where only the hole ended it.
    before: Option<(LossInterval, u32)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Unknown,
    ReportedLost,
    Claimed,
}

/// What an interval says of a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    Nothing,
    Lost,
    Received,
}

/// An interval with the number that it begins with, and how many of it were lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub start: Seq,
    pub interval: LossInterval,
    pub drops: u32,
}

impl Holes {
    /// The number `seq` was passed over.
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

    /// A packet left.
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

    /// Was there any?
    pub(super) fn any(&self) -> bool {
        self.newest_first[0].is_some()
    }

    /// May reports still say of the newest hole what they like?
    pub(super) fn is_open(&self) -> bool {
        self.newest_first[0]
            .is_some_and(|hole| hole.state == State::Unknown && hole.reports < NDUPACK)
    }

    /// The peer acknowledged packet `ackno`. Was that one never sent? If so, for the first time?
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

    /// What `pieces`, which are newest first, say of the holes.
    pub(super) fn judge(&mut self, now: Instant, pieces: &[Piece]) -> Verdict {
        let mut verdict = Verdict::default();
        for hole in self.newest_first.iter_mut().flatten() {
            match told(hole.seq, pieces) {
                Told::Lost if hole.state == State::Unknown => {
                    hole.state = State::ReportedLost;
                    verdict.truth = true;
                    let left = hole.third_left;
                    verdict.proof = left.map(|left| now.saturating_since(left));
                }
                // RFC 4342, 8.6.1: while fewer than three packets came behind the hole a receiver may
                // have to count it as received.
                Told::Received
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

    /// The intervals without the holes: as the peer would have reported had their numbers been used.
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
                match told(hole.seq, std::slice::from_ref(&piece)) {
                    Told::Nothing => continue,
                    Told::Lost => lost += 1,
                    Told::Received => {}
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
            // Where what came before is not reported any more, and was not when the hole was new, the
            // average remembers it.
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
            // It tells of nothing else.
            intervals.push(newest.interval, newest.drops);
        }
        intervals
    }
}

/// What intervals, newest first, say of number `seq`.
fn told(seq: Seq, pieces: &[Piece]) -> Told {
    for piece in pieces {
        if seq.is_before(piece.start) {
            continue;
        }
        let place = piece.start.distance(seq);
        let lossy = u64::from(piece.interval.loss_length);
        return if place < lossy {
            Told::Lost
        } else if place < lossy + u64::from(piece.interval.lossless_length) {
            Told::Received
        } else {
            Told::Nothing
        };
    }
    Told::Nothing
}

/// The interval `before` with `piece`, which begins where it ends, as a part of it.
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
