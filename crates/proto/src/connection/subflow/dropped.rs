//! Data of the peer that does not reach our application (RFC 4340, section 11.7).

use fairwire_wire::{DropCode, Seq};

use super::Subflow;
use crate::connection::channel::Channel;

impl Subflow {
    /// Records that the data of packet `seq` did not reach the application.
    pub(super) fn drop_data(&mut self, seq: Seq, code: DropCode) {
        if self.dropped.note(seq, code) {
            self.stats.dropped_locally[usize::from(code.number())] += 1;
        }
    }

    /// Records what the channel has dropped.
    #[inline]
    pub(in crate::connection) fn note_dropped(&mut self, channel: &mut Channel) {
        // Nearly always nothing was.
        if channel.dropped.is_empty() {
            return;
        }
        for (seq, code) in channel.dropped.drain(..) {
            self.drop_data(seq, code);
        }
    }

    /// Records that the application dropped a datagram it had read. Returns whether the peer will be told.
    pub(crate) fn report_dropped(
        &mut self,
        channel: &mut Channel,
        seq: Seq,
        code: DropCode,
    ) -> bool {
        if seq.is_after(self.sequence.acknowledgeable) {
            return false;
        }
        let before = self.stats.dropped_locally;
        if code != DropCode::DeliveredCorrupt {
            channel.undelivered(seq);
        }
        self.drop_data(seq, code);
        before != self.stats.dropped_locally
    }
}
