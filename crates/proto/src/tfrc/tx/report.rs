//! The options of a feedback packet (RFC 4342, sections 6 and 8).

use fairwire_units::Duration;
use fairwire_wire::{DccpOption, LossInterval, NO_LOSS, Options};

/// As many intervals as count: the current one and eight before it.
const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;

/// What one packet reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Report {
    /// Bytes per second.
    pub receive_rate: Option<u32>,
    /// The loss event rate, 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// The newest loss intervals.
    pub intervals: Option<Intervals>,
    /// How long the peer held the acknowledged packet; zero where it does not say so, which can
    /// only make the round trip look longer.
    pub elapsed: Duration,
}

/// The head of a Loss Intervals option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intervals {
    /// Packets up to the acknowledged one that are in no interval.
    pub skip: u8,
    newest_first: [LossInterval; COUNTED],
    len: usize,
}

impl Intervals {
    /// The intervals, newest first; at least one, at most nine.
    pub(super) fn as_slice(&self) -> &[LossInterval] {
        &self.newest_first[..self.len]
    }
}

impl Report {
    /// Reads the options of a packet that has an acknowledgement number. Invalid ones count as
    /// absent.
    pub(super) fn read(options: Options<'_>) -> Self {
        let mut report = Self::default();
        for option in options.iter().filter_map(|raw| raw.decode().ok()) {
            match option {
                // RFC 4340, 5.8: options are processed one by one, so of several the last counts.
                DccpOption::ReceiveRate(rate) => report.receive_rate = Some(rate),
                DccpOption::LossEventRate(inverse) => {
                    report.loss_event_rate = Some(loss_event_rate(inverse));
                }
                DccpOption::LossIntervals { skip, intervals } => {
                    // RFC 4342, 8.6.1: a second option only continues a first one that is full,
                    // with more intervals than count.
                    report.intervals.get_or_insert_with(|| {
                        let mut newest_first = [LossInterval::default(); COUNTED];
                        let mut len = 0;
                        for (place, interval) in newest_first.iter_mut().zip(intervals.iter()) {
                            *place = interval;
                            len += 1;
                        }
                        Intervals {
                            skip,
                            newest_first,
                            len,
                        }
                    });
                }
                DccpOption::ElapsedTime(units) => {
                    report.elapsed = Duration::from_micros(10) * u64::from(units);
                }
                _ => {}
            }
        }
        report
    }
}

/// RFC 4342, 8.5: the option holds packets per loss interval, rounded up. Zero packets make no
/// sense and count as the worst.
fn loss_event_rate(inverse: u32) -> f64 {
    match inverse {
        NO_LOSS => 0.0,
        packets => 1.0 / f64::from(packets.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use fairwire_units::Duration;
    use fairwire_wire::Options;

    /// RFC 4342, 8: the options as bytes, elapsed time in tens of microseconds.
    #[test]
    fn options_are_read() {
        let bytes = [
            43, 4, 1, 0, // Elapsed Time 2.56 ms
            194, 6, 0, 0, 4, 0, // Receive Rate 1024
            192, 6, 0, 0, 0, 100, // Loss Event Rate 1 in 100
            193, 12, 2, 0, 0, 10, 0, 0, 1, 0, 0, 11, // one interval
        ];
        let report = Report::read(Options::new(&bytes));
        assert_eq!(report.receive_rate, Some(1_024));
        assert_eq!(report.loss_event_rate, Some(0.01));
        assert_eq!(report.elapsed, Duration::from_micros(2_560));
        let intervals = report.intervals.expect("an interval");
        assert_eq!(intervals.skip, 2);
        assert_eq!(intervals.as_slice()[0].lossless_length, 10);
        assert_eq!(intervals.as_slice().len(), 1);
    }

    /// RFC 4340, 5.8: of an option that comes twice the last valid one counts.
    #[test]
    fn the_last_of_several_counts() {
        let bytes = [
            43, 4, 0, 1, 43, 4, 0, 2, 43, 3, 9, // Elapsed Time 10 us, 20 us, and a nonsense
            194, 6, 0, 0, 0, 1, 194, 6, 0, 0, 0, 2, // Receive Rate 1, then 2
            192, 6, 0, 0, 0, 100, 192, 6, 0, 0, 0, 50, // 1 in 100, then 1 in 50
        ];
        let report = Report::read(Options::new(&bytes));
        assert_eq!(report.elapsed, Duration::from_micros(20));
        assert_eq!(report.receive_rate, Some(2));
        assert_eq!(report.loss_event_rate, Some(0.02));
    }

    /// RFC 4342, 8.5: all ones is no loss. Zero is nonsense and counts as every packet lost.
    #[test]
    fn extreme_loss_event_rates() {
        let no_loss = [192, 6, 255, 255, 255, 255];
        assert_eq!(
            Report::read(Options::new(&no_loss)).loss_event_rate,
            Some(0.0)
        );
        let zero = [192, 6, 0, 0, 0, 0];
        assert_eq!(Report::read(Options::new(&zero)).loss_event_rate, Some(1.0));
    }

    /// RFC 4342, 8.6.1: intervals that skip more than three packets are ignored, and so is a
    /// second option; the rest of the packet still counts.
    #[test]
    fn odd_intervals_are_ignored() {
        let bytes = [
            193, 12, 4, 0, 0, 10, 0, 0, 1, 0, 0, 11, // skips four
            193, 12, 0, 0, 0, 20, 0, 0, 1, 0, 0, 21, //
            193, 12, 1, 0, 0, 30, 0, 0, 1, 0, 0, 31, // a second one that skips
            194, 6, 0, 0, 0, 9,
        ];
        let report = Report::read(Options::new(&bytes));
        let intervals = report.intervals.expect("the valid one");
        assert_eq!(intervals.as_slice()[0].lossless_length, 20);
        assert_eq!(report.receive_rate, Some(9));
    }
}
