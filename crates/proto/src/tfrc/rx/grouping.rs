//! Grouping of losses into loss events (RFC 4342, sections 6.1 and 10.2; RFC 6323, section 3.3).

use fairwire_cc::tfrc::{ByTime, Grouping};
use fairwire_units::{Duration, Instant};

use crate::config;

/// Counters further apart than one round trip, which is four steps, belong to different events.
const ROUND_TRIP: u64 = 4;
/// An interval whose counters are no further apart lasts at most two round trips.
const SHORT: u64 = 2 * ROUND_TRIP;

/// The arrival of a packet, by the window counter and by our clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    /// The window counter, unwrapped.
    pub(super) counter: u64,
    /// Our own clock.
    pub(super) at: Instant,
}

/// The rule that groups losses into loss events.
///
/// Losses are one event while the window counter advances by at most four. If the sender tells its round-trip time,
/// they are one event while no more than that time passes.
///
/// By counters, a lost packet counts as the packet that arrived before it, and a marked packet as itself. By time, the
/// arrival of a lost packet is interpolated (RFC 5348, section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct LossEvents {
    /// The round-trip time that the sender tells, if it does.
    pub(super) sender_rtt: Option<Duration>,
    /// Whether each lost packet is a loss event of its own.
    pub(super) rule: config::LossEvents,
}

impl LossEvents {
    fn by_time(self) -> Option<ByTime> {
        self.sender_rtt.map(|rtt| ByTime { rtt })
    }
}

impl Grouping for LossEvents {
    type Stamp = Stamp;

    fn lost(&self, before: Stamp, after: Stamp, nth: u64, span: u64) -> Stamp {
        let rtt = self.sender_rtt.unwrap_or(Duration::ZERO);
        Stamp {
            counter: before.counter,
            at: ByTime { rtt }.lost(before.at, after.at, nth, span),
        }
    }

    fn without_data(&self, before: Stamp, own: Stamp) -> Stamp {
        // RFC 4342, 8.1: only data packets carry counters. The counters of later data, which may have arrived first,
        // must not be used (10.2).
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
            // RFC 6323, 2.2.2 and 3.3: the value that the sender tells is used here, too.
            Some(by_time) => by_time.is_separate(event.at, loss.at),
            // Counters are unwrapped here, so this comparison includes the RFC's search for a packet S in between.
            None => loss.counter.saturating_sub(event.counter) > ROUND_TRIP,
        }
    }

    fn is_short(&self, event: Stamp, end: Stamp) -> bool {
        match self.by_time() {
            Some(by_time) => by_time.is_short(event.at, end.at),
            // RFC 5622, 8.4: a heuristic. A long interval in which the counter did not advance, or whose packets were
            // lost, counts as short.
            None => end.counter.saturating_sub(event.counter) <= SHORT,
        }
    }
}
