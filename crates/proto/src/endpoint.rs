//! All connections and listeners of one host, behind one set of calls.
//!
//! - [`input`]: received packets and ICMP errors; [`output`]: transmission and timers.
//! - [`send`]: the send queues of connections; [`close`]: how the application ends them.
//! - [`table`]: finds a connection by its [`Flow`].
//! - [`listener`]: the LISTEN state; [`time_wait`]: the TIMEWAIT state.
//! - [`admission`]: which Requests are accepted, and how; [`admit`]: the application's hook that decides about them.
//! - [`backlog`]: half-open connections; [`cookie`]: Init Cookies, which keep this state at the client.
//! - [`source_limits`]: rate limits for answers to unknown sources; [`source`]: what counts as one source.
//! - [`migration`]: packets of peers that have another address now; [`followers`]: the connections that follow them.
//! - [`memory`]: the memory budget; [`secret`]: keys and unpredictable values; [`timers`]: the timer queue.

mod admission;
mod admit;
mod backlog;
mod close;
mod cookie;
mod followers;
mod input;
#[cfg(any(test, feature = "inspect"))]
mod inspect;
mod listener;
mod memory;
mod migration;
mod mobile;
mod output;
mod ports;
mod secret;
mod send;
mod source;
mod source_limits;
mod table;
mod time_wait;
mod timers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_wire::{Ccid, DropCode, Seq, ServiceCode};
use slab::Slab;
use zeroize::Zeroize;

use crate::config::{Config, EndpointConfig};
use crate::connection::{Connection, NEW_FOOTPRINT, Origin, Subflow};
use crate::error::{ChangeCcidError, ListenError, StartError};
use crate::event::{ConnectionEvent, Direction, Event, Received};
use crate::feature::Role;
use crate::flow::Flow;
use crate::half::FeedbackOutcome;
use crate::id::ConnectionId;
use crate::records::Records;
use crate::reply::Replies;
use crate::stats::{EndpointStats, Stats};
use crate::transmit::Path;
use backlog::Backlog;
use followers::Followers;
use listener::Listeners;
use secret::Secret;
use source::{Source, SourceCounts};
use source_limits::SourceLimits;
use table::Table;
use time_wait::TimeWait;
use timers::Timers;

pub use admit::{Admit, AdmitHook, Attempt};

/// The largest number of connections that [`Endpoint::reserve`] makes room for.
const RESERVED: usize = 1 << 20;

/// A DCCP endpoint.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    secret: Secret,
    listeners: Listeners,
    connections: Slab<Box<Connection>>,
    /// Memory of all connections, bytes.
    memory: usize,
    /// Connections begun so far. It is the upper half of the next connection id.
    count: u32,
    table: Table,
    followers: Followers,
    /// The connections that may have to go to another address of this host.
    mobile: mobile::Mobile,
    /// The second flows of such connections: of the address that they leave, or go to.
    seconds: BTreeMap<usize, Flow>,
    time_wait: TimeWait,
    timers: Timers,
    /// Queue of the slots that may have something to send, served round-robin.
    ready: VecDeque<usize>,
    /// For each slot, whether it is in `ready`.
    is_ready: Vec<bool>,
    /// Connections in REQUEST by path, for ICMP errors that quote no ports.
    connecting: BTreeSet<(Path, usize)>,
    /// Connections in RESPOND whose clients have no Init Cookie.
    backlog: Backlog,
    /// Connections in RESPOND whose clients have an Init Cookie as well.
    spare: Backlog,
    /// Number of connections that are not closed.
    live: usize,
    /// Number of live incoming connections of each source.
    incoming: SourceCounts,
    /// Number of random draws so far.
    draws: u64,
    /// The time until which a client may hold a valid Init Cookie.
    cookies_until: Instant,
    replies: Replies,
    source_limits: SourceLimits,
    events: VecDeque<ConnectionEvent>,
    outcome: FeedbackOutcome,
    records: Records,
    stats: EndpointStats,
}

impl Endpoint {
    /// Creates an endpoint without connections.
    ///
    /// `secret` must be unguessable. Initial sequence numbers are a keyed hash of the connection's addresses and the
    /// time (RFC 4340, section 7.2). The endpoint has no other source of randomness.
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
            followers: Followers::default(),
            mobile: mobile::Mobile::default(),
            seconds: BTreeMap::new(),
            time_wait: TimeWait::default(),
            timers: Timers::default(),
            ready: VecDeque::new(),
            is_ready: Vec::new(),
            connecting: BTreeSet::new(),
            backlog: Backlog::default(),
            spare: Backlog::default(),
            live: 0,
            incoming: SourceCounts::default(),
            draws: 0,
            cookies_until: Instant::START,
            replies: Replies::new(config.max_resets_per_s),
            source_limits: SourceLimits::new(config.max_answers_per_source_per_s),
            events: VecDeque::new(),
            outcome: FeedbackOutcome::default(),
            records: Records::default(),
            stats: EndpointStats::default(),
            config,
            secret,
        }
    }

    /// Listens on DCCP port `port` for the given service codes.
    ///
    /// Each accepted connection uses `config`.
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

    /// Reserves room in the endpoint's tables for all connections that its limits allow.
    ///
    /// Servers call it so that no packet has to wait while a table grows and moves. It reserves about 150 bytes of
    /// address space per connection; the operating system provides the memory when it is first used.
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

    /// Stops listening on `port`. Connections that are already accepted continue.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.remove(port);
    }

    /// Limits the connections on `port` that the application has not yet taken over.
    ///
    /// Each [`Event::Accepted`] takes one of `places`, and [`Endpoint::free_place`] gives it back. After this call all
    /// places are free. Without this call a listener has no limit.
    ///
    /// While no place is free, Requests are refused with Reset 9, Too Busy. A packet that would complete a handshake is
    /// dropped and counted in [`EndpointStats::deferred`]. Its client repeats it (RFC 4340, section 8.1.5), or is asked
    /// to, and is served when a place is free. So a connection that its client considers open does not end for lack of
    /// a place, as long as the client keeps trying.
    pub fn set_accept_places(&mut self, port: u16, places: usize) {
        self.listeners.set_accept_places(port, places);
    }

    /// Gives back one place of `port`, because the application has taken over a connection.
    ///
    /// The client that has waited longest for a place gets a Sync, which it answers at once. It need not wait for its
    /// own retransmission timer, which doubles each time.
    pub fn free_place(&mut self, now: Instant, port: u16) {
        self.listeners.free_place(port);
        self.resume_waiting(now, port);
    }

    /// Waits on DCCP port `local_port` for one client and invites it with a Listen.
    ///
    /// The invitation lets the client's Request pass NATs and firewalls on this side too (simultaneous open, RFC 5596).
    /// Both ends must have exchanged their addresses, ports and the service by other means.
    ///
    /// The connection has its id at once. [`Event::Connected`] says that it is open. If the client does not come within
    /// `Config::connect_timeout`, the connection ends. Listeners on the same port serve all other clients. RFC 5596,
    /// section 4: no setting has to permit it first.
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
        self.with_connection(now, slot, |_, _| {});
        Ok(id)
    }

    /// Begins a connection along `path` from DCCP port `local_port`, or from a free port, to `remote_port`.
    ///
    /// It is for one service (RFC 5595, sections 3.1 and 3.3).
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
        self.with_connection(now, slot, |_, _| {});
        Ok(id)
    }

    /// Returns the flow of a new outgoing or inviting connection, if it may begin.
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
        // RFC 4340, 8.1.2, RFC 5595, 2.2, 2.5, 3.1 and 3.3: exactly one Service Code, and a valid one.
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

    /// Returns the initial parameters of a connection on `flow`.
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

    /// Returns the id of the connection that is added next.
    fn next_id(&mut self) -> ConnectionId {
        self.count = self.count.wrapping_add(1);
        ConnectionId::new(self.count, self.connections.vacant_key())
    }

    /// Adds a connection and returns its slot.
    fn add(&mut self, connection: Connection) -> usize {
        let flow = connection.flow();
        if connection.subflow().is_incoming() {
            self.incoming.add(Source::of(flow.path.remote.ip()));
        }
        let slot = self.connections.insert(Box::new(connection));
        self.live += 1;
        self.table.insert(flow, slot);
        self.recount(slot);
        slot
    }

    /// Frees the flow and the timer of a connection that has ended.
    fn detach(&mut self, slot: usize) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = connection.flow();
        if connection.subflow().is_incoming() {
            self.incoming.remove(Source::of(flow.path.remote.ip()));
        }
        self.live -= 1;
        if connection.subflow().is_mobile() {
            self.mobile.remove(&flow);
        }
        self.forget_second(slot);
        self.table.remove(&flow);
        self.followers.remove(&flow, slot);
        self.timers.set(slot, None);
    }

    fn get(&self, id: ConnectionId) -> Option<&Connection> {
        let connection = self.connections.get(id.slot())?;
        Some(&**connection).filter(|connection| connection.id() == id)
    }

    /// Returns the next event and its connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// Returns the next received datagram.
    pub fn recv(&mut self, id: ConnectionId) -> Option<Received> {
        let mut next = None;
        self.recv_many(id, 1, |received| next = Some(received));
        next
    }

    /// Gives at most `limit` received datagrams to `each`, in order. Returns how many.
    pub fn recv_many(
        &mut self,
        id: ConnectionId,
        limit: usize,
        mut each: impl FnMut(Received),
    ) -> usize {
        let connection = self.connections.get_mut(id.slot());
        let Some(connection) = connection.filter(|connection| connection.id() == id) else {
            return 0;
        };
        let mut taken = 0;
        for received in std::iter::from_fn(|| connection.recv()).take(limit) {
            taken += 1;
            each(received);
        }
        if taken > 0 {
            self.recount(id.slot());
        }
        taken
    }

    /// Stops reading for the rest of the connection.
    ///
    /// The receive queue is discarded. The peer learns that further data is not wanted (Drop Code 1 of RFC 4340,
    /// section 11.7.2). Our own data is still sent.
    pub fn stop_reading(&mut self, now: Instant, id: ConnectionId) {
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, _| connection.stop_reading());
        }
    }

    /// Sets or clears the Slow Receiver option on all acknowledgements (RFC 4340, section 11.6).
    ///
    /// It tells the peer that the application can hardly keep up. The peer then does not increase its rate.
    pub fn set_slow(&mut self, now: Instant, id: ConnectionId, slow: bool) {
        self.act(now, id, |connection, _| connection.set_slow(slow));
    }

    /// Reports that the application did not use the datagram of packet `seq` ([`Received::seq`]), and why.
    ///
    /// The report goes to the peer as a Drop Code. A packet that already has a Drop Code keeps it. Returns false if
    /// there is no report, for this reason or because too many packets have arrived since. A peer that may send the
    /// datagram again does so, and then it is delivered once more.
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

    /// Returns whether the peer has sent Slow Receiver within the last round trip.
    pub fn is_receiver_slow(&self, now: Instant, id: ConnectionId) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.subflow().is_receiver_slow(now))
    }

    /// Returns whether the fates of the connection's datagrams are reported ([`Config::report_fates`]).
    pub fn reports_fates(&self, id: ConnectionId) -> bool {
        self.get(id).is_some_and(Connection::reports_fates)
    }

    fn act(
        &mut self,
        now: Instant,
        id: ConnectionId,
        act: impl FnOnce(&mut Connection, &mut crate::connection::Context<'_>),
    ) {
        // `Closed` is the last event of a connection: later calls have no effect.
        if self
            .get(id)
            .is_some_and(|connection| !connection.is_closed())
        {
            self.with_connection(now, id.slot(), act);
        }
    }

    /// Releases a closed connection, with its unread data and statistics.
    ///
    /// Call it once, after `Closed`. A connection that is not closed stays.
    pub fn release(&mut self, id: ConnectionId) {
        if self.get(id).is_some_and(Connection::is_closed) {
            self.drop_connection(id.slot());
        }
    }

    /// Sets the MTU of the first hop of a connection's path, in bytes of an IP packet.
    ///
    /// `Config::path_mtu` may set a lower limit. Where the path is probed, larger packets are still tried later.
    pub fn limit_path_mtu(&mut self, now: Instant, id: ConnectionId, mtu: u16) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, |subflow, call| subflow.limit_path_mtu(call, mtu));
        });
    }

    /// Restarts path MTU discovery, for example after a change of network.
    ///
    /// Returns false and does nothing within two seconds of the last call (RFC 4340, section 14.1), or where discovery
    /// is off.
    pub fn rediscover_path_mtu(&mut self, now: Instant, id: ConnectionId) -> bool {
        let mut begun = false;
        self.act(now, id, |connection, ctx| {
            begun = connection.with(ctx, Subflow::rediscover_path_mtu);
        });
        begun
    }

    /// Asks for another CCID during the connection.
    ///
    /// `ccids` lists the acceptable CCIDs for the data of this direction, best first. [`Event::Ccid`] tells the result.
    /// Name a single CCID to get either that one or the old one. Data continues under the old CCID until the peer
    /// agrees (RFC 4340, 10). The new CCID starts from its initial state, and the packets in flight at that moment have
    /// the fate [`Fate::Sent`](crate::Fate::Sent).
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
        self.act(now, id, |connection, ctx| {
            asked = connection.with(ctx, |subflow, call| {
                subflow.change_ccid(call, direction, ccids)
            });
        });
        asked
    }

    /// Returns the counters and gauges of a connection.
    pub fn stats(&self, id: ConnectionId) -> Option<Stats> {
        self.get(id).map(Connection::stats)
    }

    /// Returns whether the peer has stopped sending data and knows the fate of all of it.
    ///
    /// The rules are in RFC 4340, section 11.1 (after max(0.2 s, 2 round trips)), RFC 4341, section 6.2.1, and RFC
    /// 4342, section 6.4. `None` if there is no such connection.
    pub fn is_peer_quiescent(&self, now: Instant, id: ConnectionId) -> Option<bool> {
        self.get(id)
            .map(|connection| connection.subflow().is_peer_quiescent(now))
    }

    /// Returns the counters of the endpoint itself.
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

    /// Returns the service of a connection.
    ///
    /// A listener may offer several; it is the one that the client asked for (RFC 5595, section 3.3).
    pub fn service(&self, id: ConnectionId) -> Option<ServiceCode> {
        self.get(id)
            .map(|connection| connection.subflow().service())
    }

    /// Returns the local DCCP port, the remote DCCP port and the path of a connection.
    pub fn addresses(&self, id: ConnectionId) -> Option<(u16, u16, Path)> {
        let flow = self.get(id)?.flow();
        Some((flow.local_port, flow.remote_port, flow.path))
    }
}

#[cfg(test)]
mod tests;
