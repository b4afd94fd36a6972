//! Drop Codes by packet: a bounded store that both sides of Data Dropped use.
//!
//! Each number takes four bits. They are stored in words of 64 numbers, one word per bit, so that an operation on a run
//! of numbers works on whole words.

use fairwire_wire::{DropCode, Seq};

use crate::half::DropRun;
use crate::ring::{Piece, WORD, pieces, place};

/// How far behind the newest packet a code is kept at least, packets.
pub(crate) const REMEMBERED: u64 = 4_096;

/// How far behind the newest packet a code is kept at most, packets: as far back as a report reaches that fills an Ack
/// (about 1,000 blocks of 128 packets). Reports about older packets come too late to have an effect (RFC 4340, section
/// 11.7.2).
pub(crate) const MOST: u64 = 1 << 17;

/// How many numbers a receive queue may span for each datagram that it may hold, because of acknowledgements and lost
/// packets in between.
const SPAN: u64 = 4;

/// The codes of 64 numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Which numbers have a code. For the others the bits below have no meaning.
    known: u64,
    /// The three bits of their codes, the lowest bit first.
    bits: [u64; 3],
}

impl Word {
    /// Returns the numbers with this code, or those without any.
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

    /// Sets the code of the numbers in `mask`.
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

/// The codes of the latest packets. Uses no memory before the first code.
#[derive(Debug)]
pub(crate) struct Codes {
    /// A ring of numbers; empty before the first code.
    ring: Vec<Word>,
    /// How many numbers the ring has at first and at most; powers of two.
    sizes: [u64; 2],
    /// The greatest number in the ring.
    newest: Seq,
    /// Codes before this number were forgotten while the ring was smaller.
    forgotten: Option<Seq>,
}

impl Default for Codes {
    fn default() -> Self {
        Self::of([REMEMBERED; 2])
    }
}

impl Codes {
    /// Returns the bytes of memory on the heap.
    pub(crate) fn footprint(&self) -> usize {
        self.ring.capacity() * size_of::<Word>()
    }

    const fn of(sizes: [u64; 2]) -> Self {
        Self {
            ring: Vec::new(),
            sizes,
            newest: Seq::ZERO,
            forgotten: None,
        }
    }

    /// Returns a receiver's store, which reaches past a receive queue of this many datagrams, because any of them may
    /// be dropped.
    pub(crate) fn past_queue(datagrams: usize) -> Self {
        let datagrams = u64::try_from(datagrams).unwrap_or(MOST).min(MOST);
        let span = (datagrams * SPAN).next_power_of_two();
        Self::of([span.clamp(REMEMBERED, MOST); 2])
    }

    /// Returns a sender's store, which grows as reports reach further back.
    pub(crate) const fn growing() -> Self {
        Self::of([REMEMBERED, MOST])
    }

    /// Forgets the codes of packets from `seq` on, as if none of these had been seen. If all others are too far behind
    /// by now, forgets those too.
    pub(crate) fn roll_back(&mut self, seq: Seq) {
        let last = seq.prev();
        if self.ring.is_empty() || !self.newest.is_after(last) {
            return;
        }
        if !self.is_remembered(last) {
            *self = Self::of(self.sizes);
            return;
        }
        let numbers = self.numbers();
        let forged = last.distance(self.newest);
        for piece in pieces(self.newest, forged, numbers) {
            self.ring[piece.word].known &= !piece.mask;
        }
        // The places of the oldest numbers were taken by the forged ones.
        let kept = self.depth() - forged;
        self.newest = last;
        self.forgotten = Some(last.sub(kept - 1));
    }

    /// Returns how many numbers the ring holds.
    fn numbers(&self) -> u64 {
        self.ring.len() as u64 * WORD
    }

    /// Returns how many of the newest numbers are remembered.
    fn depth(&self) -> u64 {
        let since = self.forgotten.map(|seq| seq.distance(self.newest) + 1);
        since.map_or(self.numbers(), |since| since.min(self.numbers()))
    }

    /// Returns the code of packet `seq`.
    pub(crate) fn get(&self, seq: Seq) -> Option<DropCode> {
        if !self.is_remembered(seq) {
            return None;
        }
        let (word, bit) = place(seq, self.numbers());
        self.ring[word].get(bit)
    }

    /// Returns how many of the numbers from `at` downwards, at most `most`, have the code of `at`, or no code if it has
    /// none. The count may end where the stored range ends.
    pub(crate) fn run(&self, at: Seq, most: u64) -> u64 {
        if self.ring.is_empty() {
            return most;
        }
        if at.is_after(self.newest) {
            return most.min(self.newest.distance(at));
        }
        if !self.is_remembered(at) {
            return most;
        }
        let code = self.get(at);
        let most = most.min(self.depth() - at.distance(self.newest));
        let mut run = 0;
        for piece in pieces(at, most, self.numbers()) {
            let others = !self.ring[piece.word].with(code) & piece.mask;
            if others != 0 {
                return run + u64::from(others.leading_zeros() - piece.mask.leading_zeros());
            }
            run += piece.packets;
        }
        run
    }

    /// Sets the code of packet `seq`; returns false if it is too old.
    pub(crate) fn set(&mut self, seq: Seq, code: DropCode) -> bool {
        self.reach(seq, seq);
        if !self.is_remembered(seq) {
            return false;
        }
        let (word, bit) = place(seq, self.numbers());
        self.ring[word].set(bit, code);
        true
    }

    /// Returns whether one of the packets in `run` has another code.
    pub(crate) fn contradict(&self, run: &DropRun) -> bool {
        self.remembered(run).any(|piece| {
            let word = &self.ring[piece.word];
            word.known & piece.mask & !word.with(Some(run.code)) != 0
        })
    }

    /// Sets the code of the packets in `run` that have none, as far as they are remembered. Calls `news` with each
    /// range of them, newest first: its newest number and its length. Call [`Self::reach`] before.
    pub(crate) fn set_new(&mut self, run: &DropRun, mut news: impl FnMut(Seq, u64)) {
        for piece in self.remembered(run) {
            let word = &mut self.ring[piece.word];
            let mut new = piece.mask & !word.known;
            word.set(new, run.code);
            while new != 0 {
                let skipped = new.leading_zeros();
                let stretch = (new << skipped).leading_ones();
                let behind = skipped - piece.mask.leading_zeros();
                news(piece.high.sub(u64::from(behind)), u64::from(stretch));
                // A range of 64 ends the word; a shift by 64 would overflow.
                let end = skipped + stretch;
                new &= u64::MAX.checked_shr(end).unwrap_or(0);
            }
        }
    }

    /// Notes that packet `seq` exists; codes too far behind it are forgotten.
    pub(crate) fn advance(&mut self, seq: Seq) {
        if self.ring.is_empty() || !seq.is_after(self.newest) {
            return;
        }
        for piece in pieces(seq, self.newest.distance(seq), self.numbers()) {
            self.ring[piece.word].known &= !piece.mask;
        }
        self.newest = seq;
        let numbers = self.numbers();
        self.forgotten = self.forgotten.filter(|old| old.distance(seq) < numbers);
    }

    /// Returns the oldest packet from `from` on that has a code.
    pub(crate) fn oldest_from(&self, from: Seq) -> Option<Seq> {
        let last = self.depth().checked_sub(1)?;
        let from = Seq::max(from, self.newest.sub(last));
        if from.is_after(self.newest) {
            return None;
        }
        let packets = from.distance(self.newest).saturating_add(1);
        let mut oldest = None;
        for piece in pieces(self.newest, packets, self.numbers()) {
            let known = self.ring[piece.word].known & piece.mask;
            if known != 0 {
                let behind = 63 - known.trailing_zeros() - piece.mask.leading_zeros();
                oldest = Some(piece.high.sub(u64::from(behind)));
            }
        }
        oldest
    }

    /// Notes that packet `high` exists, and makes room for a code of packet `low`, within the limits.
    pub(crate) fn reach(&mut self, high: Seq, low: Seq) {
        let [first, most] = self.sizes;
        let is_empty = self.ring.is_empty();
        let newest = if is_empty {
            high
        } else {
            Seq::max(high, self.newest)
        };
        let back = low.distance(newest);
        let wanted = if low.is_after(newest) || back >= most {
            first
        } else {
            (back + 1).next_power_of_two().max(first)
        };
        if wanted > self.numbers() {
            // Codes forgotten earlier may have been reported earlier, so these packets get no code again.
            self.forgotten = (!is_empty).then(|| self.newest.sub(self.depth() - 1));
            self.grow(wanted);
        }
        if is_empty {
            self.newest = newest;
        }
        self.advance(high);
    }

    /// Grows the ring to `numbers`, a power of two and larger than now.
    fn grow(&mut self, numbers: u64) {
        let words = usize::try_from(numbers / WORD).unwrap_or(0);
        let mut ring = vec![Word::default(); words];
        for piece in pieces(self.newest, self.numbers(), self.numbers()) {
            let from = &self.ring[piece.word];
            let to = &mut ring[place(piece.high, numbers).0];
            to.known |= from.known & piece.mask;
            for (to, from) in to.bits.iter_mut().zip(from.bits) {
                *to |= from & piece.mask;
            }
        }
        self.ring = ring;
    }

    /// Returns the part of `run` that is remembered.
    fn remembered(&self, run: &DropRun) -> impl Iterator<Item = Piece> + use<> {
        let high = Seq::min(run.high, self.newest);
        let packets = if self.is_remembered(high) && !high.is_before(run.low) {
            let remembered = self.depth() - high.distance(self.newest);
            (run.low.distance(high) + 1).min(remembered)
        } else {
            0
        };
        pieces(high, packets, self.numbers())
    }

    fn is_remembered(&self, seq: Seq) -> bool {
        !seq.is_after(self.newest) && seq.distance(self.newest) < self.depth()
    }

    /// Returns the bytes that the codes take.
    #[cfg(test)]
    pub(crate) fn state_len(&self) -> usize {
        self.ring.len() * size_of::<Word>()
    }
}

#[cfg(test)]
mod tests {
    use super::{Codes, DropCode, DropRun, MOST, REMEMBERED, Seq};
    use crate::work;

    /// A code is found until its packet is too far behind, before and after the wrap; a number that wraps around to the
    /// same place has none.
    #[test]
    fn codes_are_remembered_for_a_while() {
        for base in [7, (1 << 48) - 5] {
            let at = |n| Seq::new(base).add(n);
            let mut codes = Codes::past_queue(1);
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

    /// An operation on runs has the same effect as on each of their numbers, for every code, across words and the wrap.
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
                // A run also ends at the newest number.
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
            codes.reach(all.high, all.low);
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

    /// A receiver's store reaches past its receive queue, with 4 bits per number.
    #[test]
    fn finding_17_the_memory_reaches_past_the_queue() {
        for queue in [1_u64, 256, 4_096, 8_192, 30_000, 1 << 40] {
            let at = |n: u64| Seq::new(n);
            let mut codes = Codes::past_queue(usize::try_from(queue).expect("64 bits"));
            assert_eq!(codes.state_len(), 0);
            let newest = 300_000;
            assert!(codes.set(at(newest), DropCode::Corrupt));
            let reach = (4 * queue).next_power_of_two().clamp(REMEMBERED, MOST);
            assert!(codes.set(at(newest - reach + 1), DropCode::ReceiveBuffer));
            assert!(!codes.set(at(newest - reach), DropCode::ReceiveBuffer));
            assert_eq!(codes.get(at(newest)), Some(DropCode::Corrupt));
            let oldest = at(newest - reach + 1);
            assert_eq!(codes.get(oldest), Some(DropCode::ReceiveBuffer));
            assert_eq!(codes.oldest_from(at(0)), Some(oldest));
            assert_eq!(codes.state_len() as u64, reach / 2);
        }
    }

    /// A sender's store grows as reports reach further back and keeps its codes; numbers already forgotten get none
    /// again.
    #[test]
    fn finding_17_the_memory_grows() {
        for base in [0, 70, (1 << 48) - 9_000] {
            let at = |n: u64| Seq::new(base).add(n);
            let code = |n: u64| DropCode::from_number((n % 8) as u8);
            let mut codes = Codes::growing();
            // The first report may reach far back at once.
            let mut newest = 200_000;
            let mut reach = 8_192;
            let mut set = Vec::new();
            for back in [5_000, 9, 700, 20_000, 60, 131_071, 131_072, 1] {
                newest += 50;
                let (known, low) = (codes.depth(), at(newest - back));
                let most = 4 * MOST / 64;
                work::within(most, || codes.reach(at(newest), low));
                let taken = codes.set(low, code(back));
                // Fifty more numbers are known since then; at first all are.
                let expected = back < known + 50 || known == 0;
                assert_eq!(taken, expected && back < MOST, "{back}");
                if taken {
                    set.push((newest - back, code(back)));
                }
                if back < MOST {
                    reach = reach.max((back + 1).next_power_of_two());
                }
                assert_eq!(codes.state_len() as u64, reach / 2, "{back}");
            }
            for (n, code) in set {
                assert_eq!(codes.get(at(n)), Some(code), "{n}");
            }
            // Once numbers have advanced by the ring's size, the whole ring is remembered.
            newest += MOST;
            codes.advance(at(newest));
            assert!(codes.set(at(newest - MOST + 1), DropCode::Corrupt));
        }
    }
}
