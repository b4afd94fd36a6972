//! Packets for a listener (RFC 4340, section 8.5, step 3): which of them begin a connection.
//!
//! Anybody can send Requests with forged addresses, so the cost of a Request is bounded. There are two ways to answer
//! one:
//!
//! - The connection is kept from its Request on. It is half open until the handshake is complete.
//! - The connection is forgotten. It is begun again when the client echoes the Init Cookie, which holds all that is
//!   needed.
//!
//! Not every client echoes it (RFC 4340, 8.1.4, requires it; Linux ignores the option). So while there is room, a
//! connection answered with a cookie is kept as well, as a spare. Spares are the first to be removed.

use std::collections::VecDeque;

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, Kind, Options, Packet, ResetCode, Seq, option_type};

use super::Endpoint;
use super::admit::{Admit, AdmitHook};
use super::cookie::{self, Binding, Request};
use super::source::Source;
use super::source_limits;
use crate::config::InitCookies;
use crate::connection::{Connection, Context, Origin};
use crate::feature::Role;
use crate::flow::Flow;
use crate::id::ConnectionId;
use crate::payload::{Arriving, Payload};
use crate::transmit::{Meta, Outgoing};

/// The age at which a half-open connection may be removed to make room for another.
///
/// A client that has not completed the handshake by then has lost its Response and the next one, or does not exist.
/// Such connections are removed before other clients are answered with cookies.
const MIN_EVICTION_AGE: Duration = Duration::from_secs(10);

/// The number of random draws that look for an old half-open connection of a source that has too many.
///
/// With the default limits such a source has at least a quarter of all, so that eight draws find one of its connections
/// with probability 0.9.
const EVICTION_DRAWS: u32 = 8;

/// The time, in nanoseconds, within which all stateless Responses to one client have the same sequence number.
///
/// If the network copies a Request, the client gets two Responses. With different numbers it could take the second for
/// a valid packet of the connection of the first. Numbers of different moments are thousands apart.
const STATELESS_ISS_INTERVAL_NS: u64 = 1 << 26;

/// The number of ended connections that may remain in the queue for a place, in addition to as many as are half open.
const WAITING_SLACK: usize = 64;

/// The decision about a Request.
enum Admission {
    /// It begins a half-open connection.
    Keep,
    /// It is answered with a cookie that contains `options`. If `spare`, the connection is kept as well.
    Cookie { options: Vec<u8>, spare: bool },
    /// It is refused.
    Refuse,
}

impl Endpoint {
    /// Sets the hook that decides about each Request on `port` and each Init Cookie that comes back.
    ///
    /// It is called before any state is kept and before any answer. `None` removes the hook. Returns false if there is
    /// no listener on `port`. The hook lasts as long as the listener.
    ///
    /// The hook is also called for forged packets, while the endpoint processes a packet. It must be quick and must not
    /// call the endpoint. If it panics, the client is refused.
    pub fn set_admit(&mut self, port: u16, hook: Option<AdmitHook>) -> bool {
        self.listeners.set_admit(port, hook)
    }

    /// Handles a packet for a listening port.
    ///
    /// # Errors
    /// The code of the Reset that answers the packet.
    pub(super) fn handle_listen(
        &mut self,
        now: Instant,
        meta: Meta,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        flow: Flow,
    ) -> Result<(), ResetCode> {
        let Kind::Request { service } = packet.kind else {
            if let Some(slot) = self.accept_cookie(now, packet, flow)? {
                self.deliver(now, slot, packet, payload, meta.ecn);
            }
            return Ok(());
        };
        // RFC 5595, 3.3.1: port and Service Code together identify a server.
        let listener = self.listeners.at(flow.local_port);
        // RFC 4340, 8.1.2, and RFC 5595, 3.3.1 and 3.3.3: the service is not offered here.
        let offered = listener.filter(|listener| listener.offers(service));
        let Some(listener) = offered else {
            return Err(ResetCode::BadServiceCode);
        };
        // RFC 4340, 5.6: a client is refused now and not at the end of its handshake.
        let decision = match listener.decide(&flow, service) {
            Admit::Accept if !listener.has_room() => Admit::Refuse,
            decision => decision,
        };
        if decision != Admit::Accept {
            return self.reject(decision);
        }
        let Some(seq) = packet.seq.long() else {
            return Ok(());
        };
        let config = listener.config.clone();
        match self.admit(now, packet, &flow) {
            Admission::Refuse => {
                self.stats.refused += 1;
                return Err(ResetCode::TooBusy);
            }
            Admission::Cookie { options, spare } => {
                let request = Request {
                    at: now,
                    seq,
                    service,
                    data: !payload.is_empty(),
                    options,
                };
                self.answer_with_cookie(&request, flow, spare);
            }
            Admission::Keep => {
                let origin = self.origin(now, flow, Role::Server, service, config);
                let (id, source) = (origin.id, Source::of(flow.path.remote.ip()));
                let slot = self.add_half_open(now, Connection::respond(now, origin, seq));
                self.deliver(now, slot, packet, payload, meta.ecn);
                if self.get(id).is_none() {
                    // RFC 4340, 8.1.3: it was refused with a Reset because of its options.
                    let networks = self.secret.networks(source);
                    self.source_limits
                        .take(now, networks, source_limits::RESET_COST - 1);
                }
            }
        }
        Ok(())
    }

    /// Counts a client that may not begin a connection, and returns how to answer it.
    fn reject(&mut self, decision: Admit) -> Result<(), ResetCode> {
        self.stats.refused += 1;
        match decision {
            Admit::Ignore => Ok(()),
            Admit::Accept | Admit::Refuse => Err(ResetCode::TooBusy),
        }
    }

    /// Adds a connection that is in RESPOND.
    fn add_half_open(&mut self, now: Instant, connection: Connection) -> usize {
        let source = connection.flow().path.remote.ip();
        let slot = self.add(connection);
        self.backlog.insert(now, slot, source);
        slot
    }

    fn admit(&mut self, now: Instant, packet: &Packet<'_>, flow: &Flow) -> Admission {
        let half_open = self.backlog.len();
        let max = self.config.max_connections;
        if self.connections.len() - self.half_open() >= max
            || self.is_share_taken(flow)
            || !self.has_memory()
        {
            return Admission::Refuse;
        }
        let source = flow.path.remote.ip();
        let crowded = self
            .backlog
            .crowded(source, self.config.max_half_open_per_source)
            .is_some_and(|network| !self.evict_from(network, now));
        let (cookies, spare) = match self.config.init_cookies {
            InitCookies::Never => (false, false),
            InitCookies::WhenBusy { half_open: busy } => {
                let busy = half_open >= busy && !self.evict(Some(now));
                (crowded || busy, busy && !crowded)
            }
            InitCookies::Always => (true, false),
        };
        if cookies && let Some(options) = cookie::options_to_keep(packet.options) {
            let spare = spare && (!self.is_full() || self.evict_spare());
            return Admission::Cookie { options, spare };
        }
        // RFC 4340, 8.1.3, and RFC 6773, 3.8: a Request for which there is no room is not passed on.
        if crowded || (self.is_full() && !self.evict_spare() && !self.evict(None)) {
            return Admission::Refuse;
        }
        Admission::Keep
    }

    /// Returns whether the source of `flow` has as many connections as one source may have.
    fn is_share_taken(&self, flow: &Flow) -> bool {
        let source = Source::of(flow.path.remote.ip());
        // Half-open connections have their own limit, because anybody can begin them.
        let half_open = [self.backlog.by_source(), self.spare.by_source()];
        let connections = self.incoming.count_without(source, &half_open);
        connections >= self.config.max_connections_per_source
    }

    /// Returns the number of incoming connections in RESPOND.
    pub(super) fn half_open(&self) -> usize {
        self.backlog.len() + self.spare.len()
    }

    /// Returns whether there is no room for another half-open connection.
    fn is_full(&self) -> bool {
        self.half_open() >= self.config.max_half_open
            || self.connections.len() >= self.config.max_connections
    }

    /// Returns whether `slot` stays and gets this packet.
    ///
    /// A spare is removed when its client echoes the cookie, or sends a new Request: the next Response brings another
    /// cookie.
    pub(super) fn keep_or_drop_spare(&mut self, slot: usize, packet: &Packet<'_>) -> bool {
        if !self.spare.contains(slot) {
            return true;
        }
        // A packet without valid sequence numbers removes nothing: its sender may know only the ports.
        let connection = self.connections.get(slot);
        if connection.is_none_or(|connection| !connection.subflow().is_sequence_valid(packet)) {
            return true;
        }
        let mut options = packet.options.iter();
        let goes = match packet.kind {
            Kind::Request { .. } => true,
            // RFC 4340, 8.1.4: the option is ignored on Data.
            Kind::Data => false,
            _ => options.any(|raw| raw.option_type == option_type::INIT_COOKIE),
        };
        if goes {
            self.remove_half_open(slot);
        }
        !goes
    }

    /// Returns whether `slot` must ignore this packet because the application has no room for another connection.
    ///
    /// It is so for packets that would complete a handshake. The client repeats the packet (RFC 4340, 8.1.5).
    #[inline]
    pub(super) fn defer_if_full(&mut self, now: Instant, slot: usize, packet: &Packet<'_>) -> bool {
        if self.half_open() == 0 {
            return false; // The common case, and cheaper than looking up the connection.
        }
        let Some(connection) = self.connections.get(slot) else {
            return false;
        };
        let pending_port = connection.pending_port();
        let Some(listener) = pending_port.and_then(|port| self.listeners.at(port)) else {
            return false;
        };
        // RFC 4340, 8.5, steps 6, 7 and 11: Requests and Resets do not complete a handshake. Neither does a packet
        // without a valid acknowledgement of our Response. The sender of a forged Request can send these; it must not
        // get a place in the queue.
        let begins_or_ends = matches!(packet.kind, Kind::Request { .. } | Kind::Reset { .. });
        let is_proven = packet.ack().is_some() && connection.subflow().is_sequence_valid(packet);
        if begins_or_ends || listener.has_room() || !is_proven {
            return false;
        }
        // The client exists and continues. A connection that waits for our application does not count as old.
        self.backlog.restart_age(now, slot);
        self.await_accept(packet.ports.destination, slot);
        true
    }

    /// Puts the connection in `slot` into the queue for a place of `port`, unless it is already there.
    fn await_accept(&mut self, port: u16, slot: usize) {
        let half_open = self.half_open();
        let connections = &mut self.connections;
        let Some(connection) = connections.get_mut(slot).filter(|c| !c.awaits_accept()) else {
            return;
        };
        let Some(waiting) = self.listeners.waiting(port) else {
            return;
        };
        connection.await_accept();
        waiting.push_back(connection.id());
        // Ended connections are removed when they are so many that the cost per connection is small.
        if waiting.len() > 2 * half_open + WAITING_SLACK {
            waiting.retain(|id| {
                let connection = connections.get(id.slot());
                connection.is_some_and(|c| c.id() == *id && c.awaits_accept())
            });
        }
    }

    /// Asks the client that has waited longest for a place of `port` to continue.
    pub(super) fn resume_waiting(&mut self, now: Instant, port: u16) {
        while let Some(id) = self.listeners.waiting(port).and_then(VecDeque::pop_front) {
            let still_waits = self.get(id).is_some_and(|c| c.pending_port() == Some(port));
            if still_waits {
                // RFC 4340, 8.1.5: a client in PARTOPEN may get a Sync and stays in PARTOPEN. RFC 4340, 5.7: it sends a
                // SyncAck at once, which completes the handshake as an Ack does.
                return self
                    .with_connection(now, id.slot(), |connection, _| connection.ask_to_continue());
            }
        }
    }

    /// Removes one half-open connection, drawn at random.
    ///
    /// With a time, it is removed only if it is older than [`MIN_EVICTION_AGE`] then.
    ///
    /// The draw is random because a flood refills the backlog during one genuine handshake. Removing the oldest or the
    /// newest would lose every client whose round trip takes longer than that. The client is not told: its address may
    /// be forged, and a genuine client gets a Reset when it continues (step 3).
    fn evict(&mut self, min_age_at: Option<Instant>) -> bool {
        self.draws += 1;
        let Some((slot, since)) = self.backlog.draw(self.secret.draw(self.draws)) else {
            return false;
        };
        if min_age_at.is_some_and(|now| now.saturating_since(since) < MIN_EVICTION_AGE) {
            return false;
        }
        self.stats.evicted += 1;
        self.remove_half_open(slot);
        true
    }

    /// Removes a half-open connection of this network that is older than [`MIN_EVICTION_AGE`], if a few random draws
    /// find one.
    ///
    /// So forged Requests do not block an address, or a site, until they time out.
    fn evict_from(&mut self, network: (usize, Source), now: Instant) -> bool {
        for _ in 0..EVICTION_DRAWS {
            self.draws += 1;
            let drawn = self
                .backlog
                .draw_from(network, self.secret.draw(self.draws));
            if let Some((slot, since)) = drawn
                && now.saturating_since(since) >= MIN_EVICTION_AGE
            {
                self.stats.evicted += 1;
                self.remove_half_open(slot);
                return true;
            }
        }
        false
    }

    /// Removes a spare connection, drawn at random for the same reason as in [`Self::evict`].
    fn evict_spare(&mut self) -> bool {
        self.draws += 1;
        let drawn = self.spare.draw(self.secret.draw(self.draws));
        drawn.is_some_and(|(slot, _)| {
            self.remove_half_open(slot);
            true
        })
    }

    /// Removes a half-open connection without any trace.
    fn remove_half_open(&mut self, slot: usize) {
        self.backlog.remove(slot);
        self.spare.remove(slot);
        self.detach(slot);
        self.drop_connection(slot);
    }

    /// Sends a Response with an Init Cookie, so that no state need be kept.
    ///
    /// RFC 4340, 8.1.4 and 8.5, step 11. If `spare`, the connection is kept for a client that does not echo the cookie.
    fn answer_with_cookie(&mut self, request: &Request, flow: Flow, spare: bool) {
        if !self.replies.has_room() {
            return;
        }
        let mut head = Box::new(HeadBuf::new());
        let id = if spare {
            self.next_id()
        } else {
            ConnectionId::NONE
        };
        let steps = self.replay_handshake(id, request, flow, &mut head);
        let Some((connection, Some(response))) = steps else {
            return;
        };
        self.stats.cookies_sent += 1;
        self.cookies_until = request.at + cookie::LIFETIME;
        self.replies.respond(response.on(flow.path, None), head);
        if spare {
            let source = flow.path.remote.ip();
            let slot = self.add(connection);
            self.spare.insert(request.at, slot, source);
            self.with_connection(request.at, slot, |_, _| {});
        }
    }

    /// Handles step 3 for a packet other than a Request: begins the connection whose Init Cookie it echoes.
    ///
    /// Returns its slot. Returns `None` if the client is ignored, or while the application has no room for the
    /// connection; the client tries again then.
    fn accept_cookie(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        flow: Flow,
    ) -> Result<Option<usize>, ResetCode> {
        let refused = |this: &mut Self| {
            this.stats.cookies_refused += 1;
            Err(ResetCode::BadInitCookie)
        };
        // RFC 4340, 8.1.4: the option is ignored on Data. These are the types that a client sends in PARTOPEN.
        let (Kind::Ack { ack }
        | Kind::DataAck { ack }
        | Kind::Sync { ack }
        | Kind::SyncAck { ack }
        | Kind::Close { ack }) = packet.kind
        else {
            self.stats.unmatched += 1;
            return Err(ResetCode::NoConnection);
        };
        let (Some(ack), Some(listener)) = (ack.long(), self.listeners.at(flow.local_port)) else {
            self.stats.unmatched += 1;
            return Err(ResetCode::NoConnection);
        };
        let short = listener.config.short_seqnos;
        let (number, has_room) = (listener.number, listener.has_room());
        let Some(cookie) = cookie::collect(packet.options) else {
            // RFC 4340, 5.6: a cookie can be missing only if one was sent.
            if self.may_be_stateless_response(now, &flow, ack, short) {
                return refused(self);
            }
            self.stats.unmatched += 1;
            return Err(ResetCode::NoConnection);
        };
        let binding = Binding {
            secret: &self.secret,
            flow: &flow,
            listener: number,
        };
        // RFC 4340, 8.1.4: the cookie belongs to the Response that is acknowledged.
        let Some(request) = cookie::open(binding, now, &cookie)
            .filter(|request| self.stateless_iss(request.at, &flow, short) == ack)
        else {
            return refused(self);
        };
        let decision = self.listeners.at(flow.local_port);
        let decision = decision.map_or(Admit::Ignore, |at| at.decide(&flow, request.service));
        if decision != Admit::Accept {
            return self.reject(decision).map(|()| None);
        }
        if !has_room {
            self.stats.deferred += 1;
            return Ok(None);
        }
        let full = self.connections.len() >= self.config.max_connections && !self.evict_spare();
        if full || self.is_share_taken(&flow) || !self.has_memory() {
            self.stats.refused += 1;
            return Err(ResetCode::TooBusy);
        }
        let id = self.next_id();
        let mut head = Box::new(HeadBuf::new());
        let Some((connection, Some(_))) = self.replay_handshake(id, &request, flow, &mut head)
        else {
            return refused(self);
        };
        self.stats.cookies_accepted += 1;
        Ok(Some(self.add_half_open(now, connection)))
    }

    /// Takes the first steps of the connection that `request` begins, and returns it with its Response.
    ///
    /// The result is the same at any time, when the Request arrives or when its cookie comes back. `None` if no
    /// listener is on the port.
    fn replay_handshake(
        &mut self,
        id: ConnectionId,
        request: &Request,
        flow: Flow,
        head: &mut HeadBuf,
    ) -> Option<(Connection, Option<Outgoing>)> {
        let listener = self.listeners.at(flow.local_port)?;
        let binding = Binding {
            secret: &self.secret,
            flow: &flow,
            listener: listener.number,
        };
        let cookies = cookie::seal(binding, request);
        let origin = Origin {
            id,
            flow,
            role: Role::Server,
            service: request.service,
            iss: self.stateless_iss(request.at, &flow, listener.config.short_seqnos),
            timestamp_offset: self.secret.timestamp_offset(&flow),
            nonce_key: self.secret.nonce_key(&flow),
            config: listener.config.clone(),
        };
        let mut connection = Connection::respond(request.at, origin, request.seq);
        let until = request.at + cookie::LIFETIME;
        connection.subflow_mut().carry_cookies(cookies, until);
        // RFC 4340, 8.1.3: the peer is told about refused data. The length and the bytes of the data do not matter.
        let len = u32::from(request.data);
        let payload = Payload::synthetic(len, 0);
        let packet = Packet {
            ports: flow.ports().swapped(),
            ccval: 0,
            cscov: 0,
            checksum: 0,
            seq: request.seq.into(),
            kind: Kind::Request {
                service: request.service,
            },
            options: Options::new(&request.options),
            data_offset: 0,
        };
        let mut ctx = Context {
            now: request.at,
            events: &mut self.events,
            replies: &mut self.replies,
            room: usize::MAX,
            budget: usize::MAX,
            outcome: &mut self.outcome,
            records: &mut self.records,
        };
        let response = connection.with(&mut ctx, |subflow, call| {
            subflow.handle_packet(call, &packet, payload.into(), Ecn::NotEct);
            let response = subflow.poll_transmit(call, head);
            subflow.carried_cookies();
            response
        });
        Some((connection, response))
    }

    /// Returns the sequence number of a stateless Response that is sent at `at`.
    fn stateless_iss(&self, at: Instant, flow: &Flow, short: bool) -> Seq {
        let moment = at.as_nanos() / STATELESS_ISS_INTERVAL_NS + 1;
        let at = Instant::from_nanos(moment.saturating_mul(STATELESS_ISS_INTERVAL_NS));
        self.secret.initial_sequence(at, flow, short)
    }

    /// Returns whether `ack` is the number of a stateless Response that we may have sent.
    fn may_be_stateless_response(&self, now: Instant, flow: &Flow, ack: Seq, short: bool) -> bool {
        let oldest = now.saturating_before(cookie::LIFETIME);
        let first = self.stateless_iss(oldest, flow, short);
        let last = self.stateless_iss(now, flow, short);
        // The low 24 bits may have their own clock.
        let slack = u64::from(short) << 24;
        now < self.cookies_until && ack.in_window(first.sub(slack), last.add(slack))
    }
}
