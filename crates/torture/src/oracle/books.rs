//! The oracle's records of a run.
//!
//! The times of a host are those of its own clock, which may run at a different rate from the observer's.

use std::collections::{BTreeMap, BTreeSet};

use fairwire_proto::{
    CloseReason, Config, ConnectionId, DatagramId, EndpointConfig, EndpointStats, Fate, IcmpError,
    Inspection, Resend, SendOptions, Stats,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{PacketType, ResetCode, Seq, SeqNo};

use super::delivery::Delivery;
use super::packet::{Digest, Flow};
use super::records::{Acks, Events, Expected, Features, Missing, Pipe, Rates, Repeats, Timeouts};
use crate::seen::{PacketNo, TAG_LEN};

/// A connection: its host, how often that host has started, and its id there.
pub(crate) type Key = (usize, u32, ConnectionId);

/// The most arrivals kept for a flow until a connection claims them.
const UNCLAIMED: usize = 256;

/// A packet that an endpoint sent.
#[derive(Clone, Debug)]
pub(crate) struct Departure {
    /// The connection that sent it; stateless answers have none.
    pub(crate) sender: Option<Key>,
    /// The ECN field with which it was sent.
    pub(crate) ecn: Ecn,
    /// Whether it arrived unchanged at a connection that may have accepted it as valid.
    pub(crate) arrived: bool,
    /// Whether it did so with a congestion mark.
    pub(crate) arrived_marked: bool,
}

/// A packet that a connection sent, in that connection's records.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) no: PacketNo,
    pub(crate) packet_type: PacketType,
    /// Whether a report that arrived says that the packet did.
    pub(crate) acked: bool,
}

/// A packet that reached a connection.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one number"
)]
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// The number of the packet in the order of arrival in the run.
    pub(crate) order: u64,
    pub(crate) at: Instant,
    pub(crate) packet_type: PacketType,
    /// Whether a packet with this number carried a datagram.
    pub(crate) is_data: bool,
    /// Whether a packet with this number was a Sync.
    pub(crate) is_sync: bool,
    pub(crate) ack: Option<Seq>,
    pub(crate) timestamp: Option<u32>,
    pub(crate) reset: Option<(ResetCode, [u8; 3])>,
    /// The Changes in it: option type and feature.
    pub(crate) changes: Vec<(u8, u8)>,
    /// Every payload that arrived with this number, with its ECN field and time.
    pub(crate) payloads: Vec<(Digest, Ecn, Instant)>,
    /// The payloads that the peer did not send with this number.
    pub(crate) forged: Vec<Digest>,
    /// Whether it may have been accepted as valid.
    pub(crate) counts: bool,
    /// Whether it was certainly accepted as valid.
    pub(crate) is_sure: bool,
    /// Whether it was delivered to the application.
    pub(crate) delivery: Delivery,
}

impl Arrival {
    /// Marks its payloads as not from the peer, if a stranger sent it.
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

/// A datagram that `send` accepted.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    pub(crate) digest: Digest,
    /// Its first bytes, if it is long enough to have a tag.
    pub(crate) tag: Option<[u8; TAG_LEN]>,
    pub(crate) at: Instant,
    pub(crate) options: SendOptions,
    /// The last packet with it, and the first.
    pub(crate) left: Option<Seq>,
    pub(crate) first: Option<Seq>,
    pub(crate) fate: Option<Fate>,
}

impl Offered {
    /// Returns whether it may be sent again.
    pub(crate) fn may_be_resent(&self) -> bool {
        self.options.resend != Resend::Never
    }
}

/// What a connection sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) first: Option<Seq>,
    pub(crate) newest: Option<Seq>,
    /// Packets by distance from the first number.
    pub(crate) packets: BTreeMap<u64, SentPacket>,
    pub(crate) skipped: u64,
    pub(crate) listens: u64,
    pub(crate) count: u64,
    pub(crate) data: u64,
    /// Data packets with messages of the encryption.
    pub(crate) own: u64,
    /// Packets with datagrams that were sent before.
    pub(crate) copies: u64,
    pub(crate) bytes: u64,
    /// Consecutive non-data packets at the end.
    pub(crate) quiet: u64,
    /// Whether data of this connection arrived with an ECN field that no honest path produces.
    pub(crate) ecn_rewritten: bool,
    /// The Close or `CloseReq` that it repeats, and since when.
    pub(crate) closing: Option<(PacketType, Instant)>,
    pub(crate) reset: Option<(ResetCode, [u8; 3])>,
    /// When the last Syncs and `SyncAck`s were sent.
    pub(crate) syncs: [Vec<Instant>; 2],
    /// The newest datagram of each priority that was sent.
    pub(crate) newest_ids: BTreeMap<i8, DatagramId>,
    /// The position of the first packet of this step, sent or to be sent.
    pub(crate) step_began_at: u64,
    /// Data packets sent in this step, and the size of the largest.
    pub(crate) data_in_step: u32,
    pub(crate) largest_in_step: usize,
}

impl Outgoing {
    /// Returns the position of a packet in the records.
    pub(crate) fn place(&self, seq: Seq) -> u64 {
        self.first.unwrap_or(Seq::ZERO).distance(seq)
    }

    /// Returns the position of the next packet.
    pub(crate) fn next_place(&self) -> u64 {
        self.newest.map_or(0, |newest| self.place(newest) + 1)
    }

    /// Returns the packet with this number, if there was one.
    pub(crate) fn get(&self, seq: Seq) -> Option<&SentPacket> {
        self.packets.get(&self.place(seq))
    }
}

/// What the application was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notified {
    pub(crate) open: bool,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) released: bool,
    /// Whether a datagram was refused because the queue was full, and no event has reported room since.
    pub(crate) refused: bool,
    /// The datagrams that it read, if they have tags.
    pub(crate) delivered: BTreeSet<Digest>,
    /// The order of the last arrival that was delivered.
    pub(crate) newest_delivered: Option<u64>,
}

/// What the application requested.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requested {
    /// Whether it requested encryption.
    pub(crate) encryption: bool,
    /// When it requested the end of the connection, in any way.
    pub(crate) end: Option<Instant>,
    /// Whether it requested a restart of congestion control in this step (RFC 4340, 10.5).
    pub(crate) anew: bool,
}

/// The arrivals that may have been valid.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about what has come"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedTypes {
    pub(crate) response: bool,
    /// For a client: whether a packet came that ends PARTOPEN (RFC 4340, 8.1.5). For a server: one that ends RESPOND
    /// (8.1.3).
    pub(crate) beyond: bool,
    pub(crate) close_req: bool,
    pub(crate) sync: bool,
    pub(crate) close: bool,
    /// The number of possibly valid packets, copies included.
    pub(crate) packets: u64,
    /// When the last certainly valid packet arrived.
    pub(crate) valid_at: Option<Instant>,
}

impl ReceivedTypes {
    /// Returns whether a packet has come that ends RESPOND (RFC 4340, 8.5, step 11).
    pub(crate) fn beyond_respond(&self) -> bool {
        self.beyond || self.sync
    }

    /// Records that a packet of this type may have been valid.
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
    /// Whether a packet that the peer did not send may have been accepted.
    pub(crate) tainted: bool,
    pub(crate) began: Instant,
    pub(crate) out: Outgoing,
    /// Arrivals by sequence number.
    pub(crate) arrivals: BTreeMap<u64, Arrival>,
    /// The time of the last observed state, and that state.
    pub(crate) last: Option<(Instant, Stats, Inspection)>,
    /// Since when it is in the last observed state.
    pub(crate) state_since: Instant,
    /// What is expected after the arrivals since then.
    pub(crate) expected: Expected,
    pub(crate) given: BTreeMap<DatagramId, Offered>,
    pub(crate) heard: Notified,
    pub(crate) asked: Requested,
    pub(crate) pipe: Pipe,
    pub(crate) rates: Rates,
    pub(crate) got: ReceivedTypes,
    /// The greatest sequence number that arrived and may have been valid.
    pub(crate) newest_came: Option<Seq>,
    /// The timestamps that arrived, with the first arrival of each.
    pub(crate) timestamps: BTreeMap<u32, Instant>,
    /// The Changes that arrived: option type and feature.
    pub(crate) changes: BTreeSet<(u8, u8)>,
    /// The types of the possibly valid packets that arrived in this step.
    pub(crate) step_types: Vec<PacketType>,
    /// The numbers of packets in this step that may or may not be valid.
    pub(crate) step_unsure: Vec<Seq>,
    /// Datagrams reported lost in this step. They are checked at its end.
    pub(crate) step_losses: Vec<DatagramId>,
    /// Data packets that it had sent when the network was healed.
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
    /// Creates a connection that begins now.
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
            heard: Notified::default(),
            asked: Requested::default(),
            pipe: Pipe::default(),
            rates: Rates::default(),
            got: ReceivedTypes::default(),
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

    /// Returns whether it began with an Init Cookie (RFC 4340, 8.1.4). Its Response was sent before it existed.
    pub(crate) fn began_with_cookie(&self) -> bool {
        let first = self.out.packets.values().next();
        let first = first.map(|left| left.packet_type);
        self.is_server && first.is_some_and(|first| first != PacketType::Response)
    }

    /// Returns its state when it was last observed.
    pub(crate) fn state(&self) -> Option<&'static str> {
        self.last.as_ref().map(|(_, _, seen)| seen.state)
    }

    /// Returns whether it is over, as far as the oracle was told.
    pub(crate) fn is_over(&self) -> bool {
        self.heard.closed.is_some() || self.state() == Some("CLOSED")
    }

    /// Records the Changes and the timestamp of a packet that may be valid.
    pub(crate) fn learn(&mut self, arrival: &Arrival) {
        self.changes.extend(&arrival.changes);
        if let Some(stamp) = arrival.timestamp {
            self.timestamps.entry(stamp).or_insert(arrival.at);
        }
    }

    /// Records the number of a packet that may be valid.
    pub(crate) fn came(&mut self, seq: Seq) {
        let newest = self.newest_came.map_or(seq, |newest| Seq::max(newest, seq));
        self.newest_came = Some(newest);
    }

    /// Returns the arrival with this number, if it may have been valid.
    pub(crate) fn took(&self, seq: Seq) -> Option<&Arrival> {
        self.arrivals.get(&seq.get()).filter(|a| a.counts)
    }
}

/// The records of one host.
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
    /// The observer's time, the clock's time then, and the clock's rate since in ppm.
    clock: Option<(Instant, Instant, i64)>,
}

impl Host {
    pub(crate) fn set_clock(&mut self, now: Instant, shows: Instant, gains_ppm: i64) {
        self.clock = Some((now, shows, gains_ppm));
    }

    /// Returns the time of the host's clock at the observer's time `now`.
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

/// The records of all hosts and connections.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// The observer's time.
    pub(crate) now: Instant,
    /// The same time on the clock of the current host.
    pub(crate) local: Instant,
    pub(crate) hosts: BTreeMap<usize, Host>,
    pub(crate) conns: BTreeMap<Key, Conn>,
    pub(crate) packets: BTreeMap<PacketNo, Departure>,
    pub(crate) arrivals: u64,
    /// The datagrams with tags that applications gave to encrypted connections.
    pub(crate) sealed: BTreeSet<Digest>,
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

    /// Starts a new endpoint at a host; the connections of the old one are gone.
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

    /// Returns the key of connection `id` of the host's current endpoint.
    pub(crate) fn key(&self, host: usize, id: ConnectionId) -> Option<Key> {
        let key = (host, self.hosts.get(&host)?.life, id);
        self.conns.contains_key(&key).then_some(key)
    }

    /// Returns connection `id` of the host's current endpoint, and creates it if it is new.
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

    /// Returns whether the endpoint that had this connection still exists.
    pub(crate) fn is_alive(&self, key: Key) -> bool {
        self.hosts
            .get(&key.0)
            .is_some_and(|host| host.life == key.1)
    }

    /// Returns whether nobody but the two endpoints had a part in this connection, as far as is known.
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

    /// Assigns a flow to a connection. Earlier arrivals on this flow were for it, if its peer sent them.
    pub(crate) fn claim(&mut self, key: Key, flow: Flow) {
        let host = self.host_mut(key.0);
        let before = host.flows.insert(flow, key);
        if before == Some(key) {
            return;
        }
        let unclaimed = host.unclaimed.remove(&flow).unwrap_or_default();
        let conn = self.conns.get(&key);
        if conn.is_some_and(|conn| !conn.is_server) {
            return; // A client begins with its Request: earlier arrivals were for an older connection.
        }
        if conn.is_some_and(|conn| !conn.heard.open) {
            // It may disappear without an event, and the Init Cookie of the same Request may begin the next one.
            let host = self.host_mut(key.0);
            host.unclaimed.insert(flow, unclaimed.clone());
        }
        let peer = unclaimed.iter().rev().find_map(|one| one.sender);
        for mut one in unclaimed {
            let stranger = one.sender.is_none() || one.sender != peer;
            if stranger && one.no.is_some() {
                // A late packet of an older connection, or one of a host before its restart, which began this
                // connection. It does not count, but it came, and a Sync may ask about it.
                if let (Some(seq), Some(conn)) = (one.seq.long(), self.conns.get_mut(&key)) {
                    one.arrival.counts = false;
                    conn.arrivals.entry(seq.get()).or_insert(one.arrival);
                }
                continue;
            }
            if let Some(conn) = self.conns.get_mut(&key) {
                if one.seq.is_short() && conn.newest_came.is_none() {
                    conn.tainted |= one.no.is_none();
                    continue; // Its full number is unknown, so no endpoint could accept it.
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

    /// Discards the unclaimed arrivals of an open server connection: no other connection begins with them.
    pub(crate) fn settle(&mut self, key: Key) {
        if let Some(flow) = self.conn(key).and_then(|conn| conn.flow) {
            self.host_mut(key.0).unclaimed.remove(&flow);
        }
    }

    /// Records that two connections talk to each other.
    pub(crate) fn join(&mut self, key: Key, peer: Key) {
        if let Some(conn) = self.conns.get_mut(&key)
            && conn.peer.is_none()
        {
            conn.peer = Some(peer);
        }
    }

    /// Ends a step of a connection.
    pub(crate) fn close_step(&mut self, key: Key, stats: &Stats, inspection: &Inspection) {
        let local = self.local;
        let Some(conn) = self.conns.get_mut(&key) else {
            return;
        };
        if conn.state() != Some(inspection.state) {
            conn.state_since = local;
        }
        conn.last = Some((local, *stats, inspection.clone()));
        // The step's only packet completed the handshake, so it was processed.
        let completed = inspection.state == "OPEN" && conn.expected.arrivals == 1;
        let completing = std::mem::take(&mut conn.missing.completing);
        conn.missing.came += u64::from(completing && completed);
        conn.expected = Expected::default();
        conn.step_types.clear();
        conn.step_unsure.clear();
        conn.step_losses.clear();
        conn.asked.anew = false;
        conn.out.step_began_at = conn.out.next_place();
        conn.out.data_in_step = 0;
        conn.out.largest_in_step = 0;
    }
}
