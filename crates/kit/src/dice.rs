//! Pseudorandom numbers.

/// A reproducible stream of pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins the stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    /// Returns true this many times in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        (self.next() >> 20) % 1_000 < per_mille
    }
}
