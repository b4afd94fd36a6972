//! The packets that were sent, found by acknowledgement number (RFC 4342, section 10.1).

use std::collections::VecDeque;

use fairwire_cc::Flight;
use fairwire_units::Instant;
use fairwire_wire::Seq;

/// The most packets remembered; beyond that the oldest are taken to have left the network.
const MAX: usize = 1 << 17;

/// The most packets without data remembered while no data is in flight. An endpoint that only receives would otherwise
/// keep all its acknowledgements, because nobody acknowledges those.
const MAX_QUIET: usize = 1 << 10;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    seq: Seq,
    /// When it left.
    pub at: Instant,
    /// Its window counter, before the reduction modulo 16.
    pub counter: u64,
    data: Option<u32>,
}

/// The newest acknowledged packet, and the packets sent after it.
#[derive(Debug)]
pub(super) struct SentPackets {
    /// Oldest first.
    packets: VecDeque<SentPacket>,
    acknowledged: Option<SentPacket>,
    flight: Flight,
}

impl SentPackets {
    /// Returns the memory in use, bytes.
    pub(super) fn footprint(&self) -> usize {
        self.packets.capacity() * size_of::<SentPacket>()
    }

    pub(super) const fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            acknowledged: None,
            flight: Flight {
                packets: 0,
                bytes: 0,
                waiting: 0,
            },
        }
    }

    /// Returns the data packets sent since the newest acknowledged one.
    pub(super) const fn flight(&self) -> Flight {
        self.flight
    }

    pub(super) fn push(&mut self, seq: Seq, at: Instant, data: Option<u32>, counter: u64) {
        let most = if self.flight.packets == 0 {
            MAX_QUIET
        } else {
            MAX
        };
        if self.packets.len() >= most {
            self.pop();
        }
        self.packets.push_back(SentPacket {
            seq,
            at,
            counter,
            data,
        });
        if let Some(size) = data {
            self.flight.packets += 1;
            self.flight.bytes += u64::from(size);
        }
    }

    /// Takes packet `ackno` and all before it out of the flight, because the peer has seen `ackno`. Returns whether
    /// that is new.
    pub(super) fn acknowledge(&mut self, ackno: Seq) -> bool {
        let mut news = false;
        while self
            .packets
            .front()
            .is_some_and(|first| !first.seq.is_after(ackno))
        {
            self.acknowledged = self.pop();
            news = true;
        }
        news
    }

    /// Empties the flight: no feedback came for so long that its packets must have arrived or been lost. The packets
    /// stay remembered, because late feedback still gives a round-trip time sample.
    pub(super) fn forget_flight(&mut self) {
        // The packets counted in the flight are the newest ones.
        for packet in self.packets.iter_mut().rev() {
            if self.flight.packets == 0 {
                break;
            }
            if packet.data.take().is_some() {
                self.flight.packets -= 1;
            }
        }
        self.flight = Flight::default();
    }

    /// Returns number and window counter of the remembered data packets from `low` to `high`, oldest first.
    pub(super) fn between(&self, low: Seq, high: Seq) -> impl Iterator<Item = (Seq, u64)> + '_ {
        let from = self
            .packets
            .partition_point(|packet| packet.seq.is_before(low));
        self.packets
            .range(from..)
            .take_while(move |packet| !packet.seq.is_after(high))
            .filter(|packet| packet.data.is_some())
            .map(|packet| (packet.seq, packet.counter))
    }

    /// Returns when the oldest packet that is not acknowledged left.
    pub(super) fn oldest_left(&self) -> Option<Instant> {
        self.packets.front().map(|packet| packet.at)
    }

    /// Returns the packet `ackno`, if it is the newest acknowledged one.
    pub(super) fn acknowledged(&self, ackno: Seq) -> Option<SentPacket> {
        self.acknowledged.filter(|packet| packet.seq == ackno)
    }

    fn pop(&mut self) -> Option<SentPacket> {
        let first = self.packets.pop_front()?;
        if let Some(size) = first.data {
            self.flight.packets = self.flight.packets.saturating_sub(1);
            self.flight.bytes = self.flight.bytes.saturating_sub(u64::from(size));
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX, MAX_QUIET, SentPackets};
    use fairwire_units::Instant;
    use fairwire_wire::Seq;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// An acknowledgement takes all packets up to its number out of the flight and finds when its own packet left.
    /// Packets without data are not part of the flight.
    #[test]
    fn acknowledgements_clear_the_flight() {
        let mut sent = SentPackets::new();
        let first = Seq::MAX;
        for i in 0..5u64 {
            let data = (i != 2).then_some(100);
            sent.push(first.add(i), at(i), data, i);
        }
        assert_eq!((sent.flight().packets, sent.flight().bytes), (4, 400));
        assert!(sent.acknowledge(first.add(3)), "across the wrap");
        assert_eq!((sent.flight().packets, sent.flight().bytes), (1, 100));
        assert_eq!(sent.acknowledged(first.add(3)).map(|p| p.at), Some(at(3)));
        assert!(!sent.acknowledge(first.add(1)), "an old one is no news");
        assert!(sent.acknowledged(first.add(1)).is_none());
        assert!(sent.acknowledged(first.add(3)).is_some(), "asked again");
    }

    /// Packets of a forgotten flight are not subtracted again, neither by a late acknowledgement nor by forgetting
    /// again, and are still found by number.
    #[test]
    fn a_forgotten_flight_is_still_known() {
        let mut sent = SentPackets::new();
        for i in 0..10 {
            sent.push(Seq::new(i), at(i), (i != 4).then_some(100), i);
        }
        sent.forget_flight();
        assert_eq!((sent.flight().packets, sent.flight().bytes), (0, 0));
        for i in 10..13 {
            sent.push(Seq::new(i), at(i), Some(100), i);
        }
        assert!(sent.acknowledge(Seq::new(5)));
        assert_eq!(sent.acknowledged(Seq::new(5)).map(|p| p.at), Some(at(5)));
        assert_eq!((sent.flight().packets, sent.flight().bytes), (3, 300));
        sent.forget_flight();
        assert_eq!((sent.flight().packets, sent.flight().bytes), (0, 0));
    }

    /// An endpoint that sends only acknowledgements, which nobody acknowledges, remembers few of them.
    #[test]
    fn acknowledgements_alone_do_not_pile_up() {
        let mut sent = SentPackets::new();
        for i in 0..100_000 {
            sent.push(Seq::new(i), at(i), None, 0);
        }
        assert!(sent.packets.len() <= MAX_QUIET, "{}", sent.packets.len());
        sent.push(Seq::new(100_000), at(7), Some(9), 0);
        assert!(sent.acknowledge(Seq::new(100_000)));
        let found = sent.acknowledged(Seq::new(100_000));
        assert_eq!(found.map(|p| p.at), Some(at(7)));
    }

    /// Without acknowledgements the memory stays bounded.
    #[test]
    fn memory_is_bounded() {
        let mut sent = SentPackets::new();
        for i in 0..MAX as u64 + 10 {
            sent.push(Seq::new(i), at(i), Some(1), 0);
        }
        assert_eq!(sent.flight().packets as usize, MAX);
        assert!(sent.acknowledge(Seq::new(MAX as u64 + 9)));
        assert_eq!(sent.flight().packets, 0);
    }
}
