//! The number of runs needed for an interval of a given width.

use crate::Moments;

/// The rule of the paper wifi-handoff for the number of runs (equation 15).
///
/// After a few first runs the rule asks for `n = (z s / (r mean))^2` runs in all, rounded up. `r` is the wanted
/// half-width as a fraction of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// The normal quantile: 1.96 for 95 %.
    pub z: f64,
    /// The wanted half-width as a fraction of the mean: 0.05 for 5 %.
    pub relative: f64,
    /// The least number of runs.
    pub minimum: u64,
    /// The greatest number of runs. If the rule asks for more, the interval stays wider.
    pub maximum: u64,
}

impl Repetitions {
    /// Returns the rule for a half-width of 5 % at 95 % confidence, with these bounds.
    pub const fn five_percent(minimum: u64, maximum: u64) -> Self {
        Self {
            z: 1.96,
            relative: 0.05,
            minimum,
            maximum,
        }
    }

    /// Returns the number of runs needed in all, computed from the runs so far.
    ///
    /// Fewer than two runs, or runs without a spread, need the minimum. Runs with a mean of zero and a spread need the
    /// maximum, because no number of runs reaches a fraction of zero.
    pub fn needed(&self, so_far: &Moments) -> u64 {
        let (Some(mean), Some(deviation)) = (so_far.mean(), so_far.deviation()) else {
            return self.minimum;
        };
        if deviation == 0.0 {
            return self.minimum;
        }
        let root = self.z * deviation / (self.relative * mean);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and the number is clamped"
        )]
        let needed = libm::ceil(root * root) as u64;
        needed.min(self.maximum).max(self.minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::Repetitions;
    use crate::Moments;

    const RULE: Repetitions = Repetitions::five_percent(3, 500);

    /// By hand: 90, 100, 110 have mean 100 and s = 10: (1.96 * 10 / 5)^2 = 15.37, so 16 runs.
    #[test]
    fn by_hand() {
        let runs: Moments = [90.0, 100.0, 110.0].into_iter().collect();
        assert_eq!(RULE.needed(&runs), 16);
        let negative: Moments = [-90.0, -100.0, -110.0].into_iter().collect();
        assert_eq!(RULE.needed(&negative), 16, "the sign does not matter");
    }

    /// Runs with little spread need the minimum, runs with a large spread the maximum.
    #[test]
    fn bounds() {
        let needed = |values: &[f64]| RULE.needed(&values.iter().copied().collect());
        assert_eq!(needed(&[]), 3);
        assert_eq!(needed(&[7.0]), 3);
        assert_eq!(needed(&[7.0, 7.0, 7.0]), 3);
        assert_eq!(needed(&[100.0, 100.1, 99.9]), 3);
        assert_eq!(needed(&[1.0, 1000.0]), 500);
        assert_eq!(needed(&[-1.0, 1.0]), 500, "a mean of zero");
    }
}
