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

/// Expired names that one call removes.
///
/// It is more than the one name that a call may add, so that expired names do not accumulate.
const REMOVED_PER_LOOK: usize = 16;

/// The delay before more expired names are removed if nothing else happens.
const NEXT_LOOK: Duration = Duration::from_millis(1);

/// The name of a flow: a 128-bit keyed hash, wide enough to rule out collisions in practice.
type Name = [u64; 2];

/// The flows in TIMEWAIT.
#[derive(Debug, Default)]
pub(crate) struct TimeWait {
    /// The generations, oldest first, each with the time when it was opened.
    generations: VecDeque<(Instant, BTreeSet<Name>)>,
    /// Number of names in the generations.
    len: usize,
    /// Expired names that still take memory.
    over: VecDeque<BTreeSet<Name>>,
    /// When expired names were last removed.
    looked_at: Instant,
}

impl TimeWait {
    /// Puts `name` into TIMEWAIT.
    pub(crate) fn insert(&mut self, now: Instant, name: Name) {
        self.purge(now);
        if self.len >= MAX_FLOWS {
            self.end_oldest();
        }
        let open = self.generations.back();
        if open.is_none_or(|(opened, _)| now.saturating_since(*opened) >= GENERATION) {
            self.generations.push_back((now, BTreeSet::new()));
        }
        if let Some((_, names)) = self.generations.back_mut()
            && names.insert(name)
        {
            self.len += 1;
        }
    }

    /// Returns whether `name` is in TIMEWAIT.
    pub(crate) fn contains(&mut self, now: Instant, name: Name) -> bool {
        self.purge(now);
        self.generations
            .iter()
            .any(|(_, names)| names.contains(&name))
    }

    /// Returns when there is something to expire or remove; `None` if there is nothing.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if !self.over.is_empty() {
            return Some(self.looked_at + NEXT_LOOK);
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

    /// Expires old generations and removes a few expired names.
    pub(crate) fn purge(&mut self, now: Instant) {
        while self
            .generations
            .front()
            // The last flow joined the generation before it was `GENERATION` old.
            .is_some_and(|(opened, _)| now >= *opened + GENERATION + TWO_MSL)
        {
            self.end_oldest();
        }
        self.looked_at = now;
        for _ in 0..REMOVED_PER_LOOK {
            let Some(names) = self.over.front_mut() else {
                return;
            };
            if names.pop_first().is_none() {
                self.over.pop_front();
            }
        }
    }

    fn end_oldest(&mut self) {
        if let Some((_, names)) = self.generations.pop_front() {
            self.len -= names.len();
            self.over.push_back(names);
        }
    }

    /// Returns the number of names that take memory, expired ones included.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.len + self.over.iter().map(BTreeSet::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::{GENERATION, Name, REMOVED_PER_LOOK, TWO_MSL, TimeWait};
    use fairwire_units::{Duration, Instant};

    /// A connection in TIMEWAIT takes 16 bytes, three times that in a sparse B-tree: less than the 64 allowed.
    #[test]
    fn small() {
        assert!(size_of::<Name>() * 3 <= 64);
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
        assert_eq!(waiting.kept(), 100_000 - REMOVED_PER_LOOK);
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
