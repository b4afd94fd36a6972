//! An application at work, as far as any transport must know.

use std::fmt;

use fairwire_units::{Duration, Instant};

/// What an application sends next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offer {
    /// When it sends it.
    pub when: When,
    /// Bytes of payload, an RTP header included.
    pub bytes: u32,
}

/// When an application sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum When {
    /// At this moment, whether the transport has room for it or not.
    At(Instant),
    /// As soon as the transport has room for it.
    ItFits,
}

/// An application's plan. It knows no transport, and does not learn what became of its offers.
pub trait Source: fmt::Debug + Send {
    /// Lets the application send from `at` on. Called once, before anything else.
    fn begin(&mut self, at: Instant);

    /// Returns what it sends next; `None` if it never sends again. The moments of one offer after the other never
    /// decrease.
    fn next(&self) -> Option<Offer>;

    /// Goes on to the offer after the next one, which was made.
    fn advance(&mut self);
}

/// A flow of finite size that arrives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    /// The time since the one before it, or since the beginning.
    pub after: Duration,
    /// Bytes of payload, one at least.
    pub bytes: u64,
}

/// Flows of finite size that arrive one after the other, each of which gets a connection of its own.
pub trait Arrivals: fmt::Debug + Send {
    /// Returns the next one.
    fn next(&mut self) -> Arrival;
}
