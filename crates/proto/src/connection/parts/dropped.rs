//! Data Dropped, the receiver's side: which of the peer's data did not reach our application, told
//! until the peer acknowledges it (RFC 4340, section 11.7).
//!
//! Works beside every CCID: the blocks count from the Acknowledgement Number, as Ack Vectors do.
//! Bounded: older packets than [`Codes`] remembers, and those for which an Ack has no room, are
//! no longer told of, though all that is not acknowledged should be (RFC 4341, section 6).

use fairwire_units::plant::{Plant, planted};
use fairwire_wire::{DropBlock, DropCode, Encoder, NoRoom, Seq};

use super::codes::{Codes, REMEMBERED};
use crate::ackvec::{Records, Report};
use crate::half::Ack;
use crate::work;

/// Blocks of one option at most, and bytes of type and length.
const OPTION_DATA: usize = 253;
const OPTION_HEAD: usize = 2;

/// What is to be told.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    codes: Codes,
    /// The oldest packet to tell of; none if there is nothing to tell.
    oldest: Option<Seq>,
    /// Reports go back to this packet at least: the first one, as long as Requests come (RFC 4340,
    /// section 8.1.3).
    pub(crate) back_to: Option<Seq>,
    /// Which packet of ours told up to where.
    records: Records,
    /// The newest packet that a report of ours has covered.
    told: Option<Seq>,
    /// Did the application stop reading?
    pub(crate) is_deaf: bool,
    /// Has the application said that it can hardly keep up?
    pub(crate) is_slow: bool,
}

/// May the report be cut to the room there is?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    /// All of it or nothing: another packet can take it.
    Whole,
    /// The newest packets as far as they fit; no packet will ever have more room.
    Newest,
}

impl Dropped {
    /// Bytes of memory behind it.
    pub(crate) fn footprint(&self) -> usize {
        self.codes.footprint() + self.records.footprint()
    }

    /// Nothing to tell, of a receive queue of at most so many datagrams.
    pub(crate) fn new(receive_queue_packets: usize) -> Self {
        Self {
            codes: Codes::past_queue(receive_queue_packets),
            ..Self::default()
        }
    }

    /// The data of packet `seq` did not reach the application. The first code that a packet gets
    /// stays (RFC 4340, 11.7: none is made less serious, and no status changes). False if it had
    /// one, or is too old to be told of.
    pub(crate) fn note(&mut self, seq: Seq, code: DropCode) -> bool {
        if self.codes.get(seq).is_some() || !self.codes.set(seq, code) {
            return false;
        }
        self.oldest = Some(self.oldest.map_or(seq, |oldest| Seq::min(oldest, seq)));
        if self.told.is_some_and(|told| !seq.is_after(told)) {
            // An acknowledgement of an earlier report is none of this.
            self.records.on_late(seq);
        }
        true
    }

    /// The newest numbers were forged: what was to be told of them is not.
    pub(crate) fn recede(&mut self) {
        self.codes.clear();
        self.oldest = None;
        self.told = None;
    }

    /// Is there anything to tell?
    pub(crate) fn is_due(&self) -> bool {
        self.oldest.is_some()
    }

    /// A packet acknowledged `ackno`: what our packets told that are known to have arrived is done.
    pub(crate) fn on_ack(&mut self, Ack { ackno, options, .. }: Ack<'_>) {
        self.on_acknowledged(ackno);
        // RFC 4340, 11.4.2: to be told so in an Ack Vector is as good. Where data flow both ways the
        // number itself stands on them more often than on what carries a report.
        if self.is_due()
            && let Some(ours) = self.records.newest_up_to(ackno)
            && Report::of(options, ackno).is_some_and(|report| report.has_arrived(ours))
        {
            self.on_acknowledged(ours);
        }
    }

    fn on_acknowledged(&mut self, ours: Seq) {
        let Some(oldest) = self.oldest else {
            return;
        };
        if let Some(covered) = self.records.acknowledge(ours)
            && !covered.is_before(oldest)
        {
            self.oldest = self.codes.oldest_from(covered.next());
        }
    }

    /// Writes the report of a packet of ours that acknowledges `ackno`, leaving `reserve` bytes
    /// free. It counts as given only with [`Self::gave`].
    ///
    /// # Errors
    /// [`NoRoom`] if it has to be whole and does not fit; nothing was written then.
    pub(crate) fn write(
        &mut self,
        ackno: Seq,
        fit: Fit,
        reserve: usize,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom> {
        self.codes.advance(ackno);
        self.oldest = self
            .oldest
            .and_then(|oldest| self.codes.oldest_from(oldest));
        let Some(oldest) = self.oldest else {
            return Ok(());
        };
        // Whatever numbers came, a report looks back no further than codes are remembered, and for the
        // first Request no further than they are remembered at least.
        let unbounded = planted(Plant::EndlessReport);
        let first = self
            .back_to
            .filter(|first| first.distance(ackno) < REMEMBERED || unbounded);
        let oldest = first.map_or(oldest, |first| Seq::min(first, oldest));
        let room = encoder.room().saturating_sub(reserve);
        let most = fitting(room);
        let (mut needed, mut told) = (0, 0);
        let looked_at = if unbounded { usize::MAX } else { most + 1 };
        for block in self.blocks(ackno, oldest).take(looked_at) {
            needed += 1;
            told += if needed <= most {
                u64::from(block.run())
            } else {
                0
            };
        }
        if needed <= most {
            return encoder.data_dropped(self.blocks(ackno, oldest));
        }
        if fit == Fit::Whole {
            return Err(NoRoom { needed, room });
        }
        encoder.data_dropped(self.blocks(ackno, oldest).take(most))?;
        self.oldest = self.codes.oldest_from(ackno.next().sub(told));
        Ok(())
    }

    /// Our packet `ours`, which acknowledges `ackno`, carries the report.
    pub(crate) fn gave(&mut self, ours: Seq, ackno: Seq) {
        if self.is_due() {
            self.records.push(ours, ackno);
            self.told = Some(self.told.map_or(ackno, |told| Seq::max(told, ackno)));
        }
    }

    /// The blocks from `ackno` back to `oldest`, each for a step or two.
    fn blocks(&self, ackno: Seq, oldest: Seq) -> impl Iterator<Item = DropBlock> + '_ {
        let mut at = ackno;
        let mut left = if ackno.is_before(oldest) {
            0
        } else {
            oldest.distance(ackno) + 1
        };
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            work::step();
            let code = self.codes.get(at);
            let most = match code {
                None => DropBlock::MAX_DELIVERED,
                Some(_) => DropBlock::MAX_DROPPED,
            };
            let packets = self.codes.run(at, left.min(u64::from(most)));
            at = at.sub(packets);
            left -= packets;
            // No more than a block holds.
            let run = u8::try_from(packets).unwrap_or(most);
            Some(match code {
                None => DropBlock::Delivered { run },
                Some(code) => DropBlock::Dropped { code, run },
            })
        })
    }
}

/// How many blocks fit into `room` bytes.
fn fitting(room: usize) -> usize {
    let option = OPTION_DATA + OPTION_HEAD;
    room / option * OPTION_DATA + (room % option).saturating_sub(OPTION_HEAD)
}

#[cfg(test)]
mod tests;
