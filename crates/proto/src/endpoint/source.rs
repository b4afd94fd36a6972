//! Sources of packets, the unit that per-source limits apply to: the addresses that one host can have to itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// The source of a Request.
///
/// It is an IPv4 address, or the first 64 bits of an IPv6 address, because one host may use every address of its /64.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Source(u128);

impl Source {
    pub(super) fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self(ip.to_ipv6_mapped().to_bits()),
            IpAddr::V6(ip) => Self(ip.to_bits() & !u128::from(u64::MAX)),
        }
    }
}

/// A count for each source. A source with a count of zero takes no memory.
#[derive(Debug, Default)]
pub(super) struct SourceCounts(BTreeMap<Source, usize>);

impl SourceCounts {
    pub(super) fn count(&self, source: Source) -> usize {
        self.0.get(&source).copied().unwrap_or(0)
    }

    /// Adds one to the count of `source`.
    pub(super) fn add(&mut self, source: Source) {
        *self.0.entry(source).or_default() += 1;
    }

    /// Subtracts one from the count of `source`.
    pub(super) fn remove(&mut self, source: Source) {
        let count = self.0.get_mut(&source);
        debug_assert!(count.is_some(), "a removed source was added before");
        if let Some(count) = count {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&source);
            }
        }
    }
}
