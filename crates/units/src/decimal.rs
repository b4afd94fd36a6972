//! Decimal numbers as people and programs write them.

/// A decimal number of zero or more: `0.25`, `.5`, `5.`, `1_000`, `5e-05`.
///
/// ```
/// use fairwire_units::Decimal;
///
/// let (number, rest) = Decimal::split("1.5e3M").expect("a number");
/// assert_eq!((number.times(1_000_000), rest), (Some(1_500_000_000), "M"));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decimal {
    /// The digits without the point; `None` if there are too many.
    digits: Option<u128>,
    /// The power of ten of the last digit.
    exponent: i32,
}

impl Decimal {
    /// Splits `text` after the number that it begins with. Returns `None` if it begins with none.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole: String = whole.chars().filter(|c| *c != '_').collect();
        let is_number = fraction.bytes().all(|b| b.is_ascii_digit());
        if !is_number || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let (exponent, rest) = exponent(rest).unwrap_or((0, rest));
        let decimals = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let number = Self {
            digits: format!("0{whole}{fraction}").parse().ok(),
            exponent: exponent.saturating_sub(decimals),
        };
        Some((number, rest))
    }

    /// Returns whether it is zero.
    pub fn is_zero(self) -> bool {
        self.digits == Some(0)
    }

    /// Returns this number times `unit`, if that is a whole number that fits.
    ///
    /// Programs write sums of binary fractions with 17 digits, such as `0.30000000000000004`. So a number counts as
    /// whole if it differs from a whole one by no more than 1e-14 of its value.
    pub fn times(self, unit: u64) -> Option<u64> {
        let (whole, rest, scale, product) = self.divided(unit)?;
        let nearest = whole + u128::from(rest > scale / 2);
        let off = rest.min(scale - rest);
        (off <= product / NOISE).then(|| u64::try_from(nearest).ok())?
    }

    /// Returns this number times `unit`, rounded down, if that fits.
    pub fn times_down(self, unit: u64) -> Option<u64> {
        let whole = self.times(unit).map(u128::from);
        let whole = whole.or_else(|| Some(self.divided(unit)?.0))?;
        u64::try_from(whole).ok()
    }

    /// Returns quotient and remainder of this number times `unit`, as a fraction: the quotient, the remainder, the
    /// denominator, and the numerator.
    fn divided(self, unit: u64) -> Option<(u128, u128, u128, u128)> {
        let product = self.digits?.checked_mul(u128::from(unit))?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        match power {
            _ if product == 0 => Some((0, 0, 1, 0)),
            Some(power) if self.exponent >= 0 => {
                let product = product.checked_mul(power)?;
                Some((product, 0, 1, product))
            }
            Some(scale) => Some((product / scale, product % scale, scale, product)),
            None if self.exponent > 0 => None,
            // Less than one.
            None => Some((0, 1, u128::MAX, 1)),
        }
    }
}

/// The inverse of the greatest relative difference from a whole number.
const NOISE: u128 = 100_000_000_000_000;

/// Splits an exponent such as `e-05` from the beginning of `text`.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let digits = rest.trim_start_matches(['+', '-']);
    let sign = rest.len() - digits.len();
    let length = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    if sign > 1 || length == 0 {
        return None;
    }
    let (number, rest) = rest.split_at(sign + length);
    // Beyond these bounds every number is zero or too large.
    let limit = if number.starts_with('-') {
        -9_999
    } else {
        9_999
    };
    Some((number.parse().unwrap_or(limit).clamp(-9_999, 9_999), rest))
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn times(text: &str, unit: u64) -> Option<u64> {
        let (number, rest) = Decimal::split(text).expect(text);
        assert_eq!(rest, "", "{text}");
        number.times(unit)
    }

    /// Numbers are read in every form that people, Python and Rust write, also with the noise of binary fractions.
    #[test]
    fn every_form_is_read() {
        for (text, thousandfold) in [
            ("0", 0),
            ("0.0", 0),
            ("0e-500", 0),
            ("5.", 5_000),
            (".5", 500),
            ("1_000", 1_000_000),
            ("5e-02", 50),
            ("1.5E+3", 1_500_000),
            ("0.30000000000000004", 300),
            ("0.7999999999999999", 800),
            ("00.1", 100),
        ] {
            assert_eq!(times(text, 1_000), Some(thousandfold), "{text}");
        }
        let (number, rest) = Decimal::split("3e").expect("a number");
        assert_eq!((number.times(1), rest), (Some(3), "e"));
    }

    /// What is finer than the unit or too large is refused, and a small number does not become zero.
    #[test]
    fn nothing_else_is_rounded() {
        for text in [
            "0.0005",
            "1e-5000",
            "1.0000001",
            "1e30",
            "99999999999999999999",
            "1e999999999999",
        ] {
            assert_eq!(times(text, 1_000), None, "{text}");
        }
        for text in ["", ".", "_", "-1", "e5", "1.2.3", "x", "+1"] {
            assert_eq!(Decimal::split(text).map(|(_, rest)| rest), None, "{text}");
        }
        let (number, _) = Decimal::split("1.7").expect("a number");
        assert_eq!((number.times(1), number.times_down(1)), (None, Some(1)));
        let (number, _) = Decimal::split("1e-5000").expect("a number");
        assert_eq!((number.is_zero(), number.times_down(1)), (false, Some(0)));
    }
}
