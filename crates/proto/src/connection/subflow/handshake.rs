//! How a connection begins (RFC 4340, sections 8.1.1 to 8.1.5).

use fairwire_units::{Duration, Instant};
use fairwire_wire::{
    Encoder, HeadBuf, Kind, Options, Packet, PacketType, ResetCode, Seq, option_type,
};

use super::parts::backoff::{Backoff, FIRST_RETRY};
use super::parts::dropped::Fit;
use super::parts::unconfirmed::Unconfirmed;
use super::{Call, Origin, State, Subflow};
use crate::connection::channel::Visibility;
use crate::constants::TWO_MSL;
use crate::event::{CloseReason, Event};
use crate::feature::Role;
use crate::reply::Reset;
use crate::transmit::Outgoing;

/// RFC 4340, 8.1.5: the first Ack is repeated after about 200 ms.
const PARTOPEN_RETRY: Duration = Duration::from_millis(200);

/// Maximum size of a Response as a multiple of its Request, both as payloads of UDP datagrams. Until the client echoes
/// one of our numbers, its address may be that of a victim (RFC 9000, 8.1, uses the same limit).
const AMPLIFICATION: usize = 3;

/// Bytes of an option before its data.
const COOKIE_HEAD: usize = 2;

/// Returns how long either side waits for the other to complete the handshake (RFC 4340, 8.1.3 and 8.1.5).
pub(super) fn four_msl() -> Duration {
    TWO_MSL * 2
}

impl Subflow {
    /// Creates a client that is about to send its Request.
    pub(crate) fn connect(now: Instant, origin: Origin) -> Self {
        let mut this = Self::new(now, origin, State::Request);
        this.due.handshake = true;
        this.deadline = Some(now + this.config.connect_timeout.into());
        this.refresh_agreed();
        this
    }

    /// Creates a server that is about to handle the Request with number `isr` (step 3).
    pub(crate) fn respond(now: Instant, origin: Origin, isr: Seq) -> Self {
        let mut this = Self::new(now, origin, State::Respond);
        this.sequence.begin_receiving(isr);
        this.dropped.back_to = Some(isr);
        this.deadline = Some(now + four_msl());
        this.refresh_agreed();
        this
    }

    /// Makes the Response carry these Init Cookie options, which are valid until `until` (RFC 4340, 8.1.4).
    pub(crate) fn carry_cookies(&mut self, options: Vec<u8>, until: Instant) {
        // The data of its Request is not kept either.
        self.took_handshake_data = true;
        self.cookies = options;
        self.cookie_until = Some(until);
    }

    /// Drops the Init Cookies after the Response that carries them has left: no other packet of a server carries any.
    pub(crate) fn carried_cookies(&mut self) {
        self.cookies = Vec::new();
    }

    /// Returns whether a copy of the packet that began it could begin another connection.
    pub(crate) fn may_begin_again(&self, now: Instant) -> bool {
        self.cookie_until.is_some_and(|until| now < until)
    }

    /// Writes the Request. A repeated one has the next sequence number and is otherwise the same (section 8.1.1).
    pub(super) fn transmit_request(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        if !std::mem::take(&mut self.due.handshake) {
            return None;
        }
        self.retry.start(call.now);
        let service = self.service;
        Some(self.send_handshake(call, head, &Kind::Request { service }))
    }

    /// Step 11: schedules the Response to a valid Request of `bytes` bytes; in RESPOND each one is answered.
    pub(super) fn on_request(&mut self, bytes: usize) {
        self.due.handshake = true;
        self.response_limit = AMPLIFICATION * bytes;
        self.peer_first = self.sequence.acknowledgeable.next();
    }

    /// Writes the Response; one is sent for each valid Request, never by a timer (section 8.1.3).
    pub(super) fn transmit_response(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        if !std::mem::take(&mut self.due.handshake) {
            return None;
        }
        let kind = Kind::Response {
            ack: self.sequence.acknowledgeable.into(),
            service: self.service,
        };
        Some(self.send_handshake(call, head, &kind))
    }

    fn send_handshake(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
        kind: &Kind,
    ) -> Outgoing {
        let packet_type = kind.packet_type();
        let stamp = self.timestamps.stamp(call.now);
        let mut encoder = self.start(head, kind, (0, 0), 0);
        if packet_type == PacketType::Response {
            // The limit may cut options, which are then sent later or never. They are written in this order: cookie,
            // Data Dropped, Confirms, our own Changes, Timestamp, Timestamp Echo.
            let limit = self.response_limit.min(self.sizes.head_limit(0));
            encoder = encoder.limit(limit);
        }
        self.write_cookies(&mut encoder);
        if packet_type == PacketType::Response {
            // RFC 4340, 8.1.3: reports which data of Requests was not taken.
            self.write_feedback(call.channel, call.now, Fit::Newest, &mut encoder);
        }
        self.write_negotiation(call.now, packet_type, &mut encoder);
        // Confirms for hundreds of unknown features may leave no room for it. The acknowledgement of this packet gives
        // a round-trip sample, too.
        let _ = encoder.option(&stamp);
        self.write_echo(call.now, &mut encoder);
        self.handshake_sent = Some((self.next_seq(), call.now));
        self.finish(call, encoder, packet_type)
    }

    /// Repeats the Reset to a peer that still has an older connection on our flow, because we were restarted (RFC 4340,
    /// 7.5.6).
    ///
    /// Our first Reset had a number outside the peer's window. The Sync that would give us a better number may be held
    /// back by the peer's limit on Syncs (7.5.4), since it has just sent one for our Request. So this Reset leaves just
    /// before the next Request, when the limit permits an answer.
    pub(super) fn reset_older_peer(&mut self, call: &mut Call<'_, '_>) {
        let Some(sync) = self.older_peer.take() else {
            return;
        };
        call.ctx.replies.end(Reset {
            flow: self.flow,
            // RFC 4340, 8.3.1: the number that the Sync acknowledged, that of our Request, plus one.
            seq: self.sequence.gss.next(),
            ack: sync,
            code: ResetCode::PacketError,
            data: [PacketType::Sync.number(), 0, 0],
            text: None,
            ndp_count: 0,
            connection: None,
        });
    }

    /// Step 4: returns whether a packet in REQUEST is accepted; false drops it. Only a Response or a Reset that
    /// acknowledges one of our Requests is. This is checked before anything in the packet takes effect.
    pub(super) fn begin_receiving(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        seq: Seq,
        ack: Option<Seq>,
    ) -> bool {
        let acknowledges = ack.is_some_and(|ack| self.sequence.is_ack_valid(ack));
        match packet.kind {
            Kind::Response { service, .. } if acknowledges => {
                // RFC 4340, 5.3: the Service Code must be that of the Request; another server's Response is not ours.
                if service != self.service {
                    return false;
                }
                self.sequence.begin_receiving(seq);
                true
            }
            Kind::Reset { .. } if acknowledges => {
                // Step 6 requires a Reset to be newer than all packets before it.
                self.sequence.begin_receiving(seq.prev());
                true
            }
            Kind::Request { .. } if self.on_echo(call, seq) => false,
            // Only a Reset is not answered: see `Replies::answer`. RFC 4340, 7.5.4: a Sync in REQUEST is. RFC 4340,
            // 5.6: Data 1 names the type.
            kind => {
                if acknowledges && matches!(kind, Kind::Sync { .. }) {
                    self.older_peer = Some(seq);
                }
                let data = [packet.packet_type().number(), 0, 0];
                let (path, code) = (self.flow.path, ResetCode::PacketError);
                call.ctx.replies.answer(call.now, path, packet, code, data);
                false
            }
        }
    }

    /// Handles a Request with number `seq` from the address to which our Requests go. Returns whether it is one of
    /// ours.
    ///
    /// One that comes back may be a trick of a third party, while the server answers as well. Two different ones mean a
    /// service that echoes everything: then the attempt ends.
    pub(crate) fn on_echo(&mut self, call: &mut Call<'_, '_>, seq: Seq) -> bool {
        let ours = self.state == State::Request
            && self.stats.packets_sent > 0
            && seq.in_window(self.sequence.iss, self.sequence.gss);
        if !ours {
            return false;
        }
        let first = *self.echoed.get_or_insert(seq);
        if first != seq {
            // A Reset would only come back.
            self.end(call, CloseReason::Reflected, false);
        }
        true
    }

    /// Step 10: enters PARTOPEN after the Response.
    pub(super) fn enter_partopen(&mut self, call: &mut Call<'_, '_>) {
        self.state = State::PartOpen;
        self.due.ack = true;
        // RFC 4340, 8.1.5: not after a second, as for the Request.
        self.retry = Backoff::new(PARTOPEN_RETRY);
        self.deadline = Some(call.now + four_msl());
        self.peer_first = self.sequence.acknowledgeable;
        self.make_halves(call);
        call.emit(Event::Connected);
        call.channel.begin_session(call.ctx, self);
        self.note_dropped(call.channel);
    }

    /// Steps 11 and 12: enters OPEN, because packet `seq` of the peer completes the handshake.
    pub(super) fn enter_open(&mut self, call: &mut Call<'_, '_>, seq: Seq) {
        self.sequence.osr = seq;
        self.state = State::Open;
        self.retry = Backoff::new(FIRST_RETRY);
        self.deadline = None;
        self.cookies = Vec::new();
        self.dropped.back_to = None;
        self.negotiation.on_open();
        self.refresh_agreed();
        self.open_window();
        if self.role == Role::Server {
            self.make_halves(call);
            // RFC 5596: an application that invited its client knows the connection already.
            let known = std::mem::replace(&mut call.channel.known, Visibility::Announced);
            let event = if known == Visibility::Invited {
                Event::Connected
            } else {
                let port = self.flow.local_port;
                Event::Accepted { port }
            };
            call.emit(event);
            if !call.channel.received.is_empty() {
                call.emit(Event::Readable);
            }
            // The client stays in PARTOPEN until it receives a packet sent in OPEN.
            self.unconfirmed = Some(Unconfirmed::new(self.next_seq()));
            self.due.ack = true;
            call.channel.begin_session(call.ctx, self);
            self.note_dropped(call.channel);
        }
    }

    /// Handles the acknowledgement of `ack` by a valid packet. It is a round-trip sample if it acknowledges the last
    /// packet of the handshake. A server also learns from it whether the client knows that the connection is open.
    pub(super) fn on_handshake_ack(&mut self, now: Instant, packet_type: PacketType, ack: Seq) {
        if let Some((seq, sent)) = self.handshake_sent
            && seq == ack
        {
            self.handshake_sent = None;
            self.measured(now, now.saturating_since(sent));
        }
        if let Some(unconfirmed) = &self.unconfirmed {
            if unconfirmed.is_over(ack) {
                self.unconfirmed = None;
            } else if packet_type == PacketType::Ack && self.state == State::Open {
                self.due.ack = true;
            }
        }
    }

    /// Returns whether this is the Response that we acknowledge from now on. RFC 4340, 8.1.4: the cookies that we echo
    /// belong to the Response that we acknowledge, so those of a newer one replace them.
    pub(super) fn gives_cookies(&self, packet_type: PacketType, seq: Seq) -> bool {
        let newer = seq.is_after(self.sequence.acknowledgeable);
        packet_type == PacketType::Response
            && (self.state == State::Request || (self.state == State::PartOpen && newer))
    }

    /// Keeps the Init Cookies of a Response as received (section 8.1.4).
    pub(super) fn keep_cookie(&mut self, data: &[u8]) {
        // An Ack with all of them must fit into one header. A server whose cookies do not fit gets none back and
        // refuses us, as it would if they were lost.
        let room = self.sizes.head_limit(0) / 2;
        let fits = self.cookies.len() + COOKIE_HEAD + data.len() <= room;
        if fits && let Ok(len) = u8::try_from(COOKIE_HEAD + data.len()) {
            self.cookies.extend([option_type::INIT_COOKIE, len]);
            self.cookies.extend_from_slice(data);
        }
    }

    /// Writes the cookies: every packet in PARTOPEN carries the same ones in the same order (RFC 4340, 8.1.4).
    pub(super) fn write_cookies(&self, encoder: &mut Encoder<'_>) {
        for cookie in Options::new(&self.cookies)
            .iter()
            .filter_map(|raw| raw.decode().ok())
        {
            let written = encoder.option(&cookie);
            debug_assert!(written.is_ok(), "cookies kept fit into half a head");
        }
    }
}
