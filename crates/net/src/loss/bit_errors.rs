//! Independent bit errors.

use fairwire_units::Instant;

use super::{Loss, Verdict};
use crate::{Packet, Stream};

/// Loses each packet in which at least one bit is wrong: with `n` bits on the wire and a bit error
/// rate of `b` that is the share `1 - (1 - b)^n`, so long packets are lost more often than short ones.
#[derive(Debug)]
pub struct BitErrors {
    rate: f64,
    framing: u32,
    stream: Stream,
}

impl BitErrors {
    /// A link with this bit error rate (0 to 1), which adds `framing` bytes to each packet.
    pub fn new(rate: f64, framing: u32, stream: Stream) -> Self {
        Self {
            rate,
            framing,
            stream,
        }
    }

    /// The packet error rate of packets of `bytes` bytes, framing not counted.
    pub fn packet_error_rate(&self, bytes: u32) -> f64 {
        let bits = 8.0 * (f64::from(bytes) + f64::from(self.framing));
        // Through logarithms, because 1 - b has lost what matters where b is small.
        -libm::expm1(bits * libm::log1p(-self.rate))
    }
}

impl Loss for BitErrors {
    fn verdict(&mut self, _now: Instant, packet: &Packet) -> Verdict {
        let lost = self.packet_error_rate(packet.wire_len);
        if self.stream.bool(lost) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
