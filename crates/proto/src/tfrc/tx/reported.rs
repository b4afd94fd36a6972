//! The loss event rate from the intervals that the peer reports (RFC 4342, section 8.6; RFC 5622,
//! section 6.1).
//!
//! The lengths are the peer's; weights, mean and history discounting are ours. An interval is known
//! again by the sequence number it begins with. For small packets the length of a short one is
//! packets per loss; how long one lasted is told by when its packets left. Where the peer draws the
//! line between loss events is its affair (RFC 4342, section 9.2); only what contradicts itself is
//! refused.

use fairwire_cc::tfrc::LossAverage;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use super::departures::Departures;
use super::report::Intervals;

/// Intervals that count: the current one and eight before it.
const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;
/// A lossless length that may stand for a longer one: the field's largest.
const SATURATED: u32 = (1 << 24) - 1;

/// What the peer has reported so far.
#[derive(Clone, Debug)]
pub(super) struct ReportedIntervals {
    /// The mean of no intervals.
    empty: LossAverage,
    average: LossAverage,
    /// Where the newest interval known begins, once there was a loss event.
    newest_start: Option<Seq>,
    /// For small packets: what tells short intervals from long ones.
    small: Option<ShortIntervals>,
}

/// Which intervals are short (RFC 4828, section 4.4).
#[derive(Clone, Debug)]
struct ShortIntervals {
    departures: Departures,
    /// Where closed intervals begin, and whether they were short when they were first told as
    /// closed: that stays. A ring.
    closed: [Option<(Seq, bool)>; COUNTED],
    next: usize,
}

/// The intervals of one report with what they count as, newest first.
struct Counted {
    lengths: [f64; COUNTED],
    short: [bool; COUNTED],
}

impl ReportedIntervals {
    /// Nothing reported yet, for a mean that is `empty`. `small_packets` lets short intervals count by
    /// their losses.
    pub(super) const fn new(empty: LossAverage, small_packets: bool) -> Self {
        let small = if small_packets {
            Some(ShortIntervals {
                departures: Departures::new(),
                closed: [None; COUNTED],
                next: 0,
            })
        } else {
            None
        };
        Self {
            empty,
            average: empty,
            newest_start: None,
            small,
        }
    }

    /// Nothing that was reported before packet `seq` counts any more: a loss event begins with it, and
    /// each interval before it was no longer than `most` packets, or than they are on average now if
    /// that is less.
    pub(super) fn begin_anew(&mut self, seq: Seq, most: f64) {
        let p = self.average.p();
        let length = if p > 0.0 { most.min(1.0 / p) } else { most };
        self.average = self.empty;
        self.average.begin_first(length);
        for i in 2..COUNTED {
            self.average.set(i, length);
        }
        self.newest_start = Some(seq);
    }

    /// Packet `seq` leaves now.
    pub(super) fn on_sent(&mut self, seq: Seq, now: Instant) {
        if let Some(small) = &mut self.small {
            small.departures.push(seq, now);
        }
    }

    /// Takes a report on a packet that acknowledges `ackno`, with `rtt` as the round-trip time
    /// known before it. Returns the loss event rate and whether there are new loss events; `None`
    /// if the intervals contradict themselves.
    pub(super) fn observe(
        &mut self,
        ackno: Seq,
        report: &Intervals,
        rtt: Duration,
    ) -> Option<(f64, bool)> {
        let intervals = report.as_slice();
        let newest = intervals.first()?;
        // RFC 4342, 6.1: every interval but the first of the connection begins with a loss.
        let with_loss = intervals.iter().take_while(|i| i.loss_length > 0).count();
        if with_loss + 1 < intervals.len() {
            return None;
        }
        let after_newest = ackno.next().sub(u64::from(report.skip));
        let start = after_newest.sub(sequence_length(newest));
        if with_loss == 0 {
            // No loss event, or none any more.
            self.average = self.empty;
            self.newest_start = None;
            return Some((0.0, false));
        }
        let counted = self.counted(report, after_newest, rtt);
        let new = self.new_events(start, intervals).min(with_loss);
        for i in (0..new).rev() {
            // Each event closes the interval before it with the length that this one has now.
            if i + 1 < intervals.len() {
                self.average.set_current_short(counted.short[i + 1]);
                self.average.set(0, counted.lengths[i + 1]);
            }
            self.average.begin();
        }
        self.average.set_current_short(counted.short[0]);
        for (i, &length) in counted.lengths[..intervals.len()].iter().enumerate() {
            self.average.set(i, length);
        }
        if new > 0 {
            self.newest_start = Some(start);
        }
        Some((self.average.p(), new > 0))
    }

    /// What the intervals count as, the newest of which ends just before `after_newest`.
    fn counted(&mut self, report: &Intervals, after_newest: Seq, rtt: Duration) -> Counted {
        let mut counted = Counted {
            lengths: [0.0; COUNTED],
            short: [false; COUNTED],
        };
        let mut end = after_newest;
        for (i, interval) in report.as_slice().iter().enumerate().take(COUNTED) {
            let start = end.sub(sequence_length(interval));
            let length = data_length(interval);
            // The first interval of all has no loss to be counted by, and one whose length has
            // reached its largest value is not short.
            let may_be_short = interval.loss_length > 0 && interval.lossless_length < SATURATED;
            counted.short[i] = may_be_short
                && self.small.as_mut().is_some_and(|small| match i {
                    // The current one reaches to the newest packet that it holds.
                    0 => small.is_short(start, end.prev(), rtt),
                    _ => small.was_short(start, end, rtt),
                });
            counted.lengths[i] = if counted.short[i] {
                // RFC 4828, 4.4: N / K.
                length / f64::from(report.drops(i).max(1))
            } else {
                length
            };
            end = start;
        }
        counted
    }

    /// How many of `intervals`, the newest of which begins at `start`, have not been seen before.
    fn new_events(&self, start: Seq, intervals: &[LossInterval]) -> usize {
        let Some(known) = self.newest_start else {
            return intervals.len();
        };
        let mut start = start;
        let mut new = 0;
        for (i, interval) in intervals.iter().enumerate() {
            if i > 0 {
                start = start.sub(sequence_length(interval));
            }
            // Where a length has reached its largest value, only the peer knows where the
            // interval begins; one so long is not new.
            if interval.lossless_length == SATURATED || !start.is_after(known) {
                break;
            }
            new += 1;
        }
        new
    }
}

impl ShortIntervals {
    /// Did packet `end` leave no more than two round trips after packet `start`? What is forgotten
    /// left long ago: if both are, nothing is known, and their losses count.
    fn is_short(&self, start: Seq, end: Seq, rtt: Duration) -> bool {
        match (self.departures.of(start), self.departures.of(end)) {
            (Some(start), Some(end)) => end.saturating_since(start) <= rtt * 2,
            // The peer reports what was never sent.
            _ => true,
        }
    }

    /// Was the closed interval from `start` to just before `end`, where the next one begins,
    /// short?
    fn was_short(&mut self, start: Seq, end: Seq, rtt: Duration) -> bool {
        if let Some((_, short)) = self.closed.iter().flatten().find(|(of, _)| *of == start) {
            return *short;
        }
        let short = self.is_short(start, end, rtt);
        self.closed[self.next] = Some((start, short));
        self.next = (self.next + 1) % COUNTED;
        short
    }
}

fn sequence_length(interval: &LossInterval) -> u64 {
    u64::from(interval.lossless_length) + u64::from(interval.loss_length)
}

/// The data packets of an interval.
fn data_length(interval: &LossInterval) -> f64 {
    if interval.loss_length == 0 {
        // RFC 4342, 6.1.1: only the first interval's length is not bound to what was sent.
        return f64::from(interval.data_length);
    }
    let sequence_length = interval.lossless_length + interval.loss_length;
    // More data packets than packets cannot be.
    f64::from(interval.data_length.min(sequence_length))
}

#[cfg(test)]
mod tests;
