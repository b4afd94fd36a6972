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
    newest: Vec<u64>,
    /// The position from which reports count.
    since: u64,
    /// The same two as the sender may see them. Where in a step the CCID changes is not observed, so packets that left
    /// in that step may count for the sender.
    newest_perhaps: Vec<u64>,
    since_perhaps: u64,
    /// Whether a report arrived that may or may not have counted.
    pub(in crate::oracle) unsure: bool,
    /// Data packets acknowledged in this step, and when the newest lost packet was sent.
    pub(in crate::oracle) acked: u32,
    pub(in crate::oracle) lost: Option<Instant>,
    /// When the newest marked packet of this step was sent.
    pub(in crate::oracle) marked: Option<Instant>,
    /// When the window was last reduced.
    pub(in crate::oracle) cut_at: Option<Instant>,
}

impl Pipe {
    /// Returns an empty pipe for which reports count from position `since` on, and may count from `since_perhaps` on.
    pub(in crate::oracle) fn beginning(since_perhaps: u64, since: u64, unsure: bool) -> Self {
        Self {
            since,
            since_perhaps,
            unsure,
            ..Self::default()
        }
    }

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

    /// Returns whether a report that acknowledges the packet at `place` may count for the sender.
    pub(in crate::oracle) fn perhaps_hears(&self, place: u64) -> bool {
        place >= self.since_perhaps
    }

    /// Records packets that a report names as received, if the report may count for the sender.
    pub(in crate::oracle) fn perhaps_reported(&mut self, places: impl Iterator<Item = u64>) {
        self.newest_perhaps.extend(places);
        keep_newest(&mut self.newest_perhaps);
    }

    /// Records a valid report that acknowledges these packets for the first time.
    pub(in crate::oracle) fn reported(&mut self, news: &[u64], unsure: bool) {
        for &place in news {
            self.acked += u32::from(self.flight.remove(&place).is_some());
            self.newest.push(place);
        }
        self.unsure |= unsure && !news.is_empty();
        keep_newest(&mut self.newest);
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

    /// Returns the largest number of packets later than `place` that may have arrived for the sender, counted up to
    /// three.
    pub(in crate::oracle) fn perhaps_acked_after(&self, place: u64) -> usize {
        let later = self.newest_perhaps.iter().filter(|&&acked| acked > place);
        later.count()
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

/// Keeps as many of the newest packets as make an older one lost.
fn keep_newest(newest: &mut Vec<u64>) {
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.dedup();
    newest.truncate(NUMDUPACK);
}
