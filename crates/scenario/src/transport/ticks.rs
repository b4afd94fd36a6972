//! The clock of a host whose timers fire only at ticks.

use fairwire_net::Streams;
use fairwire_units::{Duration, Instant};

/// Moments at intervals of `every`.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    every: Duration,
    /// The time of the first tick, from the start of the run.
    first: Duration,
}

impl Ticks {
    /// Returns the ticks of one side of a flow. The first tick is random, because hosts are switched on at different
    /// times.
    pub fn new(every: Duration, streams: Streams, name: &str, side: &str) -> Self {
        let mut draw = streams.stream(&format!("tick/{name}/{side}"));
        Self {
            every,
            first: draw.span(every),
        }
    }

    /// Returns the first tick that is not before `time`.
    pub fn not_before(self, time: Instant) -> Instant {
        let first = Instant::START + self.first;
        let since = time.saturating_since(first).as_nanos();
        first + self.every * since.div_ceil(self.every.as_nanos().max(1))
    }
}
