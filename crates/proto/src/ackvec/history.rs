//! The receiver's record of arrived packets: runs of packets in one state, newest first (RFC 4340, sections 11.4 and
//! 11.4.2, and appendix A.2).
//!
//! Every report contains the newest part: the packets whose state the sender may not know. Older packets stay in the
//! record, in case a missing one arrives late, as that appendix describes.

use std::collections::VecDeque;

use fairwire_wire::{AckEntry, EntryState, Seq};

/// The most entries of a history: two full options when written. They still fit into an Ack of 576 bytes over IPv4; if
/// there is less room, the receiver keeps fewer entries. The oldest packets beyond the limit are forgotten. Except in
/// the worst cases, a vector therefore covers all that is not acknowledged yet (RFC 4341, section 6).
pub(super) const MAX_ENTRIES: usize = 2 * 253;

/// The most packets that one entry covers.
const PACKETS_PER_ENTRY: u64 = AckEntry::MAX_RUN as u64;

/// Consecutive packets in one state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Run {
    state: EntryState,
    /// At least one, and at most what all entries together cover.
    packets: u32,
}

impl Run {
    fn entries(self) -> usize {
        self.packets.div_ceil(u32::from(AckEntry::MAX_RUN)) as usize
    }
}

/// The place of a packet relative to those that arrived before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    /// The number after the newest.
    Next,
    /// A greater number, with a gap before it.
    AfterGap,
    /// Older and new information: it was missing, or is marked now.
    Late,
    /// No new information: a duplicate, or older than what is remembered.
    Old,
}

/// The states of the packets from the newest back to the oldest remembered.
#[derive(Clone, Debug)]
pub(super) struct History {
    newest: Option<Seq>,
    /// Newest first; empty only before the first packet.
    runs: VecDeque<Run>,
    /// The number of their entries, at most [`MAX_ENTRIES`].
    entries: usize,
    /// The number of their packets.
    packets: u32,
    /// How many of the newest packets are reported; at least one, if there is one.
    reported: u32,
}

impl History {
    /// Creates a history that begins with packet `first`, or else with the first packet noted. Older packets are never
    /// reported.
    pub(super) fn new(first: Option<Seq>) -> Self {
        Self {
            newest: first.map(Seq::prev),
            runs: VecDeque::new(),
            entries: 0,
            packets: 0,
            reported: 0,
        }
    }

    /// Returns the newest packet received, or the number before the first one while there is none.
    pub(super) fn newest(&self) -> Option<Seq> {
        self.newest
    }

    /// Records the arrival of a packet.
    pub(super) fn note(&mut self, seq: Seq, marked: bool) -> Order {
        let state = if marked {
            EntryState::Marked
        } else {
            EntryState::Received
        };
        let newest = self.newest.unwrap_or(seq.prev());
        if seq.is_after(newest) {
            let gap = newest.distance(seq) - 1;
            self.newest = Some(seq);
            self.push_newest(EntryState::NotReceived, gap);
            self.push_newest(state, 1);
            self.reported = self.reported.saturating_add(few(gap + 1));
            self.forget_beyond(MAX_ENTRIES);
            if gap == 0 {
                Order::Next
            } else {
                Order::AfterGap
            }
        } else {
            self.note_old(seq.distance(newest), state)
        }
    }

    /// Stops reporting the packets up to `seq`, except the newest one, which every vector begins with.
    pub(super) fn omit_up_to(&mut self, seq: Seq) {
        if let Some(newest) = self.newest.filter(|&newest| !seq.is_after(newest)) {
            self.reported = self.reported.min(few(seq.distance(newest).max(1)));
        }
    }

    /// Returns the entries for packet `from` and the older packets that are reported.
    pub(super) fn entries_from(&self, from: Seq) -> impl Iterator<Item = AckEntry> + '_ {
        let mut skip = match self.newest {
            Some(newest) if !from.is_after(newest) => from.distance(newest),
            _ => 0,
        };
        self.reported().flat_map(move |run| {
            let hidden = skip.min(u64::from(run.packets));
            skip -= hidden;
            split(run.state, u64::from(run.packets) - hidden)
        })
    }

    /// Returns the number of entries that are reported.
    pub(super) fn entry_count(&self) -> usize {
        self.reported().map(Run::entries).sum()
    }

    /// Returns the runs that are reported.
    fn reported(&self) -> impl Iterator<Item = Run> + '_ {
        let mut left = self.reported;
        self.runs.iter().map_while(move |run| {
            let shown = self::run(run.state, left.min(run.packets).into())?;
            left -= shown.packets;
            Some(shown)
        })
    }

    /// Returns the memory in use, bytes.
    pub(super) fn footprint(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }

    /// Returns the bytes that the runs take.
    pub(super) fn state_len(&self) -> usize {
        self.runs.len() * size_of::<Run>()
    }

    /// Records the arrival of an older packet. RFC 4340, 11.4.1, the receiver's table: a packet once received stays
    /// received; of the states 0 and 1 we keep 1, so that no mark is lost.
    fn note_old(&mut self, back: u64, state: EntryState) -> Order {
        let mut newer = 0;
        let Some(index) = self.runs.iter().position(|run| {
            let holds = back < newer + u64::from(run.packets);
            if !holds {
                newer += u64::from(run.packets);
            }
            holds
        }) else {
            // RFC 4340, 11.4.1: forgotten packets are not recorded again.
            return Order::Old;
        };
        let old = self.runs[index];
        let changes = match old.state {
            EntryState::NotReceived => true,
            // The sender knows that a packet arrived that is no longer reported.
            EntryState::Received => state == EntryState::Marked && back < u64::from(self.reported),
            EntryState::Marked | EntryState::Reserved => false,
        };
        if !changes {
            return Order::Old;
        }
        // The run splits into the newer packets, this packet, and the older packets.
        let before = back - newer;
        let after = u64::from(old.packets) - before - 1;
        self.entries -= old.entries();
        self.packets -= old.packets;
        self.runs.remove(index);
        for (state, packets) in [(old.state, after), (state, 1), (old.state, before)] {
            self.insert(index, state, packets);
        }
        self.join(index + 3);
        self.reported = self.reported.max(few(back + 1));
        self.forget_beyond(MAX_ENTRIES);
        Order::Late
    }

    /// Joins the runs around the last split: the one at `end` and the four before it.
    fn join(&mut self, end: usize) {
        let end = end.min(self.runs.len().saturating_sub(1));
        for index in (end.saturating_sub(4)..end).rev() {
            let (newer, older) = (self.runs[index], self.runs[index + 1]);
            if newer.state == older.state {
                self.entries -= newer.entries() + older.entries();
                let joined = Run {
                    state: newer.state,
                    packets: newer.packets + older.packets,
                };
                self.runs[index] = joined;
                self.runs.remove(index + 1);
                self.entries += joined.entries();
            }
        }
    }

    fn insert(&mut self, index: usize, state: EntryState, packets: u64) {
        if let Some(run) = run(state, packets) {
            self.entries += run.entries();
            self.packets += run.packets;
            self.runs.insert(index, run);
        }
    }

    fn push_newest(&mut self, state: EntryState, packets: u64) {
        let Some(new) = run(state, packets) else {
            return;
        };
        self.packets += new.packets;
        match self.runs.front_mut() {
            Some(front) if front.state == state => {
                self.entries -= front.entries();
                front.packets = front.packets.saturating_add(new.packets);
                self.entries += front.entries();
            }
            _ => {
                self.entries += new.entries();
                self.runs.push_front(new);
            }
        }
    }

    /// Makes the entries that are reported at most `most`, by forgetting the oldest.
    pub(super) fn shorten(&mut self, most: usize) {
        if self.entry_count() > most {
            self.forget_beyond(most);
        }
    }

    /// Forgets the oldest packets until at most `most` entries are left.
    fn forget_beyond(&mut self, most: usize) {
        while self.entries > most
            && let Some(last) = self.runs.pop_back()
        {
            let excess = self.entries - most;
            self.entries -= last.entries();
            self.packets -= last.packets;
            let left = last.entries().saturating_sub(excess) as u64 * PACKETS_PER_ENTRY;
            let end = self.runs.len();
            self.insert(end, last.state, left.min(u64::from(last.packets)));
        }
        self.reported = self.reported.min(self.packets);
    }
}

/// Returns a number of packets, limited to what a `u32` holds.
fn few(packets: u64) -> u32 {
    u32::try_from(packets).unwrap_or(u32::MAX)
}

/// Returns a run of `packets`, or `None` for no packets. The length is limited to what a history covers.
fn run(state: EntryState, packets: u64) -> Option<Run> {
    let most = MAX_ENTRIES as u64 * PACKETS_PER_ENTRY;
    let packets = u32::try_from(packets.min(most)).ok()?;
    (packets > 0).then_some(Run { state, packets })
}

/// Returns the entries for `packets` packets in one state.
fn split(state: EntryState, packets: u64) -> impl Iterator<Item = AckEntry> {
    let full = packets / PACKETS_PER_ENTRY;
    let rest = u8::try_from(packets % PACKETS_PER_ENTRY).unwrap_or(0);
    (0..full)
        .map(move |_| AckEntry::new(state, AckEntry::MAX_RUN))
        .chain((rest > 0).then(|| AckEntry::new(state, rest)))
}

#[cfg(test)]
mod tests;
