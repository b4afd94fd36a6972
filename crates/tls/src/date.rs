//! Calendar time, for the validity of certificates.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

const SECONDS_PER_DAY: u64 = 86_400;

/// A calendar time: whole seconds since 1970-01-01 00:00:00 UTC.
///
/// This crate reads no clock: who makes a session says what day it is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Date(u64);

impl Date {
    /// Creates the date `seconds` after 1970-01-01 00:00:00 UTC.
    pub const fn from_unix_seconds(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since 1970-01-01 00:00:00 UTC.
    pub const fn as_unix_seconds(self) -> u64 {
        self.0
    }

    /// Returns the date as a calendar has it, or `None` after the year 9999.
    pub(crate) fn calendar(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp(i64::try_from(self.0).ok()?).ok()
    }
}

impl From<SystemTime> for Date {
    /// Converts a reading of the system clock; a time before 1970 becomes 1970.
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(date) = self.calendar() else {
            return write!(f, "{} s after 1970-01-01 00:00:00 UTC", self.0);
        };
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        let (hour, minute, second) = date.to_hms();
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"
        )
    }
}

/// The time in which a certificate is valid; both ends belong to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Validity {
    /// The first moment at which the certificate is valid.
    pub from: Date,
    /// The last moment at which the certificate is valid.
    pub until: Date,
}

impl Validity {
    /// Returns the `days` days that begin at `from`.
    ///
    /// Clocks differ: a certificate that others should accept at once begins some hours before now.
    pub const fn days(from: Date, days: u32) -> Self {
        let until = from.0.saturating_add(days as u64 * SECONDS_PER_DAY);
        Self {
            from,
            until: Date(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, Validity};

    /// Dates print as a calendar has them, and numbers beyond any calendar do not panic.
    #[test]
    fn dates_print() {
        let date = Date::from_unix_seconds(1_795_517_770);
        assert_eq!(date.to_string(), "2026-11-24 10:56:10 UTC");
        assert_eq!(
            Date::from_unix_seconds(0).to_string(),
            "1970-01-01 00:00:00 UTC"
        );
        assert!(
            Date::from_unix_seconds(u64::MAX)
                .to_string()
                .contains(" s after")
        );
    }

    /// A validity in days ends that many days later, and one too long ends at the last number.
    #[test]
    fn validity_counts_days() {
        let from = Date::from_unix_seconds(1_000);
        assert_eq!(Validity::days(from, 2).until.as_unix_seconds(), 173_800);
        let late = Date::from_unix_seconds(u64::MAX - 5);
        assert_eq!(Validity::days(late, 2).until.as_unix_seconds(), u64::MAX);
    }
}
