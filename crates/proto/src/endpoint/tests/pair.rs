//! Two endpoints joined by a link that delays, loses, copies, reorders and marks packets, reproducibly.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{
    Encoder, HeadBuf, Kind, Packet, PacketType, Ports, ResetCode, Seq, SeqNo, ServiceCode,
};

use crate::connection::State;
use crate::seal::seal;
use crate::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path, Payload,
    Transmit,
};

/// The service of all tests.
pub(super) const SERVICE: ServiceCode = ServiceCode(42);

/// The server's port in all tests.
pub(super) const PORT: u16 = 5_001;

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) at: Instant,
    pub(super) from: usize,
    pub(super) head: Vec<u8>,
    pub(super) transmit: Transmit,
}

impl Wire {
    pub(super) fn packet(&self) -> Packet<'_> {
        let len = self.transmit.payload.len();
        Packet::decode_head(&self.head, len).expect("we send what we can read")
    }

    /// Returns the code and data of the packet, if it is a Reset.
    pub(super) fn reset(&self) -> Option<(ResetCode, [u8; 3])> {
        match self.packet().kind {
            Kind::Reset { code, data, .. } => Some((code, data)),
            _ => None,
        }
    }

    pub(super) fn packet_type(&self) -> PacketType {
        self.packet().packet_type()
    }
}

/// What the link does to a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    Lose,
    Copy,
    /// Delivers a copy this much later.
    CopyLate(Duration),
    Delay(Duration),
    Mark,
    /// Marks it although its sender is not ECN-capable.
    Spoof,
    /// Stands for a mark that the receiver hides: the packet arrives as ECT(0).
    Hide,
}

type Rule = Box<dyn FnMut(&Wire) -> Option<Fault>>;

/// A packet that is delivered in place of another: to which side, and how much later.
pub(super) type Instead = (usize, Duration, Wire);

/// An attacker on the path, who sees the states of both ends and replaces packets.
type Tamper = Box<dyn FnMut(&Wire, [State; 2]) -> Option<Vec<Instead>>>;

/// Two endpoints; side 0 connects to side 1.
pub(super) struct Pair {
    pub(super) now: Instant,
    pub(super) ends: [Endpoint; 2],
    paths: [Path; 2],
    delay: Duration,
    rule: Rule,
    tamper: Option<Tamper>,
    flying: BTreeMap<(Instant, u64), (usize, Wire)>,
    count: u64,
    /// The time to transmit a packet, and the number of packets that may wait for it, if the link is slow.
    pub(super) bottleneck: Option<(Duration, u64)>,
    free_at: [Instant; 2],
    /// All packets sent, in order, while `record` is set.
    pub(super) log: Vec<Wire>,
    pub(super) record: bool,
    pub(super) events: [Vec<(Instant, ConnectionId, Event)>; 2],
    pub(super) server: Option<ConnectionId>,
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) fn data(len: u32) -> Payload {
    Payload::Synthetic { len, tag: 0 }
}

impl Pair {
    /// Creates two endpoints with a one-way delay of 20 ms, without UDP.
    pub(super) fn new() -> Self {
        Self::along(Encapsulation::Native, ms(20))
    }

    pub(super) fn along(encapsulation: Encapsulation, delay: Duration) -> Self {
        let hosts = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        Self::between(hosts, encapsulation, delay)
    }

    /// Creates two endpoints at these addresses.
    pub(super) fn between(
        hosts: [IpAddr; 2],
        encapsulation: Encapsulation,
        delay: Duration,
    ) -> Self {
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
        let end = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
        Self {
            now: Instant::START + Duration::from_secs(1),
            ends: [end(1), end(2)],
            paths: [there, back],
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
            server: None,
        }
    }

    pub(super) fn path(&self, side: usize) -> Path {
        self.paths[side]
    }

    /// Sets what happens to packets from now on.
    pub(super) fn rule(&mut self, rule: impl FnMut(&Wire) -> Option<Fault> + 'static) {
        self.rule = Box::new(rule);
    }

    /// Sets who changes packets on the path from now on. It takes precedence over the rule.
    pub(super) fn tamper(
        &mut self,
        tamper: impl FnMut(&Wire, [State; 2]) -> Option<Vec<Instead>> + 'static,
    ) {
        self.tamper = Some(Box::new(tamper));
    }

    /// Returns the state of the first connection of each end.
    pub(super) fn states(&self) -> [State; 2] {
        [0, 1].map(|side: usize| {
            let first = self.ends[side].connections.get(0);
            first.map_or(State::Closed, |connection| connection.state())
        })
    }

    /// Listens at side 1 and connects from side 0. No packet is delivered yet.
    pub(super) fn connect(&mut self, client: Config, server: Config) -> ConnectionId {
        let listening = self.ends[1].listen(PORT, &[SERVICE], server);
        assert_eq!(listening, Ok(()));
        self.connect_only(client)
    }

    pub(super) fn connect_only(&mut self, client: Config) -> ConnectionId {
        let path = self.paths[0];
        let id = self.ends[0].connect(self.now, path, None, PORT, SERVICE, client);
        let id = id.expect("there is room");
        self.drain();
        id
    }

    /// Connects, waits until both ends are open, and returns both ids.
    pub(super) fn open(&mut self, client: Config, server: Config) -> (ConnectionId, ConnectionId) {
        let id = self.connect(client, server);
        self.run_for(ms(500));
        (id, self.server.expect("accepted"))
    }

    /// Sends everything that is ready to be sent, and collects events.
    pub(super) fn drain(&mut self) {
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
    pub(super) fn deliver(&mut self, side: usize, wire: &Wire) {
        let path = self.paths[side];
        let meta = Meta {
            path,
            ecn: wire.transmit.ecn,
        };
        let payload = wire.transmit.payload.clone();
        self.ends[side].handle_datagram(self.now, meta, &wire.head, payload);
    }

    /// Returns the time of the next arrival or timer.
    pub(super) fn next(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
        timers.chain(arrival).min()
    }

    /// Advances the clock to the next arrival or timer. Returns false if there is none up to `until`.
    pub(super) fn step(&mut self, until: Instant) -> bool {
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
    pub(super) fn run_for(&mut self, time: Duration) {
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
    pub(super) fn told(&self, side: usize) -> Vec<Event> {
        let events = self.events[side].iter();
        events.map(|(_, _, event)| event.clone()).collect()
    }

    /// Returns the number of the last packet of one side, and its ports.
    pub(super) fn last_of(&self, from: usize) -> (Seq, Ports) {
        let mut sent = self.log.iter().rev().filter(|wire| wire.from == from);
        let packet = sent.next().expect("it has sent something").packet();
        (packet.seq.long().expect("48 bits"), packet.ports)
    }

    /// Builds a packet as side `from` could send it next.
    ///
    /// Its number is `ahead` after the last one of that side; it acknowledges the last packet of the other side.
    pub(super) fn forge(
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
        let mut head = HeadBuf::new();
        let seq = seq.add(ahead).into();
        let mut encoder = Encoder::new(&mut head, ports, seq, &kind(ack.into()), 0, 0);
        options(&mut encoder);
        let path = self.paths[from];
        seal(encoder, &path, &payload, 0);
        let transmit = Transmit {
            path,
            ecn: Ecn::NotEct,
            dont_fragment: true,
            payload,
            connection: None,
            id: None,
        };
        Wire {
            at: self.now,
            from,
            head: head.as_slice().to_vec(),
            transmit,
        }
    }

    /// Builds a packet, delivers it at once, and returns the immediate answers.
    pub(super) fn inject(
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
    pub(super) fn answers_to(&mut self, wire: &Wire) -> Vec<Wire> {
        let before = self.log.len();
        self.deliver(1 - wire.from, wire);
        self.drain();
        self.log[before..].to_vec()
    }

    /// Returns the types of the packets that one side sent.
    pub(super) fn types(&self, from: usize) -> Vec<PacketType> {
        let sent = self.log.iter().filter(|wire| wire.from == from);
        sent.map(Wire::packet_type).collect()
    }

    /// Sends datagrams of `len` bytes whenever there is room, for `time`.
    pub(super) fn saturate(&mut self, side: usize, id: ConnectionId, len: u32, time: Duration) {
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
    pub(super) fn saturate_both(&mut self, ids: [ConnectionId; 2], len: u32, time: Duration) {
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

/// A reproducible stream of pseudorandom numbers.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn chance(&mut self, per_mille: u64) -> bool {
        (self.next() >> 20) % 1_000 < per_mille
    }
}
