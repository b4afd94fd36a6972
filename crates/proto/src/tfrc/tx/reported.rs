//! The loss event rate from the intervals that the peer reports (RFC 4342, section 8.6).
//!
//! The lengths are the peer's; weights and history discounting are ours. An interval is known
//! again by the sequence number it begins with. Where the peer draws the line between loss events
//! is its affair (RFC 4342, section 9.2); only what contradicts itself is refused.

use fairwire_cc::tfrc::LossAverage;
use fairwire_wire::{LossInterval, Seq};

use super::report::Intervals;

/// A lossless length that may stand for a longer one: the field's largest.
const SATURATED: u32 = (1 << 24) - 1;

/// What the peer has reported so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedIntervals {
    discounting: bool,
    average: LossAverage,
    /// Where the newest interval known begins, once there was a loss event.
    newest_start: Option<Seq>,
}

impl ReportedIntervals {
    pub(super) const fn new(discounting: bool) -> Self {
        Self {
            discounting,
            average: LossAverage::new(discounting),
            newest_start: None,
        }
    }

    /// Takes a report on a packet that acknowledges `ackno`. Returns the loss event rate and
    /// whether there are new loss events; `None` if the intervals contradict themselves.
    pub(super) fn observe(&mut self, ackno: Seq, report: &Intervals) -> Option<(f64, bool)> {
        let intervals = report.as_slice();
        let (newest, older) = intervals.split_first()?;
        // RFC 4342, 6.1: every interval but the first of the connection begins with a loss.
        let with_loss = intervals.iter().take_while(|i| i.loss_length > 0).count();
        if with_loss + 1 < intervals.len() {
            return None;
        }
        let after_newest = ackno.next().sub(u64::from(report.skip));
        let start = after_newest.sub(sequence_length(newest));
        if with_loss == 0 {
            // No loss event, or none any more.
            *self = Self::new(self.discounting);
            return Some((0.0, false));
        }
        let new = self.new_events(start, intervals).min(with_loss);
        for i in (0..new).rev() {
            // Each event closes the interval before it with the length that this one has now.
            if let Some(before) = intervals.get(i + 1) {
                self.average.set(0, data_length(before));
            }
            self.average.begin();
        }
        self.average.set(0, data_length(newest));
        for (i, interval) in older.iter().enumerate() {
            self.average.set(i + 1, data_length(interval));
        }
        if new > 0 {
            self.newest_start = Some(start);
        }
        Some((self.average.p(), new > 0))
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

fn sequence_length(interval: &LossInterval) -> u64 {
    u64::from(interval.lossless_length) + u64::from(interval.loss_length)
}

/// What an interval counts as.
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
