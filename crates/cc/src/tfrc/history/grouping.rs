//! The grouping of losses to loss events.

use std::fmt;

use fairwire_units::{Duration, Instant};

/// The rule whether a loss belongs to the current loss event.
pub trait Grouping: fmt::Debug {
    /// The information needed about a packet: a time or a counter.
    type Stamp: Copy + fmt::Debug;

    /// Returns the stamp of a lost packet, `nth` steps after a packet that arrived with stamp `before`.
    ///
    /// The next packet that arrived, with stamp `after`, is `span` steps after `before`. The result must not fall as
    /// `nth` rises.
    fn lost(&self, before: Self::Stamp, after: Self::Stamp, nth: u64, span: u64) -> Self::Stamp;

    /// Returns the stamp for a packet without data, whose own stamp is `own`.
    ///
    /// The packet before it in the sequence has the stamp `before`. The default is `own`; a grouping whose stamps
    /// follow from data packets alone returns another one.
    fn without_data(&self, _before: Self::Stamp, own: Self::Stamp) -> Self::Stamp {
        own
    }

    /// Returns whether `loss` is too far from the first loss of the current event to belong to that event.
    fn is_separate(&self, event: Self::Stamp, loss: Self::Stamp) -> bool;

    /// Returns whether an interval from the loss `event` to `end` is short: at most two round trips.
    ///
    /// See RFC 4828, section 4.4.
    fn is_short(&self, event: Self::Stamp, end: Self::Stamp) -> bool;
}

/// The grouping by the receiver's clock: losses within one round trip are one event (RFC 5348, section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ByTime {
    /// The round-trip time.
    pub rtt: Duration,
}

impl Grouping for ByTime {
    type Stamp = Instant;

    fn lost(&self, before: Instant, after: Instant, nth: u64, span: u64) -> Instant {
        // RFC 5348, 5.2: interpolated between the arrivals on both sides of the gap.
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
