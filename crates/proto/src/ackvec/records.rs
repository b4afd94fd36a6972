//! The log of our packets that carried vectors: an acknowledgement of one says what need not be reported again (RFC
//! 4340, section 11.4.2).

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

/// Packets that arrived after vectors had reported them as missing.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// The oldest of them.
    seq: Seq,
    /// Our newest packet that did not report the arrival of all of them.
    unreported_until: Seq,
}

/// The log of vectors that were sent and are not known to have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Oldest first.
    log: VecDeque<Record>,
    newest: Option<(Seq, Seq)>,
    /// Late packets of which the sender is to learn first.
    late: Option<Late>,
    /// The oldest of those that arrived after later vectors. They are apart, so that a path on which packets are always
    /// late does not keep the oldest of all in every vector.
    later: Option<Seq>,
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
    /// RFC 4340, A.3: the acknowledgement of an earlier vector does not end the reports of it.
    pub(crate) fn on_late(&mut self, seq: Seq) {
        let Some((ours, _)) = self.newest.filter(|_| !self.log.is_empty()) else {
            return;
        };
        match self.late {
            Some(late) if late.unreported_until != ours => {
                let oldest = self.later.map_or(seq, |later| Seq::min(later, seq));
                self.later = Some(oldest);
            }
            late => {
                self.late = Some(Late {
                    seq: late.map_or(seq, |late| Seq::min(late.seq, seq)),
                    unreported_until: ours,
                });
            }
        }
    }

    /// Handles the acknowledgement of our packet `ours`. Returns up to where the peer's packets need no report.
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
        if self
            .late
            .is_some_and(|late| ours.is_after(late.unreported_until))
        {
            // Later ones may have arrived after the newest vector.
            self.late = self.later.take().map(|seq| Late {
                seq,
                unreported_until: newest,
            });
        }
        let late = [self.late.map(|late| late.seq), self.later];
        let oldest = late.into_iter().flatten();
        Some(oldest.fold(covered, |up_to, seq| Seq::min(up_to, seq.prev())))
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
