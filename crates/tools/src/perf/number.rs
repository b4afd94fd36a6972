//! Numbers on the command line: rates, sizes and times, in one syntax.

use std::time::Duration;

use fairwire_units::Decimal;

use super::PerfError;

/// The longest time, seconds: 115 days.
const LONGEST: Duration = Duration::from_secs(10_000_000);

/// Parses bits per second in iperf3's form: `200M`, `1.5G`, `64k`; powers of ten, zero is unlimited.
///
/// # Errors
/// [`PerfError::Usage`] with the forms that are possible, or if it is less than one bit per second.
pub fn parse_bit_rate(text: &str) -> Result<u64, PerfError> {
    let forms = "bits per second without a sign, as 200M, 1.5G, 64k, or 0 for unlimited";
    scaled(text, 1_000, "rate", forms)
}

/// Parses bytes in iperf3's form: `1200`, `128K`, `10M`; powers of 1,024.
///
/// # Errors
/// [`PerfError::Usage`] with the forms that are possible, or if it is less than one byte.
pub fn parse_byte_count(text: &str) -> Result<u64, PerfError> {
    let forms = "bytes without a sign, as 1200, 128K, 10M (powers of 1,024)";
    scaled(text, 1_024, "size", forms)
}

/// Parses seconds: `10`, `0.5`.
///
/// # Errors
/// [`PerfError::Usage`] with the forms that are possible, or if it is less than a nanosecond.
pub fn parse_seconds(text: &str) -> Result<Duration, PerfError> {
    let forms = "seconds without a sign, as 10 or 0.5, up to 10000000 (115 days)";
    let number = whole(text).ok_or_else(|| refusal(text, "time", forms))?;
    let nanos = units(text, number, 1_000_000_000, "a nanosecond")?;
    let time = nanos.map(Duration::from_nanos);
    time.filter(|time| *time <= LONGEST)
        .ok_or_else(|| PerfError::Usage(format!("'{text}' is too long a time: write {forms}")))
}

/// Parses a number with a suffix, whose powers are those of `step`.
fn scaled(text: &str, step: u64, what: &str, forms: &str) -> Result<u64, PerfError> {
    let (digits, power) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1),
        Some((at, 'm' | 'M')) => (&text[..at], 2),
        Some((at, 'g' | 'G')) => (&text[..at], 3),
        Some((at, 't' | 'T')) => (&text[..at], 4),
        _ => (text, 0),
    };
    let number = whole(digits).ok_or_else(|| refusal(text, what, forms))?;
    let one = match what {
        "rate" => "one bit per second",
        _ => "one byte",
    };
    units(text, number, step.pow(power), one)?.ok_or_else(|| refusal(text, what, forms))
}

/// Parses a number with nothing behind it.
fn whole(text: &str) -> Option<Decimal> {
    let (number, rest) = Decimal::split(text)?;
    rest.is_empty().then_some(number)
}

/// Returns `number` times `unit`, rounded down; `None` if it is too large. Only zero may become zero, because zero has
/// a meaning of its own: unlimited, or nothing at all.
fn units(text: &str, number: Decimal, unit: u64, one: &str) -> Result<Option<u64>, PerfError> {
    match number.times_down(unit) {
        Some(0) if !number.is_zero() => {
            let text = format!("'{text}' is less than {one}: write 0 or more than that");
            Err(PerfError::Usage(text))
        }
        units => Ok(units),
    }
}

/// Returns the error that `text` is not a `what`. Another option in its place means that it was left out.
fn refusal(text: &str, what: &str, forms: &str) -> PerfError {
    let is_option =
        |rest: &str| rest.starts_with(|first: char| first == '-' || first.is_ascii_alphabetic());
    PerfError::Usage(if text.strip_prefix('-').is_some_and(is_option) {
        format!("the {what} is missing before '{text}': write {forms}")
    } else {
        format!("'{text}' is not a {what}: write {forms}")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse_bit_rate, parse_byte_count, parse_seconds};

    /// Suffixes of rates are powers of 1,000, those of sizes powers of 1,024, as in iperf3.
    #[test]
    fn suffixes_scale() {
        for (text, bits) in [
            ("0", 0),
            ("0.0M", 0),
            ("200M", 200_000_000),
            ("1.5g", 1_500_000_000),
            ("64k", 64_000),
        ] {
            assert_eq!(parse_bit_rate(text), Ok(bits), "{text}");
        }
        assert_eq!(parse_byte_count("128K"), Ok(131_072));
        assert_eq!(parse_byte_count("1200"), Ok(1_200));
        assert_eq!(parse_byte_count("0.5M"), Ok(524_288));
    }

    /// Every option takes the same forms of numbers.
    #[test]
    fn numbers_have_one_syntax() {
        for (text, thousandths) in [
            ("5.", 5_000),
            (".5", 500),
            ("1e3", 1_000_000),
            ("2E-1", 200),
        ] {
            let time = Duration::from_millis(thousandths);
            assert_eq!(parse_seconds(text), Ok(time), "{text}");
            let suffixed = format!("{text}k");
            assert_eq!(parse_bit_rate(&suffixed), Ok(thousandths), "{text}");
            let bytes = thousandths * 1_024 / 1_000;
            assert_eq!(parse_byte_count(&suffixed), Ok(bytes), "{text}");
        }
    }

    /// Zero has a meaning of its own, so a small number is refused and does not become zero.
    #[test]
    fn small_is_not_zero() {
        for text in ["0.5", "0.1", "0.0001K", "1e-30", "1e-99999"] {
            let error = parse_bit_rate(text).expect_err(text).to_string();
            assert!(error.contains("less than one bit per second"), "{error}");
            assert!(parse_byte_count(text).is_err(), "{text}");
        }
        for text in ["1e-10", "0.0000000001"] {
            let error = parse_seconds(text).expect_err(text).to_string();
            assert!(error.contains("less than a nanosecond"), "{error}");
        }
        assert_eq!(parse_seconds("0"), Ok(Duration::ZERO));
    }

    /// Text that is not a number is refused with an example, and a number that is too large does not wrap.
    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "M",
            "-1",
            "1.2.3",
            "12x",
            "99999999999T",
            "1e30",
            "inf",
            "NaN",
            "µ",
            "e3",
        ] {
            let error = parse_bit_rate(text).expect_err(text);
            assert!(error.to_string().contains("200M"), "{error}");
            assert!(parse_byte_count(text).is_err(), "{text}");
            let error = parse_seconds(text).expect_err(text);
            assert!(error.to_string().contains("as 10 or 0.5"), "{error}");
        }
    }
}
