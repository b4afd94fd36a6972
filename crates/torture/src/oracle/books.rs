//! What the oracle remembers of a run.
//!
//! Times of a host are its own clock's, which may run at another rate than the observer's.

use std::collections::{BTreeMap, BTreeSet};

use fairwire_proto::{
    CloseReason, Config, ConnectionId, DatagramId, EndpointConfig, EndpointStats, Fate, IcmpError,
    Inspection, Stats,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{PacketType, ResetCode, Seq, SeqNo};

use super::kept::{Acks, Events, Expected, Features, Missing, Pipe, Rates, Repeats, Timeouts};
use super::packet::{Digest, Flow};
use crate::seen::PacketNo;

/// A connection: its host, how often that one began, its name there.
pub(crate) type Key = (usize, u32, ConnectionId);

/// Arrivals that a flow remembers until a connection claims them.
const UNCLAIMED: usize = 256;

/// A packet that some endpoint sent.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    /// The connection that sent it; stateless answers have none.
    pub(crate) sender: Option<Key>,
    /// The ECN field with which it left.
    pub(crate) ecn: Ecn,
    /// Did it arrive, as it was sent, at a connection that may have taken it for valid?
    pub(crate) arrived: bool,
    /// Did it so with a congestion mark?
    pub(crate) arrived_marked: bool,
}

/// A packet that a connection sent, in its own books.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub(crate) no: PacketNo,
    pub(crate) packet_type: PacketType,
    /// A report that arrived says that it did.
    pub(crate) acked: bool,
}

/// A packet that reached a connection.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one number"
)]
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// The packets of a run in the order of their arrival.
    pub(crate) order: u64,
    pub(crate) at: Instant,
    pub(crate) packet_type: PacketType,
    /// Did one of those that came with this number carry a datagram?
    pub(crate) is_data: bool,
    /// Was one of them a Sync?
    pub(crate) is_sync: bool,
    pub(crate) ack: Option<Seq>,
    pub(crate) timestamp: Option<u32>,
    pub(crate) reset: Option<(ResetCode, [u8; 3])>,
    /// The Changes in it: option type and feature.
    pub(crate) changes: Vec<(u8, u8)>,
    /// Every payload that came with this number, and the ECN field it had.
    pub(crate) payloads: Vec<(Digest, Ecn, Instant)>,
    /// Those of the payloads that the peer did not send with this number.
    pub(crate) forged: Vec<Digest>,
    /// May it have been taken for valid?
    pub(crate) counts: bool,
    /// Is it beyond doubt that it was?
    pub(crate) is_sure: bool,
    /// Was it handed to the application?
    pub(crate) delivered: bool,
    /// Was that a payload of [`Self::forged`]?
    pub(crate) delivered_forged: bool,
    /// Was its number taken back from so far ahead that nothing of it is remembered?
    pub(crate) is_forgotten: bool,
}

impl Arrival {
    /// Its payloads are not the peer's, if a stranger sent it.
    pub(crate) fn forge_if(&mut self, stranger: bool) {
        if stranger {
            self.forged = self.payloads.iter().map(|&(came, ..)| came).collect();
        }
    }
}

/// An arrival that no connection has claimed yet.
#[derive(Clone, Debug)]
pub(crate) struct Unclaimed {
    pub(crate) seq: SeqNo,
    pub(crate) arrival: Arrival,
    pub(crate) sender: Option<Key>,
    pub(crate) no: Option<PacketNo>,
}

/// A datagram that `send` took.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) digest: Digest,
    pub(crate) at: Instant,
    pub(crate) left: Option<Seq>,
    pub(crate) fate: Option<Fate>,
}

/// What a connection sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) first: Option<Seq>,
    pub(crate) newest: Option<Seq>,
    /// By distance from the first number.
    pub(crate) packets: BTreeMap<u64, Left>,
    pub(crate) skipped: u64,
    pub(crate) listens: u64,
    pub(crate) count: u64,
    pub(crate) data: u64,
    pub(crate) bytes: u64,
    /// Packets without data, the last ones in a row.
    pub(crate) quiet: u64,
    /// Did data of its arrive with an ECN field that no honest path gives it?
    pub(crate) ecn_rewritten: bool,
    /// The Close or `CloseReq` that it repeats, and since when.
    pub(crate) closing: Option<(PacketType, Instant)>,
    pub(crate) reset: Option<(ResetCode, [u8; 3])>,
    /// When the last Syncs and `SyncAck`s left.
    pub(crate) syncs: [Vec<Instant>; 2],
    /// The data packet with the newest datagram.
    pub(crate) newest_id: Option<DatagramId>,
    /// Data of this step, and the largest packet with it.
    pub(crate) data_in_step: u32,
    pub(crate) largest_in_step: usize,
}

impl Outgoing {
    /// Where a packet stands in the books.
    pub(crate) fn place(&self, seq: Seq) -> u64 {
        self.first.unwrap_or(Seq::ZERO).distance(seq)
    }

    /// The packet with this number, if there was one.
    pub(crate) fn get(&self, seq: Seq) -> Option<&Left> {
        self.packets.get(&self.place(seq))
    }
}

/// What the application was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) open: bool,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) released: bool,
    /// A datagram was refused for want of room, and nobody was told of room since.
    pub(crate) refused: bool,
    /// The order of the last arrival that was handed over.
    pub(crate) newest_delivered: Option<u64>,
}

/// What the application asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// To end the connection in some way.
    pub(crate) end: Option<Instant>,
    /// What starts congestion control anew (RFC 4340, 10.5).
    pub(crate) anew: bool,
}

/// What has arrived that may have counted.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about what has come"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Got {
    pub(crate) response: bool,
    /// Of a client: what ends PARTOPEN (RFC 4340, 8.1.5). Of a server: what ends RESPOND (8.1.3).
    pub(crate) beyond: bool,
    pub(crate) close_req: bool,
    pub(crate) sync: bool,
    pub(crate) close: bool,
    /// Packets that count, copies included.
    pub(crate) packets: u64,
    /// When the last one came that was valid beyond doubt.
    pub(crate) valid_at: Option<Instant>,
}

impl Got {
    /// Has something come that ends RESPOND (RFC 4340, 8.5, step 11)?
    pub(crate) fn beyond_respond(&self) -> bool {
        self.beyond || self.sync
    }

    /// A packet of this type may have counted.
    pub(crate) fn note(&mut self, packet_type: PacketType) {
        use PacketType::{Close, CloseReq, Listen, Request, Reset, Response, Sync};
        self.packets += 1;
        self.response |= packet_type == Response;
        self.beyond |= !matches!(packet_type, Request | Response | Listen | Reset | Sync);
        self.close_req |= packet_type == CloseReq;
        self.close |= packet_type == Close;
        self.sync |= packet_type == Sync;
    }
}

/// One connection at one host.
#[derive(Clone, Debug)]
pub(crate) struct Conn {
    pub(crate) key: Key,
    pub(crate) flow: Option<Flow>,
    pub(crate) config: Option<Config>,
    pub(crate) is_server: bool,
    pub(crate) is_invited: bool,
    pub(crate) peer: Option<Key>,
    /// A packet that the peer did not send may have been taken for its own.
    pub(crate) tainted: bool,
    pub(crate) began: Instant,
    pub(crate) out: Outgoing,
    /// By number.
    pub(crate) arrivals: BTreeMap<u64, Arrival>,
    /// When the connection was last seen, and what it was then.
    pub(crate) last: Option<(Instant, Stats, Inspection)>,
    /// Since when it is in the state that it was last seen in.
    pub(crate) state_since: Instant,
    /// What the arrivals since then make us expect.
    pub(crate) expected: Expected,
    pub(crate) given: BTreeMap<DatagramId, Given>,
    pub(crate) heard: Heard,
    pub(crate) asked: Asked,
    pub(crate) pipe: Pipe,
    pub(crate) rates: Rates,
    pub(crate) got: Got,
    /// The greatest number that came and may have counted.
    pub(crate) newest_came: Option<Seq>,
    /// Timestamps that came, and when each came first.
    pub(crate) timestamps: BTreeMap<u32, Instant>,
    /// Changes that came: option type and feature.
    pub(crate) changes: BTreeSet<(u8, u8)>,
    /// Types that arrived in this step and may count.
    pub(crate) step_types: Vec<PacketType>,
    /// Numbers that arrived in this step and may count or not.
    pub(crate) step_unsure: Vec<Seq>,
    /// Lost datagrams of this step: judged when it is over.
    pub(crate) step_losses: Vec<DatagramId>,
    /// What it had sent when the network healed.
    pub(crate) at_healing: Option<u64>,
    pub(crate) repeats: Repeats,
    /// The Init Cookies of each Response.
    pub(crate) cookies: Vec<Vec<Vec<u8>>>,
    pub(crate) features: Features,
    pub(crate) acks: Acks,
    pub(crate) timeouts: Timeouts,
    pub(crate) events: Events,
    pub(crate) missing: Missing,
}

impl Conn {
    /// A connection that begins now.
    pub(crate) fn new(key: Key, began: Instant) -> Self {
        Self {
            key,
            flow: None,
            config: None,
            is_server: false,
            is_invited: false,
            peer: None,
            tainted: false,
            began,
            out: Outgoing::default(),
            arrivals: BTreeMap::new(),
            last: None,
            state_since: began,
            expected: Expected::default(),
            given: BTreeMap::new(),
            heard: Heard::default(),
            asked: Asked::default(),
            pipe: Pipe::default(),
            rates: Rates::default(),
            got: Got::default(),
            newest_came: None,
            timestamps: BTreeMap::new(),
            changes: BTreeSet::new(),
            step_types: Vec::new(),
            step_unsure: Vec::new(),
            step_losses: Vec::new(),
            at_healing: None,
            repeats: Repeats::default(),
            cookies: Vec::new(),
            features: Features::default(),
            acks: Acks::default(),
            timeouts: Timeouts::default(),
            events: Events::default(),
            missing: Missing::default(),
        }
    }

    /// Did it begin with an Init Cookie (RFC 4340, 8.1.4)? Its Response left without it.
    pub(crate) fn began_with_cookie(&self) -> bool {
        let first = self.out.packets.values().next();
        let first = first.map(|left| left.packet_type);
        self.is_server && first.is_some_and(|first| first != PacketType::Response)
    }

    /// Its state when it was last seen.
    pub(crate) fn state(&self) -> Option<&'static str> {
        self.last.as_ref().map(|(_, _, seen)| seen.state)
    }

    /// Is it over, as far as was told?
    pub(crate) fn is_over(&self) -> bool {
        self.heard.closed.is_some() || self.state() == Some("CLOSED")
    }

    /// What a packet that may count asks for.
    pub(crate) fn learn(&mut self, arrival: &Arrival) {
        self.changes.extend(&arrival.changes);
        if let Some(stamp) = arrival.timestamp {
            self.timestamps.entry(stamp).or_insert(arrival.at);
        }
    }

    /// A packet came that may count.
    pub(crate) fn came(&mut self, seq: Seq) {
        let newest = self.newest_came.map_or(seq, |newest| Seq::max(newest, seq));
        self.newest_came = Some(newest);
    }

    /// Did something arrive with this number that may have counted?
    pub(crate) fn took(&self, seq: Seq) -> Option<&Arrival> {
        self.arrivals.get(&seq.get()).filter(|a| a.counts)
    }
}

/// One host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    pub(crate) life: u32,
    pub(crate) config: Option<EndpointConfig>,
    pub(crate) flows: BTreeMap<Flow, Key>,
    pub(crate) unclaimed: BTreeMap<Flow, Vec<Unclaimed>>,
    /// The configurations of its listeners, by port.
    pub(crate) listeners: BTreeMap<u16, Config>,
    pub(crate) icmp: Vec<IcmpError>,
    pub(crate) last: Option<(Instant, EndpointStats)>,
    /// What the clock showed at an observer's time, and how it runs since.
    clock: Option<(Instant, Instant, i64)>,
}

impl Host {
    pub(crate) fn set_clock(&mut self, now: Instant, shows: Instant, gains_ppm: i64) {
        self.clock = Some((now, shows, gains_ppm));
    }

    /// What the clock shows at the observer's time `now`.
    pub(crate) fn clock(&self, now: Instant) -> Instant {
        let Some((at, shows, gains_ppm)) = self.clock else {
            return now;
        };
        let passed = i128::from(now.saturating_since(at).as_nanos());
        let shown = passed * (1_000_000 + i128::from(gains_ppm)) / 1_000_000;
        let passed = u64::try_from(shown).unwrap_or(0);
        shows + Duration::from_nanos(passed)
    }
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// The observer's time.
    pub(crate) now: Instant,
    /// The same on the clock of the host in hand.
    pub(crate) local: Instant,
    pub(crate) hosts: BTreeMap<usize, Host>,
    pub(crate) conns: BTreeMap<Key, Conn>,
    pub(crate) packets: BTreeMap<PacketNo, Departed>,
    pub(crate) arrivals: u64,
    pub(crate) healed: Option<Instant>,
}

impl Books {
    pub(crate) fn turn_to(&mut self, now: Instant, host: usize) {
        self.now = now;
        self.local = self.host_mut(host).clock(now);
    }

    pub(crate) fn host_mut(&mut self, host: usize) -> &mut Host {
        self.hosts.entry(host).or_default()
    }

    /// A new endpoint: the old one's connections are gone.
    pub(crate) fn start(&mut self, host: usize, config: &EndpointConfig) {
        let old = self.hosts.remove(&host).unwrap_or_default();
        let new = Host {
            life: old.life + 1,
            config: Some(config.clone()),
            clock: old.clock,
            ..Host::default()
        };
        self.hosts.insert(host, new);
    }

    /// The connection that the endpoint of now calls `id`.
    pub(crate) fn key(&self, host: usize, id: ConnectionId) -> Option<Key> {
        let key = (host, self.hosts.get(&host)?.life, id);
        self.conns.contains_key(&key).then_some(key)
    }

    /// The same, begun if it is new.
    pub(crate) fn conn_of(&mut self, host: usize, id: ConnectionId) -> &mut Conn {
        let local = self.local;
        let key = (host, self.host_mut(host).life, id);
        self.conns
            .entry(key)
            .or_insert_with(|| Conn::new(key, local))
    }

    pub(crate) fn conn(&self, key: Key) -> Option<&Conn> {
        self.conns.get(&key)
    }

    pub(crate) fn conn_mut(&mut self, key: Key) -> Option<&mut Conn> {
        self.conns.get_mut(&key)
    }

    /// Is the endpoint that had this connection still there?
    pub(crate) fn is_alive(&self, key: Key) -> bool {
        self.hosts
            .get(&key.0)
            .is_some_and(|host| host.life == key.1)
    }

    /// Has nobody but the two ends had a part in this connection, as far as is known?
    pub(crate) fn is_honest(&self, key: Key) -> bool {
        let Some(conn) = self.conns.get(&key) else {
            return false;
        };
        let peer = conn.peer.and_then(|peer| self.conns.get(&peer));
        !conn.tainted && peer.is_some_and(|peer| !peer.tainted && peer.peer == Some(key))
    }

    /// Keeps an arrival for a connection that may begin on its flow.
    pub(crate) fn keep_unclaimed(&mut self, host: usize, flow: Flow, arrival: Unclaimed) {
        let unclaimed = self.host_mut(host).unclaimed.entry(flow).or_default();
        if unclaimed.len() == UNCLAIMED {
            unclaimed.remove(0);
        }
        unclaimed.push(arrival);
    }

    /// A connection is known by its flow from now on. What came before on it was for this
    /// connection, as far as its peer sent it.
    pub(crate) fn claim(&mut self, key: Key, flow: Flow) {
        let host = self.host_mut(key.0);
        let before = host.flows.insert(flow, key);
        if before == Some(key) {
            return;
        }
        let unclaimed = host.unclaimed.remove(&flow).unwrap_or_default();
        let conn = self.conns.get(&key);
        if conn.is_some_and(|conn| !conn.is_server) {
            return; // A client begins with its Request: what came before was for an older connection.
        }
        if conn.is_some_and(|conn| !conn.heard.open) {
            // It may go without a word, and the Init Cookie of the same Request begin the next one.
            let host = self.host_mut(key.0);
            host.unclaimed.insert(flow, unclaimed.clone());
        }
        let peer = unclaimed.iter().rev().find_map(|one| one.sender);
        for mut one in unclaimed {
            let stranger = one.sender.is_none() || one.sender != peer;
            if stranger && one.no.is_some() {
                // A late packet of an older connection, or that of a host before it was restarted, which began
                // this one. It speaks for nothing, but it came, and a Sync may ask about it.
                if let (Some(seq), Some(conn)) = (one.seq.long(), self.conns.get_mut(&key)) {
                    one.arrival.counts = false;
                    conn.arrivals.entry(seq.get()).or_insert(one.arrival);
                }
                continue;
            }
            if let Some(conn) = self.conns.get_mut(&key) {
                if one.seq.is_short() && conn.newest_came.is_none() {
                    conn.tainted |= one.no.is_none();
                    continue; // Nothing tells its number: nobody could take it for valid.
                }
                let seq = super::packet::whole(one.seq, conn.newest_came);
                conn.came(seq);
                conn.learn(&one.arrival);
                conn.tainted |= stranger;
                one.arrival.forge_if(stranger);
                conn.got.note(one.arrival.packet_type);
                conn.arrivals.insert(seq.get(), one.arrival);
            }
            if let Some(departed) = one.no.and_then(|no| self.packets.get_mut(&no)) {
                departed.arrived = true;
            }
        }
        if let Some(peer) = peer {
            self.join(key, peer);
        }
    }

    /// A server's connection is open: nobody else begins on its flow with what came before.
    pub(crate) fn settle(&mut self, key: Key) {
        if let Some(flow) = self.conn(key).and_then(|conn| conn.flow) {
            self.host_mut(key.0).unclaimed.remove(&flow);
        }
    }

    /// Two connections talk to each other.
    pub(crate) fn join(&mut self, key: Key, peer: Key) {
        if let Some(conn) = self.conns.get_mut(&key)
            && conn.peer.is_none()
        {
            conn.peer = Some(peer);
        }
    }

    /// A step of a connection is over.
    pub(crate) fn close_step(&mut self, key: Key, stats: &Stats, inspection: &Inspection) {
        let local = self.local;
        let Some(conn) = self.conns.get_mut(&key) else {
            return;
        };
        if conn.state() != Some(inspection.state) {
            conn.state_since = local;
        }
        conn.last = Some((local, *stats, inspection.clone()));
        conn.expected = Expected::default();
        conn.step_types.clear();
        conn.step_unsure.clear();
        conn.step_losses.clear();
        conn.asked.anew = false;
        conn.out.data_in_step = 0;
        conn.out.largest_in_step = 0;
    }
}
