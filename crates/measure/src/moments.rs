//! Mean and standard deviation, updated value by value.

use crate::{Confidence, Estimate, Spread, student_t};

/// Count, mean, variance and extremes by Welford's method: one pass, without cancellation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Moments {
    /// Creates an accumulator without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
        if self.count == 1 {
            (self.least, self.greatest) = (value, value);
        } else {
            self.least = self.least.min(value);
            self.greatest = self.greatest.max(value);
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the sample variance (divided by n - 1); `None` for fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Returns the sample standard deviation; `None` for fewer than two values.
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Returns the least value; `None` without values.
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    /// Returns the greatest value; `None` without values.
    pub fn greatest(&self) -> Option<f64> {
        (self.count > 0).then_some(self.greatest)
    }

    /// Returns the mean with its confidence interval; `None` without values.
    pub fn estimate(&self, confidence: Confidence) -> Option<Estimate> {
        let mean = self.mean()?;
        let spread = match self.deviation() {
            Some(deviation) if self.least < self.greatest => {
                let factor = match confidence {
                    Confidence::Student(level) => student_t(level, self.count - 1),
                    Confidence::Normal { z } => z,
                };
                Spread::HalfWidth(factor * deviation / (self.count as f64).sqrt())
            }
            _ => Spread::None,
        };
        Some(Estimate {
            mean,
            spread,
            count: self.count,
        })
    }
}

impl Extend<f64> for Moments {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::new();
        moments.extend(values);
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;

    /// The values 2 4 4 4 5 5 7 9 have mean 5 and squared distances of 32 in all: variance 32/7.
    #[test]
    fn by_hand() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .into_iter()
            .collect();
        assert_eq!(moments.mean(), Some(5.0));
        let variance = moments.variance().expect("eight values");
        // Eight additions, each within 2^-52 of numbers below 32.
        assert!((variance - 32.0 / 7.0).abs() < 1e-13, "{variance}");
        assert_eq!(moments.least(), Some(2.0));
        assert_eq!(moments.greatest(), Some(9.0));
    }

    /// A large offset does not harm the variance: 1e9 + {4, 7, 13, 16} has variance 30.
    #[test]
    fn no_cancellation() {
        let moments: Moments = [4.0, 7.0, 13.0, 16.0]
            .map(|x| 1e9 + x)
            .into_iter()
            .collect();
        assert_eq!(moments.variance(), Some(30.0));
    }

    /// Too few values have no variance, instead of a variance of zero.
    #[test]
    fn too_few_values() {
        assert_eq!(Moments::new().mean(), None);
        let one: Moments = [3.0].into_iter().collect();
        assert_eq!((one.mean(), one.deviation()), (Some(3.0), None));
    }
}
