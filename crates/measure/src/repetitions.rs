//! How many runs an interval of a given width takes.

use crate::Moments;

/// The rule of the paper wifi-handoff (equation 15): a few runs first, then
/// `n = (z s / (r mean))^2` in all, rounded up, where `r` is the half-width wanted as a share of the
/// mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// The normal quantile: 1.96 for 95 %.
    pub z: f64,
    /// The half-width wanted, as a share of the mean: 0.05 for 5 %.
    pub relative: f64,
    /// The least number of runs.
    pub minimum: u64,
    /// The most; where the rule asks for more, the interval stays wider.
    pub maximum: u64,
}

impl Repetitions {
    /// 5 % at 95 %, between these bounds.
    pub const fn five_percent(minimum: u64, maximum: u64) -> Self {
        Self {
            z: 1.96,
            relative: 0.05,
            minimum,
            maximum,
        }
    }

    /// How many runs, in all, the runs so far ask for. Fewer than two runs, or runs without a
    /// spread, ask for the minimum; a mean of zero that has a spread asks for the maximum,
    /// because no number of runs comes within a share of nothing.
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

    /// Steady runs need the minimum, wild ones the maximum, and none a number of its own.
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
