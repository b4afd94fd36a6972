//! Veno: half a window for congestion, a fifth for bad luck.
//!
//! Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE
//! JSAC 21(2), 2003. Vegas's estimate of the packets that wait in queues tells the two kinds of loss apart:
//! with fewer than `beta` of them the queue was not full, so the loss was random and takes a fifth
//! of the window; with more it takes half. While `beta` or more wait the window grows half as fast.
//! Slow start and timeouts are Reno's.
//!
//! The empty path's round trip is the shortest of the connection, as in Linux's and ns-3's Veno; the paper
//! measures it anew after each loss.

use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Packets};

use super::rounds::backlog;
use super::{Adjustment, Law, Window, WindowLaw};
use crate::Signal;

/// The threshold, in packets, and the newest round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Veno {
    beta: f64,
    rtt: Option<Duration>,
}

impl Default for Veno {
    fn default() -> Self {
        Self::new(3.0)
    }
}

impl Veno {
    /// A law that takes `beta` waiting packets for congestion; the paper's is 3.
    pub const fn new(beta: f64) -> Self {
        Self { beta, rtt: None }
    }

    /// Do so many packets wait that the path must be full?
    fn is_congested(&self, window: &Window) -> bool {
        let (Some(base), Some(rtt)) = (window.min_rtt, self.rtt) else {
            return false;
        };
        backlog(window.cwnd, base, rtt) >= self.beta
    }
}

impl WindowLaw for Veno {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        // A packet every other round trip is, on average, half a packet in each.
        let step = if self.is_congested(window) { 0.5 } else { 1.0 };
        step * acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        let left = if self.is_congested(window) { 0.5 } else { 0.8 };
        window.cwnd * left
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        self.rtt = window.rtt.or(self.rtt);
        None
    }

    fn wants_every_sample(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.rtt = None;
    }
}

/// Its settings.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
struct Settings {
    /// With as many packets in queues the path is full.
    beta: Packets,
}

impl Default for Settings {
    fn default() -> Self {
        Self { beta: Packets(3) }
    }
}

/// Its name.
pub(super) fn kind() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "veno",
        "A fifth for a random loss, half for a full queue (Fu and Liew 2003).",
    )
    .standard(|| Arc::new(Veno::default()))
    .settings(|it: Settings| Arc::new(Veno::new(f64::from(it.beta.0))))
}
