//! Rates in bits per second.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseUnitError, Unit};
use crate::{Duration, Size};

const UNITS: &[Unit] = &[
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
];

/// A rate in whole bits per second. The prefixes `k`, `M` and `G` are powers of ten.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate(u64);

impl Rate {
    /// A rate of zero: nothing is sent.
    pub const ZERO: Self = Self(0);

    /// Creates a rate of `bits` bits per second.
    pub const fn from_bits_per_s(bits: u64) -> Self {
        Self(bits)
    }

    /// Creates a rate of `bytes` bytes per second, rounded to the nearest bit per second.
    pub fn from_bytes_per_s(bytes: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and NaN becomes zero: both are wanted"
        )]
        Self((bytes * 8.0 + 0.5) as u64)
    }

    /// Returns this rate in bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.0
    }

    /// Returns this rate in bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Returns how long `size` takes at this rate, rounded up to a nanosecond; [`Duration::MAX`] at rate zero.
    pub fn time_for(self, size: Size) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bit_ns = u128::from(size.bytes()) * 8_000_000_000;
        let ns = bit_ns.div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::print(f, self.0, UNITS, " ")
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::quantity(text, UNITS, "bit/s, kbit/s, Mbit/s, Gbit/s").map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;
    use crate::{Duration, Size};

    /// A printed rate is read back to the same value.
    #[test]
    fn printed_rates_are_read_back() {
        for bits in [0, 1, 999, 250_000, 2_000_000, 5_096_001, u64::MAX] {
            let rate = Rate::from_bits_per_s(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
        }
        assert_eq!(
            "0.25 Mbit/s".parse(),
            Ok(Rate::from_bits_per_s(250_000)),
            "decimal prefix"
        );
    }

    /// 500 bytes take two milliseconds at 2 Mbit/s and for ever at rate zero; other times are rounded up.
    #[test]
    fn serialisation_time() {
        let rate = Rate::from_bits_per_s(2_000_000);
        assert_eq!(rate.time_for(Size::new(500)), Duration::from_millis(2));
        assert_eq!(
            Rate::from_bits_per_s(3).time_for(Size::new(1)),
            Duration::from_nanos(2_666_666_667)
        );
        assert_eq!(Rate::ZERO.time_for(Size::new(1)), Duration::MAX);
    }
}
