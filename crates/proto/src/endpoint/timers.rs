//! A queue with one timer per connection, earliest first.
//!
//! It is a binary heap that knows the position of each connection, so that resetting a timer takes logarithmic time and
//! leaves no stale entry.

use fairwire_units::Instant;

const NOWHERE: usize = usize::MAX;

/// Timers by slot. Equal times are ordered by slot, so that runs are reproducible.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<(Instant, usize)>,
    /// Index into `heap` for each slot.
    place: Vec<usize>,
}

impl Timers {
    /// Reserves room for this many timers.
    pub(crate) fn reserve(&mut self, timers: usize) {
        self.heap.reserve(timers.saturating_sub(self.heap.len()));
        self.place.reserve(timers.saturating_sub(self.place.len()));
    }

    /// Returns the earliest time.
    pub(crate) fn peek(&self) -> Option<Instant> {
        self.heap.first().map(|&(at, _)| at)
    }

    /// Returns the timer of `slot`.
    #[cfg(any(test, feature = "inspect"))]
    pub(crate) fn at(&self, slot: usize) -> Option<Instant> {
        let &place = self.place.get(slot)?;
        self.heap.get(place).map(|&(at, _)| at)
    }

    /// Removes the earliest timer, if it is due, and returns its slot.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<usize> {
        let &(at, slot) = self.heap.first()?;
        if at > now {
            return None;
        }
        self.set(slot, None);
        Some(slot)
    }

    /// Sets, moves or removes the timer of `slot`.
    pub(crate) fn set(&mut self, slot: usize, at: Option<Instant>) {
        if slot >= self.place.len() {
            self.place.resize(slot + 1, NOWHERE);
        }
        match (self.place[slot], at) {
            (NOWHERE, None) => {}
            (NOWHERE, Some(at)) => {
                self.heap.push((at, slot));
                self.place[slot] = self.heap.len() - 1;
                self.rise(self.heap.len() - 1);
            }
            (place, Some(at)) => {
                let before = std::mem::replace(&mut self.heap[place].0, at);
                if at < before {
                    self.rise(place);
                } else if at > before {
                    self.sink(place);
                }
            }
            (place, None) => {
                let last = self.heap.len() - 1;
                self.swap(place, last);
                self.heap.pop();
                self.place[slot] = NOWHERE;
                if place < last {
                    self.rise(place);
                    self.sink(place);
                }
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].1] = a;
        self.place[self.heap[b].1] = b;
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent] <= self.heap[at] {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            let right = left + 1;
            let mut least = at;
            for child in [left, right] {
                if child < self.heap.len() && self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Timers;
    use fairwire_units::Instant;
    use std::collections::BTreeSet;

    /// After any sequence of changes, timers come out in order and none is lost.
    #[test]
    fn agrees_with_an_ordered_set() {
        let mut timers = Timers::default();
        let mut model: BTreeSet<(u64, usize)> = BTreeSet::new();
        let mut x = 12_345u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slot = (x >> 33) as usize % 50;
            let at = (x >> 40) % 1_000;
            model.retain(|&(_, s)| s != slot);
            if x >> 62 == 0 {
                timers.set(slot, None);
            } else {
                timers.set(slot, Some(Instant::from_nanos(at)));
                model.insert((at, slot));
            }
            let first = model.first().map(|&(at, _)| Instant::from_nanos(at));
            assert_eq!(timers.peek(), first);
        }
        while let Some(slot) = timers.pop_due(Instant::MAX) {
            assert_eq!(model.pop_first().map(|(_, s)| s), Some(slot));
        }
        assert!(model.is_empty());
    }

    /// No timer comes out before its time.
    #[test]
    fn not_before_its_time() {
        let mut timers = Timers::default();
        timers.set(3, Some(Instant::from_nanos(10)));
        assert_eq!(timers.pop_due(Instant::from_nanos(9)), None);
        assert_eq!(timers.pop_due(Instant::from_nanos(10)), Some(3));
        assert_eq!(timers.peek(), None);
    }
}
