//! Sizes of headers that several transports have.

/// An IPv4 header without options, bytes.
pub(crate) const IP_HEADER: u32 = 20;
/// A UDP header, bytes.
pub(crate) const UDP_HEADER: u32 = 8;
