//! All connections and listeners of one host, behind one set of calls.
//!
//! - [`input`]: packets and ICMP errors; [`output`]: packets that leave, and timers.
//! - [`table`]: finding connections by their [`Flow`].
//! - [`listener`]: the state LISTEN; [`time_wait`]: the state TIMEWAIT.
//! - [`admit`]: what the application says of them; [`admission`]: which Requests are taken up, and how; [`backlog`]: those under way;
//!   [`cookie`]: those that the client remembers for us.
//! - [`allowance`]: how often strangers are answered; [`memory`]: the budget of it; [`source`]: whose share of it all somebody takes.
//! - [`secret`]: everything unpredictable; [`timers`]: who is next.

mod admission;
mod admit;
mod allowance;
mod backlog;
mod cookie;
#[cfg(feature = "inspect")]
mod first_number;
mod input;
mod listener;
#[cfg(feature = "inspect")]
mod look;
mod memory;
mod output;
mod ports;
mod secret;
mod source;
mod table;
mod time_wait;
mod timers;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_wire::{Ccid, DropCode, Seq, ServiceCode};
use slab::Slab;
use zeroize::Zeroize;

use crate::config::{Config, EndpointConfig};
use crate::connection::{Connection, NEW_FOOTPRINT, Origin};
use crate::error::{ChangeCcidError, ListenError, SendError, StartError};
use crate::error_text::ErrorText;
use crate::event::{ConnectionEvent, Direction, Event, Received};
use crate::feature::Role;
use crate::flow::Flow;
use crate::half::Told;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;
use crate::reply::Replies;
use crate::stats::{EndpointStats, Stats};
use crate::transmit::Path;
use allowance::Allowances;
use backlog::Backlog;
use listener::Listeners;
use secret::Secret;
use source::{Census, Source};
use table::Table;
use time_wait::TimeWait;
use timers::Timers;

pub use admit::{Admit, AdmitHook, Attempt};

/// Connections at most that [`Endpoint::reserve`] makes room for.
const RESERVED: usize = 1 << 20;

/// A DCCP endpoint.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    secret: Secret,
    listeners: Listeners,
    connections: Slab<Box<Connection>>,
    /// What all of them take, bytes.
    memory: usize,
    /// Connections begun so far: half of the next one's name.
    count: u32,
    table: Table,
    time_wait: TimeWait,
    timers: Timers,
    /// Slots that may have something to send, in turn.
    ready: VecDeque<usize>,
    /// Which slots stand in there.
    is_ready: Vec<bool>,
    /// Connections in REQUEST by path, for ICMP errors that name no port.
    connecting: BTreeSet<(Path, usize)>,
    /// Connections in RESPOND, and those of them whose clients have an Init Cookie as well.
    backlog: Backlog,
    spare: Backlog,
    /// Connections that are not closed.
    live: usize,
    /// Those of them that came to us, by where they came from.
    incoming: Census,
    /// Random draws so far.
    draws: u64,
    /// Until when a client may hold an Init Cookie of ours.
    cookies_until: Instant,
    replies: Replies,
    allowances: Allowances,
    events: VecDeque<ConnectionEvent>,
    told: Told,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint without connections. `secret` must be unguessable: initial sequence numbers
    /// are a keyed hash of the connection's addresses and the time (RFC 4340, section 7.2), and it
    /// is all the randomness that there is.
    pub fn new(config: EndpointConfig, mut secret: [u8; 32]) -> Self {
        let keys = Secret::new(&secret);
        secret.zeroize();
        let secret = keys;
        Self {
            listeners: Listeners::default(),
            connections: Slab::new(),
            memory: 0,
            count: 0,
            table: Table::new(secret.lookup()),
            time_wait: TimeWait::default(),
            timers: Timers::default(),
            ready: VecDeque::new(),
            is_ready: Vec::new(),
            connecting: BTreeSet::new(),
            backlog: Backlog::default(),
            spare: Backlog::default(),
            live: 0,
            incoming: Census::default(),
            draws: 0,
            cookies_until: Instant::START,
            replies: Replies::new(config.max_resets_per_s),
            allowances: Allowances::new(config.max_answers_per_source_per_s),
            events: VecDeque::new(),
            told: Told::default(),
            stats: EndpointStats::default(),
            config,
            secret,
        }
    }

    /// Listens on DCCP port `port` for the given service codes; each connection accepted gets a clone of `config`.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        config.check().map_err(ListenError::Config)?;
        self.listeners.add(port, services, config)
    }

    /// Makes room in the endpoint's tables for all connections that its limits allow, so that no packet
    /// pays for moving a table that grows. For servers; it takes some 150 bytes of address space for each
    /// connection, which the system commits when they are used.
    pub fn reserve(&mut self) {
        let in_memory = self.config.max_memory / NEW_FOOTPRINT;
        let most = self.config.max_connections.min(in_memory).min(RESERVED);
        let more = most.saturating_sub(self.connections.len());
        self.connections.reserve(more);
        self.is_ready
            .reserve(most.saturating_sub(self.is_ready.len()));
        self.ready.reserve(most.saturating_sub(self.ready.len()));
        self.table.reserve(most);
        self.timers.reserve(most);
    }

    /// Stops listening; connections already accepted go on.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.remove(port);
    }

    /// Bounds the connections on `port` that the application has not taken over: each
    /// [`Event::Accepted`] takes one of `places`, and [`Endpoint::free_place`] gives it back. All places
    /// are free after this call. A listener that it was not called for has no bound.
    ///
    /// While no place is free, Requests are refused with Reset 9, Too Busy, and a packet that would
    /// complete a handshake is dropped and counted in [`EndpointStats::deferred`]. Its client
    /// repeats it (RFC 4340, section 8.1.5), or is asked to, and is served when a place is free, so
    /// no connection that a client knows to be open ends for want of a place, while it keeps asking.
    pub fn set_room(&mut self, port: u16, places: usize) {
        self.listeners.set_room(port, places);
    }

    /// Gives back one place of `port`, because the application took a connection over. The client
    /// that has waited longest for one is sent a Sync, which it answers at once, so that it need
    /// not wait for its own timer, which doubles each time.
    pub fn free_place(&mut self, now: Instant, port: u16) {
        self.listeners.free_place(port);
        self.call_waiting(now, port);
    }

    /// Waits on DCCP port `local_port` for one client, which it invites: its Request then passes NATs
    /// and firewalls on our side too (simultaneous open, RFC 5596). Both ends must have told each
    /// other their addresses, ports and the service by other means.
    ///
    /// The connection has its name at once. [`Event::Connected`] says that it is open; if the
    /// client does not come within `Config::connect_timeout`, it ends. Listeners on the same port
    /// serve everybody else. RFC 5596, section 4: nothing needs to be permitted first.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn listen_towards(
        &mut self,
        now: Instant,
        path: Path,
        local_port: u16,
        remote_port: u16,
        service: ServiceCode,
        config: Config,
    ) -> Result<ConnectionId, StartError> {
        let flow = self.new_flow(now, path, Some(local_port), remote_port, service, &config)?;
        let origin = self.origin(now, flow, Role::Server, service, Arc::new(config));
        let id = origin.id;
        let slot = self.add(Connection::invite(now, origin));
        self.with(now, slot, |_, _| {});
        Ok(id)
    }

    /// Begins a connection from DCCP port `local_port` (or a free one) to `remote_port` along `path`,
    /// for one service (RFC 5595, sections 3.1 and 3.3).
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn connect(
        &mut self,
        now: Instant,
        path: Path,
        local_port: Option<u16>,
        remote_port: u16,
        service: ServiceCode,
        config: Config,
    ) -> Result<ConnectionId, StartError> {
        let flow = self.new_flow(now, path, local_port, remote_port, service, &config)?;
        let origin = self.origin(now, flow, Role::Client, service, Arc::new(config));
        let id = origin.id;
        let slot = self.add(Connection::connect(now, origin));
        self.connecting.insert((flow.path, slot));
        self.with(now, slot, |_, _| {});
        Ok(id)
    }

    /// The flow of a new connection of ours, if it may begin.
    fn new_flow(
        &mut self,
        now: Instant,
        path: Path,
        local_port: Option<u16>,
        remote_port: u16,
        service: ServiceCode,
        config: &Config,
    ) -> Result<Flow, StartError> {
        config.check().map_err(StartError::Config)?;
        path.check().map_err(StartError::Config)?;
        // RFC 4340, 8.1.2, RFC 5595, 2.2, 2.5, 3.1 and 3.3: one Service Code, and a valid one.
        if !service.is_valid() {
            return Err(StartError::InvalidService);
        }
        if self.connections.len() >= self.config.max_connections {
            return Err(StartError::TooManyConnections);
        }
        if !self.has_memory() {
            return Err(StartError::NoMemory);
        }
        self.free_flow(now, path, local_port, remote_port)
    }

    /// All that a connection on `flow` starts from.
    fn origin(
        &mut self,
        now: Instant,
        flow: Flow,
        role: Role,
        service: ServiceCode,
        config: Arc<Config>,
    ) -> Origin {
        Origin {
            id: self.next_id(),
            flow,
            role,
            service,
            iss: self
                .secret
                .initial_sequence(now, &flow, config.short_seqnos),
            timestamp_offset: self.secret.timestamp_offset(&flow),
            nonce_key: self.secret.nonce_key(&flow),
            config,
        }
    }

    /// What the connection is called that is taken in next.
    fn next_id(&mut self) -> ConnectionId {
        self.count = self.count.wrapping_add(1);
        ConnectionId::new(self.count, self.connections.vacant_key())
    }

    /// Takes a connection in.
    fn add(&mut self, connection: Connection) -> usize {
        let flow = connection.flow;
        if connection.has_come() {
            self.incoming.add(Source::of(flow.path.remote.ip()));
        }
        let slot = self.connections.insert(Box::new(connection));
        self.live += 1;
        self.table.insert(flow, slot);
        self.recount(slot);
        slot
    }

    /// A connection is over: its flow is free.
    fn detach(&mut self, slot: usize) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = connection.flow;
        if connection.has_come() {
            self.incoming.remove(Source::of(flow.path.remote.ip()));
        }
        self.live -= 1;
        self.table.remove(&flow);
        self.timers.set(slot, None);
    }

    fn get(&self, id: ConnectionId) -> Option<&Connection> {
        let connection = self.connections.get(id.slot())?;
        Some(&**connection).filter(|connection| connection.id == id)
    }

    /// The next event, with the connection it is about.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// Queues a datagram; its id names it in [`Event::Fate`].
    ///
    /// # Errors
    /// See [`SendError`]; the payload is dropped then, so keep a clone (cheap for `Bytes`) to try again.
    pub fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        payload: Payload,
    ) -> Result<DatagramId, SendError> {
        let mut sent = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with(now, id.slot(), |connection, ctx| {
                sent = connection.send(ctx, payload);
            });
        }
        sent
    }

    /// The next datagram received.
    pub fn recv(&mut self, id: ConnectionId) -> Option<Received> {
        let connection = self.connections.get_mut(id.slot())?;
        if connection.id != id {
            return None;
        }
        let received = connection.recv()?;
        self.recount(id.slot());
        Some(received)
    }

    /// The application reads no more, for good: what waits in the receive queue is thrown away, and
    /// the peer learns that further data is not wanted (Drop Code 1 of RFC 4340, section 11.7.2).
    /// Our own data still leaves.
    pub fn stop_reading(&mut self, now: Instant, id: ConnectionId) {
        if self.get(id).is_some() {
            self.with(now, id.slot(), |connection, _| connection.stop_reading());
        }
    }

    /// Tells the peer with every acknowledgement, until it is taken back, that the application can
    /// hardly keep up: the peer then sends no faster (Slow Receiver, RFC 4340, section 11.6).
    pub fn set_slow(&mut self, now: Instant, id: ConnectionId, slow: bool) {
        self.act(now, id, |connection, _| connection.set_slow(slow));
    }

    /// The application did not use the datagram that came in packet `seq` ([`Received::seq`]):
    /// the peer will learn why. What has a Drop Code already keeps it. False if there will be no
    /// report, because of that or because too many packets came since.
    pub fn report_dropped(
        &mut self,
        now: Instant,
        id: ConnectionId,
        seq: Seq,
        code: DropCode,
    ) -> bool {
        let mut told = false;
        self.act(now, id, |connection, _| {
            told = connection.report_dropped(seq, code);
        });
        told
    }

    /// Has the peer said within the last round trip that it can hardly keep up?
    pub fn is_receiver_slow(&self, now: Instant, id: ConnectionId) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.is_receiver_slow(now))
    }

    /// Sends what is queued for at most [`Config::drain_timeout`], then closes; the event `Closed` ends it.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            let until = now + connection.drain_timeout();
            connection.close(ctx, until);
        });
    }

    /// Lets go of a connection, as a program does that drops it or panics: one that is not closing is
    /// reset at once (Reset 2, Aborted), so that the peer does not take the end for a success; one that
    /// is goes on closing.
    pub fn abandon(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, Connection::abandon);
    }

    /// Discards the queue and closes, in good order.
    pub fn discard(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, Connection::discard);
    }

    /// Resets the connection at once (Reset 2, Aborted).
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, Connection::abort);
    }

    /// The same, and tells the peer why: the first [`ErrorText::MAX`] bytes of `text` go with the Reset, which may
    /// be lost.
    pub fn abort_with(&mut self, now: Instant, id: ConnectionId, text: &str) {
        let text = ErrorText::new(text);
        self.act(now, id, |connection, ctx| connection.abort_with(ctx, text));
    }

    fn act(
        &mut self,
        now: Instant,
        id: ConnectionId,
        act: impl FnOnce(&mut Connection, &mut crate::connection::Context<'_>),
    ) {
        // `Closed` is the last event of a connection: whatever is asked of it later does nothing.
        if self
            .get(id)
            .is_some_and(|connection| !connection.is_closed())
        {
            self.with(now, id.slot(), act);
        }
    }

    /// Forgets a closed connection: its unread data and statistics. Call it once after `Closed`.
    ///
    /// A connection that is not closed stays.
    pub fn release(&mut self, id: ConnectionId) {
        if self.get(id).is_some_and(Connection::is_closed) {
            self.drop_connection(id.slot());
        }
    }

    /// The largest datagram that `send` takes (RFC 4340, section 14); keeps room for options, so that an accepted one never fails later.
    pub fn max_datagram_size(&self, id: ConnectionId) -> Option<usize> {
        self.get(id).map(Connection::max_datagram)
    }

    /// The first hop of a connection's path takes IP packets of `mtu` bytes; `Config::path_mtu` may
    /// say less. Where the path is probed larger ones are tried later all the same.
    pub fn limit_path_mtu(&mut self, now: Instant, id: ConnectionId, mtu: u16) {
        self.act(now, id, |connection, ctx| {
            connection.limit_path_mtu(ctx, mtu);
        });
    }

    /// Looks for the path MTU anew, as after a change of network. False, and nothing done, within
    /// two seconds of the last time (RFC 4340, section 14.1), or where discovery is off.
    pub fn rediscover_path_mtu(&mut self, now: Instant, id: ConnectionId) -> bool {
        let mut begun = false;
        self.act(now, id, |connection, ctx| {
            begun = connection.rediscover_path_mtu(ctx);
        });
        begun
    }

    /// Asks for another CCID in mid-connection: from now on these, best first, would do for the data of
    /// this direction. [`Event::Ccid`] tells which one it became; name a single one to get that or
    /// stay with the old. Data goes on under the old CCID until the peer agrees (RFC 4340, 10), the new
    /// one starts from its initial state, and what is in flight then has the fate
    /// [`Fate::Sent`](crate::Fate::Sent).
    ///
    /// # Errors
    /// See [`ChangeCcidError`].
    pub fn change_ccid(
        &mut self,
        now: Instant,
        id: ConnectionId,
        direction: Direction,
        ccids: &[Ccid],
    ) -> Result<(), ChangeCcidError> {
        let mut asked = Err(ChangeCcidError::NotOpen);
        self.act(now, id, |connection, _| {
            asked = connection.change_ccid(now, direction, ccids);
        });
        asked
    }

    /// The path of a connection has changed below its addresses (a tunnel, a handover, Mobile IP):
    /// congestion control begins again, in both directions, as on a new connection (RFC 4340, 10.5).
    pub fn path_changed(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, Connection::path_changed);
    }

    /// Has the send queue room for a datagram of `size` bytes?
    pub fn can_send(&self, id: ConnectionId, size: usize) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.can_send(size, self.room_of(connection)))
    }

    /// Counters and gauges of a connection.
    pub fn stats(&self, id: ConnectionId) -> Option<Stats> {
        self.get(id).map(Connection::stats)
    }

    /// Has the peer stopped sending data, and does it know what became of all of it? (RFC 4340,
    /// section 11.1, after max(0.2 s, 2 round trips); RFC 4341, section 6.2.1; RFC 4342, section
    /// 6.4.) `None` if there is no such connection.
    pub fn is_peer_quiescent(&self, now: Instant, id: ConnectionId) -> Option<bool> {
        self.get(id)
            .map(|connection| connection.is_peer_quiescent(now))
    }

    /// Counters of the endpoint itself.
    pub fn endpoint_stats(&self) -> EndpointStats {
        EndpointStats {
            resets_sent: self.replies.sent,
            connections: self.live,
            memory: self.memory,
            half_open: self.half_open(),
            time_wait: self.time_wait.len(),
            ..self.stats
        }
    }

    /// The service that a connection is for: of those that its listener offers, the one that the
    /// client asked for (RFC 5595, section 3.3).
    pub fn service(&self, id: ConnectionId) -> Option<ServiceCode> {
        self.get(id).map(Connection::service)
    }

    /// DCCP ports and path of a connection: local port, remote port, path.
    pub fn addresses(&self, id: ConnectionId) -> Option<(u16, u16, Path)> {
        let flow = self.get(id)?.flow;
        Some((flow.local_port, flow.remote_port, flow.path))
    }
}

#[cfg(test)]
mod tests;
