//! Losses in bursts.

#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_units::registry::Kind;

use super::model::LossModel;
use super::process::{Loss, Verdict};
use crate::{LinkContext, Packet, Stream};

/// The two-state chain of Gilbert (1960), with the losses of Elliott (1963) in both states.
///
/// The link is in a good or a bad state, and may change it after each packet. In the long run, the share of packets in
/// the bad state is `good_to_bad / (good_to_bad + bad_to_good)`. The bad state lasts `1 / bad_to_good` packets on
/// average. The link starts in the good state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct GilbertElliottConfig {
    /// The probability of a change from the good to the bad state, per packet.
    #[cfg_attr(
        feature = "settings",
        serde(with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent")
    )]
    pub good_to_bad: f64,
    /// The probability of a change from the bad to the good state, per packet.
    #[cfg_attr(
        feature = "settings",
        serde(with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent", extend(
            "exclusive_minimum_quantity" = "0 %",
            "advice" = "bad_to_good must be above \"0 %\""
        ))
    )]
    pub bad_to_good: f64,
    /// The share of packets lost in the good state.
    #[cfg_attr(
        feature = "settings",
        serde(default = "nothing", with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent")
    )]
    pub loss_good: f64,
    /// The share of packets lost in the bad state.
    #[cfg_attr(
        feature = "settings",
        serde(default = "everything", with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent")
    )]
    pub loss_bad: f64,
}

#[cfg(feature = "settings")]
fn nothing() -> f64 {
    0.0
}

#[cfg(feature = "settings")]
fn everything() -> f64 {
    1.0
}

impl LossModel for GilbertElliottConfig {
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        Some(Box::new(GilbertElliott::new(*self, link.stream("loss"))))
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "gilbert-elliott",
        "Packets are lost in bursts: a two-state Markov chain with one step per packet.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: GilbertElliottConfig| Arc::new(config));
    kind
}

impl GilbertElliottConfig {
    /// Returns the share of packets lost in the long run, 0 to 1.
    pub fn mean_loss(&self) -> f64 {
        let leaves = self.good_to_bad + self.bad_to_good;
        if leaves <= 0.0 {
            return self.loss_good;
        }
        let bad = self.good_to_bad / leaves;
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// The state of a link with [`GilbertElliottConfig`]. Each packet takes two draws: its fate, then the next state.
#[derive(Debug)]
pub struct GilbertElliott {
    bursts: GilbertElliottConfig,
    stream: Stream,
    bad: bool,
}

impl GilbertElliott {
    /// Creates a link in the good state.
    pub fn new(bursts: GilbertElliottConfig, stream: Stream) -> Self {
        Self {
            bursts,
            stream,
            bad: false,
        }
    }
}

impl Loss for GilbertElliott {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        let (loss, leave) = if self.bad {
            (self.bursts.loss_bad, self.bursts.bad_to_good)
        } else {
            (self.bursts.loss_good, self.bursts.good_to_bad)
        };
        let lost = self.stream.bool(loss);
        self.bad ^= self.stream.bool(leave);
        if lost { Verdict::Drop } else { Verdict::Pass }
    }
}
