//! Limits of settings.

use std::num::NonZeroU16;
use std::time::Duration;

use fairwire_units::{Packets, Rate, Size};

use crate::error::ConfigError;

/// The values that a setting may have, and what an error says about any other. Bounds are texts as in files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    least: Option<&'static str>,
    above: Option<&'static str>,
    most: Option<&'static str>,
    advice: &'static str,
}

impl Limit {
    const NONE: Self = Self {
        least: None,
        above: None,
        most: None,
        advice: "",
    };

    /// Allows `least` and more.
    pub(super) const fn from(least: &'static str) -> Self {
        Self {
            least: Some(least),
            ..Self::NONE
        }
    }

    /// Allows more than `bound`.
    pub(super) const fn above(bound: &'static str) -> Self {
        Self {
            above: Some(bound),
            ..Self::NONE
        }
    }

    /// Allows `most` and less.
    pub(super) const fn up_to(most: &'static str) -> Self {
        Self::NONE.to(most)
    }

    /// Allows at most `most`, too.
    pub(super) const fn to(self, most: &'static str) -> Self {
        Self {
            most: Some(most),
            ..self
        }
    }

    /// Sets what an error says about other values.
    pub(super) const fn or(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }

    /// Returns an error if the value of `key` is outside.
    pub(super) fn check(self, key: &'static str, value: &impl Measured) -> Result<(), ConfigError> {
        let Some(value) = value.amount() else {
            return Ok(());
        };
        // A NaN is outside of every bound.
        let holds = value.is_finite()
            && self.least.is_none_or(|least| value >= amount(least))
            && self.above.is_none_or(|above| value > amount(above))
            && self.most.is_none_or(|most| value <= amount(most));
        if holds {
            return Ok(());
        }
        Err(ConfigError::new(key, self.advice))
    }
}

#[cfg(feature = "settings")]
impl schemars::transform::Transform for Limit {
    /// Writes the limit into the schema of its setting: bounds of quantities as texts, those of numbers as numbers.
    fn transform(&mut self, schema: &mut schemars::Schema) {
        let bounds = [
            ("minimum", "minimum_quantity", self.least),
            ("exclusiveMinimum", "exclusive_minimum_quantity", self.above),
            ("maximum", "maximum_quantity", self.most),
        ];
        for (of_number, of_quantity, bound) in bounds {
            let Some(bound) = bound else {
                continue;
            };
            match bound.parse::<serde_json::Number>() {
                Ok(number) => schema.insert(of_number.to_owned(), number.into()),
                Err(_) => schema.insert(of_quantity.to_owned(), bound.into()),
            };
        }
        schema.insert("advice".to_owned(), self.advice.into());
    }
}

/// Returns the amount of a bound: a number, packets, bytes, bytes per second or nanoseconds.
fn amount(bound: &str) -> f64 {
    let number = bound.parse().ok();
    let packets = || Some(f64::from(bound.parse::<Packets>().ok()?.0));
    let time = || Some(bound.parse::<fairwire_units::Duration>().ok()?.as_nanos() as f64);
    let size = || Some(bound.parse::<Size>().ok()?.bytes() as f64);
    let rate = || Some(bound.parse::<Rate>().ok()?.bytes_per_s());
    let amount = number.or_else(packets).or_else(time).or_else(size);
    amount.or_else(rate).unwrap_or(f64::NAN)
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
}

impl<T: Measured> Measured for Option<T> {
    fn amount(&self) -> Option<f64> {
        self.as_ref()?.amount()
    }
}
