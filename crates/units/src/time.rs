//! Points in time and durations, in nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{self, ParseUnitError, Unit};

const UNITS: &[Unit] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
const READ_UNITS: &[Unit] = &[
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// A duration in whole nanoseconds, up to 584 years.
///
/// Arithmetic beyond the range saturates: a timer too far away to represent never fires.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Duration(u64);

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a duration of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Creates a duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// Creates a duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Creates a duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// Creates a duration of `s` seconds, rounded to the nearest nanosecond.
    ///
    /// A negative number or NaN becomes zero; a number that is too large becomes [`Duration::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and NaN becomes zero: both are what is promised"
        )]
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Returns this duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns this duration in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns this duration in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns this duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns whether this duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self - other`, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns this duration times `factor`, rounded to the nearest nanosecond; a negative product becomes zero.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_secs_f64(self.as_secs_f64() * factor)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl From<Duration> for std::time::Duration {
    fn from(d: Duration) -> Self {
        Self::from_nanos(d.0)
    }
}

impl From<std::time::Duration> for Duration {
    fn from(d: std::time::Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0s");
        }
        parse::print(f, self.0, UNITS, "")
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::quantity(text, READ_UNITS, "h, min, s, ms, us, ns").map(Self)
    }
}

/// A point in time: nanoseconds since the run began.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const START: Self = Self(0);
    /// A time that never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates the instant `ns` nanoseconds after the start of the run.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the earliest of several times, some of which may never come; `None` if none does.
    #[inline]
    pub fn earliest(times: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        // Without branches: timers are compared for every packet.
        let times = times.into_iter().map(|at| at.unwrap_or(Self::MAX));
        let first = times.fold(Self::MAX, Ord::min);
        (first < Self::MAX).then_some(first)
    }

    /// Returns the nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the duration from `earlier` to this instant, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns the instant `d` before this one, but not before the start of the run.
    pub const fn saturating_before(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Returns the duration since `earlier`, or zero if `earlier` is later.
    ///
    /// # Panics
    /// In debug builds, if `earlier` is later. A caller that cannot rule this out uses [`Instant::saturating_since`].
    fn sub(self, earlier: Self) -> Duration {
        debug_assert!(earlier <= self, "{earlier} is later than {self}");
        self.saturating_since(earlier)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        f.pad(&text)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant};
    use crate::ParseUnitError;

    /// A printed duration is read back to the same value.
    #[test]
    fn printed_durations_are_read_back() {
        for ns in [
            0,
            1,
            999,
            1_000,
            1_500,
            300_000_000,
            1_234_567_891,
            u64::MAX,
        ] {
            let d = Duration::from_nanos(ns);
            assert_eq!(d.to_string().parse(), Ok(d), "{d}");
        }
        assert_eq!(Duration::from_millis(300).to_string(), "300ms");
        assert_eq!(Duration::from_millis(1500).to_string(), "1.5s");
    }

    /// Fractions are read exactly; a value finer than a nanosecond is refused, not rounded.
    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!("0.1 ms".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("2min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("5e-05 s".parse(), Ok(Duration::from_micros(50)));
        assert_eq!(
            "0.30000000000000004s".parse(),
            Ok(Duration::from_millis(300))
        );
        assert!(matches!(
            "0.5ns".parse::<Duration>(),
            Err(ParseUnitError::OutOfRange { .. })
        ));
    }

    /// A number without a unit is refused, and the message names the possible units.
    #[test]
    fn a_bare_number_is_refused() {
        let error = "300".parse::<Duration>().expect_err("no unit");
        assert!(error.to_string().contains("ms"), "{error}");
        let error = "3 kg".parse::<Duration>().expect_err("wrong unit");
        assert!(error.to_string().contains("'kg'"), "{error}");
        assert!("ms".parse::<Duration>().is_err());
        assert!("3e s".parse::<Duration>().is_err());
        assert!("1.2.3 s".parse::<Duration>().is_err());
    }

    /// A time beyond the range becomes the maximum; nothing panics.
    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Duration::MAX + Duration::from_secs(1), Duration::MAX);
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Duration::from_secs_f64(f64::INFINITY), Duration::MAX);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
    }
}
