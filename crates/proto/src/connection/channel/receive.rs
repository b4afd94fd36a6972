//! Data of the peer on its way to the application, and what does not get there (RFC 4340, section 11.7).

use fairwire_wire::{DropCode, Seq};

use super::parts::receive_queue::Datagram;
use super::{Channel, Context, Visibility};
use crate::connection::footprint;
use crate::event::{Event, Received};

impl Channel {
    /// Takes the next datagram out of the receive queue.
    #[inline]
    pub(crate) fn recv(&mut self) -> Option<Received> {
        // What came before the session began is for the session.
        let is_raw = self
            .secure
            .as_ref()
            .is_some_and(|secure| secure.session().is_none());
        if is_raw || self.known == Visibility::Invited {
            return None;
        }
        self.received.pop()
    }

    /// Notes that the data of packet `seq` does not reach the application. The subflow on which it came reports it.
    pub(super) fn drop_data(&mut self, seq: Seq, code: DropCode) {
        self.dropped.push((seq, code));
    }

    /// Stops delivering data for good. Queued data is discarded, and all further data is reported with Drop Code 1 (RFC
    /// 4340, section 11.7.2).
    pub(in crate::connection) fn stop_reading(&mut self) {
        self.readers.has_stopped = true;
        self.give_up_messages();
        while let Some(seq) = self.received.discard() {
            self.drop_data(seq, DropCode::NotListening);
        }
    }

    /// Discards the data of a Request whose client never came, at the end: the connection was never open.
    pub(in crate::connection) fn discard_unopened(&mut self) {
        if self.known == Visibility::Invited {
            self.stop_reading();
        }
    }

    /// Sets whether the application asks for no more data than now.
    pub(crate) fn set_slow(&mut self, slow: bool) {
        self.readers.is_slow = slow;
    }

    /// Returns whether acknowledgements carry Slow Receiver (RFC 4340, section 11.6).
    pub(in crate::connection) fn is_slow(&self) -> bool {
        let percent = self.slow_receiver_percent;
        self.readers.is_slow || (!self.readers.has_stopped && self.received.is_filled(percent))
    }

    /// Puts data into the receive queue. If the queue is full, drops this data or older data.
    #[inline]
    pub(in crate::connection) fn queue_data(
        &mut self,
        ctx: &mut Context<'_>,
        datagram: Datagram<'_>,
    ) {
        match datagram.part {
            Some(part) => self.take_part(ctx, datagram, part),
            None => self.queue_whole(ctx, datagram),
        }
    }

    #[inline]
    fn queue_whole(&mut self, ctx: &mut Context<'_>, datagram: Datagram<'_>) {
        let (seq, corrupt) = (datagram.seq, datagram.corrupt);
        if self.push_whole(ctx, datagram) && corrupt {
            // RFC 4340, 9.3: reported, although it was delivered.
            self.drop_data(seq, DropCode::DeliveredCorrupt);
        }
    }

    /// Puts a whole datagram or message into the receive queue. Returns false if it is dropped, which is reported.
    #[inline]
    pub(super) fn push_whole(&mut self, ctx: &mut Context<'_>, datagram: Datagram<'_>) -> bool {
        let (seq, number, resent) = (datagram.seq, datagram.number, datagram.resent);
        // An empty queue always takes a datagram: memory is reserved for one.
        if !self.received.is_empty() && ctx.room < footprint::of_datagram(datagram.payload.len()) {
            self.received.refuse();
            self.drop_data(seq, DropCode::ReceiveBuffer);
            return false;
        }
        while let Some(oldest) = self.received.displace(datagram.payload.len()) {
            self.undelivered(oldest);
            self.drop_data(oldest, DropCode::ReceiveBuffer);
        }
        if !self.received.push(datagram) {
            self.drop_data(seq, DropCode::ReceiveBuffer);
            return false;
        }
        if let Some(number) = number {
            self.delivered(seq, number, resent);
        }
        // Data of an invited client's Request is read once the connection is open, which is told then.
        if self.received.len() == 1 && self.known != Visibility::Invited {
            self.emit(ctx, Event::Readable);
        }
        true
    }
}
