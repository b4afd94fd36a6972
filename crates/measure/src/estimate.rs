//! A mean and its confidence interval.

use std::fmt;

/// The method for an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confidence {
    /// Student's t with n - 1 degrees of freedom, two-sided, at this level (such as 0.95).
    Student(f64),
    /// The quantile of the normal distribution for any number of values, as in some papers.
    Normal {
        /// The quantile: 1.96 for 95 %.
        z: f64,
    },
}

impl Confidence {
    /// 95 % by Student's t, the interval of this project's reports.
    pub const STUDENT_95: Self = Self::Student(0.95);
    /// 95 % by z = 1.96, the interval of the paper wifi-handoff.
    pub const NORMAL_95: Self = Self::Normal { z: 1.96 };
}

/// The uncertainty of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Unknown, because there are fewer than two values or all are equal. This does not mean that the mean is exact.
    None,
    /// The half-width of the interval around the mean; above zero.
    HalfWidth(f64),
}

/// The mean of independent values, with its interval.
///
/// Prints as `12.3 ± 0.4` with the requested precision, or as `12.3 (no spread)`. If all values are zero it prints as
/// `0.0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The uncertainty of the mean.
    pub spread: Spread,
    /// The number of values.
    pub count: u64,
}

impl Estimate {
    /// Returns the ends of the interval; `None` without a spread.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::None => None,
            Spread::HalfWidth(half) => Some((self.mean - half, self.mean + half)),
        }
    }

    /// Returns whether the interval contains `value`. Without a spread, only the mean itself is contained.
    pub fn holds(&self, value: f64) -> bool {
        match self.interval() {
            Some((low, high)) => low <= value && value <= high,
            None => value == self.mean,
        }
    }

    /// Returns the half-width as a fraction of the mean; `None` without a spread or with a mean of zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        match self.spread {
            Spread::HalfWidth(half) if self.mean != 0.0 => Some(half / self.mean.abs()),
            _ => None,
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let mean = self.mean;
        match self.spread {
            // All values are zero: "(no spread)" would add nothing.
            Spread::None if mean == 0.0 => write!(f, "{mean:.digits$}"),
            Spread::None => write!(f, "{mean:.digits$} (no spread)"),
            Spread::HalfWidth(half) => {
                let text = format!("{half:.digits$}");
                if text.bytes().any(|b| matches!(b, b'1'..=b'9')) || !half.is_finite() {
                    write!(f, "{mean:.digits$} ± {text}")
                } else {
                    // Too small for the requested digits, but not zero.
                    let least = (0..digits).fold(1.0, |unit, _| unit / 10.0);
                    write!(f, "{mean:.digits$} ± <{least:.digits$}")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Confidence, Spread};
    use crate::Moments;

    /// Five values by hand: mean 3, s = sqrt(2.5). The half-widths are t(0.975, 4) s / sqrt(5) with t = 2.776 from the
    /// table, and 1.96 s / sqrt(5).
    #[test]
    fn intervals_by_hand() {
        let moments: Moments = [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().collect();
        let standard_error = (2.5f64 / 5.0).sqrt();
        for (confidence, factor, tolerance) in [
            // The table has three decimals.
            (Confidence::STUDENT_95, 2.776, 0.0005),
            (Confidence::NORMAL_95, 1.96, 1e-12),
        ] {
            let estimate = moments.estimate(confidence).expect("five values");
            let Spread::HalfWidth(half) = estimate.spread else {
                panic!("these values differ");
            };
            assert!(
                (half / standard_error - factor).abs() <= tolerance,
                "{half}"
            );
            assert!(estimate.holds(3.0 + half * 0.999));
            assert!(!estimate.holds(3.0 + half * 1.001));
        }
    }

    /// Equal values, and a single value, have no spread and never print as plus or minus zero.
    #[test]
    fn no_spread_is_not_zero() {
        for values in [vec![0.1; 7], vec![4.0]] {
            let moments: Moments = values.into_iter().collect();
            let estimate = moments.estimate(Confidence::STUDENT_95).expect("values");
            assert_eq!(estimate.spread, Spread::None);
            assert_eq!(estimate.interval(), None);
            let text = estimate.to_string();
            assert!(text.ends_with("(no spread)"), "{text}");
        }
        assert_eq!(Moments::new().estimate(Confidence::STUDENT_95), None);
    }

    /// A zero in all runs prints without "(no spread)"; a mean that only rounds to zero keeps its spread.
    #[test]
    fn zeros_are_plain() {
        let shown = |values: &[f64]| {
            let moments: Moments = values.iter().copied().collect();
            let estimate = moments.estimate(Confidence::STUDENT_95).expect("values");
            format!("{estimate:.1}")
        };
        assert_eq!(shown(&[0.0; 3]), "0.0");
        assert_eq!(shown(&[0.01; 3]), "0.0 (no spread)");
        assert!(shown(&[0.0, 0.0, 0.01]).starts_with("0.0 ± "));
    }

    /// A half-width too small for the digits prints as less than one unit of the last digit.
    #[test]
    fn small_spread_is_not_zero() {
        let moments: Moments = [1.0, 1.0 + 1e-9].into_iter().collect();
        let estimate = moments.estimate(Confidence::NORMAL_95).expect("values");
        assert_eq!(format!("{estimate:.2}"), "1.00 ± <0.01");
        assert_eq!(format!("{estimate:.0}"), "1 ± <1");
        let wide: Moments = [10.0, 12.0].into_iter().collect();
        let estimate = wide.estimate(Confidence::NORMAL_95).expect("values");
        assert_eq!(format!("{estimate:.1}"), "11.0 ± 2.0");
    }
}
