//! Of what is in flight under CCID 2.

use std::collections::BTreeMap;

use fairwire_units::Instant;

/// RFC 4341, 5: a packet is lost when three later ones have arrived.
pub(in crate::oracle) const NUMDUPACK: usize = 3;

/// The flight as a truthful peer's reports leave it. Packets stand where they stand among the numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Pipe {
    /// Data packets neither acknowledged nor lost, and when each left.
    pub(in crate::oracle) flight: BTreeMap<u64, Instant>,
    /// The newest packets known to have arrived, newest first.
    pub(in crate::oracle) newest: Vec<u64>,
    /// Reports that acknowledge what left before count for nothing.
    pub(in crate::oracle) since: u64,
    /// A report came of which nobody can say whether it counted.
    pub(in crate::oracle) unsure: bool,
    /// Data acknowledged, and the newest packet lost, in this step.
    pub(in crate::oracle) acked: u32,
    pub(in crate::oracle) lost: Option<Instant>,
    /// The same of the newest marked packet.
    pub(in crate::oracle) marked: Option<Instant>,
    /// When the window was cut last.
    pub(in crate::oracle) cut_at: Option<Instant>,
}

impl Pipe {
    /// A packet left.
    pub(in crate::oracle) fn sent(&mut self, place: u64, is_data: bool, at: Instant) {
        if is_data {
            self.flight.insert(place, at);
        }
    }

    /// Does a report count that acknowledges the packet at `place`?
    pub(in crate::oracle) fn hears(&self, place: u64) -> bool {
        place >= self.since
    }

    /// A report that counts says that these packets have arrived, newest first, of which `news` was not
    /// said before.
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

    /// A report that counts says that these packets have arrived with a mark. To be told before
    /// [`Self::reported`].
    pub(in crate::oracle) fn marked(&mut self, marks: &[u64]) {
        let sent = marks.iter().filter_map(|place| self.flight.get(place));
        self.marked = self.marked.max(sent.max().copied());
    }

    /// Packets later than `place` that are known to have arrived, counted up to three.
    pub(in crate::oracle) fn acked_after(&self, place: u64) -> usize {
        self.newest.iter().filter(|&&acked| acked > place).count()
    }

    /// What happened in a step was judged.
    pub(in crate::oracle) fn forget_step(&mut self) {
        self.acked = 0;
        self.lost = None;
        self.marked = None;
    }

    /// A retransmission timeout emptied the pipe, but for what left in this step (RFC 4341, 5).
    pub(in crate::oracle) fn time_out(&mut self, left_since: u32) {
        while self.flight.len() > left_since as usize {
            self.flight.pop_first();
        }
    }
}
