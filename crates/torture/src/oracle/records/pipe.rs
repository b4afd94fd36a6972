//! Records of the flight under CCID 2.

use std::collections::BTreeMap;

use fairwire_units::Instant;

/// RFC 4341, 5: a packet is lost when three later ones have arrived.
pub(in crate::oracle) const NUMDUPACK: usize = 3;

/// The flight according to a truthful peer's reports. Packets are identified by their position.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Pipe {
    /// Data packets neither acknowledged nor lost, and when each was sent.
    pub(in crate::oracle) flight: BTreeMap<u64, Instant>,
    /// The newest packets known to have arrived, newest first.
    pub(in crate::oracle) newest: Vec<u64>,
    /// The position from which reports count.
    pub(in crate::oracle) since: u64,
    /// Whether a report arrived that may or may not have counted.
    pub(in crate::oracle) unsure: bool,
    /// Whether packets left in the step in which the CCID changed. They count as later ones for the sender, and not here.
    pub(in crate::oracle) left_at_change: bool,
    /// Data packets acknowledged in this step, and when the newest lost packet was sent.
    pub(in crate::oracle) acked: u32,
    pub(in crate::oracle) lost: Option<Instant>,
    /// When the newest marked packet of this step was sent.
    pub(in crate::oracle) marked: Option<Instant>,
    /// When the window was last reduced.
    pub(in crate::oracle) cut_at: Option<Instant>,
}

impl Pipe {
    /// Records a packet that is sent.
    pub(in crate::oracle) fn sent(&mut self, place: u64, is_data: bool, at: Instant) {
        if is_data {
            self.flight.insert(place, at);
        }
    }

    /// Returns whether a report counts that acknowledges the packet at `place`.
    pub(in crate::oracle) fn hears(&self, place: u64) -> bool {
        place >= self.since
    }

    /// Records a valid report that acknowledges these packets for the first time.
    pub(in crate::oracle) fn reported(&mut self, news: &[u64], unsure: bool) {
        for &place in news {
            self.acked += u32::from(self.flight.remove(&place).is_some());
            self.newest.push(place);
        }
        self.unsure |= unsure && !news.is_empty();
        self.newest.sort_unstable_by(|a, b| b.cmp(a));
        self.newest.dedup();
        self.newest.truncate(NUMDUPACK);
        if let Some(&third) = self.newest.get(NUMDUPACK - 1) {
            let kept = self.flight.split_off(&third);
            let lost = std::mem::replace(&mut self.flight, kept);
            self.lost = self.lost.max(lost.values().max().copied());
        }
    }

    /// Records a valid report of packets that arrived with a mark. Call it before [`Self::reported`].
    pub(in crate::oracle) fn marked(&mut self, marks: &[u64]) {
        let sent = marks.iter().filter_map(|place| self.flight.get(place));
        self.marked = self.marked.max(sent.max().copied());
    }

    /// Returns the number of packets later than `place` known to have arrived, counted up to three.
    pub(in crate::oracle) fn acked_after(&self, place: u64) -> usize {
        self.newest.iter().filter(|&&acked| acked > place).count()
    }

    /// Clears what happened in a step after it was checked.
    pub(in crate::oracle) fn forget_step(&mut self) {
        self.acked = 0;
        self.lost = None;
        self.marked = None;
    }

    /// Records a retransmission timeout, which empties the pipe except for what was sent in this step (RFC 4341, 5).
    pub(in crate::oracle) fn time_out(&mut self, left_since: u32) {
        while self.flight.len() > left_since as usize {
            self.flight.pop_first();
        }
    }
}
