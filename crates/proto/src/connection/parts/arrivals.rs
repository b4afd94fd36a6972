//! Which of the peer's packets have arrived, and which are missing.
//!
//! Recognises duplicates (RFC 4340, section 7), and counts the data packets that did not arrive.

use fairwire_wire::Seq;

use crate::resend::Missing;
use crate::ring::{WORD, clear, place};

/// How far behind the newest packet a duplicate is still recognised, packets.
const REMEMBERED: u64 = 1_024;

const WORDS: usize = (REMEMBERED / WORD) as usize;

/// Whether a packet has arrived before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Novelty {
    /// It has not arrived before.
    New,
    /// It has arrived before.
    Copy,
    /// It is too far behind to tell.
    TooOld,
}

/// The record of arrived packets.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Greatest number seen.
    newest: Option<Seq>,
    /// One bit for each of the last [`REMEMBERED`] numbers, by number.
    seen: [u64; WORDS],
    /// Whether the peer sends NDP Counts.
    counts: bool,
}

impl Arrivals {
    /// Records a valid packet with number `seq`, and counts what is `missing` before it. `ndp_count` is its NDP Count,
    /// zero if it has none.
    pub(crate) fn note(
        &mut self,
        seq: Seq,
        is_data: bool,
        ndp_count: u64,
        missing: &mut Missing,
    ) -> Novelty {
        self.counts |= ndp_count > 0;
        let newest = *self.newest.get_or_insert(seq.prev());
        if seq.is_after(newest) {
            self.advance(newest, seq);
            let gap = newest.distance(seq) - 1;
            // RFC 4340, 7.7.1: the NDP Count says how many of the packets just before this one had no data. Without it,
            // each missing packet counts as data.
            let data = gap.saturating_sub(ndp_count);
            missing.add(data);
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
        // It was counted as missing, unless an NDP Count excluded it.
        if is_data || !self.counts {
            missing.recover();
        }
        Novelty::New
    }

    /// Goes back to `seq` as the greatest number that the peer has sent. Packets with greater numbers were forged, or
    /// have overtaken the packet that says so. These two cases look the same, so all records stay, and a packet with
    /// one of these numbers counts as a duplicate (RFC 4340, 7).
    ///
    /// If the newest number is so far ahead that `seq` would be too old, the record starts again just before `seq`. The
    /// peer's packets beyond `seq` would have been too old as well, so none of them was accepted. All numbers before
    /// `seq` then count as duplicates.
    pub(crate) fn roll_back(&mut self, seq: Seq) {
        let newest = self.newest.unwrap_or(seq);
        if newest.is_after(seq) && seq.distance(newest) >= REMEMBERED {
            self.newest = Some(seq.prev());
            self.seen = [u64::MAX; WORDS];
        }
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
    use super::{Missing, Novelty, REMEMBERED, Seq};

    /// The record with its count.
    #[derive(Default)]
    struct Arrivals(super::Arrivals, Missing);

    impl Arrivals {
        fn note(&mut self, seq: Seq, is_data: bool, ndp_count: u64) -> Novelty {
            self.0.note(seq, is_data, ndp_count, &mut self.1)
        }

        fn roll_back(&mut self, seq: Seq) {
            self.0.roll_back(seq);
        }

        fn take_missing(&mut self) -> u64 {
            self.1.take()
        }
    }

    /// A duplicate is told from the original, near and far, before and after the wrap.
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

    /// A packet that is too old to be recognised stays counted as missing.
    #[test]
    fn too_old_is_missing() {
        let mut arrivals = Arrivals::default();
        for seq in [1, 2, 2 + REMEMBERED, 2, 1] {
            arrivals.note(Seq::new(seq), true, 0);
        }
        assert_eq!(arrivals.take_missing(), REMEMBERED - 1);
    }

    /// A missing packet is reported once; a duplicate does not replace it.
    #[test]
    fn missing_is_told_once() {
        let mut arrivals = Arrivals::default();
        for seq in [1, 5, 5, 5] {
            arrivals.note(Seq::new(seq), true, 0);
        }
        assert_eq!(arrivals.take_missing(), 3);
        assert_eq!(arrivals.take_missing(), 0);
    }

    /// Without NDP Counts a late acknowledgement was counted as lost data; with them it was not.
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

    /// Packets beyond the number to which the record goes back stay known, forged or not, and so do missing ones before
    /// it. If the newest number is too far ahead, the record starts again.
    #[test]
    fn what_came_beyond_stays_known() {
        for base in [5_000, (1 << 48) - 30] {
            let at = |n| Seq::new(base).add(n);
            let mut arrivals = Arrivals::default();
            for n in [1, 2, 5, 60, 6] {
                arrivals.note(at(n), true, 0);
            }
            arrivals.roll_back(at(3));
            for n in [60, 6, 5, 2, 1] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::Copy, "{n}");
            }
            for n in [3, 4, 7, 59, 61] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::New, "{n}");
            }
            assert_eq!(arrivals.take_missing(), 51);
            let far = 8 + REMEMBERED;
            arrivals.note(at(far), true, 0);
            arrivals.roll_back(at(8));
            assert_eq!(arrivals.note(at(7), true, 0), Novelty::Copy);
            for n in [8, 9, far] {
                assert_eq!(arrivals.note(at(n), true, 0), Novelty::New, "{n}");
            }
        }
    }

    /// However often numbers jump, before or after the application reads, the missing count at most saturates.
    #[test]
    fn finding_9_leaps_add_up_without_a_panic() {
        let mut arrivals = Arrivals::default();
        let mut seq = Seq::ZERO;
        for _ in 0..(1 << 18) + 9 {
            arrivals.note(seq, true, 0);
            seq = seq.add((1 << 47) - 1);
        }
        arrivals.1.miss(7);
        assert_eq!(arrivals.take_missing(), u64::MAX);
        assert_eq!(arrivals.take_missing(), 0);
    }
}
