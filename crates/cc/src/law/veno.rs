//! Veno: a cut by half for congestion and by a fifth for a random loss.
//!
//! Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2), 2003. The
//! law distinguishes the two kinds of loss by Vegas's estimate of the packets that wait in queues. With fewer than
//! `beta` of them the queue was not full, so the loss was random and takes a fifth of the window. With more it takes
//! half. While `beta` or more packets wait the window grows half as fast. Slow start and timeouts are those of Reno.
//!
//! The round-trip time of the empty path is the shortest of the connection, as in the Veno of Linux and ns-3. The paper
//! measures it again after each loss.

use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Packets};

use super::rounds::backlog;
use super::{Adjustment, Law, Window, WindowLaw};
use crate::Signal;

/// The threshold of Veno, in packets, and the newest round-trip sample.
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
    /// Creates a law that takes `beta` waiting packets for congestion; the paper uses 3.
    pub const fn new(beta: f64) -> Self {
        Self { beta, rtt: None }
    }

    /// Returns whether so many packets wait that the path must be full.
    fn is_congested(&self, window: &Window) -> bool {
        let (Some(base), Some(rtt)) = (window.min_rtt, self.rtt) else {
            return false;
        };
        backlog(window.cwnd, base, rtt) >= self.beta
    }
}

impl WindowLaw for Veno {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        // One packet every other round trip is, on average, half a packet in each.
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

/// The settings of Veno.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
struct Settings {
    /// The path counts as full if at least this many packets wait in queues.
    beta: Packets,
}

impl Default for Settings {
    fn default() -> Self {
        Self { beta: Packets(3) }
    }
}

/// Returns the kind `veno`.
pub(super) fn kind() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "veno",
        "A cut by a fifth for a random loss, by half for a full queue (Fu and Liew 2003).",
    )
    .standard(|| Arc::new(Veno::default()))
    .settings(|it: Settings| Arc::new(Veno::new(f64::from(it.beta.0))))
}
