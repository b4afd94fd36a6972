//! Records of data that has not arrived.

use fairwire_wire::Seq;

/// Numbers of the peer that have not arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Missing {
    pub(in crate::oracle) first: Option<Seq>,
    pub(in crate::oracle) newest: Option<Seq>,
    /// The number of missing packets now, and its maximum.
    pub(in crate::oracle) now: u64,
    pub(in crate::oracle) most: u64,
    /// The sum of `Received::lost_before` that the application was told.
    pub(in crate::oracle) told: u64,
    /// The number of datagrams that certainly arrived at a connection that takes data, copies left out.
    pub(in crate::oracle) came: u64,
    /// Whether a datagram with valid numbers came to a server whose client has not answered it yet.
    pub(in crate::oracle) completing: bool,
}

impl Missing {
    /// Records that this many packets arrived but were not accepted, so they are missing.
    pub(in crate::oracle) fn left(&mut self, packets: u64) {
        self.now += packets;
        self.most = self.most.max(self.now);
    }
}
