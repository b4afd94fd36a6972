//! Loss intervals: the current one and the closed ones.

/// A loss interval as the receiver reports it (RFC 5348, section 5.3; RFC 4342, section 6.1.1).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReportedInterval {
    /// The first sequence number of the interval.
    pub first: u64,
    /// The number of sequence numbers in the lossy part, from the first to the last loss or mark. Zero in the interval
    /// before the first loss.
    pub loss_length: u64,
    /// The number of sequence numbers in the lossless part.
    pub lossless_length: u64,
    /// The number of data packets, at least one. Zero before the first loss event; after it, the first interval has the
    /// length for which it counts.
    pub data_length: u64,
    /// The number of data packets lost or marked, at most the length of the lossy part (RFC 5622, section 8.7).
    pub drops: u64,
}

/// The current interval, to which the newest packets belong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    first: u64,
    /// The last packet of the lossy part.
    newest_loss: Option<u64>,
    /// The number of packets without data.
    pub(super) non_data: u64,
    /// The number of data packets lost or marked.
    pub(super) drops: u64,
}

impl Open {
    pub(super) const fn new(first: u64) -> Self {
        Self {
            first,
            newest_loss: None,
            non_data: 0,
            drops: 0,
        }
    }

    /// Returns the number of data packets if the interval ends with packet `last`.
    pub(super) const fn data_packets(&self, last: u64) -> u64 {
        self.sequence_length(last).saturating_sub(self.non_data)
    }

    /// Returns the length for which the interval counts if it ends with packet `last`.
    pub(super) fn data_length(&self, last: u64) -> u64 {
        // RFC 4342, 6.1.1: at least one, even if most packets carry no data.
        self.data_packets(last).max(1)
    }

    /// Returns the interval as it is if it ends with packet `last`.
    pub(super) fn seen(&self, last: u64, after_a_loss: bool) -> ReportedInterval {
        let loss_length = self
            .newest_loss
            .map_or(0, |newest| newest.saturating_add(1) - self.first);
        ReportedInterval {
            first: self.first,
            loss_length,
            lossless_length: self.sequence_length(last).saturating_sub(loss_length),
            // RFC 4342, 6.1.1: zero until the first loss event.
            data_length: if after_a_loss {
                self.data_length(last)
            } else {
                0
            },
            drops: self.drops,
        }
    }

    /// Counts packets `first` to `last` as lost or marked.
    pub(super) const fn lose(&mut self, first: u64, last: u64) {
        self.newest_loss = Some(last);
        self.drops = self.drops.saturating_add(last - first).saturating_add(1);
    }

    /// Returns the packets per loss of a short interval that ends with packet `last` (RFC 4828, section 4.4).
    pub(super) fn packets_per_loss(&self, last: u64) -> f64 {
        self.data_length(last) as f64 / self.drops.max(1) as f64
    }

    const fn sequence_length(&self, last: u64) -> u64 {
        last.saturating_add(1).saturating_sub(self.first)
    }
}

/// The newest closed intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    /// The intervals, newest first.
    intervals: [ReportedInterval; Self::MAX],
    len: usize,
}

impl Closed {
    /// With the current interval, as many as a Loss Intervals option holds (RFC 4342, section 8.6.1).
    pub(super) const MAX: usize = 27;

    pub(super) const fn new() -> Self {
        Self {
            intervals: [ReportedInterval {
                first: 0,
                loss_length: 0,
                lossless_length: 0,
                data_length: 0,
                drops: 0,
            }; Self::MAX],
            len: 0,
        }
    }

    pub(super) fn push(&mut self, interval: ReportedInterval) {
        self.intervals.rotate_right(1);
        self.intervals[0] = interval;
        self.len = (self.len + 1).min(Self::MAX);
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = ReportedInterval> {
        self.intervals[..self.len].iter().copied()
    }
}
