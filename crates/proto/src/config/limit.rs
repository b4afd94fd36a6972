//! Limits of settings, as documents and errors state them: "at least 1 ms and at most 60 s".

use std::num::NonZeroU16;
use std::time::Duration;

use fairwire_units::{self as units, Packets, ParseUnitError, Rate, Size};

use crate::error::ConfigError;

/// A limit in words. A quantity's bound has a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(pub(super) &'static str);

impl Limit {
    /// Returns the bounds, each after its words: "at least", "above" or "at most".
    fn bounds(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let parts = self.0.split(" and ");
        parts.filter_map(|part| {
            let number = part.find(|letter: char| letter.is_ascii_digit())?;
            Some((part[..number].trim_end(), &part[number..]))
        })
    }

    /// Returns what is wrong with a value outside of the limit.
    fn problem(self) -> String {
        format!("must be {}", self.0)
    }

    /// Returns an error if `key` is set to a value outside of the limit.
    pub(super) fn check(self, key: &'static str, value: &impl Measured) -> Result<(), ConfigError> {
        let Some(value) = value.amount() else {
            return Ok(());
        };
        let mut bounds = self.bounds().map(|(words, bound)| {
            let bound = amount(bound).unwrap_or(f64::NAN);
            match words {
                "at least" => value >= bound,
                "above" => value > bound,
                _ => value <= bound,
            }
        });
        // A NaN is outside of every bound.
        if value.is_finite() && bounds.all(|holds| holds) {
            return Ok(());
        }
        Err(ConfigError::new(key, self.problem()))
    }
}

#[cfg(feature = "settings")]
impl schemars::transform::Transform for Limit {
    /// Writes the limit into the schema of its setting: bounds of quantities as texts, those of numbers as numbers.
    fn transform(&mut self, schema: &mut schemars::Schema) {
        for (words, bound) in self.bounds() {
            let (of_number, of_quantity) = match words {
                "at least" => ("minimum", "minimum_quantity"),
                "above" => ("exclusiveMinimum", "exclusive_minimum_quantity"),
                _ => ("maximum", "maximum_quantity"),
            };
            match bound.parse::<serde_json::Number>() {
                Ok(number) => schema.insert(of_number.to_owned(), number.into()),
                Err(_) => schema.insert(of_quantity.to_owned(), bound.into()),
            };
        }
        schema.insert("advice".to_owned(), self.problem().into());
    }
}

/// Returns the amount of a bound: a number, packets, bytes, bytes per second or nanoseconds.
fn amount(bound: &str) -> Result<f64, ParseUnitError> {
    let unit = bound.split_once(' ').map(|(_, unit)| unit);
    Ok(match unit {
        Some("packet" | "packets") => f64::from(bound.parse::<Packets>()?.0),
        Some("B") => bound.parse::<Size>()?.bytes() as f64,
        Some("bit/s") => bound.parse::<Rate>()?.bytes_per_s(),
        Some(_) => bound.parse::<units::Duration>()?.as_nanos() as f64,
        None => bound.parse().unwrap_or(f64::NAN),
    })
}

/// A value that has limits.
pub(super) trait Measured {
    /// Returns the amount to compare with a bound; `None` if nothing is set.
    fn amount(&self) -> Option<f64>;
}

macro_rules! measured {
    ($($type:ty: |$value:ident| $amount:expr;)*) => {
        $(impl Measured for $type {
            fn amount(&self) -> Option<f64> {
                let $value = *self;
                Some($amount)
            }
        })*
    };
}

measured! {
    u8: |value| f64::from(value);
    u16: |value| f64::from(value);
    u64: |value| value as f64;
    usize: |value| value as f64;
    NonZeroU16: |value| f64::from(value.get());
    f64: |value| value;
    Duration: |value| value.as_nanos() as f64;
    Rate: |value| value.bytes_per_s();
}

impl<T: Measured> Measured for Option<T> {
    fn amount(&self) -> Option<f64> {
        self.as_ref()?.amount()
    }
}
