//! Where packets come from, as far as a share goes by it: what one host can have to itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Who may have sent a Request: an IPv4 address, or the 64 bits of an IPv6 address that name a
/// network, for one host has all addresses in it.
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

/// How many of something each source has. A source that has none takes no memory.
#[derive(Debug, Default)]
pub(super) struct Census(BTreeMap<Source, usize>);

impl Census {
    pub(super) fn of(&self, source: Source) -> usize {
        self.0.get(&source).copied().unwrap_or(0)
    }

    /// One more.
    pub(super) fn add(&mut self, source: Source) {
        *self.0.entry(source).or_default() += 1;
    }

    /// One less.
    pub(super) fn remove(&mut self, source: Source) {
        let count = self.0.get_mut(&source);
        debug_assert!(count.is_some(), "what goes was counted when it came");
        if let Some(count) = count {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&source);
            }
        }
    }
}
