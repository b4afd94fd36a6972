//! Measures of fairness.

/// Returns Jain's fairness index, `(sum x)^2 / (n sum x^2)` (Jain, Chiu, Hawe 1984).
///
/// It is 1 if all shares are equal and 1/n if one of n flows gets everything. `None` if there are no shares or all are
/// zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    let index = sum * sum / (shares.len() as f64 * squares);
    index.is_finite().then_some(index)
}

/// Returns the greatest share divided by the least: 1 if all are equal.
///
/// `None` if a share is zero or if there are no shares.
pub fn max_over_min(shares: &[f64]) -> Option<f64> {
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = shares.iter().copied().fold(0.0, f64::max);
    let factor = greatest / least;
    (least > 0.0 && factor.is_finite() && !shares.is_empty()).then_some(factor)
}

/// Returns whether no share is more than `factor` times another; `false` if a share is zero.
///
/// RFC 5348, section 1, calls a flow reasonably fair if its rate is within a factor of two of a TCP flow's rate.
pub fn within_factor(shares: &[f64], factor: f64) -> bool {
    max_over_min(shares).is_some_and(|ours| ours <= factor)
}

#[cfg(test)]
mod tests {
    use super::{jain, max_over_min, within_factor};

    /// Equal shares have index 1; if k of n shares are equal and the others zero, the index is k/n.
    #[test]
    fn published_properties() {
        assert_eq!(jain(&[3.0; 5]), Some(1.0));
        let mut ten = [2.0; 10];
        ten[8..].fill(0.0);
        assert_eq!(jain(&ten), Some(0.8));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
    }

    /// 300 kbit/s against 1.7 Mbit/s is 4 / (2 * 2.98) = 0.671; the unit does not matter.
    #[test]
    fn by_hand() {
        let index = jain(&[0.3, 1.7]).expect("two shares");
        assert!((index - 4.0 / 5.96).abs() < 1e-15, "{index}");
        let scaled = jain(&[300.0, 1700.0]).expect("two shares");
        assert!((index - scaled).abs() < 1e-15, "{scaled}");
    }

    /// Shares just inside a factor of two pass, just outside fail; a share of zero always fails.
    #[test]
    fn a_factor_of_two() {
        assert!(within_factor(&[1.0, 2.0, 1.5], 2.0));
        assert!(!within_factor(&[1.0, 2.001], 2.0));
        assert!(!within_factor(&[1.0, 0.0], 2.0));
        assert_eq!(max_over_min(&[3.0, 1.5]), Some(2.0));
        assert_eq!(max_over_min(&[]), None);
    }

    /// No shares, or only zeros, have no index.
    #[test]
    fn nothing_to_share() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
