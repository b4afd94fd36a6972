//! A link that carries nothing for a time.

use fairwire_units::Instant;

use super::process::{Loss, Verdict};
use crate::Packet;

/// A model that drops every packet whose transmission starts in an interval of time.
///
/// To keep packets in the queue instead, set the rate to zero: [`LinkSpec::rate_from`](crate::LinkSpec::rate_from).
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    from: Instant,
    until: Instant,
}

impl Outage {
    /// Creates an outage that begins at `from` and is over at `until`.
    pub fn new(from: Instant, until: Instant) -> Self {
        Self { from, until }
    }
}

impl Loss for Outage {
    fn verdict(&mut self, now: Instant, _packet: &Packet) -> Verdict {
        if (self.from..self.until).contains(&now) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
