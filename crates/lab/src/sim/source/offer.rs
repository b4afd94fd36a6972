//! What applications have to send, as far as any transport must know.

use std::fmt;

use fairwire_units::Instant;

/// What an application sends next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Offer {
    pub(crate) when: When,
    /// Bytes of payload.
    pub(crate) bytes: u32,
}

/// When an application sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum When {
    /// At this moment, whether the transport has room for it or not.
    At(Instant),
    /// As soon as the transport has room for it.
    ItFits,
}

/// An application's plan. It knows no transport, and does not learn what became of its offers.
pub(crate) trait Source: fmt::Debug + Send {
    /// The application may send from `at` on. Called once, before anything else.
    fn begin(&mut self, at: Instant);

    /// What it sends next; `None` if it never sends again.
    fn next(&self) -> Option<Offer>;

    /// The next offer was made: on to the one after it.
    fn advance(&mut self);
}
