//! TCP-like TW: the standard increase with a high slow-start threshold and a small cut.
//!
//! It was proposed for long-delay links by Nor, Hassan and Ghazali ("Enhancing DCCP Congestion Control Mechanism for
//! Long Delay Link"). The proposal starts with a threshold (T) of 200 packets instead of the simulator's 20. On
//! congestion it drops (W) 5 % of the window instead of half.

use std::sync::Arc;

use fairwire_units::Percent;
use fairwire_units::registry::Kind;

use super::{Law, Window, WindowLaw};
use crate::Signal;

/// The increase of [`NewReno`](super::NewReno), with the initial threshold and the cuts as parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdWindow {
    /// The initial slow-start threshold, packets.
    pub initial_ssthresh: f64,
    /// The fraction of the window that a cut in congestion avoidance takes, more than 0 and less than 1.
    pub cut: f64,
    /// The fraction that a cut in slow start takes, more than 0 and less than 1. The paper describes only congestion
    /// avoidance, so its proposal leaves this at one half.
    pub slow_start_cut: f64,
}

impl ThresholdWindow {
    /// The proposal of the paper: 200 packets, 5 %.
    pub const PAPER: Self = Self {
        initial_ssthresh: 200.0,
        cut: 0.05,
        slow_start_cut: 0.5,
    };

    /// Creates a law with a threshold of `initial_ssthresh` packets and a cut of `cut` in congestion avoidance (0.05 is
    /// 5 %). A cut in slow start takes half.
    pub const fn new(initial_ssthresh: f64, cut: f64) -> Self {
        Self {
            initial_ssthresh,
            cut,
            slow_start_cut: 0.5,
        }
    }
}

impl WindowLaw for ThresholdWindow {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        let fraction = if window.in_slow_start() {
            self.slow_start_cut
        } else {
            self.cut
        };
        window.cwnd * (1.0 - fraction)
    }

    fn problem(&self) -> Option<&'static str> {
        let is_part = |cut: f64| cut > 0.0 && cut < 1.0;
        let sound = is_part(self.cut) && is_part(self.slow_start_cut);
        (!sound).then_some("a cut must take more than 0 and less than 1 of the window")
    }

    fn initial_ssthresh(&self) -> Option<f64> {
        Some(self.initial_ssthresh)
    }
}

/// The settings of this law.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
struct Settings {
    /// The part of the window that a cut in congestion avoidance takes.
    #[cfg_attr(
        feature = "settings",
        schemars(
            extend("exclusive_minimum_quantity" = "0 %"),
            extend("exclusive_maximum_quantity" = "100 %"),
            extend("advice" = "a cut must be more than 0 % and less than 100 %")
        )
    )]
    cut: Percent,
    /// The part of the window that a cut in slow start takes. The paper that proposes this law does not specify it.
    #[cfg_attr(
        feature = "settings",
        serde(default = "half"),
        schemars(
            extend("exclusive_minimum_quantity" = "0 %"),
            extend("exclusive_maximum_quantity" = "100 %"),
            extend("advice" = "a cut must be more than 0 % and less than 100 %")
        )
    )]
    slow_start_cut: Percent,
}

/// Returns the cut of RFC 5681.
#[cfg(feature = "settings")]
fn half() -> Percent {
    Percent::of(0.5)
}

/// Returns the kind `threshold-window`. Its initial threshold is infinite unless the connection sets one.
pub(super) fn kind() -> Kind<dyn Law> {
    let make: fn(Settings) -> Arc<dyn Law> = |it| {
        Arc::new(ThresholdWindow {
            initial_ssthresh: f64::INFINITY,
            cut: it.cut.fraction(),
            slow_start_cut: it.slow_start_cut.fraction(),
        })
    };
    Kind::<dyn Law>::new(
        "threshold-window",
        "One packet more per round trip, a configurable part less at congestion.",
    )
    .settings(make)
}
