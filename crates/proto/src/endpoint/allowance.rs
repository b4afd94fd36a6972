//! How often those are answered who have not proved their address: a share for each source.
//!
//! Whoever forges addresses makes us send to them, so a network is answered so many times a
//! second and no more. The memory has a fixed size whatever comes: sources share places by a keyed
//! hash, so nobody outside can choose whom to share with.

use fairwire_units::{Duration, Instant};

/// Places: 32 kB, made when the first stranger comes. A source shares its place with one that
/// floods us in one case of 4,096.
const PLACES: usize = 4_096;

/// So many seconds' worth may be taken at once.
const BURST_S: u64 = 4;

/// What a Reset costs of a share, in answers: nobody needs many, and there are only so many for
/// all strangers together (RFC 4340, 8.1.3), of which one source has a quarter.
pub(super) const RESET: u64 = 4;

/// The shares.
#[derive(Debug)]
pub(super) struct Allowances {
    interval: Duration,
    burst: Duration,
    /// When the next answer would be due at each place if they came evenly.
    due: Vec<Instant>,
}

impl Allowances {
    /// At most `per_s` answers a second for each source.
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

    /// May the source with this keyed hash be answered, for the price of `cost` answers? If so, it
    /// counts.
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

    /// The source has proved to be where it says: what one answer cost is given back.
    pub(super) fn give_back(&mut self, hash: u64) {
        if let Some(due) = self.due.get_mut(place(hash)) {
            *due = due.saturating_before(self.interval);
        }
    }
}

/// The place of a source with this hash.
fn place(hash: u64) -> usize {
    usize::try_from(hash % PLACES as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Allowances, Duration, Instant, PLACES};

    /// A source is answered four seconds' worth at once, then at the rate; a rest fills it again, what
    /// is given back counts, others are not concerned, and the memory is fixed.
    #[test]
    fn finding_8_a_burst_and_then_the_rate() {
        let mut shares = Allowances::new(10);
        let now = Instant::START + Duration::from_secs(100);
        let taken = |shares: &mut Allowances, now, hash| {
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
        assert!(!Allowances::new(0).take(now, 1, 1));
    }
}
