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
    /// The bit error rate: the share of bits that are wrong, for example `1e-6`.
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

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "bit-errors",
        "Bits are wrong at random; a packet with a wrong bit is lost.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: BitErrorsConfig| Arc::new(config));
    kind
}

/// A model that loses each packet with at least one wrong bit.
///
/// With `n` bits on the wire and a bit error rate of `b`, the loss rate is `1 - (1 - b)^n`. So long packets are lost
/// more often than short ones.
#[derive(Debug)]
pub struct BitErrors {
    rate: f64,
    framing: u32,
    stream: Stream,
}

impl BitErrors {
    /// Creates a model with this bit error rate (0 to 1) for a link that adds `framing` bytes to each packet.
    pub fn new(rate: f64, framing: u32, stream: Stream) -> Self {
        Self {
            rate,
            framing,
            stream,
        }
    }

    /// Returns the packet error rate of packets of `bytes` bytes, not counting the framing.
    pub fn packet_error_rate(&self, bytes: u32) -> f64 {
        let bits = 8.0 * (f64::from(bytes) + f64::from(self.framing));
        // Computed with logarithms, because 1 - b loses precision if b is small.
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
