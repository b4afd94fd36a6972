//! Drop Codes by packet: a bounded memory that either side of Data Dropped needs.
//!
//! Four bits for each number, in words of one bit each for 64 of them: what happens to a run of numbers
//! happens to whole words, however long a packet makes it.

use fairwire_wire::{DropCode, Seq};

use crate::half::DropRun;
use crate::ring::{Piece, WORD, pieces, place};

/// How far behind the newest packet a code is remembered. Reports about older packets come too
/// late to have an effect (RFC 4340, section 11.7.2).
pub(super) const REMEMBERED: u64 = 4_096;

const WORDS: usize = (REMEMBERED / WORD) as usize;

/// The codes of 64 numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Which of them have a code. Of the others the bits below mean nothing.
    known: u64,
    /// The three bits of their codes, the lowest first.
    bits: [u64; 3],
}

impl Word {
    /// Those with this code, or those without any.
    fn with(&self, code: Option<DropCode>) -> u64 {
        let Some(code) = code else {
            return !self.known;
        };
        let number = code.number();
        let bits = self.bits.iter().enumerate();
        bits.fold(self.known, |mask, (bit, &word)| {
            mask & if number >> bit & 1 == 1 { word } else { !word }
        })
    }

    /// Gives the numbers of `mask` this code.
    fn set(&mut self, mask: u64, code: DropCode) {
        let number = code.number();
        self.known |= mask;
        for (bit, word) in self.bits.iter_mut().enumerate() {
            if number >> bit & 1 == 1 {
                *word |= mask;
            } else {
                *word &= !mask;
            }
        }
    }

    fn get(&self, mask: u64) -> Option<DropCode> {
        let bit = |bit: usize| u8::from(self.bits[bit] & mask != 0) << bit;
        (self.known & mask != 0).then(|| DropCode::from_number(bit(0) | bit(1) | bit(2)))
    }
}

/// The codes of the last packets. Takes no memory before the first code.
#[derive(Debug, Default)]
pub(super) struct Codes {
    ring: Option<Box<[Word; WORDS]>>,
    /// The greatest number that the ring knows of.
    newest: Seq,
}

impl Codes {
    /// Bytes of memory behind it.
    pub(super) fn footprint(&self) -> usize {
        self.ring
            .as_ref()
            .map_or(0, |ring| ring.len() * size_of::<Word>())
    }

    /// The code of packet `seq`.
    pub(super) fn get(&self, seq: Seq) -> Option<DropCode> {
        let ring = self.ring.as_ref().filter(|_| self.is_remembered(seq))?;
        let (word, bit) = place(seq, REMEMBERED);
        ring[word].get(bit)
    }

    /// How many of the numbers from `at` downwards, `most` at most, have the code that `at` has, or none
    /// as it. The count may end where the memory does.
    pub(super) fn run(&self, at: Seq, most: u64) -> u64 {
        let Some(ring) = &self.ring else {
            return most;
        };
        if at.is_after(self.newest) {
            return most.min(self.newest.distance(at));
        }
        if !self.is_remembered(at) {
            return most;
        }
        let code = self.get(at);
        let most = most.min(REMEMBERED - at.distance(self.newest));
        let mut run = 0;
        for piece in pieces(at, most, REMEMBERED) {
            let others = !ring[piece.word].with(code) & piece.mask;
            if others != 0 {
                return run + u64::from(others.leading_zeros() - piece.mask.leading_zeros());
            }
            run += piece.packets;
        }
        run
    }

    /// Sets the code of packet `seq`; false if that is too long ago.
    pub(super) fn set(&mut self, seq: Seq, code: DropCode) -> bool {
        self.reach(seq);
        if !self.is_remembered(seq) {
            return false;
        }
        if let Some(ring) = &mut self.ring {
            let (word, bit) = place(seq, REMEMBERED);
            ring[word].set(bit, code);
        }
        true
    }

    /// Has one of the packets in `run` another code?
    pub(super) fn contradict(&self, run: &DropRun) -> bool {
        let Some(ring) = &self.ring else {
            return false;
        };
        self.remembered(run).any(|piece| {
            let word = &ring[piece.word];
            word.known & piece.mask & !word.with(Some(run.code)) != 0
        })
    }

    /// Sets the code of the packets in `run` that have none, as far as they are remembered. Shows
    /// `news` each stretch of them, newest first: its newest number and how many there are.
    pub(super) fn set_new(&mut self, run: &DropRun, mut news: impl FnMut(Seq, u64)) {
        self.reach(run.high);
        for piece in self.remembered(run) {
            let Some(word) = self.ring.as_mut().map(|ring| &mut ring[piece.word]) else {
                return;
            };
            let mut new = piece.mask & !word.known;
            word.set(new, run.code);
            while new != 0 {
                let skipped = new.leading_zeros();
                let stretch = (new << skipped).leading_ones();
                let behind = skipped - piece.mask.leading_zeros();
                news(piece.high.sub(u64::from(behind)), u64::from(stretch));
                // No shift by 64: a stretch of that many ends the word.
                let end = skipped + stretch;
                new &= u64::MAX.checked_shr(end).unwrap_or(0);
            }
        }
    }

    /// Packet `seq` exists: what is too far behind it is forgotten.
    pub(super) fn advance(&mut self, seq: Seq) {
        let Some(ring) = &mut self.ring else {
            return;
        };
        if !seq.is_after(self.newest) {
            return;
        }
        for piece in pieces(seq, self.newest.distance(seq), REMEMBERED) {
            ring[piece.word].known &= !piece.mask;
        }
        self.newest = seq;
    }

    /// The oldest packet from `from` on that has a code.
    pub(super) fn oldest_from(&self, from: Seq) -> Option<Seq> {
        let ring = self.ring.as_ref()?;
        let from = Seq::max(from, self.newest.sub(REMEMBERED - 1));
        if from.is_after(self.newest) {
            return None;
        }
        let packets = from.distance(self.newest).saturating_add(1);
        let mut oldest = None;
        for piece in pieces(self.newest, packets, REMEMBERED) {
            let known = ring[piece.word].known & piece.mask;
            if known != 0 {
                let behind = 63 - known.trailing_zeros() - piece.mask.leading_zeros();
                oldest = Some(piece.high.sub(u64::from(behind)));
            }
        }
        oldest
    }

    /// Takes memory, and moves on to packet `seq`.
    fn reach(&mut self, seq: Seq) {
        if self.ring.is_none() {
            self.ring = Some(Box::new([Word::default(); WORDS]));
            self.newest = seq;
        }
        self.advance(seq);
    }

    /// What of `run` is remembered.
    fn remembered(&self, run: &DropRun) -> impl Iterator<Item = Piece> + use<> {
        let high = Seq::min(run.high, self.newest);
        let packets = if self.is_remembered(high) && !high.is_before(run.low) {
            let remembered = REMEMBERED - high.distance(self.newest);
            (run.low.distance(high) + 1).min(remembered)
        } else {
            0
        };
        pieces(high, packets, REMEMBERED)
    }

    fn is_remembered(&self, seq: Seq) -> bool {
        !seq.is_after(self.newest) && seq.distance(self.newest) < REMEMBERED
    }
}

#[cfg(test)]
mod tests {
    use super::{Codes, DropCode, DropRun, REMEMBERED, Seq};

    /// A code is found until its packet is too far behind, before and behind the wrap; a number
    /// that comes round again has none.
    #[test]
    fn codes_are_remembered_for_a_while() {
        for base in [7, (1 << 48) - 5] {
            let at = |n| Seq::new(base).add(n);
            let mut codes = Codes::default();
            assert_eq!(codes.get(at(0)), None);
            assert!(codes.set(at(10), DropCode::Corrupt));
            assert!(codes.set(at(3), DropCode::ProtocolConstraints));
            assert_eq!(codes.get(at(10)), Some(DropCode::Corrupt));
            assert_eq!(codes.get(at(3)), Some(DropCode::ProtocolConstraints));
            assert_eq!(codes.get(at(4)), None);
            assert_eq!(codes.oldest_from(at(0)), Some(at(3)));
            assert_eq!(codes.oldest_from(at(4)), Some(at(10)));
            assert_eq!(codes.oldest_from(at(11)), None);
            codes.advance(at(REMEMBERED + 2));
            assert_eq!(codes.get(at(3)), Some(DropCode::ProtocolConstraints));
            codes.advance(at(REMEMBERED + 3));
            assert_eq!(codes.get(at(3)), None);
            assert_eq!(codes.get(at(REMEMBERED + 3)), None, "the same place");
            assert!(!codes.set(at(3), DropCode::Corrupt), "too long ago");
            codes.advance(at(9 * REMEMBERED));
            assert_eq!(codes.get(at(10 + 8 * REMEMBERED)), None);
            assert_eq!(codes.oldest_from(at(0)), None);
        }
    }

    /// What is done to runs is what would be done to each of their numbers, in every code, across words
    /// and the wrap.
    #[test]
    fn runs_are_runs_of_numbers() {
        for base in [40, (1 << 48) - 90] {
            let at = |n: u64| Seq::new(base).add(n);
            let code = |n: u64| DropCode::from_number((n / 5 % 8) as u8);
            let mut codes = Codes::default();
            let has = |n: u64| n % 7 < 4;
            for n in (0..300).filter(|&n| has(n)) {
                assert!(codes.set(at(n), code(n)));
            }
            let newest = 297;
            for n in 0..300 {
                assert_eq!(codes.get(at(n)), has(n).then(|| code(n)), "{n}");
                let same = |&m: &u64| codes.get(at(m)) == codes.get(at(n));
                // What is not remembered, and what has not been, ends a run as well.
                let here = |&m: &u64| n <= newest || m > newest;
                let run = (0..=n).rev().take_while(|m| same(m) && here(m));
                let run = run.count() as u64;
                for most in [1, 3, 128] {
                    assert_eq!(codes.run(at(n), most), run.min(most), "{n}");
                }
                let all = DropRun {
                    high: at(n),
                    low: at(n / 2),
                    code: code(n),
                };
                let differs = (n / 2..=n).any(|m| has(m) && code(m) != code(n));
                assert_eq!(codes.contradict(&all), differs, "{n}");
            }
            let all = DropRun {
                high: at(350),
                low: at(0),
                code: DropCode::Corrupt,
            };
            let mut news = Vec::new();
            codes.set_new(&all, |high, packets| {
                news.extend((0..packets).map(|back| high.sub(back)));
            });
            let expected = (0..=350u64).rev().filter(|&n| n >= 300 || !has(n));
            assert_eq!(news, expected.map(at).collect::<Vec<_>>());
            codes.set_new(&all, |high, _| panic!("{high} is known"));
            assert_eq!(codes.get(at(350)), Some(DropCode::Corrupt));
            assert_eq!(codes.get(at(0)), Some(code(0)), "the first code stays");
        }
    }
}
