//! Data of the peer that does not reach our application (RFC 4340, section 11.7): the calls and the queue that drop it.

use fairwire_wire::{DropCode, Seq};

use super::parts::receive_queue::Datagram;
use super::{Connection, Context, footprint};
use crate::event::Event;

impl Connection {
    /// Records that the data of packet `seq` did not reach the application.
    pub(super) fn drop_data(&mut self, seq: Seq, code: DropCode) {
        if self.dropped.note(seq, code) {
            self.stats.dropped_locally[usize::from(code.number())] += 1;
        }
    }

    /// Stops delivering data for good. Queued data is discarded, and all further data is reported with Drop Code 1 (RFC
    /// 4340, section 11.7.2).
    pub(crate) fn stop_reading(&mut self) {
        self.dropped.is_not_listening = true;
        while let Some(seq) = self.received.discard() {
            self.drop_data(seq, DropCode::NotListening);
        }
    }

    /// Records that the application dropped a datagram it had read. Returns whether the peer will be told.
    pub(crate) fn report_dropped(&mut self, seq: Seq, code: DropCode) -> bool {
        if seq.is_after(self.sequence.acknowledgeable) {
            return false;
        }
        let before = self.stats.dropped_locally;
        if code != DropCode::DeliveredCorrupt {
            self.undelivered(seq);
        }
        self.drop_data(seq, code);
        before != self.stats.dropped_locally
    }

    /// Sets whether the application asks for no more data than now.
    pub(crate) fn set_slow(&mut self, slow: bool) {
        self.dropped.is_slow = slow;
    }

    /// Returns whether acknowledgements carry Slow Receiver (RFC 4340, section 11.6).
    pub(super) fn is_slow(&self) -> bool {
        let percent = self.config.slow_receiver_percent;
        self.dropped.is_slow || (!self.dropped.is_not_listening && self.received.is_filled(percent))
    }

    /// Puts data into the receive queue. If the queue is full, drops this data or older data.
    pub(super) fn queue_data(&mut self, ctx: &mut Context<'_>, datagram: Datagram<'_>) {
        let (seq, corrupt) = (datagram.seq, datagram.corrupt);
        let (number, resent) = (datagram.number, datagram.resent);
        // An empty queue always takes a datagram: memory is reserved for one.
        if !self.received.is_empty() && ctx.room < footprint::of_datagram(datagram.payload.len()) {
            self.received.refuse();
            return self.drop_data(seq, DropCode::ReceiveBuffer);
        }
        while let Some(oldest) = self.received.displace(datagram.payload.len()) {
            self.undelivered(oldest);
            self.drop_data(oldest, DropCode::ReceiveBuffer);
        }
        if !self.received.push(datagram) {
            return self.drop_data(seq, DropCode::ReceiveBuffer);
        }
        if let Some(number) = number {
            self.delivered(seq, number, resent);
        }
        if corrupt {
            // RFC 4340, 9.3: reported, although it was delivered.
            self.drop_data(seq, DropCode::DeliveredCorrupt);
        }
        if self.received.len() == 1 {
            self.emit(ctx, Event::Readable);
        }
    }
}
