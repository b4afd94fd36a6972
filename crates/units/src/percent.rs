//! Percentages.

use std::fmt;
use std::str::FromStr;

use crate::parse::ParseUnitError;

/// A fraction from 0.0 to 1.0, written as a percentage: `"1 %"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    /// Zero per cent.
    pub const NONE: Self = Self(0.0);
    /// A hundred per cent.
    pub const ALL: Self = Self(1.0);

    /// Creates a percentage from `fraction`, limited to 0.0 to 1.0; NaN becomes zero.
    pub const fn of(fraction: f64) -> Self {
        if fraction >= 1.0 {
            Self::ALL
        } else if fraction > 0.0 {
            Self(fraction)
        } else {
            Self::NONE
        }
    }

    /// Returns the fraction, 0.0 to 1.0.
    pub const fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().strip_suffix('%');
        let number = number.and_then(|number| number.trim().replace('_', "").parse::<f64>().ok());
        match number {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(ParseUnitError::NotAPercentage {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        if percent > 0.0 && percent < 1e-3 {
            // 15 digits: all that survive the division by 100. None of them may be cut off, or it would become zero.
            let digits = format!("{percent:.14e}");
            let (number, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
            let number = number.trim_end_matches('0').trim_end_matches('.');
            return f.pad(&format!("{number}e{exponent} %"));
        }
        // Rounded to 1e-10 so that 7 % does not print as 7.000000000000001 %.
        let percent = (self.0 * 1e12 + 0.5).floor() / 1e10;
        f.pad(&format!("{percent} %"))
    }
}

#[cfg(test)]
mod tests {
    use super::Percent;

    /// A printed percentage is read back to the same value.
    #[test]
    fn printed_percentages_are_read_back() {
        for text in [
            "0 %", "1e-13 %", "2.5e-5 %", "0.5 %", "1 %", "5 %", "7 %", "33.3 %", "100 %",
        ] {
            let percent: Percent = text.parse().expect(text);
            assert_eq!(percent.to_string(), text);
            assert_eq!(percent.to_string().parse(), Ok(percent));
        }
    }

    /// A number without a unit or out of range is refused; a fraction out of range is limited to 0.0 to 1.0.
    #[test]
    fn no_more_than_all() {
        for text in ["5", "101 %", "-1 %", "NaN %", "%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
        assert_eq!(Percent::of(1.5), Percent::ALL);
        assert_eq!(Percent::of(f64::NAN), Percent::NONE);
        assert_eq!(Percent::of(0.25).fraction(), 0.25);
    }
}
