//! The keys of a flow that are transports.

/// The keys, in the order of `Flow::transports`; a flow has one of them.
pub(crate) const TRANSPORTS: &[&str] = &["tcp", "dccp", "udp"];
