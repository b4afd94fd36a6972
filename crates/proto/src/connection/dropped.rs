//! Data of the peer that do not reach our application (RFC 4340, section 11.7): the calls and the queue
//! that drop them.

use fairwire_wire::{DropCode, Seq};

use super::parts::receive_queue::Datagram;
use super::{Connection, Context, footprint};
use crate::event::Event;

impl Connection {
    /// The data of packet `seq` did not reach the application.
    pub(super) fn drop_data(&mut self, seq: Seq, code: DropCode) {
        if self.dropped.note(seq, code) {
            self.stats.dropped_here[usize::from(code.number())] += 1;
        }
    }

    /// The application reads no more: what waits is thrown away, and what still comes is reported
    /// as Drop Code 1 for the rest of the connection (RFC 4340, section 11.7.2).
    pub(crate) fn stop_reading(&mut self) {
        self.dropped.is_deaf = true;
        while let Some(seq) = self.received.discard() {
            self.drop_data(seq, DropCode::NotListening);
        }
    }

    /// The application dropped a datagram that it had taken. Says whether the peer will be told.
    pub(crate) fn report_dropped(&mut self, seq: Seq, code: DropCode) -> bool {
        if seq.is_after(self.sequence.acknowledgeable) {
            return false;
        }
        let before = self.stats.dropped_here;
        self.drop_data(seq, code);
        before != self.stats.dropped_here
    }

    /// The application can hardly keep up, or can again.
    pub(crate) fn set_slow(&mut self, slow: bool) {
        self.dropped.is_slow = slow;
    }

    /// Does Slow Receiver go with the acknowledgements (RFC 4340, section 11.6)?
    pub(super) fn is_slow(&self) -> bool {
        let percent = self.config.slow_receiver_percent;
        self.dropped.is_slow || (!self.dropped.is_deaf && self.received.is_filled(percent))
    }

    /// Puts data into the receive queue, or drops them or older ones if it is full.
    pub(super) fn queue_data(&mut self, ctx: &mut Context<'_>, datagram: Datagram<'_>) {
        let (seq, corrupt) = (datagram.seq, datagram.corrupt);
        // An empty queue takes one whatever the budget: room for it was set aside.
        if !self.received.is_empty() && ctx.room < footprint::of_datagram(datagram.payload.len()) {
            self.received.refuse();
            return self.drop_data(seq, DropCode::ReceiveBuffer);
        }
        while let Some(oldest) = self.received.displace(datagram.payload.len()) {
            self.drop_data(oldest, DropCode::ReceiveBuffer);
        }
        if !self.received.push(datagram) {
            return self.drop_data(seq, DropCode::ReceiveBuffer);
        }
        if corrupt {
            // RFC 4340, 9.3: reported, though it was delivered.
            self.drop_data(seq, DropCode::DeliveredCorrupt);
        }
        if self.received.len() == 1 {
            self.emit(ctx, Event::Readable);
        }
    }
}
