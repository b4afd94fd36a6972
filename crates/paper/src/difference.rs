//! The difference between a measured and a published number.

use super::Unit;

/// The unit of the difference of two percentages.
pub const POINTS: &str = "points";

/// The measured minus the published number, in the paper's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference, in [`unit`](Self::unit).
    pub value: f64,
    /// The unit of both numbers, or points for two percentages.
    pub unit: &'static str,
    /// The measured over the published number. `None` where the latter is zero or both are percentages.
    pub ratio: Option<f64>,
}

impl Difference {
    /// Returns the difference between `value` and `published`, both in `unit`.
    pub fn of(value: f64, published: f64, unit: Unit) -> Self {
        let is_share = unit.name == "%";
        Self {
            value: value - published,
            unit: if is_share { POINTS } else { unit.name },
            ratio: (!is_share && published != 0.0).then_some(value / published),
        }
    }

    /// Returns `-32.2` or `+2.20 points`; the unit is written only where it is not that of the numbers.
    pub fn units(self, digits: usize) -> String {
        let text = format!("{:+.digits$}", self.value);
        let text = if text.bytes().any(|digit| matches!(digit, b'1'..=b'9')) {
            text
        } else {
            "0".to_owned()
        };
        if self.unit == POINTS {
            format!("{text} {POINTS}")
        } else {
            text
        }
    }

    /// Returns `-2.3 %`, or `x 25` if the measured number is ten times the published one or more.
    pub fn share(self) -> Option<String> {
        let ratio = self.ratio?;
        if ratio >= 10.0 {
            return Some(format!("x {ratio:.0}"));
        }
        let text = format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let is_zero = ["-0.0 %", "+0.0 %"].contains(&&*text);
        Some(if is_zero { "0.0 %".to_owned() } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, Unit};

    /// Differences are in the paper's unit, with the digits of the measured number.
    ///
    /// A relative difference is shown beside them.
    ///
    /// There is no relative difference from zero, and it is a factor if the measured number is at least ten times the
    /// published one. Percentages differ by points: 2.67 % is 2.2 points above 0.465 %, not 474 %.
    #[test]
    fn differences_are_in_the_papers_units() {
        let of = |value, published, unit, digits| {
            let difference = Difference::of(value, published, Unit::find(unit).expect("a unit"));
            let share = difference.share().unwrap_or_default();
            format!("{}|{share}", difference.units(digits))
        };
        assert_eq!(of(1364.5, 1396.7, "kbit/s", 1), "-32.2|-2.3 %");
        assert_eq!(of(0.5, 0.0, "s", 1), "+0.5|");
        assert_eq!(of(0.0, 0.0, "s", 5), "0|");
        assert_eq!(of(50.0, 2.0, "packets", 0), "+48|x 25");
        assert_eq!(of(313.16, 313.25, "ms", 2), "-0.09|0.0 %");
        assert_eq!(of(313.34, 313.25, "ms", 2), "+0.09|0.0 %");
        assert_eq!(of(2.67, 0.465, "%", 2), "+2.21 points|");
    }
}
