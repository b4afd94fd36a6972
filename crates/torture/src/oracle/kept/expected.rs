//! Of sequence numbers.

use std::collections::BTreeSet;

use fairwire_proto::Inspection;
use fairwire_wire::{PacketType, Seq};

/// What the numbers of a packet say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::oracle) enum Judged {
    /// It counts.
    Valid,
    /// Nothing of it may count.
    Invalid,
    /// It may count.
    Unsure,
}

/// What the arrivals of one step let us expect of GSR and GAR.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Expected {
    /// How many came.
    pub(in crate::oracle) arrivals: u32,
    /// What GSR may become; the old one, if none came.
    pub(in crate::oracle) gsr: Option<Vec<Seq>>,
    pub(in crate::oracle) gar: Option<Vec<Seq>>,
}

impl Expected {
    /// A packet came.
    pub(in crate::oracle) fn note(
        &mut self,
        last: &Inspection,
        judged: Judged,
        packet_type: PacketType,
        (seq, ack): (Seq, Option<Seq>),
    ) {
        self.arrivals += 1;
        let gsr = self.gsr.get_or_insert_with(|| vec![last.gsr]);
        let begins = last.state == "REQUEST";
        let risen = |old: Seq| {
            if begins { seq } else { Seq::max(old, seq) }
        };
        // A Reset that answers a Request begins nothing: the number before its own would do, too.
        let candidates: Vec<Seq> = gsr.iter().map(|&old| risen(old)).collect();
        match judged {
            Judged::Invalid => {}
            Judged::Valid => *gsr = candidates,
            Judged::Unsure => {
                gsr.extend(candidates);
                // A GSR that was forged may be taken back, see `sequence::Verdict::Recede`.
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
            Judged::Invalid => {}
            Judged::Valid => *gar = candidates,
            Judged::Unsure => gar.extend(candidates),
        }
        keep_distinct(gar);
    }
}

/// Keeps each number where it stands last: each packet that is unsure could double them otherwise.
fn keep_distinct(all: &mut Vec<Seq>) {
    let mut seen = BTreeSet::new();
    all.reverse();
    all.retain(|seq| seen.insert(seq.get()));
    all.reverse();
}
