//! Packets of one direction that may still arrive after the end of the run.
//!
//! Paths keep the order of packets, nearly always: a packet that is missing when a newer one has arrived is lost. So
//! only packets that are newer than all that arrived can still be on their way, and of these not the dropped ones.

use std::collections::BTreeMap;

use fairwire_units::{Duration, Instant};

/// Numbers of packets by the time at which they were offered, or left.
pub type Times = BTreeMap<Instant, u32>;

/// The least number of packets for which room is made.
const LEAST_ROOM: usize = 64;

/// The packets that are newer than all that arrived.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// The time of each packet, in order; also of older ones that were not removed yet.
    added: Vec<Instant>,
    /// The greatest time of a packet that arrived, and how many of that time did.
    arrived: Option<(Instant, usize)>,
}

impl Pending {
    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, now: Instant) {
        if self.added.len() == self.added.capacity() {
            self.make_room();
        }
        self.added.push(now);
    }

    /// Removes packets that are older than one that arrived, and makes room for as many as are left, so that a packet is
    /// moved once on average.
    #[cold]
    fn make_room(&mut self) {
        let kept = self.newer();
        self.added.drain(..self.added.len() - kept);
        self.added.reserve(kept.max(LEAST_ROOM));
    }

    /// Returns the number of packets that are not older than all that arrived.
    fn newer(&self) -> usize {
        let Some((arrived, _)) = self.arrived else {
            return self.added.len();
        };
        self.added.len() - self.added.partition_point(|at| *at < arrived)
    }

    /// Removes the packet that was added last, because it was refused.
    pub fn refuse(&mut self) {
        self.added.pop();
    }

    /// Removes a packet of `at` that arrived, and all older ones.
    #[inline]
    pub fn arrive(&mut self, at: Instant) {
        match &mut self.arrived {
            Some((newest, _)) if *newest > at => {}
            Some((newest, count)) if *newest == at => *count += 1,
            arrived => *arrived = Some((at, 1)),
        }
    }

    /// Adds a packet of `at` to those that were `dropped`. Removes the older ones, which need no memory any more.
    pub fn note_drop(&self, dropped: &mut Times, at: Instant) {
        let arrived = self.arrived.map(|(at, _)| at);
        while let Some(oldest) = dropped.first_entry().filter(|it| Some(*it.key()) < arrived) {
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
        let newer = &self.added[self.added.len() - self.newer()..];
        let newer = newer.chunk_by(|one, next| one == next);
        let newer = newer.map(|alike| (alike[0], alike.len()));
        let open = newer.filter(move |(at, _)| is_open(*at, end, limit));
        open.map(|(at, count)| {
            let here = self.arrived.filter(|(arrived, _)| *arrived == at);
            let arrived = here.map_or(0, |(_, count)| count);
            let dropped = dropped.get(&at).copied().unwrap_or(0) as usize;
            let open = count.saturating_sub(arrived + dropped);
            (at, u32::try_from(open).unwrap_or(u32::MAX))
        })
    }
}

/// Returns whether what was offered, or left, at `at` may arrive within `limit` after `end`.
pub fn is_open(at: Instant, end: Instant, limit: Option<Duration>) -> bool {
    limit.is_none_or(|limit| at + limit > end)
}
