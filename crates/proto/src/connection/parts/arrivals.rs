//! Which of the peer's packets have come, and which are missing.
//!
//! Tells copies apart (RFC 4340, section 7), and counts the data packets that did not arrive.

use fairwire_units::plant::{Plant, planted};
use fairwire_wire::Seq;

use crate::ring::{WORD, clear, place};

/// How far behind the newest packet a copy is still recognised.
const REMEMBERED: u64 = 1_024;

const WORDS: usize = (REMEMBERED / WORD) as usize;

/// How a packet stands to those that came before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Novelty {
    /// It has not come before.
    New,
    /// It has.
    Copy,
    /// So far behind that nobody remembers.
    TooOld,
}

/// The packets that have come.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Greatest number seen.
    newest: Option<Seq>,
    /// A bit for each of the last [`REMEMBERED`] numbers, by number.
    seen: [u64; WORDS],
    /// Data packets missing and not yet told.
    missing: u64,
    /// Packets counted as missing and told, but arrived since.
    late: u64,
    /// Does the peer send NDP Counts?
    counts: bool,
}

impl Arrivals {
    /// A valid packet with number `seq` arrived; `ndp_count` is its NDP Count, zero if it has
    /// none.
    pub(crate) fn note(&mut self, seq: Seq, is_data: bool, ndp_count: u64) -> Novelty {
        self.counts |= ndp_count > 0;
        let newest = *self.newest.get_or_insert(seq.prev());
        if seq.is_after(newest) {
            self.advance(newest, seq);
            let gap = newest.distance(seq) - 1;
            // RFC 4340, 7.7.1: the NDP Count says how many of the packets just before this one
            // were no data; with it off, each missing packet passes for data.
            let missing = gap.saturating_sub(ndp_count);
            // Planted: what came late stays counted.
            let known = if planted(Plant::LateMissing) {
                0
            } else {
                self.late
            };
            let late = missing.min(known);
            self.late -= late;
            // Each packet may leap over 2^45 numbers: sums end where a word does.
            self.missing = self.missing.saturating_add(missing - late);
            return Novelty::New;
        }
        if seq.distance(newest) >= REMEMBERED {
            return Novelty::TooOld;
        }
        let (word, bit) = place(seq, REMEMBERED);
        if self.seen[word] & bit != 0 {
            return Novelty::Copy;
        }
        self.seen[word] |= bit;
        // It was counted as missing, unless an NDP Count knew better.
        if is_data || !self.counts {
            if self.missing > 0 {
                self.missing -= 1;
            } else {
                self.late = self.late.saturating_add(1);
            }
        }
        Novelty::New
    }

    /// The greatest number that the peer has sent is `seq`: what came with greater ones was forged, or
    /// overtook the packet that says so. Nobody can tell which, so all stays known, and what comes with
    /// these numbers is a copy (RFC 4340, 7).
    ///
    /// If the newest is so far ahead that `seq` would be too old, all begins anew behind `seq`. The peer's
    /// packets beyond `seq` would have been too old as well, so none of them came. Of the numbers before
    /// it nobody knows any more; each counts as a copy.
    pub(crate) fn recede(&mut self, seq: Seq) {
        let newest = self.newest.unwrap_or(seq);
        if newest.is_after(seq) && seq.distance(newest) >= REMEMBERED {
            self.newest = Some(seq.prev());
            self.seen = [u64::MAX; WORDS];
        }
    }

    /// This many that arrived were dropped all the same.
    pub(crate) fn miss(&mut self, packets: u64) {
        self.missing = self.missing.saturating_add(packets);
    }

    /// How many are missing since it was asked last.
    pub(crate) fn take_missing(&mut self) -> u64 {
        std::mem::take(&mut self.missing)
    }

    fn advance(&mut self, newest: Seq, seq: Seq) {
        clear(&mut self.seen, newest, seq);
        let (word, bit) = place(seq, REMEMBERED);
        self.seen[word] |= bit;
        self.newest = Some(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Novelty, REMEMBERED, Seq};

    /// A copy is told from the original, near and far, before and behind the wrap.
    #[test]
    fn copies_are_recognised() {
        for base in [5_000, (1 << 48) - 3] {
            let mut arrivals = Arrivals::default();
            let at = |n| Seq::new(base).add(n);
            for n in [0, 1, 5, 3] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::New, "{n}");
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::Copy, "{n} again");
            }
            for (n, novelty) in [
                (REMEMBERED, Novelty::New),
                (1, Novelty::Copy),
                (2, Novelty::New),
                (0, Novelty::TooOld),
                (3 * REMEMBERED, Novelty::New),
                (2 * REMEMBERED + 1, Novelty::New),
                (2 * REMEMBERED, Novelty::TooOld),
            ] {
                assert_eq!(arrivals.note(at(n), true, 0), novelty, "{n}");
            }
        }
    }

    /// What is too old to be told from a copy stays counted as missing.
    #[test]
    fn too_old_is_missing() {
        let mut arrivals = Arrivals::default();
        for seq in [1, 2, 2 + REMEMBERED, 2, 1] {
            arrivals.note(Seq::new(seq), true, 0);
        }
        assert_eq!(arrivals.take_missing(), REMEMBERED - 1);
    }

    /// What is missing is told once; a copy makes up for nothing.
    #[test]
    fn missing_is_told_once() {
        let mut arrivals = Arrivals::default();
        for seq in [1, 5, 5, 5] {
            arrivals.note(Seq::new(seq), true, 0);
        }
        assert_eq!(arrivals.take_missing(), 3);
        assert_eq!(arrivals.take_missing(), 0);
    }

    /// A late acknowledgement was counted as lost data without NDP Counts, and is not with them.
    #[test]
    fn late_acknowledgements() {
        for (ndp_count, missing, then) in [(0, 2, 0), (1, 1, 1)] {
            let mut arrivals = Arrivals::default();
            arrivals.note(Seq::new(1), true, 0);
            arrivals.note(Seq::new(4), true, ndp_count);
            assert_eq!(arrivals.take_missing(), missing);
            arrivals.note(Seq::new(3), false, 0);
            arrivals.note(Seq::new(6), true, 0);
            assert_eq!(arrivals.take_missing(), then);
        }
    }

    /// What came beyond the number that all goes back to is known as before, forged or not; so is what
    /// is missing before it. From too far ahead all begins anew.
    #[test]
    fn what_came_beyond_stays_known() {
        for base in [5_000, (1 << 48) - 30] {
            let at = |n| Seq::new(base).add(n);
            let mut arrivals = Arrivals::default();
            for n in [1, 2, 5, 60, 6] {
                arrivals.note(at(n), true, 0);
            }
            arrivals.recede(at(3));
            for n in [60, 6, 5, 2, 1] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::Copy, "{n}");
            }
            for n in [3, 4, 7, 59, 61] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::New, "{n}");
            }
            assert_eq!(arrivals.take_missing(), 51);
            let far = 8 + REMEMBERED;
            arrivals.note(at(far), true, 0);
            arrivals.recede(at(8));
            assert_eq!(arrivals.note(at(7), true, 0), Novelty::Copy);
            for n in [8, 9, far] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::New, "{n}");
            }
        }
    }

    /// However often numbers leap, before the application reads or after, what is missing is told as
    /// the largest number at worst.
    #[test]
    fn finding_9_leaps_add_up_without_a_panic() {
        let mut arrivals = Arrivals::default();
        let mut seq = Seq::ZERO;
        for _ in 0..(1 << 18) + 9 {
            arrivals.note(seq, true, 0);
            seq = seq.add((1 << 47) - 1);
        }
        arrivals.miss(7);
        assert_eq!(arrivals.take_missing(), u64::MAX);
        assert_eq!(arrivals.take_missing(), 0);
    }
}
