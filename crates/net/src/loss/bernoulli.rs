//! Independent losses.

use fairwire_units::Instant;

use super::{Loss, Verdict};
use crate::{Packet, Stream};

/// Drops each packet with the same probability, whatever happened to the others.
#[derive(Debug)]
pub struct Bernoulli {
    probability: f64,
    stream: Stream,
}

impl Bernoulli {
    /// Drops with this probability, drawing from `stream` once per packet.
    pub fn new(probability: f64, stream: Stream) -> Self {
        Self {
            probability,
            stream,
        }
    }
}

impl Loss for Bernoulli {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        if self.stream.bool(self.probability) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
