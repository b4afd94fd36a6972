//! DCCP peers: an endpoint with the application above it.
//!
//! Headers are encoded by the sender and decoded by the receiver; only payloads are synthetic. The tag of a payload is
//! the time at which the application offered it.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_net::{Packet, Release};
use fairwire_proto::{
    ChangeCcidError, Config, ConnectionId, Direction, Encapsulation, Endpoint, Event, Meta, Path,
    Payload, Security, SendError,
};
use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::{Ccid, HeadBuf, ServiceCode};

use super::super::application::Application;
use super::super::ends::{Ends, port};
use super::super::header::IP_HEADER;
use super::super::peer::{Peer, Reading};
use super::super::store::Store;
use super::super::ticks::Ticks;
use super::packet::DccpPacket;
use super::sending::Sending;
use crate::traffic::Offer;

/// The service that simulated servers offer.
pub(super) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"fair");

/// The role of a side in opening the connection.
#[derive(Debug)]
enum Role {
    /// Connects at this time.
    Client {
        at: Instant,
        service: ServiceCode,
        config: Box<Config>,
    },
    /// Waits for a Request.
    Server,
}

/// One side of a DCCP flow.
#[derive(Debug)]
pub(super) struct DccpPeer {
    ends: Ends,
    name: String,
    endpoint: Endpoint,
    role: Role,
    path: Path,
    connection: Option<ConnectionId>,
    /// The application, which begins when the connection is open.
    application: Option<Application>,
    /// The time in which a slow application reads one datagram.
    read_every: Option<Duration>,
    /// The time of its next read, once the connection is open.
    next_read: Option<Instant>,
    head: Box<HeadBuf>,
    below: u32,
    /// Whether to close the connection when the application has sent everything.
    closes: bool,
    /// Whether the connection ended in good order; `None` while it has not ended.
    ended: Option<bool>,
    /// The CCIDs to ask for and their times, in order.
    changes: VecDeque<(Instant, u8)>,
    /// The ticks at which its timers fire; `None` if they fire at any time.
    ticks: Option<Ticks>,
    /// How its datagrams are sent.
    send: Sending,
    /// What encrypts them.
    security: Option<Arc<dyn Security>>,
    /// The time at which DCCP's handshake was over.
    opened: Option<Instant>,
}

impl DccpPeer {
    pub(super) fn client(
        (ends, name): (Ends, String),
        endpoint: Endpoint,
        encapsulation: Encapsulation,
        (at, service, config): (Instant, ServiceCode, Config),
        application: Option<Application>,
    ) -> Self {
        let role = Role::Client {
            at,
            service,
            config: Box::new(config),
        };
        Self::new((ends, name), endpoint, encapsulation, role, application)
    }

    /// Returns the server's side. `endpoint` listens already.
    pub(super) fn server(
        (ends, name): (Ends, String),
        endpoint: Endpoint,
        encapsulation: Encapsulation,
        application: Option<Application>,
    ) -> Self {
        Self::new(
            (ends, name),
            endpoint,
            encapsulation,
            Role::Server,
            application,
        )
    }

    fn new(
        (ends, name): (Ends, String),
        endpoint: Endpoint,
        encapsulation: Encapsulation,
        role: Role,
        application: Option<Application>,
    ) -> Self {
        let below = IP_HEADER + u32::from(encapsulation.overhead());
        Self {
            ends,
            name,
            endpoint,
            role,
            path: ends.path(encapsulation),
            connection: None,
            application,
            read_every: None,
            next_read: None,
            head: Box::new(HeadBuf::new()),
            below,
            closes: false,
            ended: None,
            changes: VecDeque::new(),
            ticks: None,
            send: Sending::default(),
            security: None,
            opened: None,
        }
    }

    /// Sets the ticks at which its timers fire.
    pub(super) fn ticking(self, ticks: Option<Ticks>) -> Self {
        Self { ticks, ..self }
    }

    /// Sets how its datagrams are sent.
    pub(super) fn sending(self, send: Sending) -> Self {
        Self { send, ..self }
    }

    /// Sets what encrypts its datagrams.
    pub(super) fn encrypting(self, security: Option<Arc<dyn Security>>) -> Self {
        Self { security, ..self }
    }

    /// Returns when the endpoint needs to be called; with ticks, that is at the next tick.
    fn endpoint_timeout(&self) -> Option<Instant> {
        let at = self.endpoint.next_timeout()?;
        Some(self.ticks.map_or(at, |ticks| ticks.not_before(at)))
    }

    /// Sets the CCIDs to ask for, each at its time.
    pub(super) fn with_ccid_changes(
        mut self,
        changes: impl Iterator<Item = (Instant, u8)>,
    ) -> Self {
        self.changes = changes.collect();
        self
    }

    /// Sets whether to close the connection when the application has sent everything. An orderly end is then not noted.
    pub(super) fn closing(self, closes: bool) -> Self {
        Self { closes, ..self }
    }

    /// Sets the time in which the application reads one datagram. With `None` it reads each datagram at once.
    pub(super) fn reading(self, every: Option<Duration>) -> Self {
        Self {
            read_every: every,
            ..self
        }
    }
}

impl Peer for DccpPeer {
    fn ends(&self) -> Ends {
        self.ends
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let slot = store.slot_mut(packet.handle);
        let payload = std::mem::replace(&mut slot.payload, Payload::EMPTY);
        let meta = Meta {
            path: self.path,
            ecn: packet.ecn,
        };
        self.endpoint
            .handle_datagram(now, meta, &slot.head, payload);
        let (sent_at, is_data) = (slot.sent_at, slot.is_data);
        store.release(packet.handle);
        store
            .meter(self.ends.incoming)
            .arrived(now, sent_at, packet.wire_len, is_data);
        self.events(now, store);
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        loop {
            if let Some(transmit) = self.endpoint.poll_transmit(now, &mut self.head) {
                let payload_len = u32::try_from(transmit.payload.len()).unwrap_or(u32::MAX);
                let head_len = u32::try_from(self.head.len()).unwrap_or(u32::MAX);
                let is_data = transmit.id.is_some();
                let content = DccpPacket {
                    in_udp: transmit.path.encapsulation == Encapsulation::Udp,
                };
                let handle = store.put(content, transmit.payload, now, is_data);
                let slot = store.slot_mut(handle);
                slot.head.extend_from_slice(self.head.as_slice());
                if is_data {
                    store.meter(self.ends.outgoing).sent(now);
                }
                let wire_len = self.below + head_len + payload_len;
                return Some(self.ends.packet(wire_len, transmit.ecn, handle));
            }
            // The packet that left made room, which a greedy application fills at once.
            if !self.refill(now, store) && !self.close_if_sent(now) {
                return None;
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let connect = match (&self.role, self.connection) {
            (Role::Client { at, .. }, None) => Some(*at),
            _ => None,
        };
        let offer = self.application.as_ref().and_then(Application::next);
        let change = self.changes.front().map(|&(at, _)| at);
        Instant::earliest([
            connect,
            offer,
            change,
            self.next_read,
            self.endpoint_timeout(),
        ])
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        self.connect_if_due(now, store);
        self.change_ccid_if_due(now, store);
        if self.endpoint_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        self.events(now, store);
        self.offer_due(now, store);
        self.read_slowly(now, store);
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn is_complete(&self) -> bool {
        self.ended == Some(true)
    }

    fn reading(&self) -> Reading {
        let stats = self.connection.and_then(|id| self.endpoint.stats(id));
        let Some(stats) = stats else {
            return Reading::default();
        };
        let gauges = stats.gauges;
        let rate = gauges.rate_bytes_per_s.map(Rate::from_bytes_per_s);
        Reading {
            cwnd: gauges.cwnd_packets,
            ssthresh: gauges
                .ssthresh_packets
                .filter(|packets| packets.is_finite()),
            rate_bits_per_s: rate.map(|rate| rate.bits_per_s() as f64),
            srtt: stats.srtt.map(Into::into),
            p: gauges.p,
            cuts: Some(gauges.cuts),
            timeouts: Some(gauges.timeouts),
            retransmitted: None,
            syncs: Some(stats.syncs_sent),
            ack_vector_state: Some(stats.ack_vector_state as u64),
        }
    }
}

impl DccpPeer {
    fn connect_if_due(&mut self, now: Instant, store: &mut Store) {
        let Role::Client {
            at,
            service,
            config,
        } = &mut self.role
        else {
            return;
        };
        if self.connection.is_some() || now < *at {
            return;
        }
        *at = Instant::MAX;
        let (service, config) = (*service, std::mem::take(&mut **config));
        let port = port(self.ends.outgoing);
        match self
            .endpoint
            .connect(now, self.path, Some(port), port, service, config)
        {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => store.notes.push(format!("{}: {error}", self.name)),
        }
    }

    fn change_ccid_if_due(&mut self, now: Instant, store: &mut Store) {
        while let Some(&(at, ccid)) = self.changes.front().filter(|&&(at, _)| at <= now) {
            self.changes.pop_front();
            let direction = Direction::Send;
            let asked = match self.connection {
                Some(id) => self
                    .endpoint
                    .change_ccid(now, id, direction, &[Ccid::new(ccid)]),
                None => Err(ChangeCcidError::NotOpen),
            };
            match asked {
                Ok(()) => {}
                Err(error) if self.closes => {
                    let (flow, at) = (self.flow(), at.saturating_since(Instant::START));
                    let none = format!("{flow}: no change to CCID {ccid}");
                    let note = match error {
                        ChangeCcidError::NotOpen => format!(
                            "{none} of flows that were not open, or had nothing left to send, at {at}"
                        ),
                        error => format!("{none} of some flows at {at}: {error}"),
                    };
                    store.note_once(note);
                }
                Err(error) => {
                    let note = format!("{}: no change to CCID {ccid} at {now}: {error}", self.name);
                    store.notes.push(note);
                }
            }
        }
    }

    fn events(&mut self, now: Instant, store: &mut Store) {
        while let Some((connection, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected | Event::Accepted { .. } => {
                    self.connection = Some(connection);
                    self.next_read = self.read_every.map(|every| now + every);
                    self.opened = Some(now);
                    match self.security.take() {
                        Some(security) => self.endpoint.secure(now, connection, security),
                        None => self.start(now, store),
                    }
                }
                Event::Secured => {
                    self.note_handshake(now, store);
                    self.start(now, store);
                }
                Event::PathMtu { mtu, .. } => {
                    let note = format!("{}: at {now} the path takes {mtu} bytes", self.name);
                    store.notes.push(note);
                }
                Event::Readable if self.read_every.is_none() => {
                    while self.read(now, connection, store) {}
                }
                Event::Ccid {
                    direction: Direction::Send,
                    ccid,
                } => {
                    if self.closes {
                        let note =
                            format!("{}: the data of open flows changed to {ccid}", self.flow());
                        store.note_once(note);
                    } else {
                        let note = format!("{}: the data has {ccid} from {now} on", self.name);
                        store.notes.push(note);
                    }
                }
                Event::Closed { reason } => {
                    self.end();
                    self.next_read = None;
                    let in_order = reason.is_orderly();
                    self.ended = Some(in_order);
                    if !(self.closes && in_order) {
                        let note =
                            format!("{}: the connection ended at {now}: {reason:?}", self.name);
                        store.notes.push(note);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes how long the handshake of the encryption took the side that connects.
    fn note_handshake(&self, now: Instant, store: &mut Store) {
        if let (Role::Client { .. }, Some(opened), false) = (&self.role, self.opened, self.closes) {
            // Without fractions, so that the notes of several seeds are one if they agree.
            let took = Duration::from_millis(now.saturating_since(opened).as_nanos() / 1_000_000);
            let note = format!("{}: the DTLS handshake took {took}", self.name);
            store.notes.push(note);
        }
    }

    /// Returns the name of the flow that a short flow belongs to. Short flows are called `FLOW/NUMBER`.
    fn flow(&self) -> &str {
        let parts = self.name.rsplit_once('/');
        parts.map_or(&*self.name, |(flow, _)| flow)
    }

    /// Lets the application read a datagram; returns false if there is none.
    fn read(&mut self, now: Instant, connection: ConnectionId, store: &mut Store) -> bool {
        let Some(received) = self.endpoint.recv(connection) else {
            return false;
        };
        let offered_at = received.payload.tag().map(Instant::from_nanos);
        let meter = store.meter(self.ends.incoming);
        meter.received(now, received.payload.len() as u64, offered_at);
        true
    }

    /// Lets a slow application read the datagrams for which it had time.
    fn read_slowly(&mut self, now: Instant, store: &mut Store) {
        while let (Some(at), Some(connection)) = (self.next_read, self.connection) {
            if at > now {
                break;
            }
            self.next_read = self.read_every.map(|every| at + every);
            self.read(now, connection, store);
        }
    }

    /// Starts the application when the connection is open.
    fn start(&mut self, now: Instant, store: &mut Store) {
        if let Some(application) = &mut self.application {
            application.begin(now);
        }
        self.offer_due(now, store);
    }

    /// Ends the application.
    fn end(&mut self) {
        if let Some(application) = &mut self.application {
            application.end();
        }
    }

    /// Offers all datagrams that are due.
    fn offer_due(&mut self, now: Instant, store: &mut Store) {
        if let (Some(application), Some(id)) = (&mut self.application, self.connection) {
            let input = || self.endpoint.encoder_input(now, id).unwrap_or_default();
            application.adapt(now, input);
        }
        while let Some(offer) = self.application.as_mut().and_then(|it| it.due(now)) {
            self.offer(now, offer, store);
        }
    }

    /// Closes the connection, once, when the application has sent everything; returns true if it did.
    fn close_if_sent(&mut self, now: Instant) -> bool {
        let is_spent = self.application.as_ref().is_some_and(Application::is_spent);
        let Some(id) = self.connection.filter(|_| self.closes && is_spent) else {
            return false;
        };
        self.application = None;
        self.endpoint.close(now, id);
        true
    }

    /// Lets a greedy application offer datagrams while there is room; returns true if it offered any.
    fn refill(&mut self, now: Instant, store: &mut Store) -> bool {
        let Some(id) = self.connection else {
            return false;
        };
        let wanted = |it: &Application| it.wanted(now);
        let mut offered = false;
        while let Some(offer) = self.application.as_ref().and_then(wanted) {
            // With path MTU probing, the largest datagram may have become smaller.
            let most = self.endpoint.max_datagram_size(id);
            let size = (offer.bytes as usize).min(most.unwrap_or(0));
            if !self.endpoint.can_send(id, size) || !self.offer(now, offer, store) {
                break;
            }
            offered = true;
        }
        offered
    }

    /// Offers one datagram of the application; returns false if there was none or the endpoint refused it.
    fn offer(&mut self, now: Instant, offer: Offer, store: &mut Store) -> bool {
        let (Some(application), Some(id)) = (&mut self.application, self.connection) else {
            return false;
        };
        let most = self.endpoint.max_datagram_size(id).unwrap_or(0);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let size = application.allowed(offer.bytes.min(most));
        if size == 0 {
            application.end();
            return false;
        }
        let payload = Payload::synthetic(size, now.as_nanos());
        let meter = store.meter(self.ends.outgoing);
        let options = self.send.options(now, &offer);
        match self.endpoint.send_with(now, id, payload, options) {
            Ok(_) => {
                meter.offered(now);
                application.spend(size);
                true
            }
            // Of a broken group the rest is of no use.
            Err(SendError::Full | SendError::GroupBroken { .. }) => {
                meter.offered(now);
                meter.refused(now);
                false
            }
            Err(error) => {
                application.end();
                store
                    .notes
                    .push(format!("{}: at {now}: {error}", self.name));
                false
            }
        }
    }
}
