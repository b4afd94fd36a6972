//! Somebody who always has data.

use fairwire_units::Instant;

use super::offer::{Offer, Source, When};

/// Sends as much as fits, in datagrams of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greedy {
    pub(crate) bytes: u32,
}

impl Source for Greedy {
    fn begin(&mut self, _at: Instant) {}

    fn next(&self) -> Option<Offer> {
        Some(Offer {
            when: When::ItFits,
            bytes: self.bytes,
        })
    }

    fn advance(&mut self) {}
}
