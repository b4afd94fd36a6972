//! Sources of packets, the unit that per-source limits apply to: the addresses that one host can have to itself.
//!
//! IPv6 gives a site many such networks, so counts have limits for sites as well.

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

/// IPv6 networks that hold several sources: how many of the last bits of a /64 differ within them, and how many times
/// as much as one source they may have. A site gets a /56 or a /48 and can use all of it.
const SITES: [(u32, usize); 2] = [(8, 2), (16, 3)];

/// How many networks a source is in, itself included.
pub(super) const NETWORKS: usize = 1 + SITES.len();

/// Returns how many times as much as one source the network with this number may have.
pub(super) const fn times(network: usize) -> u64 {
    match network {
        0 => 1,
        site => SITES[site - 1].1 as u64,
    }
}

impl Source {
    /// Returns the networks that the source is in, each with its number: 0 is the source itself.
    pub(super) fn networks(self) -> impl Iterator<Item = (usize, Self)> + Clone {
        let sites = self.sites().map(|(number, site)| (number + 1, site));
        std::iter::once((0, self)).chain(sites)
    }

    /// Returns the larger networks that the source is in, each with its number in [`SITES`].
    fn sites(self) -> impl Iterator<Item = (usize, Self)> + Clone {
        let is_ipv6 = self.0 & u128::from(u64::MAX) == 0;
        let within = move |(bits, _)| Self(self.0 >> (64 + bits) << (64 + bits));
        let sites = SITES.into_iter().map(within).enumerate();
        sites.filter(move |_| is_ipv6)
    }
}

/// A count for each source and each site. One with a count of zero takes no memory.
#[derive(Debug, Default)]
pub(super) struct SourceCounts {
    sources: BTreeMap<Source, usize>,
    sites: [BTreeMap<Source, usize>; SITES.len()],
}

impl SourceCounts {
    /// Returns the count of `source`, or that of a site of it, divided by what a site may have, if that is more. Those that
    /// `others` have do not count.
    pub(super) fn count_without(&self, source: Source, others: &[&Self]) -> usize {
        let left = |of: &dyn Fn(&Self) -> usize| {
            let others: usize = others.iter().map(|other| of(other)).sum();
            of(self).saturating_sub(others)
        };
        let own = left(&|counts| at(&counts.sources, source));
        let sites = source.sites().map(|(number, site)| {
            let count = left(&|counts| at(&counts.sites[number], site));
            count / SITES[number].1
        });
        sites.fold(own, usize::max)
    }

    /// Returns the smallest network of `source` that has `max` or more, measured by what such a network may have.
    pub(super) fn crowded(&self, source: Source, max: usize) -> Option<(usize, Source)> {
        let count = |number: usize, network| match number {
            0 => at(&self.sources, network),
            site => at(&self.sites[site - 1], network) / SITES[site - 1].1,
        };
        let mut networks = source.networks();
        networks.find(|&(number, network)| count(number, network) >= max)
    }

    /// Adds one to the count of `source`.
    pub(super) fn add(&mut self, source: Source) {
        *self.sources.entry(source).or_default() += 1;
        for (number, site) in source.sites() {
            *self.sites[number].entry(site).or_default() += 1;
        }
    }

    /// Subtracts one from the count of `source`.
    pub(super) fn remove(&mut self, source: Source) {
        subtract(&mut self.sources, source);
        for (number, site) in source.sites() {
            subtract(&mut self.sites[number], site);
        }
    }
}

fn at(counts: &BTreeMap<Source, usize>, source: Source) -> usize {
    counts.get(&source).copied().unwrap_or(0)
}

fn subtract(counts: &mut BTreeMap<Source, usize>, source: Source) {
    let count = counts.get_mut(&source);
    debug_assert!(count.is_some(), "a removed source was added before");
    if let Some(count) = count {
        *count -= 1;
        if *count == 0 {
            counts.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, SourceCounts};

    fn source(text: &str) -> Source {
        Source::of(text.parse().unwrap())
    }

    /// A site that uses many of its /64 networks counts as one: a /56 may have twice what a /64 has, a /48 three times.
    /// Its neighbours, and addresses of IPv4, do not count.
    #[test]
    fn a_site_is_a_source() {
        let mut counts = SourceCounts::default();
        let mut all = Vec::new();
        for low in 0..8_u8 {
            all.push(source(&format!("2001:db8:0:{low:x}::1")));
            all.push(source(&format!("2001:db8:0:1{low:02x}::1")));
            all.push(source(&format!("192.0.2.{low}")));
        }
        for &source in &all {
            counts.add(source);
        }
        for (who, count) in [
            ("2001:db8:0:1::2", 5),   // 16 of its /48, by three
            ("2001:db8:0:1ff::2", 5), // none of its /64
            ("2001:db8:1:0::2", 0),   // another /48
            ("192.0.2.1", 1),
            ("192.0.2.200", 0),
        ] {
            assert_eq!(counts.count_without(source(who), &[]), count, "{who}");
        }
        let mut half_open = SourceCounts::default();
        for &source in all.iter().skip(9) {
            half_open.add(source);
        }
        let left = counts.count_without(source("2001:db8:0:1::2"), &[&half_open]);
        assert_eq!(left, 2);
        for source in all {
            counts.remove(source);
        }
        assert_eq!(counts.count_without(source("2001:db8:0:1::2"), &[]), 0);
        assert!(
            counts.sources.is_empty()
                && counts
                    .sites
                    .iter()
                    .all(std::collections::BTreeMap::is_empty)
        );
    }
}
