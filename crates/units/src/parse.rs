//! Decimal numbers with units, read exactly.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// Why a text is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ParseUnitError {
    /// The text does not begin with a decimal number.
    NotANumber {
        /// What was read.
        text: String,
    },
    /// A number without a unit.
    MissingUnit {
        /// What was read.
        text: String,
        /// The units that would do.
        expected: &'static str,
    },
    /// A unit of another kind, or none at all.
    UnknownUnit {
        /// The unit found.
        unit: String,
        /// The units that would do.
        expected: &'static str,
    },
    /// Not a percentage from 0 to 100.
    NotAPercentage {
        /// What was read.
        text: String,
    },
    /// Not a whole number of packets.
    NotPackets {
        /// What was read.
        text: String,
    },
    /// Larger than the type holds, or finer than its grain (a tenth of a nanosecond, half a byte).
    OutOfRange {
        /// What was read.
        text: String,
    },
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { text } if text.trim_start().starts_with('-') => {
                write!(
                    f,
                    "'{text}' is negative: write a number with a unit, from zero on"
                )
            }
            Self::NotANumber { text } => {
                write!(f, "'{text}' is not a number with a unit")
            }
            Self::MissingUnit { text, expected } => {
                write!(f, "'{text}' has no unit: write one of {expected}")
            }
            Self::UnknownUnit { unit, expected } => {
                write!(f, "unit '{unit}' is not one of {expected}")
            }
            Self::NotAPercentage { text } => {
                write!(
                    f,
                    "'{text}' is not a percentage: write one from \"0 %\" to \"100 %\""
                )
            }
            Self::NotPackets { text } => {
                write!(
                    f,
                    "'{text}' is not a number of packets: write it as \"20 packets\""
                )
            }
            Self::OutOfRange { text } => {
                write!(f, "'{text}' is too large or too fine to represent")
            }
        }
    }
}

impl Error for ParseUnitError {}

/// One unit: its spelling and how many grains (nanoseconds, bits per second, bytes) it holds.
pub(crate) type Unit = (&'static str, u64);

/// Reads `text` as a decimal number followed by one of `units`, in grains, exactly.
pub(crate) fn quantity(
    text: &str,
    units: &[Unit],
    expected: &'static str,
) -> Result<u64, ParseUnitError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = whole.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ParseUnitError::NotANumber {
            text: text.to_owned(),
        });
    }
    if unit.is_empty() {
        return Err(ParseUnitError::MissingUnit {
            text: text.to_owned(),
            expected,
        });
    }
    let Some(&(_, grains)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(ParseUnitError::UnknownUnit {
            unit: unit.to_owned(),
            expected,
        });
    };
    exact(&digits, fraction, grains).ok_or_else(|| ParseUnitError::OutOfRange {
        text: text.to_owned(),
    })
}

/// The number before one of `units` in `text`, which may stand with or without a gap.
pub(crate) fn before_unit<T: FromStr>(text: &str, units: &[&str]) -> Option<T> {
    let trimmed = text.trim();
    units
        .iter()
        .find_map(|unit| trimmed.strip_suffix(unit))
        .and_then(|number| number.trim().replace('_', "").parse().ok())
}

/// `digits.fraction * grains`, if it is a whole number of grains that fits.
fn exact(digits: &str, fraction: &str, grains: u64) -> Option<u64> {
    let fraction = fraction.trim_end_matches('0');
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let mantissa: u128 = format!("{digits}{fraction}").parse().ok()?;
    let product = mantissa.checked_mul(u128::from(grains))?;
    if product % scale != 0 {
        return None;
    }
    u64::try_from(product / scale).ok()
}

/// Prints `grains` in the largest of `units` (ordered from largest to smallest, the last one
/// holding a single grain) that is not larger than it, exactly and without trailing zeros.
pub(crate) fn print(
    f: &mut fmt::Formatter<'_>,
    grains: u64,
    units: &[Unit],
    gap: &str,
) -> fmt::Result {
    let (name, per) = units
        .iter()
        .copied()
        .find(|(_, per)| *per <= grains)
        .or_else(|| units.last().copied())
        .unwrap_or(("", 1));
    let text = if grains.is_multiple_of(per) {
        format!("{}{gap}{name}", grains / per)
    } else {
        let width = per.ilog10() as usize;
        let fraction = format!("{:0width$}", grains % per);
        format!(
            "{}.{}{gap}{name}",
            grains / per,
            fraction.trim_end_matches('0')
        )
    };
    f.pad(&text)
}
