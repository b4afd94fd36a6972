//! The standard law: one packet more per round trip, half the window after congestion (RFC 5681, section 3.1).

use std::sync::Arc;

use fairwire_units::registry::Kind;

use super::{Law, Window, WindowLaw};
use crate::Signal;

/// Additive increase by one packet per window, multiplicative decrease by half.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NewReno;

impl WindowLaw for NewReno {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        window.cwnd / 2.0
    }
}

/// Returns the kind `newreno`.
pub(super) fn kind() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "newreno",
        "One packet more per round trip, half the window at congestion (RFC 5681).",
    )
    .standard(|| Arc::new(NewReno))
}
