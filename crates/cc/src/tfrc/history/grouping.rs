//! Which losses are one loss event.

use std::fmt;

use fairwire_units::{Duration, Instant};

/// Tells whether a loss belongs to the loss event before it.
pub trait Grouping: fmt::Debug {
    /// What it needs to know of a packet: a time, a counter.
    type Stamp: Copy + fmt::Debug;

    /// The stamp of a lost packet, `nth` steps after a packet that arrived with `before`; `span`
    /// steps after that, the next one arrived with `after`. Never falls as `nth` rises.
    fn lost(&self, before: Self::Stamp, after: Self::Stamp, nth: u64, span: u64) -> Self::Stamp;

    /// The stamp of a packet without data that came with `own`, the next in the sequence behind one with `before`:
    /// its own, unless stamps are told by data alone.
    fn without_data(&self, _before: Self::Stamp, own: Self::Stamp) -> Self::Stamp {
        own
    }

    /// Is `loss` too far from the loss that began the current event to belong to it?
    fn is_separate(&self, event: Self::Stamp, loss: Self::Stamp) -> bool;

    /// Is an interval whose first loss is `event`, and that reaches to `end`, short: two round
    /// trips at most (RFC 4828, section 4.4)?
    fn is_short(&self, event: Self::Stamp, end: Self::Stamp) -> bool;
}

/// Losses within one round trip, by the receiver's clock, are one event (RFC 5348, section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ByTime {
    /// The round-trip time.
    pub rtt: Duration,
}

impl Grouping for ByTime {
    type Stamp = Instant;

    fn lost(&self, before: Instant, after: Instant, nth: u64, span: u64) -> Instant {
        // RFC 5348, 5.2: interpolated between the arrivals around the hole.
        let apart = u128::from(after.saturating_since(before).as_nanos());
        let ns = apart * u128::from(nth) / u128::from(span.max(1));
        before + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn is_separate(&self, event: Instant, loss: Instant) -> bool {
        event + self.rtt < loss
    }

    fn is_short(&self, event: Instant, end: Instant) -> bool {
        end <= event + self.rtt * 2
    }
}
