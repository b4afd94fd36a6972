//! The interface between applications and transports.

use std::fmt;

use fairwire_cc::EncoderInput;
use fairwire_units::{Duration, Instant};

/// The next data that an application sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offer {
    /// The time at which it sends it.
    pub when: When,
    /// Bytes of payload, including an RTP header.
    pub bytes: u32,
    /// The frame that it is a part of, by a number that is unique in its flow; `None` if it is useful on its own.
    pub frame: Option<u64>,
    /// How much it matters, compared with the other data of its flow; zero is usual.
    pub priority: i8,
}

impl Offer {
    /// Returns an offer of data that is useful on its own and matters as much as the rest.
    pub fn new(when: When, bytes: u32) -> Self {
        Self {
            when,
            bytes,
            frame: None,
            priority: 0,
        }
    }
}

/// When an application sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum When {
    /// At this moment, whether or not the transport has room.
    At(Instant),
    /// As soon as the transport has room for it.
    ItFits,
}

/// The plan of an application. It does not depend on the transport, and gets no feedback on its offers, unless it
/// [adapts](Self::adapts).
pub trait Source: fmt::Debug + Send {
    /// Lets the application send from `at` on. Called once, before anything else.
    fn begin(&mut self, at: Instant);

    /// Returns the next offer; `None` if it never sends again. The times of successive offers never decrease.
    fn next(&self) -> Option<Offer>;

    /// Goes on to the next offer, because the current one was made.
    fn advance(&mut self);

    /// Returns whether it adapts to what the transport reports.
    fn adapts(&self) -> bool {
        false
    }

    /// Adapts to what the transport reports. Called when the next offer is due and before it is taken, once for all
    /// offers of that moment; never over UDP.
    fn adapt(&mut self, now: Instant, input: &EncoderInput) {
        let _ = (now, input);
    }
}

/// The arrival of a flow of finite size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    /// The time since the previous arrival, or since the beginning.
    pub after: Duration,
    /// Bytes of payload, at least one.
    pub bytes: u64,
}

/// A series of flows of finite size, each of which gets its own connection.
pub trait Arrivals: fmt::Debug + Send {
    /// Returns the next arrival.
    fn next(&mut self) -> Arrival;
}
