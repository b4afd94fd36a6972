//! Exact parsing of decimal numbers with units.

use std::fmt;

use crate::decimal::Decimal;

/// The error for a text that is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseUnitError {
    /// The text does not begin with a decimal number.
    #[error("'{text}' is {}", not_a_number(.text))]
    NotANumber {
        /// The text as given.
        text: String,
    },
    /// The number has no unit.
    #[error("'{text}' has no unit: write one of {expected}")]
    MissingUnit {
        /// The text as given.
        text: String,
        /// The possible units.
        expected: &'static str,
    },
    /// The unit is of another kind or does not exist.
    #[error("unit '{unit}' is not one of {expected}")]
    UnknownUnit {
        /// The unit in the text.
        unit: String,
        /// The possible units.
        expected: &'static str,
    },
    /// The text is not a percentage from 0 to 100.
    #[error("'{text}' is not a percentage: write one from \"0 %\" to \"100 %\"")]
    NotAPercentage {
        /// The text as given.
        text: String,
    },
    /// The text is not a whole number of packets.
    #[error("'{text}' is not a number of packets: write it as \"20 packets\"")]
    NotPackets {
        /// The text as given.
        text: String,
    },
    /// The value is too large for the type, or finer than its resolution (a nanosecond, a bit per second, a byte, a packet).
    #[error("'{text}' is too large, or has too many decimal places")]
    OutOfRange {
        /// The text as given.
        text: String,
    },
}

/// Returns what a text is that is no number with a unit.
fn not_a_number(text: &str) -> &'static str {
    if text.trim_start().starts_with('-') {
        "negative: write a number of zero or more, with a unit"
    } else {
        "not a number with a unit"
    }
}

/// One unit: its spelling and its size in base units (nanoseconds, bits per second, bytes).
pub(crate) type Unit = (&'static str, u64);

/// Parses a decimal number followed by one of `units`, and returns it in base units, exactly.
pub(crate) fn quantity(
    text: &str,
    units: &[Unit],
    expected: &'static str,
) -> Result<u64, ParseUnitError> {
    let Some((number, unit)) = Decimal::split(text.trim()) else {
        return Err(ParseUnitError::NotANumber {
            text: text.to_owned(),
        });
    };
    let unit = unit.trim();
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
    number
        .times(grains)
        .ok_or_else(|| ParseUnitError::OutOfRange {
            text: text.to_owned(),
        })
}

/// Prints `grains` base units exactly, without trailing zeros, in the largest unit that is not larger than the value.
///
/// `units` are ordered from the largest to the smallest; the last one is the base unit.
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
