//! Which losses are one loss event, by window counters (RFC 4342, sections 6.1 and 10.2).

use fairwire_cc::tfrc::Grouping;

/// Counters further apart than a round trip, which is four steps, are of different events.
const ROUND_TRIP: u64 = 4;
/// Intervals whose counters are no further apart are two round trips long at most.
const SHORT: u64 = 2 * ROUND_TRIP;

/// Losses are one event while the window counter moves on by no more than four.
///
/// A lost packet counts as its predecessor among those that arrived, a marked one by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ByCounter;

impl Grouping for ByCounter {
    type Stamp = u64;

    fn lost(&self, before: u64, _after: u64, _nth: u64, _span: u64) -> u64 {
        before
    }

    fn is_separate(&self, event: u64, loss: u64) -> bool {
        // Counters arrive unwrapped, so the RFC's search for a packet S that lies between is
        // contained in this comparison.
        loss.saturating_sub(event) > ROUND_TRIP
    }

    fn is_short(&self, event: u64, end: u64) -> bool {
        // RFC 5622, 8.4: a heuristic. A long interval in which the counter stood still, or whose
        // packets were lost, passes for a short one.
        end.saturating_sub(event) <= SHORT
    }
}
