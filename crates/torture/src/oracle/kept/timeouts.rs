//! Of timeouts.

use fairwire_units::Instant;

/// Retransmission timeouts in a row, with nothing from the peer in between.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Timeouts {
    pub(in crate::oracle) count: u32,
    /// The last one, by the host's clock: one that jumps makes timers go off early by the observer's.
    pub(in crate::oracle) at: Instant,
    /// Packets that had come by then.
    pub(in crate::oracle) packets: u64,
}
