//! Records of loss events.

use std::collections::BTreeMap;

use fairwire_wire::Seq;

/// RFC 5348, 5.1: a packet is lost when three later ones have arrived.
pub(in crate::oracle) const NDUPACK: usize = 3;

/// What a receiver knows from the window counters.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Events {
    /// Data packets that came in time and are not evaluated yet: their counters by distance from `first`.
    pub(in crate::oracle) came: BTreeMap<u64, u64>,
    pub(in crate::oracle) first: Option<Seq>,
    /// The newest position of data, and its counter.
    pub(in crate::oracle) newest: Option<(u64, u64)>,
    /// The newest positions of all packets, newest first, and the newest of data with a mark.
    pub(in crate::oracle) ahead: Vec<u64>,
    pub(in crate::oracle) marked: Option<u64>,
    /// The least number of loss events, and the counter behind the first loss of the last one.
    pub(in crate::oracle) least: u64,
    pub(in crate::oracle) event: Option<u64>,
    /// Whether the receiver may have agreed that the sender states round-trip times (RFC 6323). It then uses these
    /// instead of the counters, and half a second until one is stated (3.4).
    pub(in crate::oracle) is_stated: bool,
    /// Loss events before these records began.
    pub(in crate::oracle) base: u64,
    /// The number of holes that the data of this step may have ended.
    pub(in crate::oracle) in_step: u64,
}

impl Events {
    /// Records a packet at `place`, and returns whether it was too late.
    ///
    /// A packet is lost once three later packets or a marked one have come (RFC 5348, 5.1), and a receiver need not
    /// take that back. So it did not use the counter of a late packet.
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
