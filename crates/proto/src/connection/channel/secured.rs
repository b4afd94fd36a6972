//! Encryption: where a datagram is sealed as its packet leaves, and opened when its packet has arrived.
//!
//! The session begins when DCCP's handshake is over, its own datagrams leave under congestion control like all others,
//! and it ends within the life of the connection (RFC 5238, sections 3.2 to 3.4).

use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_wire::{DropCode, Seq};

use super::parts::receive_queue::Datagram;
use super::parts::secure::{
    Arrived, Beginning, Keeping, Opened, Sealing, Secure, TAG, unmistakable,
};
use super::{Carrier, Channel, Context, Taking};
use crate::connection::footprint;
use crate::error::NoMemory;
use crate::error_text::ErrorText;
use crate::event::Event;
use crate::id::DatagramId;
use crate::marks::Agreement;
use crate::payload::Payload;
use crate::security::{PathFacts, Rest, Security, SecurityError, Session};

/// The session.
impl Channel {
    /// Encrypts the connection from now on. RFC 5238, 3.4: a connection has one session, whatever its peer does.
    pub(crate) fn secure(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        with: Arc<dyn Security>,
        tag: [u8; TAG],
    ) {
        if self.secure.is_none() {
            self.secure = Some(Box::new(Secure::new(with, tag)));
            self.begin_session(ctx, carrier);
        }
    }

    /// Begins the session, if it is time for it and there is memory.
    pub(in crate::connection) fn begin_session(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) {
        let Some(secure) = &mut self.secure else {
            return;
        };
        // RFC 5238, 3.2: not before DCCP's handshake is over. A peer that says nothing costs no session.
        let has_arrived = !self.received.is_empty();
        if !carrier.is_open() || !(secure.security().speaks_first() || has_arrived) {
            return;
        }
        // RFC 5238, 3.5: DCCP's maximum packet size limits the session's datagrams.
        let facts = PathFacts::new(carrier.max_datagram(), carrier.round_trip());
        if has_arrived {
            self.note_arrival(ctx);
        }
        let Some(secure) = &mut self.secure else {
            return;
        };
        match secure.begin(ctx.now, facts, ctx.budget) {
            Beginning::Begun => {
                self.poll_session(ctx, carrier, None);
                self.open_waiting(ctx, carrier);
            }
            Beginning::Not => {}
            Beginning::NoMemory(needed) => secure.fail(SecurityError::new(NoMemory { needed })),
            Beginning::Failed(error) => secure.fail(error),
        }
    }

    /// Reports the first datagram that arrived during the handshake.
    fn note_arrival(&mut self, ctx: &mut Context<'_>) {
        if self
            .secure
            .as_mut()
            .is_some_and(|secure| secure.note_arrival())
        {
            self.emit(ctx, Event::Heard);
        }
    }

    /// Opens what arrived before the session began.
    fn open_waiting(&mut self, ctx: &mut Context<'_>, carrier: &impl Carrier) {
        for _ in 0..self.received.len() {
            let Some(raw) = self.received.pop() else {
                return;
            };
            self.received.count_missing(raw.lost_before);
            self.open(
                ctx,
                carrier,
                Datagram {
                    payload: raw.payload.into(),
                    ecn: raw.ecn,
                    at: raw.at,
                    seq: raw.seq,
                    corrupt: raw.corrupt,
                    number: None,
                    resent: false,
                    part: None,
                },
            );
        }
    }

    /// Takes a datagram for the session.
    pub(in crate::connection) fn open(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        datagram: Datagram<'_>,
    ) {
        let Some(secure) = &mut self.secure else {
            return;
        };
        if secure.session().is_none() {
            let datagram = Datagram {
                number: None,
                resent: false,
                part: None,
                ..datagram
            };
            self.queue_data(ctx, datagram);
            return self.begin_session(ctx, carrier);
        }
        self.note_arrival(ctx);
        let arrived = Arrived {
            ecn: datagram.ecn,
            at: datagram.at,
            seq: datagram.seq,
            tag: datagram.payload.tag(),
        };
        self.open_records(ctx, carrier, datagram.payload.as_slice(), arrived);
        self.open_early(ctx, carrier);
    }

    /// Opens the records of a datagram.
    fn open_records(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        records: &[u8],
        arrived: Arrived,
    ) {
        let Some(secure) = &mut self.secure else {
            return;
        };
        let (data, rest) = secure.open(ctx.now, records, ctx.records);
        if let Some(data) = data {
            let opened = secure.read(data);
            self.take_opened(ctx, carrier, opened, arrived);
        }
        self.poll_session(ctx, carrier, Some(arrived));
        match rest {
            Rest::Nothing => {}
            // RFC 4340, 11.7: its packet is acknowledged, and its data is not delivered. Whether it was changed or came
            // too late to be told from a copy is not said: that would tell where a record's hidden number lies.
            Rest::Unread => self.miss_unread(arrived.seq),
            Rest::Early { place, missed } => {
                self.keep_early(ctx, &records[place], arrived);
                if missed {
                    self.miss_unread(arrived.seq);
                }
            }
        }
    }

    /// Notes that a packet has records that may have carried data and were not read.
    fn miss_unread(&mut self, seq: Seq) {
        self.received.miss();
        self.refuse(seq, DropCode::Corrupt);
    }

    /// Keeps records until the handshake is complete.
    fn keep_early(&mut self, ctx: &Context<'_>, records: &[u8], arrived: Arrived) {
        let Some(secure) = &mut self.secure else {
            return;
        };
        // RFC 4340, 11.7: what is dropped is reported with the acknowledgement of its packet. So what the receive queue
        // could not take at the end of the handshake is not kept until then, whichever datagram the queue drops.
        let early = secure.early();
        let is_taken = self
            .received
            .has_room_beside(early.len(), early.footprint(), records.len());
        let room = if is_taken { ctx.room } else { 0 };
        match early.keep(room, records, arrived, self.received.missing()) {
            Keeping::Kept | Keeping::Copy => {}
            Keeping::NoRoom => {
                secure.forget_early();
                self.received.refuse();
                self.refuse(arrived.seq, DropCode::ReceiveBuffer);
            }
        }
    }

    /// Opens what came before the end of the handshake, once that has come.
    fn open_early(&mut self, ctx: &mut Context<'_>, carrier: &impl Carrier) {
        if !self
            .secure
            .as_ref()
            .is_some_and(|secure| secure.has_early())
        {
            return;
        }
        // What has been missing since they came does not belong before them.
        let missing = self.received.missing().take();
        while let Some(kept) = self.secure.as_mut().and_then(|secure| secure.take_early()) {
            self.received.count_missing(kept.lost_before);
            // They were counted as the connection's until now, so they need no memory of others.
            let room = ctx.room;
            ctx.room = room.saturating_add(footprint::of_datagram(kept.records.len()));
            self.open_records(ctx, carrier, &kept.records, kept.arrived);
            ctx.room = room;
        }
        self.received.count_missing(missing);
    }

    /// Drops what came before the end of the handshake: that does not come any more.
    pub(in crate::connection) fn discard_early(&mut self) {
        if let Some(secure) = &mut self.secure {
            secure.discard_early();
        }
    }

    /// Notes that data is not taken for this reason. RFC 4340, 11.7.2: once Not Listening was reported, no other code is.
    fn refuse(&mut self, seq: Seq, code: DropCode) {
        let code = if self.readers.has_stopped {
            DropCode::NotListening
        } else {
            code
        };
        self.drop_data(seq, code);
    }

    /// Takes what the session does after a call.
    pub(super) fn poll_session(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        arrived: Option<Arrived>,
    ) {
        let takes = Agreement {
            copies: carrier.sends_copies() && carrier.takes_copies(),
            parts: carrier.sends_parts() && carrier.takes_parts(),
        };
        let was_announced = self.is_end_announced();
        while let Some(secure) = &mut self.secure
            && let Some(data) = secure.poll(takes, ctx.now)
        {
            let opened = secure.read(data);
            if let Some(arrived) = arrived {
                self.take_opened(ctx, carrier, opened, arrived);
            }
        }
        if self
            .secure
            .as_mut()
            .is_some_and(|secure| secure.settle(ctx.now, ctx.records))
        {
            self.emit(ctx, Event::Secured);
        }
        if self.is_end_announced() && !was_announced {
            // The peer reads nothing more. Who waits for room learns of it from the next call.
            self.refuse_queued(ctx);
            self.announce_room(ctx);
        }
    }

    /// Puts opened data into the receive queue.
    fn take_opened(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        opened: Opened,
        arrived: Arrived,
    ) {
        let (data, number, resent, part) = match opened {
            Opened::Nothing => return,
            Opened::Plain(data) => (data, None, false, None),
            Opened::Numbered {
                data,
                first,
                resent,
                part,
            } => (data, Some(first), resent, part),
        };
        let seq = arrived.seq;
        if self.readers.has_stopped {
            self.received.miss();
            return self.drop_data(seq, DropCode::NotListening);
        }
        match number.map_or(Taking::Deliver, |number| {
            self.taking(carrier, number, resent)
        }) {
            Taking::Deliver => {}
            Taking::Ignore => return,
            Taking::TooOld => return self.drop_data(seq, DropCode::ReceiveBuffer),
        }
        let payload = match arrived.tag {
            None => Payload::Bytes(data),
            Some(tag) => Payload::synthetic(u32::try_from(data.len()).unwrap_or(u32::MAX), tag),
        };
        let datagram = Datagram {
            payload: payload.into(),
            ecn: arrived.ecn,
            at: arrived.at,
            seq,
            corrupt: false,
            number,
            resent,
            part,
        };
        self.queue_data(ctx, datagram);
    }

    /// Serves the session's timer, if it has expired.
    pub(in crate::connection) fn on_session_timeout(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) {
        let at = self
            .secure
            .as_ref()
            .and_then(|secure| secure.next_timeout());
        if at.is_none_or(|at| at > ctx.now) {
            return;
        }
        self.begin_session(ctx, carrier);
        if let Some(secure) = &mut self.secure {
            secure.handle_timeout(ctx.now);
        }
        self.poll_session(ctx, carrier, None);
        self.open_early(ctx, carrier);
    }

    /// Returns why the session cannot go on, and how its peer is told.
    #[inline]
    pub(in crate::connection) fn failure(&self) -> Option<(SecurityError, Option<ErrorText>)> {
        let secure = self.secure.as_ref()?;
        let error = secure.failure()?.clone();
        let text = ErrorText::new(&secure.security().for_peer(&error));
        Some((error, text))
    }

    /// Takes another size of the largest packet, which holds `max_datagram` bytes.
    pub(in crate::connection) fn set_max_datagram(&mut self, now: Instant, max_datagram: usize) {
        if let Some(secure) = &mut self.secure {
            // RFC 5238, 3.5: no record is larger than DCCP's maximum packet size of now.
            secure.set_max_datagram(now, max_datagram);
        }
    }

    /// Announces this side's end inside the session, if there is one. Returns whether something of the session waits to
    /// leave.
    pub(in crate::connection) fn announce_end(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) -> bool {
        self.seal_close_code(ctx, carrier);
        if self
            .secure
            .as_mut()
            .is_some_and(|secure| secure.announce_end(ctx.now))
        {
            self.poll_session(ctx, carrier, None);
        }
        self.secure
            .as_ref()
            .is_some_and(|secure| secure.own().is_some())
    }

    /// Returns the session, if it has begun.
    pub(crate) fn session(&self) -> Option<&dyn Session> {
        self.secure.as_ref()?.session()
    }

    /// Returns whether the peer announced its end inside the session.
    pub(crate) fn is_end_announced(&self) -> bool {
        self.secure
            .as_ref()
            .is_some_and(|secure| secure.is_end_announced())
    }
}

/// Datagrams on their way out.
impl Channel {
    /// Returns the data as it is sealed: what would pass for an announcement of the session is escaped.
    pub(in crate::connection) fn carried(&self, payload: Payload, is_framed: bool) -> Payload {
        match payload {
            // What is framed has a tag in front.
            Payload::Bytes(data) if self.secure.is_some() && !is_framed => {
                unmistakable(data).into()
            }
            payload => payload,
        }
    }

    /// Returns the size of the largest datagram of the application, in bytes.
    #[inline]
    pub(crate) fn max_datagram(&self, carrier: &impl Carrier) -> usize {
        let max = carrier.max_datagram();
        let secure = self.secure.as_ref();
        secure.map_or(max, |secure| secure.max_data(max))
    }

    /// Returns the size of the datagram that leaves next, as its packet carries it; `None` if none may leave.
    #[inline]
    pub(in crate::connection) fn leaving_len(&self) -> Option<usize> {
        let Some(secure) = &self.secure else {
            return self.queue.front_len();
        };
        if let Some(own) = secure.own() {
            return Some(own.len());
        }
        self.sealed_len(secure)
    }

    /// Returns the size of the application's next datagram once it is sealed, if it may leave.
    fn sealed_len(&self, secure: &Secure) -> Option<usize> {
        let (_, is_framed) = self.queue.front_id()?;
        let is_part = self.queue.front_part().is_some();
        let sealed = self.queue.front_len()? + secure.added(is_framed, is_part);
        secure.may_leave(sealed).then_some(sealed)
    }

    /// Returns whether the end of the connection waits: datagrams may have left that the peer cannot read yet.
    pub(in crate::connection) fn awaits_confirmation(&self) -> bool {
        self.secure
            .as_ref()
            .is_some_and(|secure| secure.awaits_confirmation())
    }

    /// Returns whether datagrams have left that the peer may never have read, although it has acknowledged them.
    pub(in crate::connection) fn has_unconfirmed(&self) -> bool {
        self.secure
            .as_ref()
            .is_some_and(|secure| secure.has_unconfirmed())
    }

    /// Returns the datagram that leaves next, as its packet carries it. RFC 5238, 3.4: never in clear text on an encrypted
    /// connection.
    #[inline]
    pub(in crate::connection) fn leaving(&self) -> Option<&Payload> {
        let Some(secure) = &self.secure else {
            return self.queue.front();
        };
        secure
            .own()
            .or_else(|| secure.made(self.queue.front_id()?.0))
    }

    /// Seals the datagram that leaves next.
    #[inline]
    pub(in crate::connection) fn seal_next(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) {
        if self.secure.is_some() {
            self.seal_front(ctx, carrier);
        }
    }

    fn seal_front(&mut self, ctx: &mut Context<'_>, carrier: &impl Carrier) {
        let (next, copy_of) = (carrier.next_seq(), self.queue.front_copy_of());
        let leaves = |secure: &Secure| secure.own().is_none() && self.sealed_len(secure).is_some();
        if !self.secure.as_deref().is_some_and(leaves) {
            return;
        }
        let Some(secure) = &mut self.secure else {
            return;
        };
        if let Some((id, is_framed)) = self.queue.front_id()
            && let Some(data) = self.queue.front()
        {
            let how = Sealing {
                id,
                first: copy_of.unwrap_or(next),
                is_framed,
                is_copy: copy_of.is_some(),
                part: self.queue.front_part(),
            };
            secure.make(ctx.now, data, how, ctx.records);
        }
        self.poll_session(ctx, carrier, None);
    }

    /// Takes the datagram that leaves now, and does the bookkeeping for it. RFC 5238, 3: each record is whole, in one
    /// packet.
    #[inline]
    pub(in crate::connection) fn take_leaving(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) -> Option<(Payload, Option<DatagramId>)> {
        if let Some(secure) = &mut self.secure
            && let Some(own) = secure.send_own(ctx.now)
        {
            return Some((own, None));
        }
        let datagram = self.queue.pop()?;
        if let Some(group) = datagram.options.group {
            self.groups.on_sent(datagram.id, group);
        }
        let made = self
            .secure
            .as_mut()
            .map(|secure| secure.take_made(datagram.id));
        let first = match &made {
            Some(made) => made.as_ref()?.1,
            None => carrier.next_seq(),
        };
        self.keep_copy(ctx, &datagram, first);
        let payload = match made.flatten() {
            Some((payload, _)) => payload,
            None => datagram.payload,
        };
        self.cap.spend(ctx.now, payload.len());
        Some((payload, Some(datagram.id)))
    }
}
