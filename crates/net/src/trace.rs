//! Traces: the times at which a link of varying rate lets packets leave.
//!
//! The format is that of mahimahi (Netravali and others, 2015). Each line is a time in whole milliseconds since the
//! start of the trace, at which one packet of 1,500 bytes can leave. Times may repeat. The trace lasts until its last
//! time, and then starts again. In a file, empty lines and lines that begin with `#` mean nothing.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use fairwire_units::{Duration, Instant, Rate};

/// Bytes that can leave at each time of a trace.
const OPPORTUNITY: u64 = 1_500;

const MS: u64 = 1_000_000;

/// The times at which packets can leave.
#[derive(Clone, Eq, PartialEq)]
pub struct Trace {
    /// Milliseconds since the start of the trace, in non-decreasing order. The last one is above zero.
    times: Box<[u32]>,
}

/// Omits the times, because there may be a million.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, period, rate) = (self.times.len(), self.period(), self.mean_rate());
        write!(f, "Trace({times} times in {period}, {rate})")
    }
}

impl Trace {
    /// The most times in a trace.
    pub const MAX_TIMES: usize = 4_000_000;

    /// Creates the trace of `times`, in milliseconds since its start.
    ///
    /// # Errors
    /// If there are no times or too many, if one is less than the one before, or if all are zero.
    pub fn new(times: Vec<u32>) -> Result<Self, TraceError> {
        if times.len() > Self::MAX_TIMES {
            return Err(TraceError::TooLong);
        }
        let back = times.windows(2).position(|pair| pair[1] < pair[0]);
        if let Some(at) = back {
            return Err(TraceError::Decreasing {
                line: at + 2,
                before: times[at],
                time: times[at + 1],
            });
        }
        match times.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::ZeroDuration),
            Some(_) => Ok(Self {
                times: times.into(),
            }),
        }
    }

    /// Returns the time after which the trace starts again.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns())
    }

    /// Returns the mean rate: what can leave in a period.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u64 * OPPORTUNITY * 8;
        Rate::from_bits_per_s(bits * 1_000 / u64::from(self.last()))
    }

    /// Returns the bytes that can have left from time zero to `end`, if there always was something to send.
    pub fn bytes_by(&self, end: Instant) -> u64 {
        let (periods, inside) = self.place(end);
        let whole = periods.saturating_mul(self.times.len() as u64);
        (whole.saturating_add(inside as u64)).saturating_mul(OPPORTUNITY)
    }

    fn last(&self) -> u32 {
        self.times.last().copied().unwrap_or(1)
    }

    fn period_ns(&self) -> u64 {
        u64::from(self.last()) * MS
    }

    /// Returns the number of complete periods at `now`, and the number of times passed in the current one.
    fn place(&self, now: Instant) -> (u64, usize) {
        let now = now.as_nanos();
        let periods = now / self.period_ns();
        let inside = now % self.period_ns();
        let over = |time: &u32| u64::from(*time) * MS <= inside;
        (periods, self.times.partition_point(over))
    }
}

impl FromStr for Trace {
    type Err = TraceError;

    /// Parses a trace: one whole number of milliseconds per line.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut times: Vec<u32> = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, word) in (1..).zip(text.lines()) {
            let word = word.trim();
            if word.is_empty() || word.starts_with('#') {
                continue;
            }
            if times.len() == Self::MAX_TIMES {
                return Err(TraceError::TooLong);
            }
            let time = word.parse().map_err(|_| not_a_time(line, word))?;
            if let Some(before) = times.last().copied().filter(|before| *before > time) {
                return Err(TraceError::Decreasing { line, before, time });
            }
            times.push(time);
        }
        Self::new(times)
    }
}

/// Returns the error for a line that is not a time.
fn not_a_time(line: usize, word: &str) -> TraceError {
    let text = word.chars().take(QUOTED).collect();
    let columns: Vec<&str> = word
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|column| !column.is_empty())
        .collect();
    let are_numbers = columns.iter().all(|column| column.parse::<f64>().is_ok());
    if columns.len() > 1 && are_numbers {
        TraceError::Columns { line, text }
    } else {
        TraceError::NotANumber { line, text }
    }
}

/// Prints one time per line, in the format that can be parsed.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.times.iter().try_for_each(|time| writeln!(f, "{time}"))
    }
}

/// The number of characters of a wrong line that an error quotes.
const QUOTED: usize = 40;

/// The reason why a text is not a trace.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line is not a whole number of milliseconds below 2^32.
    #[error(
        "'{}' is not a time: each line of a trace must be a whole number of milliseconds, for example 250",
        .text.escape_debug()
    )]
    NotANumber {
        /// The number of the line, from 1.
        line: usize,
        /// The beginning of the line.
        text: String,
    },
    /// A line has several numbers, such as a time and a rate.
    #[error(
        "'{}' has several numbers: a trace has in each line one time in milliseconds, at which a packet can \
         leave. If these are times and rates, write them in the scenario: rate_changes = [{{ at = \"0.5 s\", \
         rate = \"4.15 Mbit/s\" }}]",
        .text.escape_debug()
    )]
    Columns {
        /// The number of the line, from 1.
        line: usize,
        /// The beginning of the line.
        text: String,
    },
    /// A time is less than the one before.
    #[error("{time} follows {before}: the times of a trace must not go back")]
    Decreasing {
        /// The number of the line, from 1.
        line: usize,
        /// The time before.
        before: u32,
        /// The time in this line.
        time: u32,
    },
    /// There are no times.
    #[error(
        "the trace is empty: write a line for each packet that can leave, with its time in milliseconds"
    )]
    Empty,
    /// The last time is zero, so the trace has no duration.
    #[error("the last time of a trace must be above 0: the trace starts again there")]
    ZeroDuration,
    /// There are more than [`Trace::MAX_TIMES`] times.
    #[error("a trace has at most {} lines", Trace::MAX_TIMES)]
    TooLong,
}

impl TraceError {
    /// Returns the number of the wrong line, from 1, if the error is about one line.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::NotANumber { line, .. }
            | Self::Columns { line, .. }
            | Self::Decreasing { line, .. } => Some(*line),
            Self::Empty | Self::ZeroDuration | Self::TooLong => None,
        }
    }
}

/// The position of a link in its trace.
#[derive(Debug)]
pub(crate) struct Opportunities {
    trace: Arc<Trace>,
    /// The number of complete periods.
    periods: u64,
    /// Times of this period that have passed, including the current one.
    over: usize,
    /// Bytes that can still leave at the current time.
    left: u64,
}

impl Opportunities {
    pub(crate) fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            periods: 0,
            over: 0,
            left: 0,
        }
    }

    /// Skips to `now` when nothing was sent before. Unused opportunities are lost, including the one at `now`.
    pub(crate) fn pass(&mut self, now: Instant) {
        (self.periods, self.over) = self.trace.place(now);
        self.left = 0;
    }

    /// Takes `bytes` bytes, which leave as soon as possible, and returns when the last of them leaves.
    ///
    /// `last` is when the bytes before them left.
    pub(crate) fn take(&mut self, bytes: u64, last: Instant) -> Instant {
        if bytes <= self.left {
            self.left -= bytes;
            return last;
        }
        let times = self.trace.times.len() as u64;
        // The bytes need at least one more time.
        let needed = (bytes - self.left).div_ceil(OPPORTUNITY);
        self.left = (self.left + needed * OPPORTUNITY) - bytes;
        let over = self.over as u64 + needed;
        // The last time of a period belongs to that period, not to the next one.
        let periods = (over - 1) / times;
        self.periods = self.periods.saturating_add(periods);
        let over = over - periods * times;
        self.over = usize::try_from(over).unwrap_or(usize::MAX);
        let time = self.trace.times.get(self.over - 1).copied();
        let inside = u64::from(time.unwrap_or(u32::MAX)) * MS;
        let begun = self.periods.saturating_mul(self.trace.period_ns());
        Instant::from_nanos(begun.saturating_add(inside))
    }
}

#[cfg(test)]
mod tests;
