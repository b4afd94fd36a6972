//! The kinds of checks.

use serde::Deserialize;

/// The kind of a check: what must hold for its values.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Each value is within `tolerance` of the one expected.
    Absolute,
    /// Each differs from the expected value by at most `tolerance` times that value.
    Relative,
    /// Each is between the expected value divided by `tolerance` and that value times `tolerance`.
    Factor,
    /// All are in `[expected[0], expected[1]]`.
    Range,
    /// Each is greater than the one before it.
    Increasing,
    /// Each is less than the one before it.
    Decreasing,
    /// None is greater than the one before it.
    NonIncreasing,
    /// The first is less than every other.
    Least,
    /// The first is greater than every other.
    Greatest,
    /// The least and the greatest are at most `tolerance` apart.
    Equal,
}

impl Kind {
    /// Returns whether it only compares the order of the values.
    pub(super) fn is_order(self) -> bool {
        use Kind::{Decreasing, Greatest, Increasing, Least, NonIncreasing};
        [Increasing, Decreasing, NonIncreasing, Least, Greatest].contains(&self)
    }

    /// Returns whether it needs at least two values.
    pub(super) fn compares(self) -> bool {
        self.is_order() || self == Self::Equal
    }

    /// Returns whether it holds for `values`.
    pub(super) fn holds(self, values: &[f64], expected: &[f64], tolerance: f64) -> bool {
        let mut pairs = values.iter().zip(expected);
        match self {
            Self::Absolute => pairs.all(|(value, wanted)| (value - wanted).abs() <= tolerance),
            Self::Relative => {
                pairs.all(|(value, wanted)| (value - wanted).abs() <= tolerance * wanted.abs())
            }
            Self::Factor => pairs.all(|(value, wanted)| {
                *value >= wanted / tolerance && *value <= wanted * tolerance
            }),
            Self::Range => match expected {
                [low, high] => values.iter().all(|value| low <= value && value <= high),
                _ => false,
            },
            Self::Increasing => values.windows(2).all(|pair| pair[0] < pair[1]),
            Self::Decreasing => values.windows(2).all(|pair| pair[0] > pair[1]),
            Self::NonIncreasing => values.windows(2).all(|pair| pair[0] >= pair[1]),
            Self::Least => values.iter().skip(1).all(|value| values[0] < *value),
            Self::Greatest => values.iter().skip(1).all(|value| values[0] > *value),
            Self::Equal => {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                greatest - least <= tolerance
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    /// Each kind holds just inside its bound and fails just outside.
    #[test]
    fn bounds_are_where_they_say() {
        for (kind, values, expected, tolerance, holds) in [
            (Kind::Absolute, vec![162.0], vec![160.0], 2.0, true),
            (Kind::Absolute, vec![162.1], vec![160.0], 2.0, false),
            (
                Kind::Relative,
                vec![103.0, 194.0],
                vec![100.0, 200.0],
                0.03,
                true,
            ),
            (
                Kind::Relative,
                vec![103.0, 193.9],
                vec![100.0, 200.0],
                0.03,
                false,
            ),
            (Kind::Factor, vec![3.0], vec![1.0], 3.0, true),
            (Kind::Factor, vec![0.3], vec![1.0], 3.0, false),
            (Kind::Range, vec![1.0, 2.0], vec![1.0, 2.0], 0.0, true),
            (Kind::Range, vec![1.0, 2.1], vec![1.0, 2.0], 0.0, false),
            (Kind::Increasing, vec![1.0, 2.0, 3.0], vec![], 0.0, true),
            (Kind::Increasing, vec![1.0, 1.0], vec![], 0.0, false),
            (Kind::Decreasing, vec![2.0, 1.0], vec![], 0.0, true),
            (Kind::Decreasing, vec![1.0, 1.0], vec![], 0.0, false),
            (Kind::NonIncreasing, vec![2.0, 1.0, 1.0], vec![], 0.0, true),
            (Kind::NonIncreasing, vec![1.0, 1.1], vec![], 0.0, false),
            (Kind::Least, vec![1.0, 3.0, 2.0], vec![], 0.0, true),
            (Kind::Least, vec![2.0, 3.0, 2.0], vec![], 0.0, false),
            (Kind::Greatest, vec![3.0, 1.0, 2.0], vec![], 0.0, true),
            (Kind::Greatest, vec![3.0, 1.0, 3.0], vec![], 0.0, false),
            (Kind::Equal, vec![100.0, 110.0, 105.0], vec![], 10.0, true),
            (Kind::Equal, vec![100.0, 110.1, 105.0], vec![], 10.0, false),
        ] {
            assert_eq!(
                kind.holds(&values, &expected, tolerance),
                holds,
                "{kind:?} {values:?}"
            );
        }
    }
}
