//! Limits of the operating system.

/// The size of the receive buffer of one message, bytes: the largest UDP datagram, and with GRO the largest buffer of
/// several.
pub(super) const BUFFER: usize = 65_536;
