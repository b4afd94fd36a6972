//! Of data that has not come.

use fairwire_wire::Seq;

/// Numbers of the peer's that have not come.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Missing {
    pub(in crate::oracle) first: Option<Seq>,
    pub(in crate::oracle) newest: Option<Seq>,
    /// How many are missing now, and how many were at the worst moment.
    pub(in crate::oracle) now: u64,
    pub(in crate::oracle) most: u64,
    /// What the application was told in `Received::lost_before`, in all.
    pub(in crate::oracle) told: u64,
}

impl Missing {
    /// So many packets that came were not taken, and are missing.
    pub(in crate::oracle) fn left(&mut self, packets: u64) {
        self.now += packets;
        self.most = self.most.max(self.now);
    }
}
