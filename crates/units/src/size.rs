//! Sizes in bytes.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseUnitError, Unit};

const UNITS: &[Unit] = &[("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
const READ_UNITS: &[Unit] = &[
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// A size in whole bytes. `kB` and `MB` are powers of ten, `KiB` and `MiB` powers of two.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Size(u64);

impl Size {
    /// Creates a size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns this size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::print(f, self.0, UNITS, " ")
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Size {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::quantity(text, READ_UNITS, "B, kB, MB, GB, KiB, MiB, GiB").map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    /// A printed size is read back to the same value, and half a byte is refused.
    #[test]
    fn printed_sizes_are_read_back() {
        for bytes in [0, 1, 500, 1_460, 1_000_000, 12_345_678] {
            let size = Size::new(bytes);
            assert_eq!(size.to_string().parse(), Ok(size), "{size}");
        }
        assert_eq!("1 MiB".parse(), Ok(Size::new(1 << 20)));
        assert!("0.5 B".parse::<Size>().is_err());
    }
}
