//! Records of expected sequence numbers.

use std::collections::BTreeSet;

use fairwire_proto::Inspection;
use fairwire_wire::{PacketType, Seq};

/// The validity of a packet according to its numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::oracle) enum Validity {
    /// The packet is valid.
    Valid,
    /// No part of the packet may be used.
    Invalid,
    /// The packet may be valid.
    Unsure,
}

/// The values of GSR and GAR that are possible after the arrivals of one step.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Expected {
    /// The number of arrivals.
    pub(in crate::oracle) arrivals: u32,
    /// The possible values of GSR; the old value if nothing arrived.
    pub(in crate::oracle) gsr: Option<Vec<Seq>>,
    pub(in crate::oracle) gar: Option<Vec<Seq>>,
}

impl Expected {
    /// Records an arriving packet.
    pub(in crate::oracle) fn note(
        &mut self,
        last: &Inspection,
        judged: Validity,
        packet_type: PacketType,
        (seq, ack): (Seq, Option<Seq>),
    ) {
        self.arrivals += 1;
        let gsr = self.gsr.get_or_insert_with(|| vec![last.gsr]);
        let begins = last.state == "REQUEST";
        let risen = |old: Seq| {
            if begins { seq } else { Seq::max(old, seq) }
        };
        // A Reset that answers a Request begins nothing: the number before its own is possible, too.
        let candidates: Vec<Seq> = gsr.iter().map(|&old| risen(old)).collect();
        match judged {
            Validity::Invalid => {}
            Validity::Valid => *gsr = candidates,
            Validity::Unsure => {
                gsr.extend(candidates);
                // A forged GSR may be taken back, see `sequence::Verdict::Recede`.
                gsr.push(seq);
            }
        }
        keep_distinct(gsr);
        let gar = self.gar.get_or_insert_with(|| vec![last.gar]);
        let Some(ack) = ack.filter(|_| packet_type != PacketType::Sync) else {
            return;
        };
        let candidates: Vec<Seq> = gar.iter().map(|&old| Seq::max(old, ack)).collect();
        match judged {
            Validity::Invalid => {}
            Validity::Valid => *gar = candidates,
            Validity::Unsure => gar.extend(candidates),
        }
        keep_distinct(gar);
    }
}

/// Keeps only the last occurrence of each number. Otherwise each uncertain packet could double the list.
fn keep_distinct(all: &mut Vec<Seq>) {
    let mut seen = BTreeSet::new();
    all.reverse();
    all.retain(|seq| seen.insert(seq.get()));
    all.reverse();
}
