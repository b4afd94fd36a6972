//! The ECN nonces of packets, one bit each (RFC 3540; RFC 4340, section 12.2).
//!
//! A sender with ECN nonces enabled sends ECT(0) or ECT(1) at random; ECT(1) is a nonce of one. Marks and losses
//! destroy the nonce. A receiver that hides them must therefore guess the sum of the nonces that it claims to have
//! received.

use fairwire_wire::{AckEntries, EntryState, Seq};

use crate::ring::{WORD, clear, pieces, place};

/// The number of packets remembered: more than all entries of a receiver's vectors cover.
pub(super) const REMEMBERED: u64 = 1 << 15;

const WORDS: usize = (REMEMBERED / WORD) as usize;

/// The nonces of the newest packets, by number; those before the first packet are zero.
#[derive(Clone, Debug)]
pub(super) struct Nonces([u64; WORDS]);

impl Nonces {
    pub(super) fn new() -> Self {
        Self([0; WORDS])
    }

    /// Sets the nonce of packet `seq`.
    pub(super) fn set(&mut self, seq: Seq, nonce: bool) {
        let (word, bit) = place(seq, REMEMBERED);
        if nonce {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// Makes room for the packets after `newest` up to `seq`, with nonces of zero.
    pub(super) fn advance(&mut self, newest: Seq, seq: Seq) {
        clear(&mut self.0, newest, seq);
    }

    /// Returns the sum, in one bit, of the nonces of `packets` packets, of which `high` is the newest.
    pub(super) fn sum(&self, high: Seq, packets: u64) -> bool {
        let pieces = pieces(high, packets, REMEMBERED);
        let sum = pieces.fold(0, |sum, piece| sum ^ self.0[piece.word] & piece.mask);
        sum.count_ones() % 2 == 1
    }

    /// Returns the right nonce echo of a vector whose newest packet is `high`: the sum over the packets that it reports
    /// as received unmarked.
    pub(super) fn echo(&self, high: Seq, entries: AckEntries<'_>) -> bool {
        let mut high = high;
        let mut echo = false;
        for entry in entries.iter() {
            let packets = u64::from(entry.run());
            // RFC 4340, 12.2: only State 0 counts.
            if entry.state() == EntryState::Received {
                echo ^= self.sum(high, packets);
            }
            high = high.sub(packets);
        }
        echo
    }
}

#[cfg(test)]
mod tests {
    use super::{Nonces, REMEMBERED, Seq};
    use crate::work;

    /// Sums over any range of packets agree with counting, across words, the ring's end and the wrap of numbers.
    #[test]
    fn sums_are_sums() {
        for base in [0, 63, REMEMBERED - 70, (1 << 48) - 100] {
            let mut nonces = Nonces::new();
            let at = |n: u64| Seq::new(base).add(n);
            let has = |n: u64| n.is_multiple_of(3) || n % 7 == 2;
            for n in 0..200 {
                nonces.set(at(n), has(n));
            }
            for low in 0..200 {
                for high in low..200 {
                    let expected = (low..=high).filter(|&n| has(n)).count() % 2 == 1;
                    let sum = nonces.sum(at(high), high - low + 1);
                    assert_eq!(sum, expected, "{base}: {low} to {high}");
                }
            }
        }
    }

    /// Numbers that are skipped have a nonce of zero, also where the ring wraps.
    #[test]
    fn passed_over_is_zero() {
        for distance in [5, REMEMBERED - 1, REMEMBERED, 1 << 40] {
            let mut nonces = Nonces::new();
            for n in 0..REMEMBERED {
                nonces.set(Seq::new(n), true);
            }
            let newest = Seq::new(REMEMBERED - 1);
            let then = newest.add(distance);
            nonces.advance(newest, then);
            assert!(!nonces.sum(then, 1), "{distance}");
            assert!(!nonces.sum(then, distance.min(REMEMBERED)), "{distance}");
            // The packet before the gap is still known if the ring has room for it.
            let before = nonces.sum(then, distance.min(REMEMBERED - 1) + 1);
            assert_eq!(before, distance < REMEMBERED, "{distance}");
        }
    }

    /// However far sequence numbers jump, at most a few hundred words are cleared.
    #[test]
    fn finding_7_a_leap_clears_words() {
        for leap in [1, 1_000, REMEMBERED - 1, REMEMBERED, 1 << 46] {
            let mut nonces = Nonces::new();
            let bound = REMEMBERED / 64 + 1;
            work::within(bound, || nonces.advance(Seq::ZERO, Seq::new(leap)));
        }
    }
}
