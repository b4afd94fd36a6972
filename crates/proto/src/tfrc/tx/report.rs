//! The options of a feedback packet (RFC 4342, sections 6 and 8).

use fairwire_units::Duration;
use fairwire_wire::{DropCounts, LossInterval, NO_LOSS};

use crate::packet_options::{PacketOptions, SkippedIntervals};

/// The number of intervals that count: the current one and eight before it.
const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;

/// The contents of one report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Report {
    /// The loss event rate, 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// The newest loss intervals.
    pub intervals: Option<Intervals>,
    /// How long the peer held the acknowledged packet. Zero if it does not say, which can only make the round-trip time
    /// look longer.
    pub elapsed: Duration,
}

/// The newest intervals of the Loss Intervals options, with their Drop Counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intervals {
    /// Packets before and including the acknowledged one that are in no interval.
    pub skip: u8,
    newest_first: [LossInterval; COUNTED],
    len: usize,
    drops: Drops,
}

/// The newest counts of the Dropped Packets options.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Drops {
    newest_first: [u32; COUNTED],
    len: usize,
}

impl Drops {
    fn of(options: &PacketOptions<'_>) -> Self {
        let mut drops = Self::default();
        let counts = options.drop_counts.iter().flat_map(DropCounts::iter);
        for (place, count) in drops.newest_first.iter_mut().zip(counts) {
            *place = count;
            drops.len += 1;
        }
        drops
    }
}

impl Intervals {
    /// Returns the intervals that `options` report.
    fn of(options: &PacketOptions<'_>) -> Option<Self> {
        let mut kept: Option<Self> = None;
        for SkippedIntervals { skip, intervals } in options.loss_intervals.iter() {
            // RFC 4342, 8.6.1: a further option continues where the first one ended. If it skips packets, it is
            // ignored.
            if kept.is_some() && skip != 0 {
                continue;
            }
            let kept = kept.get_or_insert_with(|| Self::new(skip));
            let places = kept.newest_first[kept.len..].iter_mut();
            for (place, interval) in places.zip(intervals.iter()) {
                *place = interval;
                kept.len += 1;
            }
        }
        // RFC 5622, 8.7: counts without intervals in the same packet have no meaning.
        let mut kept = kept?;
        kept.drops = Drops::of(options);
        Some(kept)
    }

    /// Creates an empty list.
    pub(super) fn new(skip: u8) -> Self {
        Self {
            skip,
            newest_first: [LossInterval::default(); COUNTED],
            len: 0,
            drops: Drops::default(),
        }
    }

    /// Adds the next older interval, of which `drops` packets were lost or marked. Intervals beyond those that count
    /// are left out.
    pub(super) fn push(&mut self, interval: LossInterval, drops: u32) {
        if self.len < COUNTED {
            self.newest_first[self.len] = interval;
            self.drops.newest_first[self.len] = drops;
            self.len += 1;
            self.drops.len = self.len;
        }
    }

    /// Returns the intervals, newest first; at most nine.
    pub(super) fn as_slice(&self) -> &[LossInterval] {
        &self.newest_first[..self.len]
    }

    /// Sets the number of data packets of the oldest interval.
    pub(super) fn set_oldest_data_length(&mut self, packets: u32) {
        if let Some(oldest) = self.newest_first[..self.len].last_mut() {
            oldest.data_length = packets;
        }
    }

    /// Returns how many packets of interval `index` were lost or marked.
    pub(super) fn drops(&self, index: usize) -> u32 {
        let all = self.as_slice().get(index).map_or(0, |i| i.loss_length);
        match self.drops.newest_first[..self.drops.len].get(index) {
            // RFC 5622, 8.7: no more than the lossy part has.
            Some(&count) => count.min(all),
            // RFC 5622, 8.7: without a count, all of the lossy part counts as lost.
            None => all,
        }
    }
}

impl Report {
    /// Reads the report from the options of a packet with an acknowledgement number.
    pub(super) fn of(options: &PacketOptions<'_>) -> Self {
        Self {
            loss_event_rate: options.loss_event_rate.map(loss_event_rate),
            intervals: Intervals::of(options),
            elapsed: options.elapsed.unwrap_or(Duration::ZERO),
        }
    }
}

/// Returns the loss event rate. RFC 4342, 8.5: the option holds packets per loss interval, rounded up. Zero packets is
/// invalid and counts as the worst rate.
fn loss_event_rate(inverse: u32) -> f64 {
    match inverse {
        NO_LOSS => 0.0,
        packets => 1.0 / f64::from(packets.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{PacketOptions, Report};
    use fairwire_units::Duration;
    use fairwire_wire::Options;

    fn read(area: &[u8]) -> Report {
        Report::of(&PacketOptions::read(Options::new(area)))
    }

    /// RFC 4342, 8: the options are read from their bytes, with elapsed time in units of 10 microseconds.
    #[test]
    fn options_are_read() {
        let bytes = [
            43, 4, 1, 0, // Elapsed Time 2.56 ms
            192, 6, 0, 0, 0, 100, // Loss Event Rate 1 in 100
            193, 12, 2, 0, 0, 10, 0, 0, 1, 0, 0, 11, // one interval
        ];
        let report = read(&bytes);
        assert_eq!(report.loss_event_rate, Some(0.01));
        assert_eq!(report.elapsed, Duration::from_micros(2_560));
        let intervals = report.intervals.expect("an interval");
        assert_eq!(intervals.skip, 2);
        assert_eq!(intervals.as_slice()[0].lossless_length, 10);
        assert_eq!(intervals.as_slice().len(), 1);
    }

    /// RFC 4340, 5.8: if an option occurs twice, the last valid one counts.
    #[test]
    fn the_last_of_several_counts() {
        let bytes = [
            43, 4, 0, 1, 43, 4, 0, 2, 43, 3, 9, // Elapsed Time 10 us, 20 us, invalid
            192, 6, 0, 0, 0, 100, 192, 6, 0, 0, 0, 50, // 1 in 100, then 1 in 50
        ];
        let report = read(&bytes);
        assert_eq!(report.elapsed, Duration::from_micros(20));
        assert_eq!(report.loss_event_rate, Some(0.02));
    }

    /// RFC 4342, 8.5: all ones means no loss. Zero is invalid and counts as every packet lost.
    #[test]
    fn extreme_loss_event_rates() {
        let no_loss = [192, 6, 255, 255, 255, 255];
        assert_eq!(read(&no_loss).loss_event_rate, Some(0.0));
        let zero = [192, 6, 0, 0, 0, 0];
        assert_eq!(read(&zero).loss_event_rate, Some(1.0));
    }

    /// RFC 5622, 8.7.1: the example has Loss Intervals and Dropped Packets of four intervals.
    #[test]
    fn the_drop_counts_of_the_rfc() {
        let bytes = [
            193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0,
            1, 0, 0, 8, 0, 0, 10, 128, 0, 0, 0, 0, 15, //
            195, 14, 0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0,
        ];
        let intervals = read(&bytes).intervals;
        let intervals = intervals.expect("four intervals");
        let drops: Vec<_> = (0..4).map(|i| intervals.drops(i)).collect();
        assert_eq!(drops, [1, 4, 1, 0]);
    }

    /// RFC 5622, 8.7: a count beyond the Loss Length, or a missing one, counts as the Loss Length. A second option
    /// continues where the first ended, whether it comes before or after the intervals. Counts alone have no meaning.
    #[test]
    fn item_28_odd_drop_counts() {
        let counts = [195, 8, 0, 0, 9, 0, 0, 1, 195, 5, 0, 0, 2];
        let intervals = [
            193, 39, 0, 0, 0, 10, 0, 0, 3, 0, 0, 13, 0, 0, 8, 0, 0, 5, 0, 0, 13, 0, 0, 8, 0, 0, 7,
            0, 0, 15, 0, 0, 10, 0, 0, 6, 0, 0, 16,
        ];
        for order in [[&counts[..], &intervals], [&intervals, &counts]] {
            let report = read(&order.concat()).intervals;
            let report = report.expect("four intervals");
            let drops: Vec<_> = (0..5).map(|i| report.drops(i)).collect();
            assert_eq!(drops, [3, 1, 2, 6, 0]);
        }
        assert_eq!(read(&counts), Report::default());
    }

    /// RFC 4342, 8.6.1: intervals may be spread over several options; nine of them count.
    #[test]
    fn several_options_continue_each_other() {
        let one = |skip, n: u8| [193, 12, skip, 0, 0, n, 0, 0, 1, 0, 0, n + 1];
        let mut bytes = one(3, 1).to_vec();
        for n in 2..=11 {
            bytes.extend(one(0, n));
            bytes.extend(one(1, 99));
        }
        let report = read(&bytes).intervals;
        let report = report.expect("intervals");
        let told: Vec<_> = report
            .as_slice()
            .iter()
            .map(|i| i.lossless_length)
            .collect();
        assert_eq!((report.skip, told), (3, (1..=9).collect()));
    }

    /// RFC 4342, 8.6.1: intervals that skip more than three packets are ignored, and so is a second option that skips.
    /// The rest of the packet still counts.
    #[test]
    fn item_28_odd_intervals_are_ignored() {
        let bytes = [
            193, 12, 4, 0, 0, 10, 0, 0, 1, 0, 0, 11, // skips four
            193, 12, 0, 0, 0, 20, 0, 0, 1, 0, 0, 21, //
            193, 12, 1, 0, 0, 30, 0, 0, 1, 0, 0, 31, // a second one that skips
            192, 6, 0, 0, 0, 100,
        ];
        let report = read(&bytes);
        let intervals = report.intervals.expect("the valid one");
        let told = intervals.as_slice().iter().map(|i| i.lossless_length);
        assert_eq!(told.collect::<Vec<_>>(), [20]);
        assert_eq!(report.loss_event_rate, Some(0.01));
    }
}
