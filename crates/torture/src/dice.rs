//! Random choices from a named stream.

use fairwire_net::{Stream, Streams};

/// A named random stream with the choices that plans and faults need.
#[derive(Debug)]
pub(crate) struct Dice(Stream);

impl Dice {
    /// Creates the stream `name` of the run with this seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self(Streams::new(seed).stream(name))
    }

    /// Returns true with a probability of `n` in a thousand.
    pub(crate) fn per_mille(&mut self, n: u64) -> bool {
        self.0.below(1_000) < n
    }

    /// Returns a number in `[0, n)`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Returns a number in `[least, most]`.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// Returns a number in `[least, most]` as a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self, least: u64, most: u64) -> T {
        let number = self.between(least, most);
        let Ok(number) = T::try_from(number) else {
            unreachable!("the callers' bounds fit their types")
        };
        number
    }

    /// Returns a number in `[least, most]`, with each power of two equally likely.
    pub(crate) fn magnitude(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least.max(1)).ilog2(), most.max(1).ilog2());
        let bits = self.between(u64::from(low), u64::from(high));
        let number = (1 << bits) + self.below(1 << bits);
        number.clamp(least, most)
    }

    /// Returns one of these values.
    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let place = self.below(of.len() as u64);
        of[usize::try_from(place).unwrap_or(0)].clone()
    }

    /// Returns an index below `n`.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap_or(0)
    }

    /// Returns 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a random byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.bits().to_le_bytes()[0]
    }
}
