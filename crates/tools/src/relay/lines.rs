//! What a relay prints while it runs.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::counters::Totals;
use super::report;
use super::uplink::Uplinks;
use crate::perf::Console;

/// The shortest time between two notes of a kind.
const NOTES: Duration = Duration::from_secs(60);

/// The lines of a relay, and its notes about trouble.
#[derive(Debug)]
pub(super) struct Lines {
    start: Instant,
    every: Duration,
    /// When the last line ended, and the counters then.
    last: Duration,
    before: Totals,
    /// Until when further notes about datagrams that are too large, and about sessions, are left out.
    large: Instant,
    trouble: Instant,
}

impl Lines {
    /// Starts now; a line each `every`, or none if it is zero.
    pub(super) fn new(every: Duration) -> Self {
        let start = Instant::now();
        Self {
            start,
            every,
            last: Duration::ZERO,
            before: Totals::default(),
            large: start,
            trouble: start,
        }
    }

    /// Returns the ticks at which [`tick`](Self::tick) is due.
    pub(super) fn ticks(&self) -> Interval {
        let every = if self.every.is_zero() {
            NOTES
        } else {
            self.every
        };
        let mut ticks = interval_at(self.start + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// Returns how long the relay has run.
    pub(super) fn ran(&self) -> Duration {
        self.start.elapsed()
    }

    /// Prints what happened since the last time.
    pub(super) fn tick(&mut self, uplinks: &Uplinks, console: &mut Console) {
        let (totals, now) = (uplinks.totals(), self.ran());
        if !self.every.is_zero() {
            let times = (self.last, now);
            let line = report::line((&self.before, &totals), times, uplinks.count());
            if let Some(line) = line {
                console.announce(&line);
            }
        }
        let has_more = totals.largest_refused > self.before.largest_refused
            || totals.largest_that_fits != self.before.largest_that_fits;
        if has_more && Instant::now() >= self.large {
            self.large = Instant::now() + NOTES;
            if let Some(note) = report::largest(&totals) {
                console.note(&note);
            }
        }
        (self.last, self.before) = (now, totals);
    }

    /// Prints what went wrong with a session, unless something was printed shortly before: a thousand sessions may have
    /// the same trouble. The counters have all of it.
    pub(super) fn trouble(&mut self, what: &str, console: &mut Console) {
        let now = Instant::now();
        if now >= self.trouble {
            self.trouble = now + NOTES;
            console.note(what);
        }
    }
}
