//! DCTCP: a cut in proportion to the fraction of packets that were marked (RFC 8257).
//!
//! It needs a queue that marks all packets above a small threshold, and it needs to know which packets were marked. A
//! TCP receiver has to echo each mark (the echo `dctcp`); Ack Vectors of DCCP always report them. The growth and the
//! answer to losses are those of [`NewReno`](super::NewReno) (3.4, 3.5). Marks are counted in packets; the RFC counts
//! bytes.

use std::sync::Arc;

use fairwire_units::registry::Kind;

use super::{Adjustment, Law, Window, WindowLaw};
use crate::Signal;

/// The weight of one round trip's marks in the estimate (RFC 8257, section 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// DCTCP (RFC 8257): a mark reduces the window by half of the estimated fraction of marked packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    /// The weight of one round trip's marks in the estimate, more than 0 and at most 1 (RFC 8257, section 4.2).
    gain: f64,
    /// `DCTCP.Alpha`.
    alpha: f64,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self::new(GAIN)
    }
}

impl Dctcp {
    /// Creates a law that gives the marks of the last round trip the weight `gain`, more than 0 and at most 1.
    pub const fn new(gain: f64) -> Self {
        // 3.3: one at first, so that the first mark halves the window, as with another law.
        Self { gain, alpha: 1.0 }
    }

    /// Returns the estimated fraction of packets that are marked, 0.0 to 1.0.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl WindowLaw for Dctcp {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, signal: Signal) -> f64 {
        let taken = match signal {
            // 3.3, step 9.
            Signal::Marked => self.alpha / 2.0,
            // 3.5: as a conventional TCP.
            Signal::Lost => 0.5,
        };
        window.cwnd * (1.0 - taken)
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        if window.round.ends {
            // 3.3, steps 5 and 6.
            self.alpha += self.gain * (window.round.marked_part() - self.alpha);
        }
        None
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn problem(&self) -> Option<&'static str> {
        let sound = self.gain > 0.0 && self.gain <= 1.0;
        (!sound).then_some("the gain of DCTCP must be more than 0 and at most 1")
    }

    fn reset(&mut self) {
        *self = Self::new(self.gain);
    }
}

/// The settings of DCTCP.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
struct Settings {
    /// The weight of one round trip's marks in the estimate (RFC 8257, section 4.2).
    #[cfg_attr(
        feature = "settings",
        schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))
    )]
    gain: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { gain: GAIN }
    }
}

/// Returns the kind `dctcp`.
pub(super) fn kind() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "dctcp",
        "A cut in proportion to the packets marked in a round trip (RFC 8257); needs ECN.",
    )
    .standard(|| Arc::new(Dctcp::default()))
    .settings(|it: Settings| Arc::new(Dctcp::new(it.gain)))
}
