//! Which losses are one loss event (RFC 4342, sections 6.1 and 10.2; RFC 6323, section 3.3).

use fairwire_cc::tfrc::{ByTime, Grouping};
use fairwire_units::{Duration, Instant};

use crate::config;

/// Counters further apart than a round trip, which is four steps, are of different events.
const ROUND_TRIP: u64 = 4;
/// Intervals whose counters are no further apart are two round trips long at most.
const SHORT: u64 = 2 * ROUND_TRIP;

/// When a packet came, by both clocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    /// The window counter, unwrapped.
    pub(super) counter: u64,
    /// Our own clock.
    pub(super) at: Instant,
}

/// Losses are one event while the window counter moves on by no more than four, or, where the
/// sender tells its round-trip time, while no more than that passes.
///
/// By counters a lost packet counts as its predecessor among those that arrived, a marked one by
/// itself; by time its arrival is interpolated (RFC 5348, section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct LossEvents {
    /// The round-trip time as the sender tells it.
    pub(super) told: Option<Duration>,
    /// Is each loss an event?
    pub(super) rule: config::LossEvents,
}

impl LossEvents {
    fn by_time(self) -> Option<ByTime> {
        self.told.map(|rtt| ByTime { rtt })
    }
}

impl Grouping for LossEvents {
    type Stamp = Stamp;

    fn lost(&self, before: Stamp, after: Stamp, nth: u64, span: u64) -> Stamp {
        let rtt = self.told.unwrap_or(Duration::ZERO);
        Stamp {
            counter: before.counter,
            at: ByTime { rtt }.lost(before.at, after.at, nth, span),
        }
    }

    fn without_data(&self, before: Stamp, own: Stamp) -> Stamp {
        // RFC 4342, 8.1: data alone carry counters. Those of later data, which may have come first, are no
        // measure (10.2).
        Stamp {
            counter: before.counter,
            ..own
        }
    }

    fn is_separate(&self, event: Stamp, loss: Stamp) -> bool {
        if self.rule == config::LossEvents::EachPacket {
            return true;
        }
        match self.by_time() {
            // RFC 6323, 2.2.2 and 3.3: the value told is used for this, too.
            Some(by_time) => by_time.is_separate(event.at, loss.at),
            // Counters arrive unwrapped, so the RFC's search for a packet S that lies between is
            // contained in this comparison.
            None => loss.counter.saturating_sub(event.counter) > ROUND_TRIP,
        }
    }

    fn is_short(&self, event: Stamp, end: Stamp) -> bool {
        match self.by_time() {
            Some(by_time) => by_time.is_short(event.at, end.at),
            // RFC 5622, 8.4: a heuristic. A long interval in which the counter stood still, or
            // whose packets were lost, passes for a short one.
            None => end.counter.saturating_sub(event.counter) <= SHORT,
        }
    }
}
