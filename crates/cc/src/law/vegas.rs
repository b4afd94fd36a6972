//! Vegas: a few packets in the queue and no more.
//!
//! Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995. Once
//! per round trip the law estimates how many of its packets wait in queues, from the difference between the expected
//! rate of the empty path and the actual rate. Below `alpha` the window grows by one packet in the next round trip;
//! above `beta` it shrinks by one; in between it stays. Slow start doubles only every other round trip, so that the
//! rounds in between can measure. It ends once more than `gamma` packets wait.
//!
//! Where the paper does not specify a value this follows the agent of ns-2.35: the estimate is rounded to whole
//! packets, the end of slow start takes an eighth of the window, and a loss takes a quarter. The early retransmission
//! is part of the protocol.

use std::sync::Arc;

use fairwire_units::Packets;
use fairwire_units::registry::Kind;

use super::rounds::{Rounds, backlog};
use super::{Adjustment, Law, Window, WindowLaw};
use crate::Signal;

/// The least window that delay alone can lead to, packets.
const LEAST: f64 = 2.0;

/// The thresholds of Vegas, in packets, and its measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    rounds: Rounds,
    /// Whether the window may grow in the present round trip.
    grows: bool,
    /// Whether this is a round trip of slow start in which the window may double.
    doubling: bool,
}

impl Default for Vegas {
    fn default() -> Self {
        Self::NS2
    }
}

impl Vegas {
    /// The thresholds of ns-2: 1, 3 and 1.
    pub const NS2: Self = Self::new(1.0, 3.0, 1.0);

    /// Creates a law with these thresholds, in packets.
    pub const fn new(alpha: f64, beta: f64, gamma: f64) -> Self {
        Self {
            alpha,
            beta,
            gamma,
            rounds: Rounds::NEW,
            grows: false,
            doubling: false,
        }
    }

    fn decide(&mut self, window: &Window, waiting: f64) -> Option<Adjustment> {
        if window.in_slow_start() {
            self.doubling = !self.doubling;
            self.grows = self.doubling && waiting <= self.gamma;
            let ends = self.doubling && waiting > self.gamma;
            return ends.then(|| Adjustment {
                cwnd: (window.cwnd * 0.875).max(LEAST),
                ssthresh: LEAST,
            });
        }
        self.grows = waiting < self.alpha;
        (waiting > self.beta).then(|| Adjustment {
            cwnd: (window.cwnd - 1.0).max(LEAST),
            ssthresh: window.ssthresh,
        })
    }
}

impl WindowLaw for Vegas {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        if self.grows { acked / window.cwnd } else { 0.0 }
    }

    fn slow_start(&mut self, _window: &Window, growth: f64) -> f64 {
        if self.grows { growth } else { 0.0 }
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        (window.cwnd * 0.75).max(LEAST)
    }

    fn threshold(&self, _left: f64) -> f64 {
        // Slow start is for the beginning and for timeouts. After a reduction by delay the window must not double to
        // grow back.
        LEAST
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        let rtt = window.rtt?;
        let mean = self.rounds.on_sample(window.now, rtt)?;
        // Packets that the receiver's window keeps back are not in any queue.
        let in_use = window.in_use.min(window.cwnd);
        let packets = f64::from(window.flight.packets.saturating_add(window.acked));
        if packets.min(window.cwnd) <= 1.0 {
            // A single packet does not queue behind packets of its own flow: the path itself has changed.
            self.rounds.set_base(mean);
        }
        let waiting = backlog(in_use, self.rounds.base().unwrap_or(mean), mean);
        self.decide(window, (waiting + 0.5).floor())
    }

    fn wants_every_sample(&self) -> bool {
        true
    }

    fn problem(&self) -> Option<&'static str> {
        let crossed = self.alpha > self.beta;
        crossed.then_some("beta of Vegas must be at least alpha: the window grows below alpha and shrinks above beta")
    }

    fn reset(&mut self) {
        *self = Self::new(self.alpha, self.beta, self.gamma);
    }
}

/// The settings of Vegas.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
struct Settings {
    /// The window grows if fewer packets than this wait in queues.
    alpha: Packets,
    /// The window shrinks if more packets than this wait in queues.
    beta: Packets,
    /// Slow start ends if more packets than this wait in queues.
    gamma: Packets,
}

/// The thresholds of ns-2.
impl Default for Settings {
    fn default() -> Self {
        Self {
            alpha: Packets(1),
            beta: Packets(3),
            gamma: Packets(1),
        }
    }
}

/// Returns the kind `vegas`.
pub(super) fn kind() -> Kind<dyn Law> {
    let make: fn(Settings) -> Arc<dyn Law> = |it| {
        let [alpha, beta, gamma] = [it.alpha, it.beta, it.gamma].map(|it| f64::from(it.0));
        Arc::new(Vegas::new(alpha, beta, gamma))
    };
    Kind::<dyn Law>::new(
        "vegas",
        "A few packets in queues and no more (Brakmo and Peterson 1995).",
    )
    .standard(|| Arc::new(Vegas::NS2))
    .settings(make)
}
