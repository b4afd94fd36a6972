//! Bit rings with one bit for each of the newest sequence numbers.
//!
//! An operation on a range of numbers works on whole words. A packet decides how far the numbers jump, but a jump takes
//! one step for 64 numbers, and at most as many steps as the ring has words.

use fairwire_wire::Seq;

use crate::work;

/// Sequence numbers per word.
pub(crate) const WORD: u64 = 64;

/// The numbers of a range that share a word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    /// The index of the word.
    pub(crate) word: usize,
    /// Their bits; the newest number has the highest bit.
    pub(crate) mask: u64,
    /// The newest of the numbers.
    pub(crate) high: Seq,
    /// How many numbers there are.
    pub(crate) packets: u64,
}

/// Returns the word index and the bit of a number in a ring of `numbers` bits, which is a power of two and at least
/// [`WORD`].
pub(crate) fn place(seq: Seq, numbers: u64) -> (usize, u64) {
    debug_assert!(numbers.is_power_of_two() && numbers >= WORD, "{numbers}");
    let at = seq.get() & (numbers - 1);
    // The ring is in memory, so its last index is a `usize`.
    ((at / WORD) as usize, 1 << (at % WORD))
}

/// Returns the words that hold the `packets` numbers up to `high`, newest first. No number occurs twice, however large
/// `packets` is.
pub(crate) fn pieces(high: Seq, packets: u64, numbers: u64) -> impl Iterator<Item = Piece> {
    let mut left = packets.min(numbers);
    let mut high = high;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        work::step();
        // The numbers in the word of `high` up to and including `high`.
        let top = high.get() % WORD;
        let here = left.min(top + 1);
        let piece = Piece {
            word: place(high, numbers).0,
            mask: (u64::MAX >> (WORD - here)) << (top + 1 - here),
            high,
            packets: here,
        };
        high = high.sub(here);
        left -= here;
        Some(piece)
    })
}

/// Sets the bits of the numbers after `newest`, up to and including `seq`, to zero.
pub(crate) fn clear(words: &mut [u64], newest: Seq, seq: Seq) {
    let numbers = words.len() as u64 * WORD;
    for piece in pieces(seq, newest.distance(seq), numbers) {
        words[piece.word] &= !piece.mask;
    }
}

#[cfg(test)]
mod tests {
    use super::{Seq, WORD, clear, pieces, place};
    use crate::work;

    /// The pieces of a range hold each of its numbers once, across words, the ring's end and the wrap.
    #[test]
    fn pieces_cover_a_stretch() {
        for base in [0, 63, 200, (1 << 48) - 70] {
            for packets in [0, 1, 2, 63, 64, 65, 130, 256] {
                let high = Seq::new(base).add(packets);
                let mut next = high;
                for piece in pieces(high, packets, 256) {
                    assert_eq!(piece.high, next);
                    assert_eq!(u64::from(piece.mask.count_ones()), piece.packets);
                    for back in 0..piece.packets {
                        let (word, bit) = place(next.sub(back), 256);
                        assert_eq!(word, piece.word);
                        assert_ne!(piece.mask & bit, 0);
                    }
                    next = next.sub(piece.packets);
                }
                assert_eq!(next, Seq::new(base));
            }
        }
    }

    /// Clearing zeroes exactly the numbers that a jump passes, in at most one step for each word.
    #[test]
    fn clearing_takes_words() {
        for base in [5, (1 << 48) - 100] {
            for jump in [1, 64, 65, 255, 256, 1 << 40] {
                let newest = Seq::new(base);
                let mut words = [u64::MAX; 4];
                let bound = 256 / WORD + 1;
                work::within(bound, || clear(&mut words, newest, newest.add(jump)));
                let zeros: u32 = words.iter().map(|word| word.count_zeros()).sum();
                assert_eq!(u64::from(zeros), jump.min(256), "{jump}");
                let (word, bit) = place(newest, 256);
                assert_eq!(words[word] & bit == 0, jump >= 256, "{jump}");
            }
        }
    }
}
