//! Identifiers of connections and of the datagrams they send.

/// The identifier of a connection at its endpoint; never used twice.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// The identifier of connections that are forgotten as soon as they have answered.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// Returns the identifier of the endpoint's `count`th connection, stored in `slot`.
    pub(crate) fn new(count: u32, slot: usize) -> Self {
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        Self(u64::from(count) << 32 | u64::from(slot))
    }

    pub(crate) fn slot(self) -> usize {
        (self.0 & 0xFFFF_FFFF) as usize
    }
}

/// The identifier of a datagram given to `send`; counts up from zero within a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DatagramId(pub u64);
