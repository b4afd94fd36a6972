//! A reproducible stream of random numbers for each task.

/// A xorshift generator; the quality of its numbers does not matter here.
pub(crate) struct Dice(u64);

impl Dice {
    /// Makes the stream of task `number` in the run with `seed`.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (number + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self(mixed | 1)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// Returns one byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }

    /// Returns a time below `ms` milliseconds.
    pub(crate) fn millis(&mut self, ms: u64) -> std::time::Duration {
        std::time::Duration::from_millis(self.below(ms))
    }
}
