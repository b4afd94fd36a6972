//! The loss event rate computed from the intervals that the peer reports (RFC 4342, section 8.6; RFC 5622, section
//! 6.1).
//!
//! The peer reports the lengths; weights, mean and history discounting are ours. The sequence number with which an
//! interval begins identifies it from report to report. With small packets, the length of a short interval is divided
//! by its losses; its duration follows from when its packets left. The peer decides which losses form one loss event
//! (RFC 4342, section 9.2). Only a report that contradicts itself is rejected.

use fairwire_cc::tfrc::LossAverage;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use super::departures::Departures;
use super::report::Intervals;

/// The number of intervals that count: the current one and eight before it.
const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;
/// The largest value of the Lossless Length field; the real length may be larger.
const SATURATED: u32 = (1 << 24) - 1;

/// The loss intervals that the peer has reported so far.
#[derive(Clone, Debug)]
pub(super) struct ReportedIntervals {
    /// The mean as configured, without intervals.
    empty: LossAverage,
    average: LossAverage,
    /// Where the newest known interval begins, once there was a loss event.
    newest_start: Option<Seq>,
    /// For small packets: the state that tells short intervals from long ones.
    small: Option<ShortIntervals>,
}

/// The state that decides which intervals are short (RFC 4828, section 4.4).
#[derive(Clone, Debug)]
struct ShortIntervals {
    departures: Departures,
    /// A ring of closed intervals: where each begins, and whether it was short when first reported as closed. That
    /// decision does not change later.
    closed: [Option<(Seq, bool)>; COUNTED],
    next: usize,
}

/// The intervals of one report with the lengths that they count as, newest first.
struct Counted {
    lengths: [f64; COUNTED],
    short: [bool; COUNTED],
}

impl ReportedIntervals {
    /// Creates a history without reports; `empty` is the mean to use. With `small_packets`, short intervals are divided
    /// by their number of losses.
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

    /// Discards what was reported before packet `seq`: a loss event begins with that packet. Each interval before it
    /// counts as `most` packets, or as the present mean interval if that is shorter.
    pub(super) fn restart(&mut self, seq: Seq, most: f64) {
        let p = self.average.p();
        let length = if p > 0.0 { most.min(1.0 / p) } else { most };
        self.average = self.empty;
        self.average.begin_first(length);
        for i in 2..COUNTED {
            self.average.set(i, length);
        }
        self.newest_start = Some(seq);
    }

    /// Records that packet `seq` leaves now.
    pub(super) fn on_sent(&mut self, seq: Seq, now: Instant) {
        if let Some(small) = &mut self.small {
            small.departures.push(seq, now);
        }
    }

    /// Takes a report in a packet that acknowledges `ackno`; `rtt` is the round-trip time known before it. Returns the
    /// loss event rate and whether there are new loss events; `None` if the intervals contradict themselves.
    pub(super) fn observe(
        &mut self,
        ackno: Seq,
        report: &Intervals,
        rtt: Duration,
    ) -> Option<(f64, bool)> {
        let intervals = report.as_slice();
        let newest = intervals.first()?;
        // RFC 4342, 6.1: every interval except the first of the connection begins with a loss.
        let with_loss = intervals.iter().take_while(|i| i.loss_length > 0).count();
        if with_loss + 1 < intervals.len() {
            return None;
        }
        let after_newest = ackno.next().sub(u64::from(report.skip));
        let start = after_newest.sub(sequence_length(newest));
        if with_loss == 0 {
            // No loss event yet, or all have been forgotten.
            self.average = self.empty;
            self.newest_start = None;
            return Some((0.0, false));
        }
        let counted = self.counted(report, after_newest, rtt);
        let new = self.new_events(start, intervals).min(with_loss);
        for i in (0..new).rev() {
            // Each event closes the interval before it, with the length that the report gives now.
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

    /// Returns the lengths that the intervals count as. The newest interval ends just before `after_newest`.
    fn counted(&mut self, report: &Intervals, after_newest: Seq, rtt: Duration) -> Counted {
        let mut counted = Counted {
            lengths: [0.0; COUNTED],
            short: [false; COUNTED],
        };
        let mut end = after_newest;
        for (i, interval) in report.as_slice().iter().enumerate().take(COUNTED) {
            let start = end.sub(sequence_length(interval));
            let length = data_length(interval);
            // The very first interval begins without a loss, so there is no number of losses to divide by. An interval
            // whose length has reached the field's maximum is not short.
            let may_be_short = interval.loss_length > 0 && interval.lossless_length < SATURATED;
            counted.short[i] = may_be_short
                && self.small.as_mut().is_some_and(|small| match i {
                    // The current interval ends with the newest packet that it holds.
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

    /// Returns how many of `intervals` are new; the newest of them begins at `start`.
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
            // If a length has reached the field's maximum, only the peer knows where the interval begins. An interval
            // that long is not new.
            if interval.lossless_length == SATURATED || !start.is_after(known) {
                break;
            }
            new += 1;
        }
        new
    }
}

impl ShortIntervals {
    /// Returns whether packet `end` left at most two round trips after packet `start`. A forgotten packet counts as
    /// having left with the oldest one remembered. If both are forgotten, the interval therefore counts as short.
    fn is_short(&self, start: Seq, end: Seq, rtt: Duration) -> bool {
        match (self.departures.of(start), self.departures.of(end)) {
            (Some(start), Some(end)) => end.saturating_since(start) <= rtt * 2,
            // The peer reports packets that were never sent.
            _ => true,
        }
    }

    /// Returns whether the closed interval from `start` to just before `end`, where the next one begins, was short.
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

/// Returns the number of data packets of an interval.
fn data_length(interval: &LossInterval) -> f64 {
    if interval.loss_length == 0 {
        // RFC 4342, 6.1.1: only the first interval's length is not limited to what was sent.
        return f64::from(interval.data_length);
    }
    let sequence_length = interval.lossless_length + interval.loss_length;
    // An interval cannot have more data packets than packets.
    f64::from(interval.data_length.min(sequence_length))
}

#[cfg(test)]
mod tests;
