//! Of loss events.

use std::collections::BTreeMap;

use fairwire_wire::Seq;

/// RFC 5348, 5.1: a packet is lost when three later ones have come.
pub(in crate::oracle) const NDUPACK: usize = 3;

/// What a receiver knows from the counters.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Events {
    /// Data that came in time and were not judged yet: by place behind `first`, with their counters.
    pub(in crate::oracle) came: BTreeMap<u64, u64>,
    pub(in crate::oracle) first: Option<Seq>,
    /// Newest place of data and its counter.
    pub(in crate::oracle) newest: Option<(u64, u64)>,
    /// The newest places of all packets, newest first, and of data with a mark.
    pub(in crate::oracle) ahead: Vec<u64>,
    pub(in crate::oracle) marked: Option<u64>,
    /// Loss events that there are at least, and the counter behind the first loss of the last one.
    pub(in crate::oracle) least: u64,
    pub(in crate::oracle) event: Option<u64>,
    /// May the receiver have agreed that the sender states round trips (RFC 6323)? It goes by these instead of
    /// the counters; until one is stated, by half a second (3.4).
    pub(in crate::oracle) is_stated: bool,
    /// Events counted before.
    pub(in crate::oracle) base: u64,
    /// Holes that the data of this step may have ended.
    pub(in crate::oracle) in_step: u64,
}

impl Events {
    /// A packet came at `place`. Was it too late? What three later packets or a marked one came before was lost
    /// then (RFC 5348, 5.1), and a receiver need not take that back. So it did not know of this one's counter.
    pub(in crate::oracle) fn is_late(&mut self, place: u64, is_marked: bool) -> bool {
        let third = self.ahead.get(NDUPACK - 1);
        let is_late = third.is_some_and(|&third| third > place) || self.marked > Some(place);
        self.ahead.push(place);
        self.ahead.sort_unstable_by(|a, b| b.cmp(a));
        self.ahead.truncate(NDUPACK);
        if is_marked {
            self.marked = self.marked.max(Some(place));
        }
        is_late
    }
}
