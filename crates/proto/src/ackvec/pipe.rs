//! The data packets in flight, and which of them feedback settles (RFC 4341, section 5). What no
//! vector has named has not arrived (RFC 4340, section 11.4).

use std::collections::VecDeque;

use fairwire_cc::{Congestion, Signal};
use fairwire_units::Instant;
use fairwire_units::plant::{Plant, planted};
use fairwire_wire::{CellState, DropCode, Seq};

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
    /// Is its fate known?
    settled: bool,
    /// What the peer said of its data, if they did not reach its application.
    dropped: Option<DropCode>,
    id: Option<DatagramId>,
}

/// What one report changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Outcome {
    /// Data packets that are known to have arrived now, marked ones included.
    pub(super) acked: u32,
    /// Their bytes.
    pub(super) acked_bytes: u64,
    /// Bytes of the largest of them.
    pub(super) largest: u32,
    /// Of these, marked ones.
    pub(super) marked: u32,
    /// When the oldest of them was sent.
    pub(super) oldest_acked_sent: Option<Instant>,
    /// When the newest of them was sent.
    pub(super) newest_acked_sent: Option<Instant>,
    /// Data packets found marked or lost now.
    pub(super) congestion: Option<Congestion>,
    /// When the packet that the report begins with was sent, if it is news that it arrived.
    pub(super) acked_sent_at: Option<Instant>,
}

impl Outcome {
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

/// The data packets in the network, oldest first. Packets without data are not kept: they are no
/// part of the pipe, though their arrival counts against those sent before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    packets: VecDeque<Packet>,
    /// How many of them are not settled.
    in_flight: u32,
    bytes: u64,
    /// The newest packets, of any type, known to have arrived; newest first.
    arrived: [Option<Seq>; NUMDUPACK],
}

impl Pipe {
    /// Bytes of memory behind it.
    pub(super) fn footprint(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }

    /// Packets in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets remembered, settled ones between others included.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.packets.len()
    }

    /// A data packet left.
    pub(super) fn push(&mut self, seq: Seq, sent_at: Instant, size: u32, id: Option<DatagramId>) {
        self.packets.push_back(Packet {
            seq,
            sent_at,
            size,
            settled: false,
            dropped: None,
            id,
        });
        self.in_flight += 1;
        self.bytes += u64::from(size);
    }

    /// Takes in a report. Fates are appended in order of sequence number.
    ///
    /// Each packet is settled once, so nothing that a report repeats counts again. What it says of
    /// packets older than the oldest in flight, or never sent, has no packet to apply to.
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
            if matches!(stretch.state, CellState::Received | CellState::Marked) {
                told += self.note_arrivals(stretch, NUMDUPACK - told.min(NUMDUPACK));
                self.settle_arrived(stretch, ackno, &mut outcome, fates);
            }
        }
        self.settle_lost(&mut outcome, fates);
        self.drop_settled();
        fates[told_before..].sort_unstable_by_key(|&(id, _)| id);
        outcome
    }

    /// The peer reports the data of these packets as dropped. Says how many data packets they are;
    /// one that is no longer remembered passes for data.
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

    /// Nothing came back: all that is in flight counts as lost, and the pipe is empty.
    pub(super) fn lose_all(&mut self, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        self.empty(Fate::Lost, fates);
    }

    /// The connection ends.
    pub(super) fn finish(&mut self, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        self.empty(Fate::Sent, fates);
    }

    fn empty(&mut self, fate: Fate, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        // Planted: packets with a fate get another.
        let again = planted(Plant::FateTwice);
        let in_flight = self.packets.iter().filter(|p| !p.settled || again);
        fates.extend(in_flight.map(|packet| (packet.id, fate)));
        self.packets.clear();
        self.in_flight = 0;
        self.bytes = 0;
    }

    /// When the first data packet kept that is newer than `seq` left.
    pub(super) fn left_after(&self, seq: Seq) -> Option<Instant> {
        let next = self.packets.get(self.position(seq.next()))?;
        Some(next.sent_at)
    }

    fn is_settled_up_to(&self, high: Seq) -> bool {
        self.packets
            .front()
            .is_none_or(|oldest| high.is_before(oldest.seq))
    }

    /// Remembers up to `most` of the newest packets of `stretch` as arrived; says how many it has
    /// shown.
    ///
    /// RFC 4341, 5: whatever the packets after the hole carry, they count.
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

    /// Index of the first packet kept that is not older than `seq`.
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
        let marked = stretch.state == CellState::Marked;
        for packet in self.packets.range_mut(from..to.max(from)) {
            // RFC 4341, 5: once per packet, however often it is acknowledged. RFC 4340, 11.4.1:
            // the first state reported stays.
            if packet.settled {
                continue;
            }
            packet.settled = true;
            self.in_flight -= 1;
            self.bytes -= u64::from(packet.size);
            outcome.acked += 1;
            outcome.acked_bytes += u64::from(packet.size);
            outcome.largest = outcome.largest.max(packet.size);
            let oldest = outcome.oldest_acked_sent.get_or_insert(packet.sent_at);
            *oldest = packet.sent_at.min(*oldest);
            outcome.newest_acked_sent = outcome.newest_acked_sent.max(Some(packet.sent_at));
            if packet.seq == ackno {
                outcome.acked_sent_at = Some(packet.sent_at);
            }
            // RFC 4340, 11.7.1: a mark counts, whatever became of the data.
            // Planted: a mark does not.
            let counts = marked && !planted(Plant::MarksIgnored);
            if counts || packet.dropped.is_some_and(counts_as_marked) {
                outcome.marked += 1;
                outcome.congested(Signal::Marked, packet.sent_at);
            }
            let fate = match packet.dropped {
                Some(code) => Fate::Dropped { code },
                None if marked => Fate::Marked,
                None => Fate::Acknowledged,
            };
            fates.push((packet.id, fate));
        }
    }

    /// RFC 4341, 5: what is older than the third newest arrival and has not arrived is lost.
    fn settle_lost(&mut self, outcome: &mut Outcome, fates: &mut Vec<(Option<DatagramId>, Fate)>) {
        // Planted: two later arrivals suffice.
        let nth = NUMDUPACK - 1 - usize::from(planted(Plant::EarlyLoss));
        let Some(third) = self.arrived[nth] else {
            return;
        };
        while let Some(packet) = self.packets.front().copied()
            && packet.seq.is_before(third)
        {
            self.packets.pop_front();
            if packet.settled {
                continue;
            }
            self.in_flight -= 1;
            self.bytes -= u64::from(packet.size);
            outcome.congested(Signal::Lost, packet.sent_at);
            fates.push((packet.id, Fate::Lost));
        }
    }

    fn drop_settled(&mut self) {
        while self.packets.front().is_some_and(|oldest| oldest.settled) {
            self.packets.pop_front();
        }
    }
}
