//! Losses in bursts.

#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_units::registry::Kind;

use super::model::LossModel;
use super::process::{Loss, Verdict};
use crate::{LinkContext, Packet, Stream};

/// The two-state chain of Gilbert (1960) with Elliott's (1963) losses in both states.
///
/// The link is good or bad; after each packet it may change. In the long run it is bad for the
/// share `good_to_bad / (good_to_bad + bad_to_good)` of the packets, and stays bad for
/// `1 / bad_to_good` packets on average. It starts in the good state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct Bursts {
    /// How likely a good link is bad for the next packet.
    #[cfg_attr(
        feature = "settings",
        serde(with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent")
    )]
    pub good_to_bad: f64,
    /// How likely a bad link is good for the next packet.
    #[cfg_attr(
        feature = "settings",
        serde(with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent", extend(
            "exclusive_minimum_quantity" = "0 %",
            "advice" = "a bad link gets good again: write bad_to_good above \"0 %\""
        ))
    )]
    pub bad_to_good: f64,
    /// What a good link loses.
    #[cfg_attr(
        feature = "settings",
        serde(default = "nothing", with = "fairwire_units::settings::fraction"),
        schemars(with = "fairwire_units::Percent")
    )]
    pub loss_good: f64,
    /// What a bad link loses.
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

impl LossModel for Bursts {
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        Some(Box::new(GilbertElliott::new(*self, link.stream("loss"))))
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// What the registry holds.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "gilbert-elliott",
        "Packets are lost in bursts: a chain of a good and a bad state, a step per packet.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: Bursts| Arc::new(config));
    kind
}

impl Bursts {
    /// The share of all packets that is lost in the long run, 0 to 1.
    pub fn mean_loss(&self) -> f64 {
        let leaves = self.good_to_bad + self.bad_to_good;
        if leaves <= 0.0 {
            return self.loss_good;
        }
        let bad = self.good_to_bad / leaves;
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A link with [`Bursts`]. Two draws for each packet: its fate, then the next state.
#[derive(Debug)]
pub struct GilbertElliott {
    bursts: Bursts,
    stream: Stream,
    bad: bool,
}

impl GilbertElliott {
    /// A link in the good state.
    pub fn new(bursts: Bursts, stream: Stream) -> Self {
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
