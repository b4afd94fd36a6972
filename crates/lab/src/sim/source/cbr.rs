//! A constant bit rate.

use fairwire_units::{Duration, Instant};

use super::offer::{Offer, Source, When};

/// Sends a datagram of one size at a constant interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cbr {
    at: Instant,
    interval: Duration,
    bytes: u32,
}

impl Cbr {
    pub(crate) fn new(interval: Duration, bytes: u32) -> Self {
        Self {
            at: Instant::START,
            interval,
            bytes,
        }
    }
}

impl Source for Cbr {
    fn begin(&mut self, at: Instant) {
        self.at = at;
    }

    fn next(&self) -> Option<Offer> {
        Some(Offer {
            when: When::At(self.at),
            bytes: self.bytes,
        })
    }

    fn advance(&mut self) {
        self.at += self.interval;
    }
}
