//! The log of our packets that carried vectors, so that an acknowledgement of one lets us forget history (RFC 4340,
//! section 11.4.2).

use std::collections::VecDeque;

use fairwire_wire::Seq;

/// The most packets remembered: a round trip's worth of acknowledgements on a fast path. An acknowledgement of an older
/// packet frees nothing, but the next one does.
pub(super) const MAX_RECORDS: usize = 4_096;

/// A packet of ours, and the newest of the peer's packets that its vector covers. Both are the low halves of sequence
/// numbers; no record gets old enough for that to be ambiguous.
#[derive(Clone, Copy, Debug)]
struct Record {
    ours: u32,
    covered: u32,
}

/// A packet that arrived after vectors had reported it as missing.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// The oldest such packet.
    seq: Seq,
    /// Our newest packet that did not report its arrival.
    unreported_until: Seq,
}

/// The log of vectors that were sent and are not known to have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Oldest first.
    log: VecDeque<Record>,
    newest: Option<(Seq, Seq)>,
    late: Option<Late>,
}

impl Records {
    /// Records that our packet `ours` carries a vector that begins at `covered`.
    pub(crate) fn push(&mut self, ours: Seq, covered: Seq) {
        if self.log.len() == MAX_RECORDS {
            self.log.pop_front();
        }
        self.log.push_back(Record {
            ours: low(ours),
            covered: low(covered),
        });
        self.newest = Some((ours, covered));
    }

    /// Records that packet `seq` of the peer arrived after it had been reported as missing.
    ///
    /// RFC 4340, A.3: the acknowledgement of an earlier vector must not make us forget it.
    pub(crate) fn on_late(&mut self, seq: Seq) {
        let Some((ours, _)) = self.newest.filter(|_| !self.log.is_empty()) else {
            return;
        };
        let oldest = self.late.map_or(seq, |late| Seq::min(late.seq, seq));
        self.late = Some(Late {
            seq: oldest,
            unreported_until: ours,
        });
    }

    /// Handles the acknowledgement of our packet `ours`. Returns up to where the peer's packets may be forgotten.
    pub(crate) fn acknowledge(&mut self, ours: Seq) -> Option<Seq> {
        let (newest, newest_covered) = self.newest?;
        if ours.is_after(newest) {
            return None;
        }
        let back = low_distance(low(ours), low(newest));
        if u64::from(back) != ours.distance(newest) {
            return None;
        }
        // The log is in order of sending, so the distance to the newest packet decreases along it.
        let index = self
            .log
            .partition_point(|record| low_distance(record.ours, low(newest)) > back);
        let record = *self
            .log
            .get(index)
            .filter(|record| record.ours == low(ours))?;
        self.log.drain(..=index);
        let covered =
            newest_covered.sub(u64::from(low_distance(record.covered, low(newest_covered))));
        let Some(late) = self.late else {
            return Some(covered);
        };
        if ours.is_after(late.unreported_until) {
            self.late = None;
            return Some(covered);
        }
        Some(Seq::min(covered, late.seq.prev()))
    }

    /// Returns our newest packet up to `ackno` that carried a vector and is not known to have arrived.
    pub(crate) fn newest_up_to(&self, ackno: Seq) -> Option<Seq> {
        let (newest, _) = self.newest?;
        let oldest = self.log.front()?;
        if !ackno.is_before(newest) {
            return Some(newest);
        }
        let back = ackno.distance(newest);
        let is_newer = |record: &Record| u64::from(low_distance(record.ours, low(newest))) < back;
        // The common case with data in both directions: no record is left.
        if is_newer(oldest) {
            return None;
        }
        let after = self.log.partition_point(|record| !is_newer(record));
        let record = self.log.get(after.checked_sub(1)?)?;
        Some(newest.sub(u64::from(low_distance(record.ours, low(newest)))))
    }

    /// Returns the memory in use, bytes.
    pub(crate) fn footprint(&self) -> usize {
        self.log.capacity() * size_of::<Record>()
    }

    /// Returns the bytes that the log takes.
    pub(crate) fn state_len(&self) -> usize {
        self.log.len() * size_of::<Record>()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is wanted"
)]
fn low(seq: Seq) -> u32 {
    seq.get() as u32
}

fn low_distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from)
}
