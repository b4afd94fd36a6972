//! Quantiles of Student's t distribution.
//!
//! With `x = n / (n + t^2)`, the probability that a t variable of `n` degrees of freedom exceeds `t` in absolute value
//! is the regularised incomplete beta function `I_x(n/2, 1/2)` (Abramowitz and Stegun, 26.7.1 and 26.5.27). It
//! decreases with `t`, so bisection finds the quantile. Only `+ - * / sqrt` and `libm` are used, so the bits are the
//! same on every machine.

/// Returns the two-sided quantile of Student's t: the `t` that `abs(T)` does not exceed with probability `level`.
///
/// For example, `student_t(0.95, 9)` is 2.262. NaN if `degrees` is zero or `level` is outside `(0, 1)`.
pub fn student_t(level: f64, degrees: u64) -> f64 {
    if degrees == 0 || !(level > 0.0 && level < 1.0) {
        return f64::NAN;
    }
    let outside = 1.0 - level;
    let n = degrees as f64;
    let mut high = 1.0;
    while two_sided_tail(high, n) > outside {
        high *= 2.0;
    }
    let mut low = 0.0;
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if two_sided_tail(middle, n) > outside {
            low = middle;
        } else {
            high = middle;
        }
    }
}

fn two_sided_tail(t: f64, n: f64) -> f64 {
    let square = t * t;
    // For large `t`, `x` and `1 - x` keep their digits only if each is computed separately.
    regularised_beta(n / (n + square), square / (n + square), n / 2.0, 0.5)
}

/// Returns `I_x(a, b)`, given `x` and `y = 1 - x`.
fn regularised_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log(y);
    let front = libm::exp(log_front);
    // The fraction converges quickly only below the mean of the beta distribution.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(y, b, a) / b
    }
}

/// Returns the continued fraction of Abramowitz and Stegun 26.5.8, evaluated by Lentz's method.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    // Replaces a zero in a denominator; far below any value that occurs.
    const TINY: f64 = 1e-300;
    // About sqrt(max(a, b)) terms are needed: this is enough for 1e9 degrees of freedom.
    const TERMS: u32 = 100_000;
    let away_from_zero = |term: f64| if term.abs() < TINY { TINY } else { term };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for term in 1..=TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        below = 1.0 / away_from_zero(1.0 + even * below);
        above = away_from_zero(1.0 + even / above);
        value *= below * above;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        below = 1.0 / away_from_zero(1.0 + odd * below);
        above = away_from_zero(1.0 + odd / above);
        let factor = below * above;
        value *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::student_t;

    /// The quantiles agree with the usual table of textbooks for 90, 95 and 99 % (three decimals).
    #[test]
    fn agrees_with_the_table() {
        let table = [
            (1, 6.314, 12.706, 63.657),
            (2, 2.920, 4.303, 9.925),
            (3, 2.353, 3.182, 5.841),
            (4, 2.132, 2.776, 4.604),
            (5, 2.015, 2.571, 4.032),
            (9, 1.833, 2.262, 3.250),
            (10, 1.812, 2.228, 3.169),
            (12, 1.782, 2.179, 3.055),
            (19, 1.729, 2.093, 2.861),
            (29, 1.699, 2.045, 2.756),
            (30, 1.697, 2.042, 2.750),
            (60, 1.671, 2.000, 2.660),
            (120, 1.658, 1.980, 2.617),
        ];
        for (degrees, t90, t95, t99) in table {
            for (level, expected) in [(0.90, t90), (0.95, t95), (0.99, t99)] {
                let t = student_t(level, degrees);
                // Half a unit of the table's last digit, and a little more because the table rounds ties.
                assert!((t - expected).abs() < 0.000_51, "{level} {degrees}: {t}");
            }
        }
    }

    /// The quantiles agree with the closed forms: tan(pi level / 2) for one degree of freedom, level * sqrt(2 / (1 -
    /// level^2)) for two.
    #[test]
    fn agrees_with_closed_forms() {
        for level in [0.5, 0.8, 0.95, 0.999] {
            let one = libm::tan(std::f64::consts::PI * level / 2.0);
            let two = level * (2.0f64 / (1.0 - level * level)).sqrt();
            for (degrees, exact) in [(1, one), (2, two)] {
                let t = student_t(level, degrees);
                // lgamma and exp are accurate to a few units in the 15th digit; 1 - level, at 0.999, costs three more
                // digits.
                assert!((t / exact - 1.0).abs() < 1e-11, "{level} {degrees}: {t}");
            }
        }
    }

    /// With many degrees of freedom the quantile approaches the normal one, 1.959964 for 95 %.
    #[test]
    fn tends_to_the_normal_quantile() {
        let t = student_t(0.95, 10_000_000);
        // The first correction is (z^3 + z) / (4 n) = 2.4e-7; lgamma of 5e6 costs about 1e-8.
        assert!((t - 1.959_963_985).abs() < 1e-6, "{t}");
    }

    /// A question without an answer returns NaN.
    #[test]
    fn no_answer() {
        for (level, degrees) in [(0.95, 0), (0.0, 5), (1.0, 5), (f64::NAN, 5)] {
            assert!(student_t(level, degrees).is_nan());
        }
    }
}
