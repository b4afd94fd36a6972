//! Records of timeouts.

use fairwire_units::Instant;

/// Consecutive retransmission timeouts without a packet from the peer in between.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Timeouts {
    pub(in crate::oracle) count: u32,
    /// The last timeout by the host's clock. If that clock jumps, timers expire early by the observer's clock.
    pub(in crate::oracle) at: Instant,
    /// The number of packets that had arrived by then.
    pub(in crate::oracle) packets: u64,
}
