//! The windows and periods of a run, for meters.

use fairwire_units::{Duration, Instant};

/// A window of time, `[from, to)`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its first moment.
    pub from: Instant,
    /// The first moment after it.
    pub to: Instant,
}

impl Span {
    /// Returns whether `at` lies within it.
    #[inline]
    pub fn holds(self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }

    /// Returns its length.
    pub fn length(self) -> Duration {
        self.to.saturating_since(self.from)
    }

    /// Returns how much of `[start, end)` lies within the window.
    #[inline]
    pub fn overlap(self, start: Instant, end: Instant) -> Duration {
        end.min(self.to).saturating_since(start.max(self.from))
    }
}

/// All windows of a run, `whole` first, and the periods of its series.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The name of each window.
    pub names: Vec<String>,
    /// The time of each window.
    pub spans: Vec<Span>,
    /// The length of a period.
    pub period: Duration,
    /// The number of periods.
    pub periods: usize,
}

impl Windows {
    /// Makes windows with these names, the first of which is the whole run, and periods of this length.
    pub fn new(windows: Vec<(String, Span)>, period: Duration) -> Self {
        let (names, spans): (Vec<String>, Vec<Span>) = windows.into_iter().unzip();
        let whole = spans.first().map_or(Duration::ZERO, |span| span.length());
        let periods = whole.as_nanos().div_ceil(period.as_nanos().max(1));
        Self {
            names,
            spans,
            period,
            periods: usize::try_from(periods).unwrap_or(usize::MAX),
        }
    }

    /// Returns the number of the period that `at` lies in.
    #[inline]
    pub fn period_of(&self, at: Instant) -> usize {
        let number = at.as_nanos() / self.period.as_nanos().max(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// Returns the span of period `number`. The last one may be cut off by the end of the run.
    pub fn period_span(&self, number: usize) -> Span {
        let from = Instant::START + self.period * number as u64;
        let to = (from + self.period).min(self.spans[0].to);
        Span { from, to }
    }

    /// Returns whether period `number` has its full length.
    pub fn is_whole(&self, number: usize) -> bool {
        self.period_span(number).length() == self.period
    }

    /// Returns every moment at which gauges and counters are read, in order.
    pub fn readings(&self) -> Vec<Instant> {
        let ends = (0..self.periods).map(|number| self.period_span(number).to);
        let edges = self.spans.iter().flat_map(|span| [span.from, span.to]);
        let mut moments: Vec<Instant> = ends.chain(edges).collect();
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}
