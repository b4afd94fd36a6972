//! Detection of acknowledgements that the network lost or marked (RFC 4341, section 6.1.1).
//!
//! It follows the numbers of all the peer's packets, as a sender follows its own data: a missing packet is lost once
//! three later packets have arrived. Only packets without data matter here. An NDP Count tells how many of the missing
//! packets were such (RFC 4340, section 7.7); without it, each missing packet counts as one.

use fairwire_units::Ecn;
use fairwire_wire::Seq;

use crate::half::Arrival;

/// The number of packets remembered, counted back from the newest: one bit each.
const REMEMBERED: u64 = u64::BITS as u64;

/// The state of the packets from the peer.
#[derive(Clone, Debug, Default)]
pub(super) struct AckLossDetector {
    newest: Option<Seq>,
    /// Bit n is for the packet n numbers before the newest: whether it has arrived.
    arrived: u64,
    /// Whether it is missing and may have been an acknowledgement.
    missing: u64,
    /// Whether it arrived with data.
    data: u64,
}

/// A packet from the peer, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenPacket {
    seq: Seq,
    is_data: bool,
    /// Whether it arrived with a congestion mark.
    marked: bool,
    /// How many packets without data the peer sent just before it; `None` if the peer does not say (RFC 4340, section
    /// 7.7).
    non_data_before: Option<u64>,
}

impl From<Arrival> for SeenPacket {
    fn from(arrival: Arrival) -> Self {
        let count = arrival.ndp_count.unwrap_or(0);
        Self {
            seq: arrival.seq,
            is_data: arrival.data.is_some(),
            marked: arrival.ecn == Ecn::Ce,
            non_data_before: arrival.has_ndp_counts.then_some(count),
        }
    }
}

/// What a packet shows about the loss of acknowledgements.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Found {
    /// Whether an acknowledgement was lost or marked.
    pub(super) congestion: bool,
    /// Whether the lost packet may have been data.
    pub(super) may_be_data: bool,
}

impl AckLossDetector {
    /// Records a packet that is not a copy. Returns whether it shows that acknowledgements were lost, or is a marked
    /// one.
    pub(super) fn note(&mut self, packet: SeenPacket) -> Found {
        let newest = *self.newest.get_or_insert(packet.seq.prev());
        let mut lost = false;
        let back = if packet.seq.is_after(newest) {
            lost = self.advance(newest.distance(packet.seq), packet.non_data_before);
            self.newest = Some(packet.seq);
            0
        } else {
            packet.seq.distance(newest)
        };
        if back < REMEMBERED {
            self.arrived |= 1 << back;
            self.missing &= !(1 << back);
            self.data |= u64::from(packet.is_data) << back;
        }
        lost |= self.take_lost();
        // RFC 4340, 7.7: without counts, a lost packet of a peer that sends data may have been data.
        Found {
            congestion: lost || (packet.marked && !packet.is_data),
            may_be_data: lost && self.data != 0 && packet.non_data_before.is_none(),
        }
    }

    /// Advances by `steps`. Returns whether missing acknowledgements are no longer remembered.
    fn advance(&mut self, steps: u64, non_data_before: Option<u64>) -> bool {
        let shifted = |bits: u64| {
            let by = u32::try_from(steps).unwrap_or(u32::MAX);
            bits.checked_shl(by).unwrap_or(0)
        };
        let fell_out = self.missing.count_ones() > shifted(self.missing).count_ones();
        self.arrived = shifted(self.arrived);
        self.missing = shifted(self.missing);
        self.data = shifted(self.data);
        // Bits 1 to `gap` are new packets, and missing.
        let gap = steps - 1;
        let mut acks = up_to(gap);
        if let Some(quiet) = non_data_before
            && quiet < gap
        {
            // The packet just before those without data carried data. Packets before it are unknown, and a lost unknown
            // packet counts as an acknowledgement (RFC 4341, 6.1.1).
            acks &= !(up_to(quiet + 1) & !up_to(quiet));
        }
        if gap >= REMEMBERED {
            // The gap is longer than what is remembered, so they are lost at once.
            self.missing = 0;
            return true;
        }
        self.missing |= acks;
        fell_out
    }

    /// Removes the lost packets, and returns whether there were any. RFC 4341, 6.1.1: a packet is lost if three later
    /// ones have arrived.
    fn take_lost(&mut self) -> bool {
        let without_newest = self.arrived & self.arrived.wrapping_sub(1);
        let from_third = without_newest & without_newest.wrapping_sub(1);
        if from_third == 0 {
            return false;
        }
        // All packets before the third newest arrival, which is the lowest bit of `from_third`.
        let overtaken = !up_to(u64::from(from_third.trailing_zeros()));
        let lost = self.missing & overtaken & !1;
        self.missing &= !lost;
        lost != 0
    }
}

/// Returns the bits 1 to `last`, as far as they are remembered.
fn up_to(last: u64) -> u64 {
    if last + 1 >= REMEMBERED {
        !1
    } else {
        ((1 << (last + 1)) - 1) & !1
    }
}

#[cfg(test)]
mod tests {
    use super::{AckLossDetector, SeenPacket, Seq};

    fn ack(number: u64) -> SeenPacket {
        SeenPacket {
            seq: Seq::new(number),
            is_data: false,
            marked: false,
            non_data_before: None,
        }
    }

    /// Returns at which of these packets an acknowledgement was found lost or marked.
    fn found(packets: &[SeenPacket]) -> Vec<u64> {
        let mut detector = AckLossDetector::default();
        let found = packets
            .iter()
            .filter(|&&packet| detector.note(packet).congestion);
        found.map(|packet| packet.seq.get()).collect()
    }

    /// RFC 4341, 6.1.1: a packet is lost when three later packets have arrived, not when two have. It is lost once, and
    /// not at all if it was only late. The numbers may wrap.
    #[test]
    fn three_later_packets_make_a_loss() {
        let numbers = |list: &[u64]| list.iter().copied().map(ack).collect::<Vec<_>>();
        assert_eq!(found(&numbers(&[1, 3, 4])), [0_u64; 0]);
        assert_eq!(found(&numbers(&[1, 3, 4, 5, 6, 7])), [5]);
        assert_eq!(found(&numbers(&[1, 3, 4, 2, 5, 6])), [0_u64; 0], "late");
        assert_eq!(found(&numbers(&[1, 5, 6, 3, 7])), [3, 7], "2, then 4");
        let wrap = 1 << 48;
        assert_eq!(found(&numbers(&[wrap - 2, 0, 1, 2])), [2]);
        assert_eq!(
            found(&numbers(&[7, 8, 9])),
            [0_u64; 0],
            "nothing before the first is missed"
        );
    }

    /// Gaps longer than what is remembered are losses at once, and so are missing packets that are no longer
    /// remembered.
    #[test]
    fn wide_gaps_are_losses() {
        let numbers = |list: &[u64]| list.iter().copied().map(ack).collect::<Vec<_>>();
        assert_eq!(found(&numbers(&[1, 66, 67])), [66]);
        assert_eq!(found(&numbers(&[1, 65])), [0_u64; 0]);
        assert_eq!(found(&numbers(&[1, 3, 67])), [67], "2 is forgotten");
        assert_eq!(found(&numbers(&[1, 1 << 40, (1 << 40) + 1])), [1 << 40]);
    }

    /// RFC 4341, 6.1.1: a mark on an acknowledgement counts; a mark on data does not.
    #[test]
    fn marks_on_acknowledgements() {
        let marked = |number, is_data| SeenPacket {
            marked: true,
            is_data,
            ..ack(number)
        };
        assert_eq!(found(&[ack(1), marked(2, false), marked(3, true)]), [2]);
    }

    /// RFC 4340, 7.7: an NDP Count distinguishes lost data from lost acknowledgements.
    #[test]
    fn counts_tell_data_from_acknowledgements() {
        let counted = |number, quiet| SeenPacket {
            non_data_before: Some(quiet),
            ..ack(number)
        };
        let then = |first: SeenPacket| {
            let next = first.seq.get() + 1;
            [counted(1, 0), first, counted(next, 1), counted(next + 1, 2)]
        };
        assert_eq!(found(&then(counted(3, 0))), [0_u64; 0], "2 was data");
        assert_eq!(found(&then(counted(3, 1))), [5], "2 was none");
        assert_eq!(found(&then(counted(4, 1))), [6], "3 was none, 2 was data");
        assert_eq!(found(&then(counted(4, 0))), [6], "3 was data, 2 is unknown");
        assert_eq!(found(&then(counted(4, 7))), [6], "neither was data");
    }

    /// A loss may have been data, unless the peer sends no data or sends counts.
    #[test]
    fn losses_without_counts_are_doubtful() {
        for (sends_data, counts, doubtful) in [
            (false, None, false),
            (true, None, true),
            (true, Some(1), false),
        ] {
            let mut detector = AckLossDetector::default();
            let first = SeenPacket {
                is_data: sends_data,
                ..ack(1)
            };
            detector.note(first);
            let note = |number| {
                detector.note(SeenPacket {
                    non_data_before: counts,
                    ..ack(number)
                })
            };
            let found = [3, 4, 5].map(note)[2];
            assert!(found.congestion);
            assert_eq!(found.may_be_data, doubtful, "{sends_data} {counts:?}");
        }
    }
}
