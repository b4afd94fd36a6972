//! Rate limits for answers to sources that have not proved their address.
//!
//! Anybody can forge addresses and so make us send packets to them. Each source therefore gets a limited number of
//! answers per second. The memory has a fixed size under any load. Sources share entries by a keyed hash, so nobody
//! outside can choose with whom to share one.

use fairwire_units::{Duration, Instant};

/// Number of entries: 32 kB, allocated on first use.
///
/// The probability that a source shares its entry with a given flooding source is 1/4,096.
const PLACES: usize = 4_096;

/// The largest burst, in seconds at the full rate.
const BURST_S: u64 = 4;

/// The cost of a Reset, in answers.
///
/// No source needs many Resets, and all sources together share one limit (RFC 4340, 8.1.3). With the default limits one
/// source can use a quarter of it.
pub(super) const RESET_COST: u64 = 4;

/// The rate limits of all sources.
#[derive(Debug)]
pub(super) struct SourceLimits {
    interval: Duration,
    burst: Duration,
    /// For each entry, when the next answer would be due if answers were evenly spaced.
    due: Vec<Instant>,
}

impl SourceLimits {
    /// Creates limits of `per_s` answers per second for each source.
    pub(super) fn new(per_s: u32) -> Self {
        let interval = match per_s {
            0 => Duration::MAX,
            rate => Duration::from_nanos(1_000_000_000 / u64::from(rate)),
        };
        Self {
            interval,
            burst: interval * (BURST_S * u64::from(per_s)),
            due: Vec::new(),
        }
    }

    /// Returns whether the source with this keyed hash may get an answer of this cost, and if so charges it.
    pub(super) fn take(&mut self, now: Instant, hash: u64, cost: u64) -> bool {
        if self.interval == Duration::MAX {
            return false;
        }
        if self.due.is_empty() {
            self.due = vec![Instant::START; PLACES];
        }
        let due = &mut self.due[place(hash)];
        let next = (*due).max(now) + self.interval * cost;
        let allowed = next.saturating_since(now) <= self.burst;
        if allowed {
            *due = next;
        }
        allowed
    }

    /// Gives back the cost of one answer to a source that has proved its address.
    pub(super) fn give_back(&mut self, hash: u64) {
        if let Some(due) = self.due.get_mut(place(hash)) {
            *due = due.saturating_before(self.interval);
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

    /// A source gets a burst of four seconds' worth, then the configured rate.
    ///
    /// Idle time refills the burst, and given-back answers count. Other sources are not affected, and the memory is
    /// fixed.
    #[test]
    fn finding_8_a_burst_and_then_the_rate() {
        let mut shares = SourceLimits::new(10);
        let now = Instant::START + Duration::from_secs(100);
        let taken = |shares: &mut SourceLimits, now, hash| {
            (0..1_000).filter(|_| shares.take(now, hash, 1)).count()
        };
        assert_eq!(taken(&mut shares, now, 7), 40);
        assert_eq!(taken(&mut shares, now, 8), 40);
        assert_eq!(taken(&mut shares, now + Duration::from_secs(1), 7), 10);
        shares.give_back(7);
        assert_eq!(taken(&mut shares, now + Duration::from_secs(1), 7), 1);
        let later = now + Duration::from_secs(60);
        assert!(shares.take(later, 7, 40) && !shares.take(later, 7, 1));
        assert_eq!(taken(&mut shares, later + Duration::from_secs(60), 7), 40);
        assert_eq!(shares.due.len(), PLACES);
        assert!(!SourceLimits::new(0).take(now, 1, 1));
    }
}
