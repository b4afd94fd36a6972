//! Named random streams.
//!
//! A run has one seed, and one stream for each random quantity. Each stream has a name such as `bottleneck/loss`. The
//! numbers of a stream depend only on the seed and its own name, so adding or removing another stream does not change
//! them. The generator is `ChaCha8`, keyed with the SHA-256 of the seed (8 bytes, little-endian) followed by the name.
//! A test pins its first numbers, because every published result depends on them.

use fairwire_units::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The source of a run's streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Returns the streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the seed, as messages and results show it.
    pub const fn seed(self) -> u64 {
        self.seed
    }

    /// Returns the stream called `name`, from its beginning.
    pub fn stream(self, name: &str) -> Stream {
        let key = Sha256::new()
            .chain_update(self.seed.to_le_bytes())
            .chain_update(name.as_bytes())
            .finalize();
        Stream {
            generator: ChaCha8Rng::from_seed(key.into()),
        }
    }
}

/// A named sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Returns a number in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }

    /// Returns an integer in `[0, n)`, each with the same probability; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's method: the high half of the product is the number. If the low half is below the threshold, the draw
        // is rejected, because it would make some numbers more probable than others.
        let threshold = n.wrapping_neg().checked_rem(n).unwrap_or(0);
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            #[expect(clippy::cast_possible_truncation, reason = "the halves of the product")]
            let (high, low) = ((product >> 64) as u64, product as u64);
            if low >= threshold {
                return high;
            }
        }
    }

    /// Returns true with probability `p`: never at 0 (or NaN), always at 1.
    #[inline]
    pub fn bool(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Returns a duration from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        // 1 - u is in (0, 1], where the logarithm is finite.
        mean.mul_f64(-libm::log(1.0 - self.uniform()))
    }

    /// Returns a number from the standard normal distribution (Box and Muller; two draws).
    pub fn normal(&mut self) -> f64 {
        const TURN: f64 = 2.0 * std::f64::consts::PI;
        // 1 - u is in (0, 1], where the logarithm is finite.
        let length = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        length * libm::cos(TURN * self.uniform())
    }

    /// Returns a duration in `[0, below)`, each nanosecond with the same probability.
    pub fn span(&mut self, below: Duration) -> Duration {
        Duration::from_nanos(self.below(below.as_nanos()))
    }
}

#[cfg(test)]
mod tests;
