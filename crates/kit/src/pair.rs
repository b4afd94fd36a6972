//! Two endpoints joined by a link that delays, loses, copies, reorders and marks packets, reproducibly.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Inspection, Meta, Path,
    Payload,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, PacketType, Ports, Seq, SeqNo, ServiceCode};

use super::configs::{PORT, SERVICE, ms};
use super::forge::{Draft, plain};
use super::wire::Wire;

/// What the link does to a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Loses it.
    Lose,
    /// Delivers it twice.
    Copy,
    /// Delivers a copy this much later.
    CopyLate(Duration),
    /// Delivers it this much later.
    Delay(Duration),
    /// Marks it, if its sender is ECN-capable.
    Mark,
    /// Marks it although its sender is not ECN-capable.
    Spoof,
    /// Stands for a mark that the receiver hides: the packet arrives as ECT(0).
    Hide,
}

type Rule = Box<dyn FnMut(&Wire) -> Option<Fault>>;

/// A packet that is delivered in place of another: to which side, and how much later.
pub type Instead = (usize, Duration, Wire);

/// An attacker on the path, who sees the states of both ends and replaces packets.
type Tamper = Box<dyn FnMut(&Wire, [&'static str; 2]) -> Option<Vec<Instead>>>;

/// Returns the paths between two hosts, as each end sees them.
pub fn paths(hosts: [IpAddr; 2], encapsulation: Encapsulation) -> [Path; 2] {
    let port = match encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 6_511,
    };
    let [local, remote] = hosts.map(|host| (host, port).into());
    let there = Path {
        encapsulation,
        local,
        remote,
    };
    let back = Path {
        encapsulation,
        local: remote,
        remote: local,
    };
    [there, back]
}

/// Two endpoints; side 0 connects to side 1.
pub struct Pair {
    /// The time.
    pub now: Instant,
    /// The client's endpoint and the server's.
    pub ends: [Endpoint; 2],
    paths: [Path; 2],
    delay: Duration,
    rule: Rule,
    tamper: Option<Tamper>,
    flying: BTreeMap<(Instant, u64), (usize, Wire)>,
    count: u64,
    /// The time to transmit a packet, and the number of packets that may wait for it, if the link is slow.
    pub bottleneck: Option<(Duration, u64)>,
    free_at: [Instant; 2],
    /// All packets sent, in order, while `record` is set.
    pub log: Vec<Wire>,
    /// Whether packets are recorded.
    pub record: bool,
    /// What each side was told, and when.
    pub events: [Vec<(Instant, ConnectionId, Event)>; 2],
    /// The connection that side 0 began last.
    pub client: Option<ConnectionId>,
    /// The connection that side 1 accepted last.
    pub server: Option<ConnectionId>,
}

/// Returns a payload of zeros that are not stored.
pub fn data(len: u32) -> Payload {
    Payload::synthetic(len, 0)
}

impl Pair {
    /// Creates two endpoints with a one-way delay of 20 ms, without UDP.
    pub fn new() -> Self {
        Self::along(Encapsulation::Native, ms(20))
    }

    /// Creates two endpoints as in [`Self::new`] and opens a connection by default settings. Returns both ids.
    pub fn opened() -> (Self, [ConnectionId; 2]) {
        let mut pair = Self::new();
        let (client, server) = pair.open(Config::default(), Config::default());
        (pair, [client, server])
    }

    /// Creates two endpoints with this one-way delay.
    pub fn along(encapsulation: Encapsulation, delay: Duration) -> Self {
        let hosts = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        Self::between(hosts, encapsulation, delay)
    }

    /// Creates two endpoints at these addresses.
    pub fn between(hosts: [IpAddr; 2], encapsulation: Encapsulation, delay: Duration) -> Self {
        let paths = paths(hosts, encapsulation);
        let end = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
        Self {
            now: Instant::START + Duration::from_secs(1),
            ends: [end(1), end(2)],
            paths,
            delay,
            rule: Box::new(|_| None),
            tamper: None,
            flying: BTreeMap::new(),
            count: 0,
            bottleneck: None,
            free_at: [Instant::START; 2],
            log: Vec::new(),
            record: true,
            events: [Vec::new(), Vec::new()],
            client: None,
            server: None,
        }
    }

    /// Returns the path as this side sees it.
    pub fn path(&self, side: usize) -> Path {
        self.paths[side]
    }

    /// Sets what happens to packets from now on.
    pub fn rule(&mut self, rule: impl FnMut(&Wire) -> Option<Fault> + 'static) {
        self.rule = Box::new(rule);
    }

    /// Sets which packets are lost from now on.
    pub fn lose(&mut self, mut is_lost: impl FnMut(&Wire) -> bool + 'static) {
        self.rule(move |wire| is_lost(wire).then_some(Fault::Lose));
    }

    /// Sets who changes packets on the path from now on. It takes precedence over the rule.
    pub fn tamper(
        &mut self,
        tamper: impl FnMut(&Wire, [&'static str; 2]) -> Option<Vec<Instead>> + 'static,
    ) {
        self.tamper = Some(Box::new(tamper));
    }

    /// Returns the state of the first connection of each end.
    pub fn states(&self) -> [&'static str; 2] {
        [0, 1].map(|side: usize| self.ends[side].states().next().unwrap_or("CLOSED"))
    }

    /// Returns the inner state of the first connection of one end.
    pub fn first(&self, side: usize) -> Inspection {
        let end = &self.ends[side];
        let id = end.ids().next().expect("there is a connection");
        end.inspect(id).expect("it is known")
    }

    /// Returns the ids of both ends of the connection that was opened first.
    pub fn ids(&self) -> [ConnectionId; 2] {
        [self.client.expect("begun"), self.server.expect("accepted")]
    }

    /// Listens at side 1 and connects from side 0. No packet is delivered yet.
    pub fn connect(&mut self, client: Config, server: Config) -> ConnectionId {
        let listening = self.ends[1].listen(PORT, &[SERVICE], server);
        assert_eq!(listening, Ok(()));
        self.connect_only(client)
    }

    /// Connects from side 0.
    pub fn connect_only(&mut self, client: Config) -> ConnectionId {
        self.connect_to(SERVICE, client)
    }

    /// Connects from side 0 to this service.
    pub fn connect_to(&mut self, service: ServiceCode, client: Config) -> ConnectionId {
        let path = self.paths[0];
        let id = self.ends[0].connect(self.now, path, None, PORT, service, client);
        let id = id.expect("there is room");
        self.client = Some(id);
        self.drain();
        id
    }

    /// Connects, waits until both ends are open, and returns both ids.
    pub fn open(&mut self, client: Config, server: Config) -> (ConnectionId, ConnectionId) {
        let id = self.connect(client, server);
        self.run_for(ms(500));
        (id, self.server.expect("accepted"))
    }

    /// Sends everything that is ready to be sent, and collects events.
    pub fn drain(&mut self) {
        for side in 0..2 {
            let mut head = HeadBuf::new();
            while let Some(transmit) = self.ends[side].poll_transmit(self.now, &mut head) {
                let wire = Wire {
                    at: self.now,
                    from: side,
                    head: head.as_slice().to_vec(),
                    transmit,
                };
                self.launch(wire);
            }
            while let Some((id, event)) = self.ends[side].poll_event() {
                if matches!(event, Event::Accepted { .. }) {
                    self.server = Some(id);
                }
                self.events[side].push((self.now, id, event));
            }
        }
    }

    /// Hands the next packet of a side to the other one at once, if there is one: for benchmarks, without the link.
    pub fn shuttle(&mut self, side: usize, head: &mut HeadBuf) -> bool {
        let Some(transmit) = self.ends[side].poll_transmit(self.now, head) else {
            return false;
        };
        let meta = Meta {
            path: self.paths[1 - side],
            ecn: transmit.ecn,
        };
        self.ends[1 - side].handle_datagram(self.now, meta, head.as_slice(), transmit.payload);
        true
    }

    fn launch(&mut self, wire: Wire) {
        let fault = (self.rule)(&wire);
        if self.record {
            self.log.push(wire.clone());
        }
        let to = 1 - wire.from;
        let mut wire = wire;
        let mut arrival = self.now + self.delay;
        if let Some((each, queue)) = self.bottleneck {
            let free_at = &mut self.free_at[wire.from];
            let starts = self.now.max(*free_at);
            if starts - self.now > each * queue {
                return;
            }
            *free_at = starts + each;
            arrival = *free_at + self.delay;
        }
        let states = self.states();
        let tampered = self
            .tamper
            .as_mut()
            .and_then(|tamper| tamper(&wire, states));
        if let Some(instead) = tampered {
            for (to, later, wire) in instead {
                self.count += 1;
                self.flying
                    .insert((arrival + later, self.count), (to, wire));
            }
            return;
        }
        match fault {
            Some(Fault::Lose) => return,
            Some(Fault::Copy) => {
                self.count += 1;
                self.flying
                    .insert((arrival, self.count), (to, wire.clone()));
            }
            Some(Fault::CopyLate(later)) => {
                self.count += 1;
                let copy = (to, wire.clone());
                self.flying.insert((arrival + later, self.count), copy);
            }
            Some(Fault::Delay(more)) => arrival += more,
            Some(Fault::Spoof) => wire.transmit.ecn = Ecn::Ce,
            Some(Fault::Hide) if wire.transmit.ecn.is_capable() => wire.transmit.ecn = Ecn::Ect0,
            Some(Fault::Mark) if wire.transmit.ecn.is_capable() => wire.transmit.ecn = Ecn::Ce,
            Some(Fault::Mark | Fault::Hide) | None => {}
        }
        self.count += 1;
        self.flying.insert((arrival, self.count), (to, wire));
    }

    /// Delivers a packet to `side` now, unchanged.
    pub fn deliver(&mut self, side: usize, wire: &Wire) {
        let path = self.paths[side];
        let meta = Meta {
            path,
            ecn: wire.transmit.ecn,
        };
        let payload = wire.transmit.payload.clone();
        self.ends[side].handle_datagram(self.now, meta, &wire.head, payload);
    }

    /// Returns the time of the next arrival or timer.
    pub fn next(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
        timers.chain(arrival).min()
    }

    /// Advances the clock to the next arrival or timer. Returns false if there is none up to `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let Some(next) = self.next().filter(|&next| next <= until) else {
            return false;
        };
        // An overdue timer fires now.
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (side, wire) = entry.remove();
            self.deliver(side, &wire);
            self.drain();
        }
        for end in &mut self.ends {
            end.handle_timeout(self.now);
        }
        self.drain();
        true
    }

    /// Runs for `time`, and leaves the clock at its end.
    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        self.drain();
        let mut steps = 0u64;
        let mut moment = self.now;
        while self.step(until) {
            if self.now > moment {
                (moment, steps) = (self.now, 0);
            }
            steps += 1;
            assert!(steps < 100_000, "a livelock at {}", self.now);
        }
        self.now = until;
    }

    /// Returns the events of one side, without their times.
    pub fn told(&self, side: usize) -> Vec<Event> {
        let events = self.events[side].iter();
        events.map(|(_, _, event)| event.clone()).collect()
    }

    /// Returns the number of the last packet of one side, and its ports.
    pub fn last_of(&self, from: usize) -> (Seq, Ports) {
        let mut sent = self.log.iter().rev().filter(|wire| wire.from == from);
        let packet = sent.next().expect("it has sent something").packet();
        (packet.seq.long().expect("48 bits"), packet.ports)
    }

    /// Builds a packet as side `from` could send it next.
    ///
    /// Its number is `ahead` after the last one of that side; it acknowledges the last packet of the other side.
    pub fn forge(
        &self,
        from: usize,
        ahead: u64,
        kind: impl FnOnce(SeqNo) -> Kind,
        options: impl FnOnce(&mut Encoder<'_>),
        payload: Payload,
    ) -> Wire {
        let (seq, ports) = self.last_of(from);
        let ack = self.log.iter().rev().find(|wire| wire.from != from);
        let ack = ack.map_or(Seq::ZERO, |wire| wire.packet().seq.extend(Seq::ZERO));
        let draft = Draft::new(ports, seq.add(ahead), kind(ack.into())).with(payload);
        draft.wire((self.now, from, self.paths[from]), options)
    }

    /// Builds a packet from side `from` with the given ports and number.
    pub fn forged(&self, from: usize, ports: Ports, seq: Seq, kind: &Kind) -> Wire {
        self.make(from, Draft::new(ports, seq, *kind), |_| {})
    }

    /// Builds a packet from side `from` by a draft.
    pub fn make(&self, from: usize, draft: Draft, options: impl FnOnce(&mut Encoder<'_>)) -> Wire {
        draft.wire((self.now, from, self.paths[from]), options)
    }

    /// Delivers a packet of a stranger to side 1. Returns the size of its header.
    pub fn knock(
        &mut self,
        from: IpAddr,
        draft: &Draft,
        options: impl FnOnce(&mut Encoder<'_>),
    ) -> usize {
        let remote = (from, 6_511).into();
        let path = Path {
            remote,
            ..self.paths[1]
        };
        let head = draft.head(&path, options);
        self.ends[1].handle_datagram(self.now, plain(path), &head, draft.payload.clone());
        head.len()
    }

    /// Builds a packet, delivers it at once, and returns the immediate answers.
    pub fn inject(
        &mut self,
        from: usize,
        ahead: u64,
        kind: impl FnOnce(SeqNo) -> Kind,
        options: impl FnOnce(&mut Encoder<'_>),
    ) -> Vec<Wire> {
        let wire = self.forge(from, ahead, kind, options, Payload::EMPTY);
        self.answers_to(&wire)
    }

    /// Delivers a packet at once and returns the immediate answers.
    pub fn answers_to(&mut self, wire: &Wire) -> Vec<Wire> {
        let before = self.log.len();
        self.deliver(1 - wire.from, wire);
        self.drain();
        self.log[before..].to_vec()
    }

    /// Returns the types of the packets that one side sent.
    pub fn types(&self, from: usize) -> Vec<PacketType> {
        let sent = self.log.iter().filter(|wire| wire.from == from);
        sent.map(Wire::packet_type).collect()
    }

    /// Sends datagrams of `len` bytes whenever there is room, for `time`.
    pub fn saturate(&mut self, side: usize, id: ConnectionId, len: u32, time: Duration) {
        let until = self.now + time;
        loop {
            while self.ends[side].can_send(id, len as usize) {
                let sent = self.ends[side].send(self.now, id, data(len));
                assert!(sent.is_ok(), "{sent:?}");
                self.drain();
            }
            if !self.step(until) {
                break;
            }
            for (side, id) in [(0, None), (1, self.server)] {
                let ids: Vec<_> = id.into_iter().chain(self.client_ids(side)).collect();
                for id in ids {
                    while self.ends[side].recv(id).is_some() {}
                }
            }
        }
        self.now = until;
    }

    /// Sends datagrams from both ends whenever there is room, for `time`.
    pub fn saturate_both(&mut self, ids: [ConnectionId; 2], len: u32, time: Duration) {
        let until = self.now + time;
        loop {
            for (side, id) in ids.into_iter().enumerate() {
                while self.ends[side].can_send(id, len as usize) {
                    let sent = self.ends[side].send(self.now, id, data(len));
                    assert!(sent.is_ok(), "{sent:?}");
                }
                while self.ends[side].recv(id).is_some() {}
            }
            self.drain();
            if !self.step(until) {
                break;
            }
        }
        self.now = until;
    }

    fn client_ids(&self, side: usize) -> Vec<ConnectionId> {
        let mut ids: Vec<_> = self.events[side].iter().map(|&(_, id, _)| id).collect();
        ids.dedup();
        ids.truncate(1);
        ids
    }
}
