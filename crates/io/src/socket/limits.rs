//! What the system gives at most.

/// Receive buffer per message: the largest UDP datagram, and with GRO the largest train.
pub(super) const BUFFER: usize = 65_536;
