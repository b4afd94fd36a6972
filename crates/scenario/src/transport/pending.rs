//! Packets of one direction that may still arrive after the end of the run.
//!
//! Paths keep the order of packets, nearly always: a packet that is missing when a newer one has arrived is lost. So
//! only packets that are newer than all that arrived can still be on their way, and of these not the dropped ones.

use std::collections::{BTreeMap, VecDeque};

use fairwire_units::{Duration, Instant};

/// Numbers of packets by the time at which they were offered, or left.
pub type Times = BTreeMap<Instant, u32>;

/// The packets that are newer than all that arrived.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// Times and numbers of packets, in the order of time.
    newer: VecDeque<(Instant, u32)>,
    /// The greatest time of a packet that arrived.
    arrived: Option<Instant>,
}

impl Pending {
    /// Adds a packet.
    pub fn add(&mut self, now: Instant) {
        match self.newer.back_mut().filter(|(at, _)| *at == now) {
            Some((_, count)) => *count += 1,
            None => self.newer.push_back((now, 1)),
        }
    }

    /// Removes the packet that was added last, because it was refused.
    pub fn refuse(&mut self) {
        if let Some((_, count)) = self.newer.back_mut() {
            *count = count.saturating_sub(1);
        }
    }

    /// Removes a packet of `at` that arrived, and all older ones.
    pub fn arrive(&mut self, at: Instant) {
        self.arrived = self.arrived.max(Some(at));
        while let Some((time, count)) = self.newer.front_mut() {
            if *time >= at {
                let is_it = *time == at;
                *count = count.saturating_sub(u32::from(is_it));
                return;
            }
            self.newer.pop_front();
        }
    }

    /// Adds a packet of `at` to those that were `dropped`. Removes the older ones, which need no memory any more.
    pub fn note_drop(&self, dropped: &mut Times, at: Instant) {
        while let Some(oldest) = dropped
            .first_entry()
            .filter(|it| Some(*it.key()) < self.arrived)
        {
            oldest.remove();
        }
        *dropped.entry(at).or_default() += 1;
    }

    /// Returns the times and numbers of the packets that were not `dropped`, and may still arrive within `limit`
    /// after `end`.
    pub fn open(
        &self,
        end: Instant,
        limit: Option<Duration>,
        dropped: &Times,
    ) -> impl Iterator<Item = (Instant, u32)> {
        let newer = self.newer.iter();
        let open = newer.filter(move |(at, _)| is_open(*at, end, limit));
        open.map(|(at, count)| {
            let dropped = dropped.get(at).copied().unwrap_or(0);
            (*at, count.saturating_sub(dropped))
        })
    }
}

/// Returns whether what was offered, or left, at `at` may arrive within `limit` after `end`.
pub fn is_open(at: Instant, end: Instant, limit: Option<Duration>) -> bool {
    limit.is_none_or(|limit| at + limit > end)
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::{Pending, Times};

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn open(pending: &Pending, limit: Option<Duration>, dropped: &Times) -> Vec<(Instant, u32)> {
        let open = pending.open(ms(100), limit, dropped);
        open.filter(|(_, count)| *count > 0).collect()
    }

    /// Packets newer than all that arrived are open, unless they were refused or dropped.
    #[test]
    fn only_the_newest_packets_are_open() {
        let (mut pending, mut dropped) = (Pending::default(), Times::new());
        for at in [10, 20, 20, 30, 40, 50] {
            pending.add(ms(at));
        }
        pending.refuse();
        pending.note_drop(&mut dropped, ms(30));
        pending.arrive(ms(20));
        assert_eq!(open(&pending, None, &dropped), [(ms(20), 1), (ms(40), 1)]);
        pending.note_drop(&mut dropped, ms(20));
        assert_eq!(open(&pending, None, &dropped), [(ms(40), 1)]);
        pending.arrive(ms(30));
        pending.arrive(ms(10));
        pending.note_drop(&mut dropped, ms(40));
        assert_eq!(open(&pending, None, &dropped), []);
        assert_eq!(dropped.len(), 2, "{dropped:?}");
    }

    /// With a limit, a packet is open only if it can arrive in time after the end.
    #[test]
    fn a_packet_whose_limit_has_passed_is_not_open() {
        let mut pending = Pending::default();
        for at in [69, 70, 71] {
            pending.add(ms(at));
        }
        let limit = Some(Duration::from_millis(30));
        assert_eq!(open(&pending, limit, &Times::new()), [(ms(71), 1)]);
    }
}
