//! The peer's messages of several datagrams, until all parts of one are here or it is given up (`docs/messages.md`).
//!
//! A peer decides which parts come, so the memory is bounded: by messages, by bytes, and by the time for which one may
//! wait. Beyond that, the oldest is given up. A message that was given up, or was put together, does not begin again.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use fairwire_units::{Duration, Ecn, Instant};

use crate::constants::DATAGRAM_OVERHEAD;
use crate::part::{MAX_MESSAGE, Part};

/// The most messages that wait for parts, and their bytes with all overheads.
const MAX_WAITING: usize = 64;
const MAX_BYTES: usize = 512 << 10;

/// How long a message waits for its parts, from the first on.
const AGE: Duration = Duration::from_secs(10);

/// The ended messages that are remembered.
const REMEMBERED: usize = 256;

/// A part that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) part: Part,
    pub(crate) data: &'a [u8],
    pub(crate) ecn: Ecn,
    pub(crate) corrupt: bool,
    pub(crate) resent: bool,
}

/// A message with all its parts.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Whole {
    pub(crate) data: Bytes,
    /// Congestion Experienced, if a part was marked; otherwise that of the last one to arrive.
    pub(crate) ecn: Ecn,
    /// Whether a part was, and so the message is.
    pub(crate) corrupt: bool,
    pub(crate) resent: bool,
}

/// What became of a part.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Placed {
    /// It waits for others.
    Kept,
    /// It was the last.
    Whole(Whole),
    /// It is here already, or its message has ended.
    Useless,
    /// It contradicts other parts, or itself. Its message is given up.
    Wrong,
}

#[derive(Debug)]
struct Waiting {
    parts: Vec<Option<Bytes>>,
    missing: usize,
    bytes: usize,
    since: Instant,
    corrupt: bool,
    resent: bool,
    marked: bool,
}

impl Waiting {
    fn new(now: Instant, parts: usize) -> Self {
        Self {
            parts: vec![None; parts],
            missing: parts,
            bytes: 0,
            since: now,
            corrupt: false,
            resent: false,
            marked: false,
        }
    }

    fn arrived(&self) -> usize {
        self.parts.len() - self.missing
    }

    fn cost(&self) -> usize {
        let slots = self.parts.len() * size_of::<Option<Bytes>>();
        self.bytes + slots + (self.arrived() + 2) * DATAGRAM_OVERHEAD
    }
}

/// The messages that wait for parts.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    waiting: BTreeMap<u32, Waiting>,
    /// In the order in which they began.
    order: VecDeque<u32>,
    /// The messages that ended, oldest first, and whether each was given up.
    ended: VecDeque<(u32, bool)>,
    bytes: usize,
    /// Parts that arrived in vain and were not counted as missing yet.
    vain: u64,
    /// Messages that were given up.
    pub(crate) given_up: u64,
}

impl Assembly {
    /// Returns the memory that another part of `size` bytes needs at most.
    pub(crate) fn cost(part: Part, size: usize) -> usize {
        let slots = (usize::from(part.last) + 1) * size_of::<Option<Bytes>>();
        size + slots + 3 * DATAGRAM_OVERHEAD
    }

    /// Returns the size of the message that a part of `size` bytes completes, and what its parts hold; `None` if it
    /// completes none.
    pub(crate) fn completes(&self, part: Part, size: usize) -> Option<(usize, usize)> {
        let waiting = self.waiting.get(&part.message)?;
        let slot = waiting.parts.get(usize::from(part.index))?;
        (waiting.missing == 1 && slot.is_none()).then(|| (waiting.bytes + size, waiting.cost()))
    }

    /// Takes a part.
    pub(crate) fn add(&mut self, now: Instant, arrival: Arrival<'_>) -> Placed {
        let Arrival { part, data, .. } = arrival;
        let ended = self.ended.iter().find(|(ended, _)| *ended == part.message);
        if let Some((_, was_given_up)) = ended {
            self.vain += u64::from(*was_given_up);
            return Placed::Useless;
        }
        let count = usize::from(part.last) + 1;
        let known = self.waiting.get(&part.message);
        let bytes = known.map_or(0, |waiting| waiting.bytes) + data.len();
        let agrees = known.is_none_or(|waiting| waiting.parts.len() == count);
        if !part.is_valid() || !agrees || bytes > MAX_MESSAGE {
            self.give_up(part.message);
            self.vain += 1;
            return Placed::Wrong;
        }
        if known.is_none() {
            self.order.push_back(part.message);
            self.waiting.insert(part.message, Waiting::new(now, count));
        } else if known.is_some_and(|known| known.parts[usize::from(part.index)].is_some()) {
            return Placed::Useless;
        }
        self.store(arrival);
        match self.waiting.get(&part.message) {
            Some(waiting) if waiting.missing == 0 => self.finish(part.message, arrival.ecn),
            _ => {
                self.make_room();
                Placed::Kept
            }
        }
    }

    fn store(&mut self, arrival: Arrival<'_>) {
        let Some(waiting) = self.waiting.get_mut(&arrival.part.message) else {
            return;
        };
        let before = if waiting.arrived() == 0 {
            0
        } else {
            waiting.cost()
        };
        waiting.parts[usize::from(arrival.part.index)] = Some(Bytes::copy_from_slice(arrival.data));
        waiting.missing -= 1;
        waiting.bytes += arrival.data.len();
        waiting.corrupt |= arrival.corrupt;
        waiting.resent |= arrival.resent;
        waiting.marked |= arrival.ecn == Ecn::Ce;
        self.bytes += waiting.cost() - before;
    }

    fn finish(&mut self, message: u32, ecn: Ecn) -> Placed {
        let Some(waiting) = self.remove(message, false) else {
            return Placed::Useless;
        };
        let mut data = BytesMut::with_capacity(waiting.bytes);
        for part in waiting.parts.iter().flatten() {
            data.extend_from_slice(part);
        }
        Placed::Whole(Whole {
            data: data.freeze(),
            ecn: if waiting.marked { Ecn::Ce } else { ecn },
            corrupt: waiting.corrupt,
            resent: waiting.resent,
        })
    }

    fn make_room(&mut self) {
        while (self.waiting.len() > MAX_WAITING || self.bytes > MAX_BYTES)
            && let Some(&oldest) = self.order.front()
        {
            self.give_up(oldest);
        }
    }

    /// Gives up what has waited too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(at) = self.next_expiry()
            && at <= now
            && let Some(&oldest) = self.order.front()
        {
            self.give_up(oldest);
        }
    }

    /// Returns when the oldest message is given up.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        let oldest = self.waiting.get(self.order.front()?)?;
        Some(oldest.since + AGE)
    }

    /// Gives up all.
    pub(crate) fn give_up_all(&mut self) {
        while let Some(&oldest) = self.order.front() {
            self.give_up(oldest);
        }
    }

    fn give_up(&mut self, message: u32) {
        let waiting = self.remove(message, true);
        self.vain += waiting.map_or(0, |waiting| waiting.arrived() as u64);
        self.given_up += 1;
    }

    fn remove(&mut self, message: u32, is_given_up: bool) -> Option<Waiting> {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((message, is_given_up));
        let waiting = self.waiting.remove(&message)?;
        self.order.retain(|&other| other != message);
        self.bytes -= waiting.cost();
        Some(waiting)
    }

    /// Returns the parts that arrived and are of no use any more, once.
    pub(crate) fn take_vain(&mut self) -> u64 {
        std::mem::take(&mut self.vain)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
