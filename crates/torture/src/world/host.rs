//! A host: an endpoint with its own clock, and the applications above it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_net::{FlowId, NodeId, Packet};
use fairwire_proto::{
    ConnectionId, Encapsulation, Endpoint, IcmpQuote, Meta, Path, Payload, SendError, Transmit,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::HeadBuf;

use super::app::Live;
use super::keys::Keys;
use super::places::{address, at_ms, below};
use super::store::{Content, Parcel, Store};
use super::watch::bounded;
use crate::clock::Clock;
use crate::dice::Dice;
use crate::plan::fault::{Incident, TimedIncident};
use crate::plan::script::{Act, Entry, Side};
use crate::plan::settings::endpoint_config;
use crate::plan::{ConnectionPlan, Plan};
use crate::seen::{Origin, Seen};

/// Something that an application does some time after an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chore {
    FreePlace { id: ConnectionId, port: u16 },
    Release { id: ConnectionId },
}

/// A host of the simulator.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) plan: Arc<Plan>,
    pub(super) number: usize,
    node: NodeId,
    middle: NodeId,
    pub(super) endpoint: Endpoint,
    pub(super) clock: Clock,
    secrets: Dice,
    /// If connections of the plan are encrypted.
    pub(super) keys: Option<Keys>,
    /// Until when the host is down.
    down_until: Option<Instant>,
    script: VecDeque<Entry>,
    moments: VecDeque<TimedIncident>,
    pub(super) chores: Vec<(Instant, Chore)>,
    pub(super) live: BTreeMap<ConnectionId, Live>,
    /// The latest connection of each number and side.
    pub(super) newest: BTreeMap<(u16, Side), ConnectionId>,
    /// Connections that the endpoint may know, including half-open ones.
    known: BTreeSet<ConnectionId>,
    /// Connections that have used the initial sequence number of their plan.
    pub(super) begun: BTreeSet<(u16, Side)>,
    head: Box<HeadBuf>,
    /// Whether something has happened since the oracle last saw the state.
    pub(super) is_dirty: bool,
}

impl Host {
    pub(super) fn new(
        plan: &Arc<Plan>,
        number: usize,
        node: NodeId,
        middle: NodeId,
        store: &mut Store,
    ) -> Self {
        let mut secrets = Dice::new(plan.seed, &format!("secret/{number}"));
        let at_server = |entry: &Entry, of: &ConnectionPlan| {
            // The server must also know when a connection is opened.
            of.server == number && entry.act == Act::Open && !of.invited
        };
        let mut script = VecDeque::new();
        for entry in &plan.script {
            let Some(of) = plan.connection(entry.connection) else {
                continue;
            };
            let owner = match entry.side {
                Side::Client => of.client,
                Side::Server => of.server,
            };
            if owner == number {
                script.push_back(entry.clone());
            } else if at_server(entry, of) {
                let side = Side::Server;
                script.push_back(Entry {
                    side,
                    ..entry.clone()
                });
            }
        }
        let mut moments: Vec<TimedIncident> = plan.moments.clone();
        moments.retain(|moment| moment.host == number && is_mine(moment));
        moments.sort_by_key(|moment| moment.at_ms);
        let host = &plan.hosts[number];
        let mut host = Self {
            endpoint: Endpoint::new(endpoint_config(&host.endpoint), secret(&mut secrets)),
            clock: Clock::new(host.clock_ppm),
            plan: Arc::clone(plan),
            number,
            node,
            middle,
            secrets,
            keys: plan.has_dtls().then(|| Keys::new(plan.seed, number)),
            down_until: None,
            script,
            moments: moments.into(),
            chores: Vec::new(),
            live: BTreeMap::new(),
            newest: BTreeMap::new(),
            known: BTreeSet::new(),
            begun: BTreeSet::new(),
            head: Box::new(HeadBuf::new()),
            is_dirty: false,
        };
        host.started(Instant::START, store);
        host.tell_clock(Instant::START, store);
        host
    }

    fn started(&mut self, now: Instant, store: &mut Store) {
        let config = endpoint_config(&self.plan.hosts[self.number].endpoint);
        store
            .watch
            .see(now, self.number, &Seen::Started { config: &config });
        self.listen(now, store);
    }

    fn tell_clock(&mut self, now: Instant, store: &mut Store) {
        let seen = Seen::Clock {
            shows: self.clock.shows(now),
            gains_ppm: self.clock.gains_ppm,
        };
        store.watch.see(now, self.number, &seen);
    }

    pub(super) fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let parcel = store.take(packet.handle);
        if self.down_until.is_some() {
            store.watch.fault("to a host that is down");
            return;
        }
        let local = self.clock.shows(now);
        let remote = match &parcel.content {
            Content::Dccp { .. } => parcel.from,
            Content::Icmp { about, .. } => *about,
        };
        let path = Path {
            encapsulation: self.encapsulation(),
            local: address(&self.plan, self.number, 0),
            remote,
        };
        match parcel.content {
            Content::Dccp { head, payload } => {
                // The host's UDP drops it.
                if self.plan.udp && !parcel.intact {
                    store.watch.fault("dropped by the udp checksum");
                    return;
                }
                let ecn = packet.ecn;
                let meta = Meta { path, ecn };
                let seen = Seen::Arrived {
                    origin: parcel.origin,
                    meta,
                    head: &head,
                    payload: &payload,
                };
                store.watch.see(now, self.number, &seen);
                let payload = Payload::Bytes(payload);
                bounded(|| self.endpoint.handle_datagram(local, meta, &head, payload));
            }
            Content::Icmp {
                error,
                quote,
                genuine,
                ..
            } => {
                let seen = Seen::Icmp { error, genuine };
                store.watch.see(now, self.number, &seen);
                let head = &quote;
                self.endpoint
                    .handle_icmp(local, path, IcmpQuote { error, head });
            }
        }
        self.is_dirty = true;
    }

    fn encapsulation(&self) -> Encapsulation {
        if self.plan.udp {
            Encapsulation::Udp
        } else {
            Encapsulation::Native
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        if self.down_until.is_some() || store.watch.is_over() {
            return None;
        }
        loop {
            let local = self.clock.shows(now);
            let transmit = bounded(|| self.endpoint.poll_transmit(local, &mut self.head));
            if let Some(transmit) = transmit {
                self.is_dirty = true;
                return Some(self.packet(now, &transmit, store));
            }
            // The application's reaction to an event may create more to send.
            if !self.events(now, store) {
                break;
            }
        }
        if std::mem::take(&mut self.is_dirty) {
            self.tell_state(now, store);
        }
        None
    }

    fn packet(&mut self, now: Instant, transmit: &Transmit, store: &mut Store) -> Packet {
        let number = store.watch.next_packet(now, self.number);
        let head = self.head.as_slice();
        let seen = Seen::Sent {
            packet: number,
            head,
            transmit,
        };
        store.watch.see(now, self.number, &seen);
        self.known.extend(transmit.connection);
        let payload = transmit.payload.to_bytes();
        let len = below(&self.plan) + head.len() + payload.len();
        let parcel = Parcel {
            from: transmit.path.local,
            to: transmit.path.remote,
            origin: Origin::Genuine(number),
            intact: true,
            dont_fragment: transmit.dont_fragment,
            content: Content::Dccp {
                head: head.to_vec(),
                payload,
            },
        };
        Packet {
            source: self.node,
            destination: self.middle,
            flow: FlowId(u32::try_from(self.number).unwrap_or(u32::MAX)),
            wire_len: u32::try_from(len).unwrap_or(u32::MAX),
            ecn: transmit.ecn,
            handle: store.put(parcel),
        }
    }

    /// Shows the oracle the state of all connections and of the endpoint.
    fn tell_state(&mut self, now: Instant, store: &mut Store) {
        self.known.extend(self.live.keys());
        self.known.retain(|&id| {
            let (stats, inspection) = (self.endpoint.stats(id), self.endpoint.inspect(id));
            let (Some(stats), Some(inspection)) = (stats, inspection) else {
                store.watch.see(now, self.number, &Seen::Gone { id });
                return false;
            };
            let seen = Seen::State {
                id,
                stats: &stats,
                inspection: &inspection,
            };
            store.watch.see(now, self.number, &seen);
            true
        });
        let stats = self.endpoint.endpoint_stats();
        let seen = Seen::Endpoint { stats: &stats };
        store.watch.see(now, self.number, &seen);
        let inspection = self.endpoint.inspect_endpoint();
        let seen = Seen::Inside {
            inspection: &inspection,
        };
        store.watch.see(now, self.number, &seen);
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let moment = self.moments.front().map(|moment| at_ms(moment.at_ms));
        if let Some(up) = self.down_until {
            return Some(moment.map_or(up, |at| at.min(up)));
        }
        let script = self.script.front().map(|entry| at_ms(entry.at_ms));
        let chores = self.chores.iter().map(|&(at, _)| at).min();
        let live = self.live.values().filter_map(Live::next_timeout).min();
        let endpoint = self.endpoint.next_timeout().map(|at| self.clock.when(at));
        [moment, script, chores, live, endpoint]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        while let Some(moment) = self.moments.front().filter(|m| at_ms(m.at_ms) <= now) {
            let what = moment.what;
            self.moments.pop_front();
            self.happen(now, what, store);
        }
        if let Some(up) = self.down_until {
            if now < up {
                return;
            }
            self.down_until = None;
            self.begin_again(now, store);
        }
        let local = self.clock.shows(now);
        if self.endpoint.next_timeout().is_some_and(|at| at <= local) {
            bounded(|| self.endpoint.handle_timeout(local));
            self.is_dirty = true;
        }
        while let Some(entry) = self.script.front().filter(|e| at_ms(e.at_ms) <= now) {
            let entry = entry.clone();
            self.script.pop_front();
            self.act(now, &entry, store);
        }
        while let Some(place) = self.chores.iter().position(|&(at, _)| at <= now) {
            let (_, chore) = self.chores.remove(place);
            self.chore(now, chore, store);
        }
        self.applications(now, store);
    }

    /// Lets streams send and slow readers read.
    fn applications(&mut self, now: Instant, store: &mut Store) {
        let ids: Vec<ConnectionId> = self.live.keys().copied().collect();
        for id in ids {
            while let Some(size) = self.live.get_mut(&id).and_then(|live| live.due(now)) {
                let sent = self.send(now, id, size, false, store);
                if matches!(sent, Err(SendError::Closed | SendError::NotListening))
                    && let Some(live) = self.live.get_mut(&id)
                {
                    live.stop_sending();
                }
            }
            if self.live.get_mut(&id).is_some_and(|live| live.reads(now)) {
                self.read(now, id, store);
            }
        }
    }

    fn happen(&mut self, now: Instant, what: Incident, store: &mut Store) {
        match what {
            Incident::Restart { after_ms } => {
                self.down_until = Some(now + Duration::from_millis(after_ms));
            }
            Incident::ClockStep { by_ms } => {
                self.clock.step(now, Duration::from_millis(by_ms));
                self.tell_clock(now, store);
            }
            Incident::ClockRate { gains_ppm } => {
                self.clock.run_at(now, gains_ppm);
                self.tell_clock(now, store);
            }
            _ => return,
        }
        store.watch.fault(what.name());
        store.watch.note(now, self.number, format_args!("{what:?}"));
    }

    /// Starts a new endpoint without state after a restart.
    fn begin_again(&mut self, now: Instant, store: &mut Store) {
        let config = endpoint_config(&self.plan.hosts[self.number].endpoint);
        self.endpoint = Endpoint::new(config, secret(&mut self.secrets));
        self.live.clear();
        self.known.clear();
        self.newest.clear();
        self.chores.clear();
        // Entries of the script while the host was down have no effect.
        while self.script.front().is_some_and(|e| at_ms(e.at_ms) < now) {
            self.script.pop_front();
        }
        self.started(now, store);
        self.is_dirty = true;
    }
}

/// Returns whether the host, and not the middlebox, performs this.
fn is_mine(moment: &TimedIncident) -> bool {
    matches!(
        moment.what,
        Incident::Restart { .. } | Incident::ClockStep { .. } | Incident::ClockRate { .. }
    )
}

fn secret(dice: &mut Dice) -> [u8; 32] {
    std::array::from_fn(|_| dice.byte())
}
