//! The state that a spurious timeout gives back.

use fairwire_units::Instant;

use super::hystart::HyStart;

/// The state before the first timeout in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeTimeout {
    /// `pipe_prev` of RFC 4015, section 3, step 1: the packets in flight or the threshold, if that is higher.
    pub(super) pipe: f64,
    pub(super) last_cut: Option<Instant>,
    pub(super) hystart: Option<HyStart>,
}
