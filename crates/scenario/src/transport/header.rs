//! Sizes of headers that several transports use.

/// The size of an IPv4 header without options, bytes.
pub const IP_HEADER: u32 = 20;
/// The size of a UDP header, bytes.
pub const UDP_HEADER: u32 = 8;
