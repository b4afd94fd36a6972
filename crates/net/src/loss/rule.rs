//! Deterministic losses.

#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_units::registry::Kind;

use super::model::LossModel;
use super::process::{Loss, Verdict};
use crate::{FlowId, LinkContext, Packet};

/// Creates a model that gives `verdict` to the packets with these numbers: `nth([14, 26, 28], Verdict::Drop)`.
///
/// Packets are counted from 1 in the order in which they go on the wire.
pub fn nth(numbers: impl IntoIterator<Item = u64>, verdict: Verdict) -> Nth {
    let mut numbers: Vec<u64> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    Nth {
        numbers,
        verdict,
        flow: None,
        seen: 0,
        next: 0,
    }
}

/// A rule by packet number; see [`nth`].
#[derive(Clone, Debug)]
pub struct Nth {
    numbers: Vec<u64>,
    verdict: Verdict,
    flow: Option<FlowId>,
    seen: u64,
    next: usize,
}

impl Nth {
    /// Restricts counting and verdicts to the packets of `flow`.
    pub fn of(mut self, flow: FlowId) -> Self {
        self.flow = Some(flow);
        self
    }
}

/// Creates a model that gives `verdict` to every packet whose number is a multiple of `period`, counted from 1.
///
/// This is a loss rate without randomness. A period of zero affects no packet.
pub fn every(period: u64, verdict: Verdict) -> Periodic {
    Periodic {
        period,
        verdict,
        seen: 0,
    }
}

/// The settings of [`every`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct EveryConfig {
    /// One of this many packets is lost.
    #[cfg_attr(
        feature = "settings",
        schemars(
            range(min = 1),
            extend("advice" = "n must be at least 1: one of n packets is lost")
        )
    )]
    pub n: u32,
}

impl LossModel for EveryConfig {
    fn build(&self, _link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        Some(Box::new(every(u64::from(self.n), Verdict::Drop)))
    }

    fn is_random(&self) -> bool {
        false
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn LossModel> {
    let kind: Kind<dyn LossModel> = Kind::new(
        "every",
        "Every n-th packet is lost, counted from the first, without randomness.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: EveryConfig| Arc::new(config));
    kind
}

/// A rule by period; see [`every`].
#[derive(Clone, Debug)]
pub struct Periodic {
    period: u64,
    verdict: Verdict,
    seen: u64,
}

impl Loss for Periodic {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        self.seen += 1;
        if self.seen.checked_rem(self.period) == Some(0) {
            self.verdict
        } else {
            Verdict::Pass
        }
    }
}

impl Loss for Nth {
    fn verdict(&mut self, _now: Instant, packet: &Packet) -> Verdict {
        if self.flow.is_some_and(|flow| flow != packet.flow) {
            return Verdict::Pass;
        }
        self.seen += 1;
        // Packet numbers start at 1, so a rule for packet 0 never applies.
        while self.numbers.get(self.next).is_some_and(|n| *n < self.seen) {
            self.next += 1;
        }
        if self.numbers.get(self.next) == Some(&self.seen) {
            self.verdict
        } else {
            Verdict::Pass
        }
    }
}
