//! The lines between start and end: what each flow did in each interval.

use std::time::{Duration, Instant};

use super::cpu;
use super::meter::{Counts, Meter};
use super::report::{Interval, Role, rate};

/// Makes lines from counters.
#[derive(Debug)]
pub(crate) struct Ticker {
    start: Instant,
    role: Role,
    flows: Vec<Watched>,
    /// When the last lines ended.
    last: Duration,
}

#[derive(Debug)]
struct Watched {
    flow: u32,
    meter: Meter,
    before: Counts,
}

impl Ticker {
    /// Starts now.
    pub(crate) fn new(role: Role) -> Self {
        Self {
            start: cpu::now(),
            role,
            flows: Vec::new(),
            last: Duration::ZERO,
        }
    }

    /// Adds a flow.
    pub(crate) fn watch(&mut self, flow: u32, meter: Meter) {
        let before = Counts::default();
        self.flows.push(Watched {
            flow,
            meter,
            before,
        });
        self.flows.sort_by_key(|watched| watched.flow);
    }

    /// Starts the time of all flows.
    pub(crate) fn start_flows(&mut self) {
        if self.last.is_zero() {
            self.start = cpu::now();
        }
        self.flows.iter().for_each(|watched| watched.meter.start());
    }

    /// Returns the lines since the last ones, with a line for the sum if there are several flows. Returns none if
    /// hardly any time has passed.
    pub(crate) fn lines(&mut self) -> Vec<Interval> {
        self.lines_until(self.start.elapsed())
    }

    /// Returns the lines since the last ones, up to the time when the last message was sent or received.
    pub(crate) fn last_lines(&mut self) -> Vec<Interval> {
        let moved = self.flows.iter().filter_map(|watched| {
            let last = watched.meter.last_moved()?;
            Some(last.saturating_duration_since(self.start))
        });
        self.lines_until(moved.max().unwrap_or_default())
    }

    fn lines_until(&mut self, now: Duration) -> Vec<Interval> {
        if now.saturating_sub(self.last) < Duration::from_millis(10) {
            return Vec::new();
        }
        let (start, end) = (self.last.as_secs_f64(), now.as_secs_f64());
        self.last = now;
        let role = self.role;
        let mut rows: Vec<_> = self
            .flows
            .iter_mut()
            .map(|watched| watched.line(role, start, end))
            .collect();
        if rows.len() > 1 {
            let bytes = rows.iter().map(|row| row.bytes).sum();
            rows.push(Interval {
                flow: None,
                role,
                start,
                end,
                bytes,
                datagrams: rows.iter().map(|row| row.datagrams).sum(),
                bits_per_second: rate(bytes, end - start),
                lost: rows.iter().map(|row| row.lost).sum(),
                jitter_ms: None,
                path: None,
            });
        }
        rows
    }
}

impl Watched {
    fn line(&mut self, role: Role, start: f64, end: f64) -> Interval {
        let counts = self.meter.read();
        let moved = |counts: &Counts| match role {
            Role::Sender => counts.left_queue(),
            Role::Receiver => (counts.datagrams, counts.bytes),
        };
        let (before, after) = (moved(&self.before), moved(&counts));
        let datagrams = after.0.saturating_sub(before.0);
        let bytes = after.1.saturating_sub(before.1);
        // A late datagram reduces the number of losses.
        let lost = counts
            .account
            .lost()
            .saturating_sub(self.before.account.lost());
        let receives = role == Role::Receiver;
        let line = Interval {
            flow: Some(self.flow),
            role,
            start,
            end,
            bytes,
            datagrams,
            bits_per_second: rate(bytes, end - start),
            lost: receives.then_some(lost),
            jitter_ms: receives.then(|| counts.jitter.value().as_secs_f64() * 1e3),
            path: counts.stats.filter(|_| !receives).as_ref().map(Into::into),
        };
        self.before = counts;
        line
    }
}
