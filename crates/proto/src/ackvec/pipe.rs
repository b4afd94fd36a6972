//! The data packets in flight, and which of them feedback settles (RFC 4341, section 5). A packet that no vector has
//! reported counts as not arrived (RFC 4340, section 11.4).

use std::collections::VecDeque;

use fairwire_cc::{Congestion, Signal};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{DropCode, EntryState, Seq};

use super::vector::{Report, Stretch};
use crate::event::Fate;
use crate::half::{DropRun, counts_as_marked};
use crate::id::DatagramId;

/// A packet is lost when this many later ones have arrived (RFC 4341, section 5).
const NUMDUPACK: usize = 3;

/// A data packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    seq: Seq,
    sent_at: Instant,
    size: u32,
    /// Whether its fate is known.
    settled: bool,
    /// Whether it left on a path that is no longer in use. Then it is not in flight, and says nothing about congestion.
    is_left: bool,
    /// The peer's reason, if its data did not reach the application.
    dropped: Option<DropCode>,
    id: Option<DatagramId>,
}

/// The changes that one report makes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Outcome {
    /// Data packets newly known to have arrived, marked ones included.
    pub(super) acked: u32,
    /// Their size, bytes.
    pub(super) acked_bytes: u64,
    /// The size of the largest of them, bytes.
    pub(super) largest: u32,
    /// How many of them are marked.
    pub(super) marked: u32,
    /// When the oldest of them was sent.
    pub(super) oldest_acked_sent: Option<Instant>,
    /// When the newest of them was sent.
    pub(super) newest_acked_sent: Option<Instant>,
    /// Data packets newly found marked or lost.
    pub(super) congestion: Option<Congestion>,
    /// When the report's acknowledged packet was sent, if its arrival is new.
    pub(super) acked_sent_at: Option<Instant>,
}

impl Outcome {
    /// Notes that a packet in flight arrived; `is_newest` says that the report acknowledges it by number.
    fn arrived(&mut self, packet: &Packet, marked: bool, is_newest: bool) {
        self.acked += 1;
        self.acked_bytes += u64::from(packet.size);
        self.largest = self.largest.max(packet.size);
        let oldest = self.oldest_acked_sent.get_or_insert(packet.sent_at);
        *oldest = packet.sent_at.min(*oldest);
        self.newest_acked_sent = self.newest_acked_sent.max(Some(packet.sent_at));
        if is_newest {
            self.acked_sent_at = Some(packet.sent_at);
        }
        // RFC 4340, 11.7.1: a mark counts, whatever happened to the data.
        if marked || packet.dropped.is_some_and(counts_as_marked) {
            self.marked += 1;
            self.congested(Signal::Marked, packet.sent_at);
        }
    }

    fn congested(&mut self, signal: Signal, sent_at: Instant) {
        let congestion = self.congestion.get_or_insert(Congestion {
            signal,
            newest_sent: sent_at,
            packets: 0,
        });
        congestion.packets = congestion.packets.saturating_add(1);
        congestion.newest_sent = congestion.newest_sent.max(sent_at);
        if signal == Signal::Lost {
            congestion.signal = Signal::Lost;
        }
    }
}

/// The data packets in flight, oldest first. Packets without data are not kept and are not part of the pipe, but their
/// arrival can show that earlier packets were lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    packets: VecDeque<Packet>,
    /// The number of packets that are not settled, without those that were left behind.
    in_flight: u32,
    bytes: u64,
    /// The number of packets that were left behind and are not settled.
    left: u32,
    /// The newest packets, of any type, known to have arrived; newest first.
    arrived: [Option<Seq>; NUMDUPACK],
}

impl Pipe {
    /// Returns the memory in use, bytes.
    pub(super) fn footprint(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }

    /// Returns the number of packets in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns their size, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of packets kept, settled ones included.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.packets.len()
    }

    /// Adds a data packet that left.
    pub(super) fn push(&mut self, seq: Seq, sent_at: Instant, size: u32, id: Option<DatagramId>) {
        self.packets.push_back(Packet {
            seq,
            sent_at,
            size,
            settled: false,
            is_left: false,
            dropped: None,
            id,
        });
        self.in_flight += 1;
        self.bytes += u64::from(size);
    }

    /// Processes a report. Fates are appended in order of sequence number.
    ///
    /// Each packet is settled once, so what a report repeats does not count again. Packets older than the oldest in
    /// flight, or never sent, are ignored.
    pub(super) fn take(
        &mut self,
        report: Report<'_>,
        ackno: Seq,
        fates: &mut Vec<(Option<DatagramId>, Fate)>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let told_before = fates.len();
        let mut told = 0;
        for stretch in report.stretches() {
            if told >= NUMDUPACK && self.is_settled_up_to(stretch.high) {
                break;
            }
            if matches!(stretch.state, EntryState::Received | EntryState::Marked) {
                told += self.note_arrivals(stretch, NUMDUPACK - told.min(NUMDUPACK));
                self.settle_arrived(stretch, ackno, &mut outcome, fates);
            }
        }
        self.settle_lost(&mut outcome, fates);
        self.drop_settled();
        fates[told_before..].sort_unstable_by_key(|&(id, _)| id);
        outcome
    }

    /// Records that the peer reports the data of these packets as dropped. Returns how many data packets they are; a
    /// packet that is no longer remembered counts as data.
    pub(super) fn note_dropped(&mut self, run: &DropRun) -> u32 {
        let from = self.position(run.low);
        let to = self.position(run.high.next()).max(from);
        for packet in self.packets.range_mut(from..to) {
            packet.dropped.get_or_insert(run.code);
        }
        let forgotten = match self.packets.front() {
            None => run.packets(),
            Some(oldest) if oldest.seq.is_after(run.high) => run.packets(),
            Some(oldest) if oldest.seq.is_after(run.low) => run.low.distance(oldest.seq),
            Some(_) => 0,
        };
        u32::try_from((to - from) as u64 + forgotten).unwrap_or(u32::MAX)
    }

    /// Leaves behind what is in flight, because the path is another one. Reports still say what became of it.
    pub(super) fn leave(&mut self) {
        for packet in self.packets.iter_mut().filter(|packet| !packet.settled) {
            packet.is_left = true;
        }
        self.left += std::mem::take(&mut self.in_flight);
        self.bytes = 0;
    }

    /// Leaves the newest packet behind, because it left on another path.
    pub(super) fn leave_newest(&mut self) {
        let newest = self.packets.back_mut();
        if let Some(packet) = newest.filter(|packet| !packet.settled && !packet.is_left) {
            packet.is_left = true;
            self.left += 1;
            self.in_flight -= 1;
            self.bytes -= u64::from(packet.size);
        }
    }

    /// Returns whether packets that were left behind are not settled.
    pub(super) fn has_left(&self) -> bool {
        self.left > 0
    }

    /// Notes that a packet is settled. Returns whether it was in flight.
    fn settle(&mut self, packet: Packet) -> bool {
        if packet.is_left {
            self.left -= 1;
        } else {
            self.in_flight -= 1;
            self.bytes -= u64::from(packet.size);
        }
        !packet.is_left
    }

    /// Empties the pipe after a timeout: all packets in flight count as lost.
    pub(super) fn lose_all(&mut self, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        self.empty(Fate::Lost, fates);
    }

    /// Empties the pipe at the end of the connection.
    pub(super) fn finish(&mut self, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        self.empty(Fate::Sent, fates);
    }

    fn empty(&mut self, fate: Fate, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        let in_flight = self.packets.iter().filter(|packet| !packet.settled);
        fates.extend(in_flight.map(|packet| (packet.id, fate)));
        self.packets.clear();
        self.in_flight = 0;
        self.bytes = 0;
        self.left = 0;
    }

    /// Returns when the first remaining data packet after `seq` left.
    pub(super) fn left_after(&self, seq: Seq) -> Option<Instant> {
        let next = self.packets.get(self.position(seq.next()))?;
        Some(next.sent_at)
    }

    fn is_settled_up_to(&self, high: Seq) -> bool {
        self.packets
            .front()
            .is_none_or(|oldest| high.is_before(oldest.seq))
    }

    /// Records up to `most` of the newest packets of `stretch` as arrived, and returns how many.
    ///
    /// RFC 4341, 5: packets after the gap count whatever their type.
    fn note_arrivals(&mut self, stretch: Stretch, most: usize) -> usize {
        let packets = stretch.low.distance(stretch.high).saturating_add(1);
        let shown = usize::try_from(packets).unwrap_or(most).min(most);
        let mut seq = stretch.high;
        for _ in 0..shown {
            self.note_arrival(seq);
            seq = seq.prev();
        }
        shown
    }

    fn note_arrival(&mut self, seq: Seq) {
        if self.arrived.contains(&Some(seq)) {
            return;
        }
        let place = self
            .arrived
            .iter()
            .position(|arrived| arrived.is_none_or(|arrived| seq.is_after(arrived)));
        if let Some(place) = place {
            self.arrived[place..].rotate_right(1);
            self.arrived[place] = Some(seq);
        }
    }

    /// Returns the index of the first packet kept that is not older than `seq`.
    fn position(&self, seq: Seq) -> usize {
        self.packets
            .partition_point(|packet| packet.seq.is_before(seq))
    }

    fn settle_arrived(
        &mut self,
        stretch: Stretch,
        ackno: Seq,
        outcome: &mut Outcome,
        fates: &mut Vec<(Option<DatagramId>, Fate)>,
    ) {
        if self.is_settled_up_to(stretch.high) {
            return;
        }
        let from = self.position(stretch.low);
        let to = self.position(stretch.high.next());
        let marked = stretch.state == EntryState::Marked;
        for at in from..to.max(from) {
            let packet = &mut self.packets[at];
            // RFC 4341, 5: once per packet, however often it is acknowledged. RFC 4340, 11.4.1: the first state
            // reported stays.
            if packet.settled {
                continue;
            }
            packet.settled = true;
            let packet = *packet;
            if self.settle(packet) {
                outcome.arrived(&packet, marked, packet.seq == ackno);
            }
            let fate = match packet.dropped {
                Some(code) => Fate::Dropped { code },
                None if marked => Fate::Marked,
                None => Fate::Acknowledged,
            };
            fates.push((packet.id, fate));
        }
    }

    /// Settles lost packets. RFC 4341, 5: a packet older than the third newest arrival that has not arrived is lost.
    fn settle_lost(&mut self, outcome: &mut Outcome, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        let Some(third) = self.arrived[NUMDUPACK - 1] else {
            return;
        };
        while let Some(packet) = self.packets.front().copied()
            && packet.seq.is_before(third)
        {
            self.packets.pop_front();
            if packet.settled {
                continue;
            }
            if self.settle(packet) {
                outcome.congested(Signal::Lost, packet.sent_at);
            }
            fates.push((packet.id, Fate::Lost));
        }
    }

    /// Settles packets that are lost by time: a later one has arrived, and they left `wait` ago or more (RFC 9002, section
    /// 6.1.2).
    pub(super) fn settle_late(
        &mut self,
        now: Instant,
        wait: Duration,
        outcome: &mut Outcome,
        fates: &mut Vec<(Option<DatagramId>, Fate)>,
    ) {
        let Some(newest) = self.arrived[0] else {
            return;
        };
        let before = self.position(newest);
        for at in 0..before {
            let packet = &mut self.packets[at];
            if packet.sent_at + wait > now {
                break;
            }
            if packet.settled {
                continue;
            }
            packet.settled = true;
            let packet = *packet;
            if self.settle(packet) {
                outcome.congested(Signal::Lost, packet.sent_at);
            }
            fates.push((packet.id, Fate::Lost));
        }
        self.drop_settled();
    }

    /// Returns when the oldest packet in flight is lost by time, if a later one has arrived.
    pub(super) fn lost_at(&self, wait: Duration) -> Option<Instant> {
        let oldest = self.packets.front()?;
        let newest = self.arrived[0]?;
        oldest.seq.is_before(newest).then(|| oldest.sent_at + wait)
    }

    fn drop_settled(&mut self) {
        while self.packets.front().is_some_and(|oldest| oldest.settled) {
            self.packets.pop_front();
        }
    }
}
