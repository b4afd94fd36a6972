//! Parsers of whole numbers on the command line, whose errors say what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a number of seeds.
pub(crate) fn seeds(text: &str) -> Result<u32, String> {
    whole(text, 1..=10_000)
}

/// Parses the greatest number of seeds with --within, which begins with five.
#[cfg(feature = "sweep")]
pub(crate) fn most_seeds(text: &str) -> Result<u32, String> {
    whole(text, 5..=10_000)
}

/// Parses a number of runs at the same time.
pub(crate) fn jobs(text: &str) -> Result<u32, String> {
    whole(text, 1..=1_024)
}

/// Parses a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0..=u64::MAX)
}

/// Parses a share in percent, with or without the sign.
#[cfg(feature = "sweep")]
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let number = number.parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "write a percentage above 0 and up to 100, as 5%".to_owned())
}

fn whole<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (from, to) = (range.start(), range.end());
        format!("write a whole number from {from} to {to}")
    })
}
