//! Rate limits for answers to sources that have not proved their address.
//!
//! Anybody can forge addresses and so make us send packets to them. Each source therefore gets a limited number of
//! answers per second, and so does each IPv6 site (see [`source`](super::source)). The memory has a fixed size under
//! any load. Sources share entries by a keyed hash, so nobody outside can choose with whom to share one.

use fairwire_units::{Duration, Instant};

use super::source::{NETWORKS, times};

/// Number of entries for each kind of network: 32 kB, allocated on first use.
///
/// The probability that a network shares its entry with a given flooding one is 1/4,096.
const PLACES: usize = 4_096;

/// The largest burst, in seconds at the full rate.
const BURST_S: u64 = 4;

/// The cost of a Reset, in answers.
///
/// No source needs many Resets, and all sources together share one limit (RFC 4340, 8.1.3). With the default limits one
/// source can use a quarter of it.
pub(super) const RESET_COST: u64 = 4;

/// The limit of one kind of network.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// The time between answers at the full rate.
    interval: Duration,
    burst: Duration,
}

/// The rate limits of all sources.
#[derive(Debug)]
pub(super) struct SourceLimits {
    /// For each kind of network, its limit; `None` if there are no answers.
    limits: Option<[Limit; NETWORKS]>,
    /// For each kind of network and each entry, when the next answer would be due if answers were evenly spaced.
    due: [Vec<Instant>; NETWORKS],
}

impl SourceLimits {
    /// Creates limits of `per_s` answers per second for each source.
    pub(super) fn new(per_s: u32) -> Self {
        let limit = |network| {
            let rate = times(network) * u64::from(per_s);
            let interval = Duration::from_nanos(1_000_000_000 / rate);
            Limit {
                interval,
                burst: interval * (BURST_S * rate),
            }
        };
        Self {
            limits: (per_s > 0).then(|| std::array::from_fn(limit)),
            due: Default::default(),
        }
    }

    /// Returns whether a source may get an answer of this cost, and if so charges it. `networks` are the numbers and
    /// keyed hashes of the networks that it is in, all of which must have so much left.
    pub(super) fn take(
        &mut self,
        now: Instant,
        networks: impl Iterator<Item = (usize, u64)> + Clone,
        cost: u64,
    ) -> bool {
        let Some(limits) = self.limits else {
            return false;
        };
        for (network, _) in networks.clone() {
            if self.due[network].is_empty() {
                self.due[network] = vec![Instant::START; PLACES];
            }
        }
        let next = |due: &[Vec<Instant>; NETWORKS], (network, hash): (usize, u64)| {
            due[network][place(hash)].max(now) + limits[network].interval * cost
        };
        let allowed = networks.clone().all(|network| {
            next(&self.due, network).saturating_since(now) <= limits[network.0].burst
        });
        if allowed {
            for (network, hash) in networks {
                self.due[network][place(hash)] = next(&self.due, (network, hash));
            }
        }
        allowed
    }

    /// Gives back the cost of one answer to a source that has proved its address.
    pub(super) fn give_back(&mut self, networks: impl Iterator<Item = (usize, u64)>) {
        let Some(limits) = self.limits else {
            return;
        };
        for (network, hash) in networks {
            if let Some(due) = self.due[network].get_mut(place(hash)) {
                *due = due.saturating_before(limits[network].interval);
            }
        }
    }
}

/// Returns the index of the entry for this hash.
fn place(hash: u64) -> usize {
    usize::try_from(hash % PLACES as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, PLACES, SourceLimits};

    /// The networks of a source of IPv4.
    fn alone(hash: u64) -> std::iter::Once<(usize, u64)> {
        std::iter::once((0, hash))
    }

    /// A source gets a burst of four seconds' worth, then the configured rate.
    ///
    /// Idle time refills the burst, and given-back answers count. Other sources are not affected, and the memory is
    /// fixed.
    #[test]
    fn finding_8_a_burst_and_then_the_rate() {
        let mut shares = SourceLimits::new(10);
        let now = Instant::START + Duration::from_secs(100);
        let taken = |shares: &mut SourceLimits, now, hash| {
            let takes = (0..1_000).filter(|_| shares.take(now, alone(hash), 1));
            takes.count()
        };
        assert_eq!(taken(&mut shares, now, 7), 40);
        assert_eq!(taken(&mut shares, now, 8), 40);
        assert_eq!(taken(&mut shares, now + Duration::from_secs(1), 7), 10);
        shares.give_back(alone(7));
        assert_eq!(taken(&mut shares, now + Duration::from_secs(1), 7), 1);
        let later = now + Duration::from_secs(60);
        assert!(shares.take(later, alone(7), 40) && !shares.take(later, alone(7), 1));
        assert_eq!(taken(&mut shares, later + Duration::from_secs(60), 7), 40);
        assert_eq!(shares.due.each_ref().map(Vec::len), [PLACES, 0, 0]);
        assert!(!SourceLimits::new(0).take(now, alone(1), 1));
    }

    /// An IPv6 /56 gets twice as many answers as a /64, a /48 three times as many, however many networks they use. What
    /// a site is refused costs its networks nothing, and what is given back counts for all of them.
    #[test]
    fn a_site_has_a_limit() {
        let mut shares = SourceLimits::new(10);
        let now = Instant::START + Duration::from_secs(100);
        let networks = |own: u64, site: u64| [(0, own), (1, site), (2, 1)].into_iter();
        let mut taken = |own: std::ops::Range<u64>, site| {
            let takes = own.flat_map(|own| (0..100).map(move |_| own));
            let takes = takes.filter(|own| shares.take(now, networks(*own, site), 1));
            takes.count()
        };
        assert_eq!(taken(0..1, 1), 40);
        assert_eq!(taken(1..16, 1), 40, "the rest of two times 40");
        assert_eq!(taken(16..32, 2), 40, "the rest of three times 40");
        assert_eq!(taken(32..48, 3), 0);
        shares.give_back(networks(40, 3));
        assert!(shares.take(now, networks(40, 3), 1));
        assert!(!shares.take(now, networks(40, 3), 1));
        let elsewhere = [(0, 40), (1, 4), (2, 2)].into_iter();
        let takes = (0..100).filter(|_| shares.take(now, elsewhere.clone(), 1));
        assert_eq!(takes.count(), 39, "one was taken");
    }
}
