//! Names: of connections at their endpoint, and of the datagrams that they send.

/// The name of a connection at its endpoint; never used twice.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// What a connection is called that is forgotten as soon as it has answered.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The `count`th connection of an endpoint, in `slot`.
    pub(crate) fn new(count: u32, slot: usize) -> Self {
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        Self(u64::from(count) << 32 | u64::from(slot))
    }

    pub(crate) fn slot(self) -> usize {
        (self.0 & 0xFFFF_FFFF) as usize
    }
}

/// The name of one datagram given to `send`; counts up from zero within a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DatagramId(pub u64);
