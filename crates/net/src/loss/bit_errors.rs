//! Independent bit errors.

#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_units::registry::Kind;

use super::model::LossModel;
use super::process::{Loss, Verdict};
use crate::{LinkContext, Packet, Stream};

/// The settings of [`BitErrors`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct BitErrorsConfig {
    /// The share of wrong bits, as `1e-6`.
    #[cfg_attr(
        feature = "settings",
        schemars(
            range(min = 0),
            extend(
                "exclusiveMaximum" = 1.0,
                "advice" = "the rate of bit errors is the share of wrong bits, from 0 up to less than 1, as 1e-6"
            )
        )
    )]
    pub rate: f64,
}

impl LossModel for BitErrorsConfig {
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        let errors = || BitErrors::new(self.rate, link.framing, link.stream("loss"));
        self.is_random()
            .then(|| Box::new(errors()) as Box<dyn Loss>)
    }

    fn is_random(&self) -> bool {
        self.rate > 0.0
    }
}

/// What the registry holds.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "bit-errors",
        "Bits are wrong at random; a packet with a wrong bit is lost.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: BitErrorsConfig| Arc::new(config));
    kind
}

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
