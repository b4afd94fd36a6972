//! From arriving packets to loss intervals (RFC 5348, sections 5.1 to 5.3).
//!
//! Packets are processed in order of sequence number. A packet behind a gap waits until the gap is filled, or until
//! three packets have arrived after the gap. A decision is final: a packet that arrives later still counts as lost (RFC
//! 5348, 5.1, permits a receiver to correct this).
//!
//! For small packets ([`LossHistory::with_small_packets`]) a loss interval of at most two round trips counts as packets
//! per loss instead of packets (RFC 5622, section 6.1). Many small packets may be lost in the time in which TCP sends a
//! single large one.

mod grouping;
mod interval;

#[cfg(test)]
mod tests;

pub use grouping::{ByTime, Grouping};
pub use interval::ReportedInterval;

use super::LossAverage;
use interval::{Closed, Open};

/// The number of packets that must arrive after a gap before it counts as a loss (RFC 5348, section 5.1).
const NDUPACK: usize = 3;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPacket<S> {
    /// The sequence number, extended so that it does not wrap.
    pub seq: u64,
    /// The information that the grouping needs about the packet.
    pub stamp: S,
    /// Whether the packet carries data. A packet without data is part of the sequence but not of the length of loss
    /// intervals. Neither its loss nor a mark on it is congestion of the data.
    pub is_data: bool,
    /// Whether the packet carried a congestion mark.
    pub marked: bool,
    /// The number of packets just before it that carry no data, as far as the sender says so.
    pub non_data_before: u64,
}

/// The loss detection, loss events and loss intervals of one flow, in bounded memory.
#[derive(Clone, Debug)]
pub struct LossHistory<G: Grouping> {
    grouping: G,
    /// The newest decided packet; all packets before it are decided as well.
    edge: u64,
    edge_stamp: Option<G::Stamp>,
    /// Packets behind a gap, in order of sequence number; the first `waiting_len` entries are valid.
    waiting: [Option<ReceivedPacket<G::Stamp>>; NDUPACK],
    waiting_len: usize,
    /// The stamp at which the current loss event began.
    event: Option<G::Stamp>,
    open: Open,
    closed: Closed,
    average: LossAverage,
    events: u64,
    /// Whether short intervals count as packets per loss.
    small_packets: bool,
}

impl<G: Grouping> LossHistory<G> {
    /// Creates the history of packets after number `before`; `average`, which must be empty, will hold the intervals.
    pub fn new(grouping: G, before: u64, average: LossAverage) -> Self {
        Self {
            grouping,
            edge: before,
            edge_stamp: None,
            waiting: [None; NDUPACK],
            waiting_len: 0,
            event: None,
            open: Open::new(before.saturating_add(1)),
            closed: Closed::new(),
            average,
            events: 0,
            small_packets: false,
        }
    }

    /// Returns this history for small packets: short intervals count as packets per loss.
    #[must_use]
    pub fn with_small_packets(mut self) -> Self {
        self.small_packets = true;
        self
    }

    /// Records the arrival of a packet and returns whether new loss events began.
    ///
    /// `first_length` is called only at the first loss event. It gets the real number of data packets in the interval
    /// before that event, and returns the length for which this interval counts (RFC 5348, section 6.3.1).
    pub fn receive(
        &mut self,
        packet: ReceivedPacket<G::Stamp>,
        first_length: impl Fn(u64) -> f64,
    ) -> bool {
        let events = self.events;
        if packet.seq > self.edge && self.insert(packet) {
            self.decide(&first_length);
            if let (Some(event), Some(end)) = (self.event, self.edge_stamp) {
                let is_short = self.small_packets && self.grouping.is_short(event, end);
                self.average.set_current_short(is_short);
                self.average
                    .set(0, self.counted_length(self.edge, is_short));
            }
        }
        self.events != events
    }

    /// Returns the present loss event rate; 0 before the first loss event.
    pub fn p(&self) -> f64 {
        self.average.p()
    }

    /// Returns the number of loss events so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the newest packet that belongs to an interval; later packets are not decided yet.
    pub const fn edge(&self) -> u64 {
        self.edge
    }

    /// Returns the rule that groups losses to loss events.
    pub const fn grouping(&self) -> &G {
        &self.grouping
    }

    /// Returns the grouping rule for adjustment, for example to a better round-trip time.
    pub const fn grouping_mut(&mut self) -> &mut G {
        &mut self.grouping
    }

    /// Returns the intervals, newest first: the current one and up to [`Self::MAX_INTERVALS`] - 1 closed ones.
    ///
    /// The current one always exists (RFC 4342, section 8.6.1).
    pub fn intervals(&self) -> impl Iterator<Item = ReportedInterval> {
        let current = self.open.seen(self.edge, self.events > 0);
        std::iter::once(current).chain(self.closed.newest_first())
    }

    /// The most intervals that are kept, the current one included.
    pub const MAX_INTERVALS: usize = Closed::MAX + 1;

    /// The most loss events that one packet makes of the gap before it.
    ///
    /// A longer gap has events in its first round trips and in its last ones; only these are remembered.
    pub const MAX_EVENTS: u64 = 4 * Self::MAX_INTERVALS as u64;

    /// Returns the length for which the current interval counts if it ends with packet `last`.
    fn counted_length(&self, last: u64, is_short: bool) -> f64 {
        if is_short {
            self.open.packets_per_loss(last)
        } else {
            self.open.data_length(last) as f64
        }
    }

    /// Inserts `packet` among the waiting ones; returns `false` if it is a copy of one of them.
    fn insert(&mut self, packet: ReceivedPacket<G::Stamp>) -> bool {
        // Fewer than NDUPACK packets wait between two arrivals, because the third decides the first gap.
        debug_assert!(self.waiting_len < NDUPACK, "a settled gap was left behind");
        let mut place = self.waiting_len;
        for (i, waiting) in self.waiting[..self.waiting_len]
            .iter()
            .flatten()
            .enumerate()
        {
            if waiting.seq == packet.seq {
                return false;
            }
            if waiting.seq > packet.seq {
                place = i;
                break;
            }
        }
        self.waiting[place..].rotate_right(1);
        self.waiting[place] = Some(packet);
        self.waiting_len += 1;
        true
    }

    /// Decides all packets that can be decided now.
    fn decide(&mut self, first_length: &impl Fn(u64) -> f64) {
        while let Some(next) = self.waiting[0] {
            let in_order = next.seq - self.edge == 1;
            // RFC 5348, 5.1: three packets after the gap make it a loss.
            let lost = self.waiting_len >= NDUPACK;
            // RFC 5348, 5.1: a mark is congestion at once, and packets missing before it count as lost with it.
            let marked = || self.waiting.iter().flatten().any(|w| w.marked && w.is_data);
            if !in_order && !lost && !marked() {
                return;
            }
            self.waiting[0] = None;
            self.waiting.rotate_left(1);
            self.waiting_len -= 1;
            self.take(next, first_length);
        }
    }

    /// Counts the gap before `packet`, if any, as lost, and makes `packet` the new edge.
    fn take(&mut self, packet: ReceivedPacket<G::Stamp>, first_length: &impl Fn(u64) -> f64) {
        let missing = packet.seq - self.edge - 1;
        let quiet = packet.non_data_before.min(missing);
        let gap = Gap {
            before: self.edge,
            before_stamp: self.edge_stamp.unwrap_or(packet.stamp),
            after_stamp: packet.stamp,
            span: missing + 1,
        };
        // RFC 4342, 6.1: a missing packet counts as data unless the sender's count says otherwise.
        self.lose(gap, missing - quiet, first_length);
        self.open.non_data = self.open.non_data.saturating_add(quiet);
        if !packet.is_data {
            self.open.non_data = self.open.non_data.saturating_add(1);
        } else if packet.marked {
            // RFC 5348, 5.2: the time of a marked packet is that of its own arrival.
            if self.is_separate(packet.stamp) {
                self.begin(packet.seq, packet.stamp, first_length);
            }
            self.open.lose(packet.seq, packet.seq);
        }
        self.edge_stamp = Some(match self.edge_stamp {
            Some(before) if !packet.is_data => self.grouping.without_data(before, packet.stamp),
            _ => packet.stamp,
        });
        self.edge = packet.seq;
    }

    /// Counts the first `count` packets of `gap` as lost.
    fn lose(&mut self, gap: Gap<G::Stamp>, count: u64, first_length: &impl Fn(u64) -> f64) {
        let (mut nth, mut event, mut events) = (1, None, 0);
        let mut guess = None;
        while nth <= count && events < Self::MAX_EVENTS {
            let first = self.first_separate(&gap, nth, count, guess);
            if first > nth {
                self.open.lose(gap.before + nth, gap.before + (first - 1));
            }
            if first > count {
                return;
            }
            let (seq, stamp) = (gap.before + first, self.stamp_of_lost(&gap, first));
            self.begin(seq, stamp, first_length);
            self.open.lose(seq, seq);
            events += 1;
            nth = first + 1;
            if let Some(before) = event.replace(first) {
                let apart = first - before;
                guess = Some(first.saturating_add(apart));
                // Events are equally far apart, to within one packet. If there are more than the kept intervals, the
                // older ones would drop out: so only the last ones are made.
                let kept = (apart + 1).saturating_mul(Self::MAX_INTERVALS as u64);
                if count - first > kept {
                    self.open
                        .lose(gap.before + nth, gap.before + (count - kept));
                    (nth, guess) = (count - kept + 1, None);
                }
            }
        }
        if nth <= count {
            self.open.lose(gap.before + nth, gap.before + count);
        }
    }

    /// Returns the first packet of `gap`, from `nth` to `count`, that is too far from the current event to belong to
    /// it.
    ///
    /// Returns `count + 1` if there is none. The search begins at `guess`.
    fn first_separate(&self, gap: &Gap<G::Stamp>, nth: u64, count: u64, guess: Option<u64>) -> u64 {
        let (mut low, mut high) = (nth, count + 1);
        // Nominal arrival times increase along the gap, so a binary search finds the packet. It begins once steps of
        // increasing width have found packets on both sides.
        let (mut below, mut above) = (guess.is_none(), guess.is_none());
        let mut at = guess.map_or(low + (high - low) / 2, |guess| guess.clamp(nth, count));
        let mut width = 1_u64;
        while low < high {
            let is_separate = self.is_separate(self.stamp_of_lost(gap, at));
            if is_separate {
                (high, above) = (at, true);
            } else {
                (low, below) = (at + 1, true);
            }
            let left = high - low;
            at = match (below, above) {
                (true, true) => low + left / 2,
                (true, false) => low + width.min(left.saturating_sub(1)),
                (false, _) => high - width.min(left),
            };
            width = width.saturating_mul(2);
        }
        low
    }

    fn stamp_of_lost(&self, gap: &Gap<G::Stamp>, nth: u64) -> G::Stamp {
        self.grouping
            .lost(gap.before_stamp, gap.after_stamp, nth, gap.span)
    }

    fn is_separate(&self, loss: G::Stamp) -> bool {
        self.event
            .is_none_or(|event| self.grouping.is_separate(event, loss))
    }

    /// Begins a loss event with packet `seq`.
    fn begin(&mut self, seq: u64, stamp: G::Stamp, first_length: &impl Fn(u64) -> f64) {
        let mut closed = self.open.seen(seq - 1, self.events > 0);
        if self.events == 0 {
            let length = first_length(self.open.data_packets(seq - 1)).max(1.0);
            self.average.begin_first(length);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at least 1, and the cast saturates"
            )]
            {
                // Reported in whole packets, rounded to the nearest, so that a short interval, too, stays as close as
                // possible to the target rate.
                closed.data_length = (length + 0.5) as u64;
            }
        } else {
            let is_short = self.small_packets
                && self
                    .event
                    .is_some_and(|event| self.grouping.is_short(event, stamp));
            self.average.set_current_short(is_short);
            self.average.set(0, self.counted_length(seq - 1, is_short));
            self.average.begin();
        }
        self.closed.push(closed);
        self.open = Open::new(seq);
        self.event = Some(stamp);
        self.events += 1;
    }
}

/// Missing packets: those after `before`, up to but not including the packet `span` steps after it.
#[derive(Clone, Copy)]
struct Gap<S> {
    before: u64,
    before_stamp: S,
    after_stamp: S,
    span: u64,
}
