//! The clock of a host whose timers fire only at ticks.

use fairwire_net::Streams;
use fairwire_units::{Duration, Instant};

/// Moments at intervals of `every`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    every: Duration,
    /// The time of the first tick, from the start of the run.
    first: Duration,
}

impl Ticks {
    /// Returns the ticks of one side of a flow. The first tick is random, because hosts are switched on at different
    /// times.
    pub(crate) fn new(every: Duration, streams: Streams, name: &str, side: &str) -> Self {
        let mut draw = streams.stream(&format!("tick/{name}/{side}"));
        Self {
            every,
            first: draw.span(every),
        }
    }

    /// Returns the first tick that is not before `time`.
    pub(crate) fn not_before(self, time: Instant) -> Instant {
        let first = Instant::START + self.first;
        let since = time.saturating_since(first).as_nanos();
        first + self.every * since.div_ceil(self.every.as_nanos().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;
    use fairwire_units::{Duration, Instant};

    /// A time that is a tick is its own next tick.
    #[test]
    fn the_next_tick_is_found() {
        let ms = |ms| Instant::START + Duration::from_millis(ms);
        let ticks = Ticks {
            every: Duration::from_millis(4),
            first: Duration::from_millis(3),
        };
        for (time, tick) in [(0, 3), (3, 3), (4, 7), (7, 7), (4_001, 4_003)] {
            assert_eq!(ticks.not_before(ms(time)), ms(tick), "{time}");
        }
    }
}
