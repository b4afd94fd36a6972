//! Which numbers of an epoch have come (RFC 9147, sections 4.2.2 and 4.5.1).

/// How many numbers are remembered, up to the highest one.
pub(crate) const SIZE: u64 = 4_096;
const WORDS: usize = 64;
const BITS: u64 = 64;

/// The numbers that have come, a bit for each of the last [`SIZE`], in a ring.
pub(crate) struct Window {
    /// One more than the highest number that has come.
    next: u64,
    bits: [u64; WORDS],
}

impl Window {
    pub(crate) const fn new() -> Self {
        Self {
            next: 0,
            bits: [0; WORDS],
        }
    }

    /// Returns one more than the highest number that has come.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number that is nearest to the next one, of those that end in these bits.
    pub(crate) const fn nearest(&self, low: u64, bits: u32) -> u64 {
        let span = 1 << bits;
        let number = self.next & !(span - 1) | low;
        if number + span / 2 < self.next {
            number + span
        } else if number > self.next + span / 2 && number >= span {
            number - span
        } else {
            number
        }
    }

    /// Returns whether a number would be taken.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        let [word, ..] = (number / BITS).to_le_bytes();
        let bits = self.bits[usize::from(word) % WORDS];
        number >= self.next || (self.next - number <= SIZE && bits & 1 << (number % BITS) == 0)
    }

    /// Takes a number. Returns false if it has come before, or is so old that it may have.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
        } else if self.next - number > SIZE {
            return false;
        }
        let (word, bit) = self.place(number);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Forgets what the numbers from the next one to this one replace.
    fn forget(&mut self, last: u64) {
        if last - self.next >= SIZE {
            self.bits = [0; WORDS];
            return;
        }
        let mut at = self.next;
        while at <= last {
            let of_word = (BITS - at % BITS).min(last + 1 - at);
            let (word, bit) = self.place(at);
            *word &= !((u64::MAX >> (BITS - of_word)) * bit);
            at += of_word;
        }
    }

    /// Returns the word and the bit of a number.
    fn place(&mut self, number: u64) -> (&mut u64, u64) {
        let [word, ..] = (number / BITS).to_le_bytes();
        let word = usize::from(word) % WORDS;
        (&mut self.bits[word], 1 << (number % BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::{SIZE, Window};

    /// A number is taken once, in any order within the window; what is older is refused.
    #[test]
    fn each_number_once() {
        let mut window = Window::new();
        for number in [0, 2, 1, 5_000, 4_000, 5_000 - SIZE + 1, 70_000] {
            assert!(window.take(number), "{number}");
            assert!(!window.take(number), "{number} again");
        }
        assert!(!window.take(5_000));
        assert!(!window.take(70_000 - SIZE), "just outside");
        assert!(window.take(70_000 - SIZE + 1), "just inside");
    }

    /// Whatever comes, the window answers as a list of all numbers does.
    #[test]
    fn as_a_list_of_all_numbers_does() {
        let mut window = Window::new();
        let (mut all, mut highest) = (std::collections::BTreeSet::new(), 0);
        let mut random = 1_u64;
        for _ in 0..200_000 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let draw = random >> 33;
            // Mostly near the highest number, sometimes far ahead.
            let number = match draw % 64 {
                0 => highest + draw % 9_000,
                1..=20 => highest + 1 + draw % 70,
                _ => (highest + 5).saturating_sub(draw % (SIZE + 100)),
            };
            let is_late = highest.max(number) - number >= SIZE;
            let is_new = !is_late && all.insert(number);
            highest = highest.max(number);
            assert_eq!(window.is_new(number), is_new, "{number} of {highest}");
            assert_eq!(window.take(number), is_new, "{number} of {highest}");
        }
    }

    /// RFC 9147, 4.2.2: a number is the one nearest to the next, also at the beginning and across a wrap of its bits.
    #[test]
    fn the_nearest_number() {
        let mut window = Window::new();
        assert_eq!(window.nearest(0xffff, 16), 0xffff, "there is none below");
        assert_eq!(window.nearest(0, 8), 0);
        for (highest, low, bits, number) in [
            (0xfffe, 0xffff, 16, 0xffff),
            (0xffff, 0, 16, 0x1_0000),
            (0x1_0005, 0xfff0, 16, 0xfff0),
            (0x1_8000, 0x0001, 16, 0x1_0001),
            (0x1_8002, 0x0001, 16, 0x2_0001),
            (0x1_0005, 0x05, 8, 0x1_0005),
            (0x1_0005, 0xf0, 8, 0xfff0),
        ] {
            window.take(highest);
            assert_eq!(window.nearest(low, bits), number, "{highest:x} {low:x}");
            window = Window::new();
        }
    }
}
