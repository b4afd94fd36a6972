//! Independent losses.

#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Instant, Percent};

use super::model::LossModel;
use super::process::{Loss, Verdict};
use crate::{LinkContext, Packet, Stream};

/// The settings of [`Bernoulli`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct BernoulliConfig {
    /// The share of packets that are lost.
    pub rate: Percent,
}

impl LossModel for BernoulliConfig {
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        let loss = || Bernoulli::new(self.rate.fraction(), link.stream("loss"));
        self.is_random().then(|| Box::new(loss()) as Box<dyn Loss>)
    }

    fn is_random(&self) -> bool {
        self.rate.fraction() > 0.0
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "random",
        "Packets are lost at random, independently of each other.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: BernoulliConfig| Arc::new(config));
    kind
}

/// A model that drops each packet with the same probability, independently of the others.
#[derive(Debug)]
pub struct Bernoulli {
    probability: f64,
    stream: Stream,
}

impl Bernoulli {
    /// Creates a model that drops with this probability, and draws from `stream` once per packet.
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
