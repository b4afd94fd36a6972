//! Sizes of headers that several transports use.

/// The size of an IPv4 header without options, bytes.
pub(crate) const IP_HEADER: u32 = 20;
/// The size of a UDP header, bytes.
pub(crate) const UDP_HEADER: u32 = 8;
