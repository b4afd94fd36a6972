//! Data Dropped, receiver's side: reports which of the peer's data did not reach our application, until the peer
//! acknowledges the report (RFC 4340, section 11.7).
//!
//! It works with every CCID: the blocks count from the Acknowledgement Number, as Ack Vectors do. Its state is bounded.
//! Packets older than [`Codes`] remembers, and those for which an Ack has no room, are no longer reported, although RFC
//! 4341, section 6, asks to report all that is not acknowledged.

use fairwire_wire::{DropBlock, DropCode, Encoder, NoRoom, Seq};

use super::codes::{Codes, REMEMBERED};
use crate::ackvec::{Records, Report};
use crate::half::Ack;
use crate::work;

/// Maximum number of blocks in one option, and the bytes of its type and length.
const OPTION_DATA: usize = 253;
const OPTION_HEAD: usize = 2;

/// The codes to report.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    codes: Codes,
    /// The oldest packet to report; none if there is nothing to report.
    oldest: Option<Seq>,
    /// Reports go back at least to this packet, the first one, as long as Requests arrive (RFC 4340, section 8.1.3).
    pub(crate) back_to: Option<Seq>,
    /// Which of our packets reported how far.
    records: Records,
    /// The newest packet that one of our reports has covered.
    told: Option<Seq>,
}

/// Whether the report may be cut to the room there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    /// No: another packet can carry all of it.
    Whole,
    /// Yes: the newest packets that fit, because no packet will have more room.
    Newest,
}

impl Dropped {
    /// Returns the bytes of memory on the heap.
    pub(crate) fn footprint(&self) -> usize {
        self.codes.footprint() + self.records.footprint()
    }

    /// Returns an empty report, for a receive queue of at most this many datagrams.
    pub(crate) fn new(receive_queue_packets: usize) -> Self {
        Self {
            codes: Codes::past_queue(receive_queue_packets),
            ..Self::default()
        }
    }

    /// Records that the data of packet `seq` did not reach the application. The first code of a packet stays (RFC 4340,
    /// 11.7: none becomes less serious, and no status changes). Returns false if it already had one, or is too old to
    /// report.
    pub(crate) fn note(&mut self, seq: Seq, code: DropCode) -> bool {
        if self.codes.get(seq).is_some() || !self.codes.set(seq, code) {
            return false;
        }
        self.oldest = Some(self.oldest.map_or(seq, |oldest| Seq::min(oldest, seq)));
        if self.told.is_some_and(|told| !seq.is_after(told)) {
            // An acknowledgement of an earlier report does not cover it.
            self.records.on_late(seq);
        }
        true
    }

    /// Drops the codes of packets from `seq` on, because the newest numbers were forged.
    pub(crate) fn roll_back(&mut self, seq: Seq) {
        self.codes.roll_back(seq);
        self.oldest = self
            .oldest
            .and_then(|oldest| self.codes.oldest_from(oldest));
        // `told` stays: what is noted from now on up to that number was not in the reports that named it.
    }

    /// Returns whether there is anything to report.
    pub(crate) fn is_due(&self) -> bool {
        self.oldest.is_some()
    }

    /// Handles an acknowledgement: reports in our packets that have arrived are done.
    pub(crate) fn on_ack(&mut self, Ack { ackno, options, .. }: Ack<'_>) {
        self.on_acknowledged(ackno);
        // RFC 4340, 11.4.2: an acknowledgement by Ack Vector counts as well. If data flows both ways, the
        // Acknowledgement Number more often names a data packet than one that carries a report.
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

    /// Writes the report into a packet of ours that acknowledges `ackno`, leaving `reserve` bytes free. The report
    /// counts as given only after [`Self::on_report_sent`].
    ///
    /// # Errors
    /// Returns [`NoRoom`] if it has to be whole and does not fit; then nothing was written.
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
        // Whatever numbers arrived, a report goes back no further than codes are kept, and back to the first Request
        // only if that is within `REMEMBERED` numbers.
        let first = self
            .back_to
            .filter(|first| first.distance(ackno) < REMEMBERED);
        let oldest = first.map_or(oldest, |first| Seq::min(first, oldest));
        let room = encoder.room().saturating_sub(reserve);
        let most = fitting(room);
        let (mut needed, mut told) = (0, 0);
        for block in self.blocks(ackno, oldest).take(most + 1) {
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

    /// Notes that our packet `ours`, which acknowledges `ackno`, carries the report.
    pub(crate) fn on_report_sent(&mut self, ours: Seq, ackno: Seq) {
        if self.is_due() {
            self.records.push(ours, ackno);
            self.told = Some(self.told.map_or(ackno, |told| Seq::max(told, ackno)));
        }
    }

    /// Returns the blocks from `ackno` back to `oldest`, in a step or two for each.
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
            // At most what a block holds.
            let run = u8::try_from(packets).unwrap_or(most);
            Some(match code {
                None => DropBlock::Delivered { run },
                Some(code) => DropBlock::Dropped { code, run },
            })
        })
    }
}

/// Returns how many blocks fit into `room` bytes.
fn fitting(room: usize) -> usize {
    let option = OPTION_DATA + OPTION_HEAD;
    room / option * OPTION_DATA + (room % option).saturating_sub(OPTION_HEAD)
}

#[cfg(test)]
mod tests;
