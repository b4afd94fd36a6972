//! Packets for a listener (RFC 4340, section 8.5, step 3): which of them begin a connection.
//!
//! Anybody can send Requests with forged addresses, so whatever a Request costs is bounded. A
//! connection is either kept from its Request on, half open, or forgotten and begun again when
//! the client echoes the Init Cookie that holds all there was to remember. Not every client does
//! (RFC 4340, 8.1.4, wants it, Linux's ignores the option), so as long as there is room the
//! connection is kept as well, to spare: it is the first to go.

use std::collections::VecDeque;
use std::net::IpAddr;

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, Kind, Options, Packet, ResetCode, Seq, option_type};

use super::Endpoint;
use super::admit::{Admit, AdmitHook};
use super::allowance;
use super::cookie::{self, Binding, Request};
use super::source::Source;
use crate::config::InitCookies;
use crate::connection::{Connection, Context, Origin};
use crate::feature::Role;
use crate::flow::Flow;
use crate::id::ConnectionId;
use crate::payload::{Arriving, Payload};
use crate::transmit::{Meta, Transmit};

/// A client that has not completed the handshake after this long has lost its Response and its
/// next one, or does not exist: it makes room before others are answered with cookies.
const PATIENCE: Duration = Duration::from_secs(10);

/// Half-open connections looked at to find an old one of a source that has many: a quarter of all at
/// least are its own by default, so eight find one in nine cases of ten.
const DRAWS: u32 = 8;

/// Responses without state to one client within this time have the same number, or a client that
/// gets two of them, because the network copied its Request, could take the second for a valid
/// packet of the first one's connection. Those of different moments are thousands apart.
const MOMENT: u64 = 1 << 26;

/// Connections that are gone and may stand in a line for an accept queue, beside as many as are half
/// open.
const LINE_SLACK: usize = 64;

/// What becomes of a Request.
enum Admission {
    /// It begins a half-open connection.
    Keep,
    /// It is answered with a cookie, which these of its options go into.
    Cookie { options: Vec<u8>, spare: bool },
    /// It is refused.
    Refuse,
}

impl Endpoint {
    /// Asks `hook` about each Request on `port`, and each Init Cookie that comes back, before anything
    /// is kept or answered; `None` asks nobody. False if nobody listens there.
    ///
    /// It is called for forged packets too, in the middle of the endpoint's work: it must be quick, and
    /// must not call back. A panic in it refuses the client. It lasts as long as the listener.
    pub fn set_admit(&mut self, port: u16, hook: Option<AdmitHook>) -> bool {
        self.listeners.set_admit(port, hook)
    }

    /// A packet for a port that listens.
    ///
    /// # Errors
    /// It is to be answered with a Reset.
    pub(super) fn handle_listen(
        &mut self,
        now: Instant,
        meta: Meta,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        flow: Flow,
    ) -> Result<(), ResetCode> {
        let Kind::Request { service } = packet.kind else {
            if let Some(slot) = self.redeem(now, packet, flow)? {
                self.deliver(now, slot, packet, payload, meta.ecn);
            }
            return Ok(());
        };
        // RFC 5595, 3.3.1: port and code together name a server.
        let listener = self.listeners.at(flow.local_port);
        // RFC 4340, 8.1.2, and RFC 5595, 3.3.1 and 3.3.3: not offered here.
        let offered = listener.filter(|listener| listener.offers(service));
        let Some(listener) = offered else {
            return Err(ResetCode::BadServiceCode);
        };
        // RFC 4340, 5.6: a client is told now, not after a handshake in vain.
        let word = match listener.asks(&flow, service) {
            Admit::Accept if !listener.has_room() => Admit::Refuse,
            word => word,
        };
        if word != Admit::Accept {
            return self.turn_away(word);
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
                let slot = self.keep(now, Connection::respond(now, origin, seq));
                self.deliver(now, slot, packet, payload, meta.ecn);
                if self.get(id).is_none() {
                    // RFC 4340, 8.1.3: it was refused for its options, with a Reset.
                    let source = self.secret.source(source);
                    self.allowances.take(now, source, allowance::RESET - 1);
                }
            }
        }
        Ok(())
    }

    /// Somebody may not begin a connection.
    fn turn_away(&mut self, word: Admit) -> Result<(), ResetCode> {
        self.stats.refused += 1;
        match word {
            Admit::Ignore => Ok(()),
            Admit::Accept | Admit::Refuse => Err(ResetCode::TooBusy),
        }
    }

    /// Takes in a connection that is in RESPOND.
    fn keep(&mut self, now: Instant, connection: Connection) -> usize {
        let source = connection.flow.path.remote.ip();
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
        let crowded = self.backlog.of_source(source) >= self.config.max_half_open_per_source
            && !self.evict_of(source, now);
        let (cookies, spare) = match self.config.init_cookies {
            InitCookies::Never => (false, false),
            InitCookies::WhenBusy { half_open: busy } => {
                let busy = half_open >= busy && !self.evict(Some(now));
                (crowded || busy, busy && !crowded)
            }
            InitCookies::Always => (true, false),
        };
        if cookies && let Some(options) = cookie::kept_options(packet.options) {
            let spare = spare && (!self.is_full() || self.evict_spare());
            return Admission::Cookie { options, spare };
        }
        // RFC 4340, 8.1.3, and RFC 6773, 3.8: what finds no room is not passed on.
        if crowded || (self.is_full() && !self.evict_spare() && !self.evict(None)) {
            return Admission::Refuse;
        }
        Admission::Keep
    }

    /// Has the source of `flow` all the connections that one source may have?
    fn is_share_taken(&self, flow: &Flow) -> bool {
        let ip = flow.path.remote.ip();
        let half_open = self.backlog.of_source(ip) + self.spare.of_source(ip);
        // Half-open ones have a limit of their own; anybody can begin those.
        let connections = self.incoming.of(Source::of(ip)).saturating_sub(half_open);
        connections >= self.config.max_connections_per_source
    }

    /// Incoming connections in RESPOND.
    pub(super) fn half_open(&self) -> usize {
        self.backlog.len() + self.spare.len()
    }

    /// Is there no room for another one?
    fn is_full(&self) -> bool {
        self.half_open() >= self.config.max_half_open
            || self.connections.len() >= self.config.max_connections
    }

    /// Does `slot` go on with this packet? What is kept to spare makes way for the cookie, and for a
    /// client that asks anew: its next Response brings another.
    pub(super) fn stays(&mut self, slot: usize, packet: &Packet<'_>) -> bool {
        if !self.spare.contains(slot) {
            return true;
        }
        // Who only knows the ports removes nothing.
        let connection = self.connections.get(slot);
        if connection.is_none_or(|connection| !connection.would_take(packet)) {
            return true;
        }
        let mut options = packet.options.iter();
        let goes = match packet.kind {
            Kind::Request { .. } => true,
            // RFC 4340, 8.1.4: ignored on Data.
            Kind::Data => false,
            _ => options.any(|raw| raw.option_type == option_type::INIT_COOKIE),
        };
        if goes {
            self.forget(slot);
        }
        !goes
    }

    /// Does `slot` leave this packet unheard, because it would complete a handshake while the
    /// application has no room for another connection? The client repeats it (RFC 4340, 8.1.5).
    #[inline]
    pub(super) fn must_wait(&mut self, now: Instant, slot: usize, packet: &Packet<'_>) -> bool {
        if self.half_open() == 0 {
            return false; // Nearly always, and cheaper than to look at the connection.
        }
        let Some(connection) = self.connections.get(slot) else {
            return false;
        };
        let awaited = connection.awaited_at();
        let Some(listener) = awaited.and_then(|port| self.listeners.at(port)) else {
            return false;
        };
        // RFC 4340, 8.5, steps 6, 7 and 11: these do not complete it, nor does a packet that
        // acknowledges nothing, or nothing of ours: whoever forged the Request could send that, and
        // must not get a place in the line.
        let begins_or_ends = matches!(packet.kind, Kind::Request { .. } | Kind::Reset { .. });
        let is_proven = packet.ack().is_some() && connection.would_take(packet);
        if begins_or_ends || listener.has_room() || !is_proven {
            return false;
        }
        // Its client exists and goes on: what waits for us is not old.
        self.backlog.renew(now, slot);
        self.stand_in_line(packet.ports.destination, slot);
        true
    }

    /// The connection in `slot` waits for a place of `port`. It stands in line once.
    fn stand_in_line(&mut self, port: u16, slot: usize) {
        let half_open = self.half_open();
        let connections = &mut self.connections;
        let Some(connection) = connections.get_mut(slot).filter(|c| !c.is_in_line()) else {
            return;
        };
        let Some(line) = self.listeners.line(port) else {
            return;
        };
        connection.stand_in_line();
        line.push_back(connection.id);
        // Those that are gone leave when so many are that looking at all costs each next to nothing.
        if line.len() > 2 * half_open + LINE_SLACK {
            line.retain(|id| {
                let connection = connections.get(id.slot());
                connection.is_some_and(|c| c.id == *id && c.is_in_line())
            });
        }
    }

    /// A place of `port` is free: asks the client that has waited longest to go on.
    pub(super) fn call_waiting(&mut self, now: Instant, port: u16) {
        while let Some(id) = self.listeners.line(port).and_then(VecDeque::pop_front) {
            let awaited = self.get(id).is_some_and(|c| c.awaited_at() == Some(port));
            if awaited {
                // RFC 4340, 8.1.5: a client in PARTOPEN may get a Sync, and stays there. RFC 4340,
                // 5.7: its SyncAck comes at once, and completes the handshake as an Ack does.
                return self.with(now, id.slot(), |connection, _| connection.call());
            }
        }
    }

    /// Forgets one half-open connection, drawn at random; with a time, only if it is too old then.
    ///
    /// At random, because a flood fills the backlog anew while one honest handshake is under way:
    /// taking the oldest, or the newest, would lose every client that is farther away than that
    /// takes. It is not told: its address may be forged, and an honest client hears of it when it
    /// goes on (step 3).
    fn evict(&mut self, patience_at: Option<Instant>) -> bool {
        self.draws += 1;
        let Some((slot, since)) = self.backlog.any(self.secret.draw(self.draws)) else {
            return false;
        };
        if patience_at.is_some_and(|now| now.saturating_since(since) < PATIENCE) {
            return false;
        }
        self.stats.evicted += 1;
        self.forget(slot);
        true
    }

    /// Forgets a half-open connection of this source that is older than [`PATIENCE`], if a few draws
    /// find one: forged Requests must not shut an address out until they time out.
    fn evict_of(&mut self, source: IpAddr, now: Instant) -> bool {
        for _ in 0..DRAWS {
            self.draws += 1;
            let drawn = self.backlog.any_of(source, self.secret.draw(self.draws));
            if let Some((slot, since)) = drawn
                && now.saturating_since(since) >= PATIENCE
            {
                self.stats.evicted += 1;
                self.forget(slot);
                return true;
            }
        }
        false
    }

    /// Forgets one of those whose clients have a cookie, drawn at random for the same reason.
    fn evict_spare(&mut self) -> bool {
        self.draws += 1;
        let drawn = self.spare.any(self.secret.draw(self.draws));
        drawn.is_some_and(|(slot, _)| {
            self.forget(slot);
            true
        })
    }

    /// A half-open connection goes as if it had never been.
    fn forget(&mut self, slot: usize) {
        self.backlog.remove(slot);
        self.spare.remove(slot);
        self.detach(slot);
        self.drop_connection(slot);
    }

    /// RFC 4340, 8.1.4 and 8.5, step 11: sends the Response with an Init Cookie and keeps nothing
    /// that is needed; or the connection, to spare, for a client that does not echo it.
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
        let steps = self.first_steps(id, request, flow, &mut head);
        let Some((connection, Some(transmit))) = steps else {
            return;
        };
        self.stats.cookies_sent += 1;
        self.cookies_until = request.at + cookie::LIFETIME;
        self.replies.respond(transmit, head);
        if spare {
            let source = flow.path.remote.ip();
            let slot = self.add(connection);
            self.spare.insert(request.at, slot, source);
            self.with(request.at, slot, |_, _| {});
        }
    }

    /// Step 3, for a packet other than a Request: begins the connection whose Init Cookie it
    /// echoes. Gives its slot; `None` if the client is to be ignored, or while the application has no
    /// room for it, and then the client tries again.
    fn redeem(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        flow: Flow,
    ) -> Result<Option<usize>, ResetCode> {
        let refused = |this: &mut Self| {
            this.stats.cookies_refused += 1;
            Err(ResetCode::BadInitCookie)
        };
        // RFC 4340, 8.1.4: on Data it is ignored; and these are what a client sends in PARTOPEN.
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
        let Some(cookie) = cookie::echoed(packet.options) else {
            // RFC 4340, 5.6: a cookie can be missing only where one was given.
            if self.may_have_answered(now, &flow, ack, short) {
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
            .filter(|request| self.first_number(request.at, &flow, short) == ack)
        else {
            return refused(self);
        };
        let word = self.listeners.at(flow.local_port);
        let word = word.map_or(Admit::Ignore, |at| at.asks(&flow, request.service));
        if word != Admit::Accept {
            return self.turn_away(word).map(|()| None);
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
        let Some((connection, Some(_))) = self.first_steps(id, &request, flow, &mut head) else {
            return refused(self);
        };
        self.stats.cookies_accepted += 1;
        Ok(Some(self.keep(now, connection)))
    }

    /// Takes the first steps of a connection as they were or will be taken when its Request comes:
    /// the same each time, whenever that is. Gives the Response too; `None` if no port listens.
    fn first_steps(
        &mut self,
        id: ConnectionId,
        request: &Request,
        flow: Flow,
        head: &mut HeadBuf,
    ) -> Option<(Connection, Option<Transmit>)> {
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
            iss: self.first_number(request.at, &flow, listener.config.short_seqnos),
            timestamp_offset: self.secret.timestamp_offset(&flow),
            nonce_key: self.secret.nonce_key(&flow),
            config: listener.config.clone(),
        };
        let mut connection = Connection::respond(request.at, origin, request.seq);
        connection.carry_cookies(cookies, request.at + cookie::LIFETIME);
        // RFC 4340, 8.1.3: what was refused is told. Its length does not matter, nor its bytes.
        let len = u32::from(request.data);
        let payload = Payload::Synthetic { len, tag: 0 };
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
            told: &mut self.told,
        };
        connection.handle_packet(&mut ctx, &packet, payload.into(), Ecn::NotEct);
        let response = connection.poll_transmit(&mut ctx, head);
        connection.carried_cookies();
        Some((connection, response))
    }

    /// The number of a Response that is sent at `at` and forgotten.
    fn first_number(&self, at: Instant, flow: &Flow, short: bool) -> Seq {
        let moment = at.as_nanos() / MOMENT + 1;
        let at = Instant::from_nanos(moment.saturating_mul(MOMENT));
        self.secret.initial_sequence(at, flow, short)
    }

    /// Is `ack` the number of a Response that we may have sent and forgotten?
    fn may_have_answered(&self, now: Instant, flow: &Flow, ack: Seq, short: bool) -> bool {
        let oldest = now.saturating_before(cookie::LIFETIME);
        let first = self.first_number(oldest, flow, short);
        let last = self.first_number(now, flow, short);
        // The low 24 bits may have a clock of their own.
        let slack = u64::from(short) << 24;
        now < self.cookies_until && ack.in_window(first.sub(slack), last.add(slack))
    }
}
