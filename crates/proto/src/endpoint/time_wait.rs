//! TIMEWAIT: flows whose connection ended a short time ago (RFC 4340, section 8.3).
//!
//! It stores only a keyed hash of each flow. So a connection in TIMEWAIT costs a few dozen bytes; it needs no buffers
//! and does not keep the program alive. Flows expire in generations, so that one timer serves them all. Expired flows
//! are removed a few at a time, because one packet must not pay for removing a million of them.

use std::collections::{BTreeSet, VecDeque};

use fairwire_units::{Duration, Instant};

use crate::constants::TWO_MSL;

/// The duration of a generation. Flows that end within it expire together.
const GENERATION: Duration = Duration::from_secs(30);

/// The largest number of flows; beyond it the oldest generation expires early.
const MAX_FLOWS: usize = 1 << 20;

/// Expired hashes that one call removes.
///
/// It is more than the one hash that a call may add, so that expired hashes do not accumulate.
const REMOVED_PER_PURGE: usize = 16;

/// The delay before more expired hashes are removed if nothing else happens.
const PURGE_INTERVAL: Duration = Duration::from_millis(1);

/// The hash of a flow: a 128-bit keyed hash, wide enough to rule out collisions in practice.
type FlowHash = [u64; 2];

/// The flows in TIMEWAIT.
#[derive(Debug, Default)]
pub(crate) struct TimeWait {
    /// The generations, oldest first, each with the time when it was opened.
    generations: VecDeque<(Instant, BTreeSet<FlowHash>)>,
    /// Number of hashes in the generations.
    len: usize,
    /// Expired hashes that still take memory.
    expired: VecDeque<BTreeSet<FlowHash>>,
    /// When expired hashes were last removed.
    purged_at: Instant,
}

impl TimeWait {
    /// Puts `hash` into TIMEWAIT.
    pub(crate) fn insert(&mut self, now: Instant, hash: FlowHash) {
        self.purge(now);
        if self.len >= MAX_FLOWS {
            self.end_oldest();
        }
        let open = self.generations.back();
        if open.is_none_or(|(opened, _)| now.saturating_since(*opened) >= GENERATION) {
            self.generations.push_back((now, BTreeSet::new()));
        }
        if let Some((_, hashes)) = self.generations.back_mut()
            && hashes.insert(hash)
        {
            self.len += 1;
        }
    }

    /// Returns whether `hash` is in TIMEWAIT.
    pub(crate) fn contains(&mut self, now: Instant, hash: FlowHash) -> bool {
        self.purge(now);
        self.generations
            .iter()
            .any(|(_, hashes)| hashes.contains(&hash))
    }

    /// Returns when there is something to expire or remove; `None` if there is nothing.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if !self.expired.is_empty() {
            return Some(self.purged_at + PURGE_INTERVAL);
        }
        let (opened, _) = self.generations.front()?;
        Some(*opened + GENERATION + TWO_MSL)
    }

    /// Returns the number of flows in TIMEWAIT, as of the last [`Self::purge`].
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no flow is in TIMEWAIT; [`Self::contains`] need not be called then.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Expires old generations and removes a few expired hashes.
    pub(crate) fn purge(&mut self, now: Instant) {
        while self
            .generations
            .front()
            // The last flow joined the generation before it was `GENERATION` old.
            .is_some_and(|(opened, _)| now >= *opened + GENERATION + TWO_MSL)
        {
            self.end_oldest();
        }
        self.purged_at = now;
        for _ in 0..REMOVED_PER_PURGE {
            let Some(hashes) = self.expired.front_mut() else {
                return;
            };
            if hashes.pop_first().is_none() {
                self.expired.pop_front();
            }
        }
    }

    fn end_oldest(&mut self) {
        if let Some((_, hashes)) = self.generations.pop_front() {
            self.len -= hashes.len();
            self.expired.push_back(hashes);
        }
    }

    /// Returns the number of hashes that take memory, expired ones included.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.len + self.expired.iter().map(BTreeSet::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowHash, GENERATION, REMOVED_PER_PURGE, TWO_MSL, TimeWait};
    use fairwire_units::{Duration, Instant};

    /// A connection in TIMEWAIT takes 16 bytes, three times that in a sparse B-tree: less than the 64 allowed.
    #[test]
    fn small() {
        assert!(size_of::<FlowHash>() * 3 <= 64);
    }

    /// RFC 4340, 8.3: a flow stays for at least 2MSL and is gone one generation later.
    #[test]
    fn stays_two_segment_lifetimes() {
        let mut waiting = TimeWait::default();
        let ends = [0, 29, 31].map(|s| Instant::START + Duration::from_secs(s));
        for (i, end) in ends.into_iter().enumerate() {
            waiting.insert(end, [i as u64, 0]);
        }
        assert_eq!(waiting.len(), 3);
        assert_eq!(TWO_MSL, Duration::from_secs(2 * 120));
        let just_before = Duration::from_nanos(TWO_MSL.as_nanos() - 1);
        for (i, end) in ends.into_iter().enumerate() {
            assert!(waiting.contains(end + just_before, [i as u64, 0]), "{i}");
        }
        let last = ends[2] + TWO_MSL + GENERATION;
        assert!(!waiting.contains(last, [2, 0]));
        assert!(waiting.is_empty());
    }

    /// When 100,000 flows expire at one moment, each packet or timer after that removes only a few of them.
    #[test]
    fn what_is_over_is_removed_in_small_steps() {
        let mut waiting = TimeWait::default();
        let flows = 100_000;
        for i in 0..flows {
            waiting.insert(Instant::START, [i, 0]);
        }
        let later = Instant::START + GENERATION + TWO_MSL;
        assert!(!waiting.contains(later, [7, 0]));
        assert_eq!(waiting.len(), 0, "none is in TIMEWAIT any more");
        assert_eq!(waiting.kept(), 100_000 - REMOVED_PER_PURGE);
        for i in 0..flows / 2 {
            waiting.insert(later, [i, 1]);
        }
        assert_eq!(waiting.kept(), 50_000, "only those that are new");
        let mut steps = 0;
        while let Some(at) = waiting.next_timeout() {
            waiting.purge(at);
            steps += 1;
        }
        assert_eq!(waiting.kept(), 0, "timers remove all of it");
        assert!(steps <= flows / 2 / 16 + 3, "{steps}");
    }

    /// A flow that is inserted twice counts once.
    #[test]
    fn once_each() {
        let mut waiting = TimeWait::default();
        waiting.insert(Instant::START, [1, 1]);
        waiting.insert(Instant::START, [1, 1]);
        assert_eq!(waiting.len(), 1);
        assert!(!waiting.contains(Instant::START, [1, 2]));
    }
}
