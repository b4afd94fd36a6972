//! An application that makes any call at any time (adversarial item 32).

use std::collections::{BTreeMap, BTreeSet};

use fairwire_held::thread::bytes;
use fairwire_kit::{PORT, Pair, both_ways, ms, plain};
use fairwire_proto::{
    Config, ConnectionId, DataChecksum, Direction, Encapsulation, Endpoint, EndpointConfig, Event,
    IcmpError, IcmpQuote, InitCookies, Meta, Path, Payload, QueuePolicy, Unreachable,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Ccid, DropCode, Encoder, HeadBuf, Kind, Ports, Seq, ServiceCode};

const SERVICES: [ServiceCode; 2] = [ServiceCode(42), ServiceCode(43)];

/// The number of ports that are sometimes listened on.
const PORTS: u64 = 3;

/// The number of calls in a round.
const CALLS: u32 = 4_000;

/// The most connections of an endpoint.
const MOST: usize = 24;

/// A reproducible stream of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 0
    }

    fn port(&mut self) -> u16 {
        5_000 + u16::try_from(self.below(PORTS)).expect("small")
    }

    fn millis(&mut self, bound: u64) -> Duration {
        Duration::from_millis(self.below(bound))
    }

    fn ccids(&mut self) -> Vec<Ccid> {
        let all: [&[u8]; 6] = [&[2], &[3], &[4], &[2, 3], &[3, 2], &[4, 2, 3]];
        let numbers = all[usize::try_from(self.below(6)).expect("small")];
        numbers.iter().copied().map(Ccid::new).collect()
    }

    fn config(&mut self) -> Config {
        let mut config = Config::default();
        config.send_ccids = self.ccids();
        config.receive_ccids = self.ccids();
        config.ecn = self.below(4) != 0;
        config.short_seqnos = self.yes();
        config.report_fates = self.yes();
        config.keep_alive = self.yes().then_some(Duration::from_millis(700).into());
        config.connect_timeout = Duration::from_secs(1 + self.below(4)).into();
        config.idle_timeout = Duration::from_secs(1 + self.below(8)).into();
        config.drain_timeout = self.millis(1_000).into();
        config.close_timeout = self.millis(1_000).into();
        config.ccid_change_interval = self.millis(500).into();
        config.send_queue.packets = 8;
        config.send_queue.age = self.yes().then_some(Duration::from_millis(200).into());
        config.receive_queue_packets = 8;
        config.path_mtu = 1_500;
        config.send_rtt_estimate = self.yes();
        if self.yes() {
            config.send_queue.policy = QueuePolicy::DropOldest;
            config.data_checksum = DataChecksum::On;
        }
        config
    }
}

fn path(side: usize) -> Path {
    let addr = |host: usize| ([192, 0, 2, u8::try_from(host + 1).expect("small")], 6_511).into();
    Path {
        encapsulation: Encapsulation::Udp,
        local: addr(side),
        remote: addr(1 - side),
    }
}

/// A packet in flight: its destination, head, payload and ECN field.
type Flying = (usize, Vec<u8>, Payload, Ecn);

/// The state of the applications and the network in one round; all of it ends with the round.
struct Round<'a> {
    ends: &'a mut [Endpoint; 2],
    now: Instant,
    dice: Dice,
    flying: BTreeMap<(Instant, u64), Flying>,
    count: u64,
    /// The ids that were returned, including those of connections long gone.
    ids: [Vec<ConnectionId>; 2],
    closed: [BTreeSet<ConnectionId>; 2],
    begun: usize,
    /// How many connections a listener accepted.
    accepted: usize,
    /// Whether the applications are ending: every new connection is closed.
    ending: bool,
}

impl Round<'_> {
    fn any_id(&mut self, side: usize) -> ConnectionId {
        let known = self.ids[side].len() as u64;
        if known == 0 || self.dice.below(50) == 0 {
            return ConnectionId(self.dice.below(u64::MAX));
        }
        // Mostly one of the newest, sometimes one that is long gone.
        let back = if self.dice.below(8) == 0 {
            known
        } else {
            known.min(8)
        };
        let back = usize::try_from(self.dice.below(back)).expect("small");
        self.ids[side][self.ids[side].len() - 1 - back]
    }

    /// Makes one random call of an application.
    fn call(&mut self) {
        let side = usize::from(self.dice.yes());
        let id = self.any_id(side);
        let (now, port) = (self.now, self.dice.port());
        match self.dice.below(28) {
            0 | 1 => {
                let config = self.dice.config();
                // The port may already have a listener.
                let _taken = self.ends[side].listen(port, &SERVICES, config);
            }
            2 => self.ends[side].unlisten(port),
            3 => {
                let places = usize::try_from(self.dice.below(4)).expect("small");
                self.ends[side].set_accept_places(port, places);
                self.ends[side].free_place(now, port);
            }
            4..=7 => self.begin(side, port),
            8..=13 => self.send(side, id),
            14 => drop(std::iter::from_fn(|| self.ends[side].recv(id)).count()),
            15 => self.ends[side].close(now, id),
            16 => self.ends[side].discard(now, id),
            17 => self.ends[side].abort(now, id),
            18 => self.ends[side].release(id),
            19 => {
                let direction = [Direction::Send, Direction::Receive][usize::from(self.dice.yes())];
                let ccids = self.dice.ccids();
                let _refused = self.ends[side].change_ccid(now, id, direction, &ccids);
            }
            20 => self.ends[side].path_changed(now, id),
            21 => self.ends[side].stop_reading(now, id),
            22 => {
                let slow = self.dice.yes();
                self.ends[side].set_slow(now, id, slow);
            }
            23 => {
                let received = self.ends[side].recv(id);
                let seq = received.map_or(Seq::new(self.dice.below(1 << 48)), |got| got.seq);
                self.ends[side].report_dropped(now, id, seq, DropCode::ReceiveBuffer);
            }
            24 => {
                let mtu = 68 + u16::try_from(self.dice.below(3_000)).expect("small");
                self.ends[side].limit_path_mtu(now, id, mtu);
                self.ends[side].rediscover_path_mtu(now, id);
            }
            25 => self.icmp(side),
            26 => self.ends[side].handle_timeout(now),
            _ => self.look(side, id),
        }
    }

    /// Makes the calls that only query.
    fn look(&mut self, side: usize, id: ConnectionId) {
        let end = &self.ends[side];
        let is_known = end.stats(id).is_some();
        assert_eq!(end.addresses(id).is_some(), is_known);
        assert_eq!(end.service(id).is_some(), is_known);
        assert_eq!(end.max_datagram_size(id).is_some(), is_known);
        assert_eq!(end.is_peer_quiescent(self.now, id).is_some(), is_known);
        assert!(is_known || !end.can_send(id, 1) && !end.is_receiver_slow(self.now, id));
    }

    fn begin(&mut self, side: usize, port: u16) {
        let (now, config) = (self.now, self.dice.config());
        let service = SERVICES[usize::from(self.dice.yes())];
        let begun = if self.dice.below(6) == 0 {
            self.ends[side].listen_towards(now, path(side), port, 6_000, service, config)
        } else {
            let local = (self.dice.below(6) == 0).then_some(6_000);
            self.ends[side].connect(now, path(side), local, port, service, config)
        };
        if let Ok(id) = begun {
            self.ids[side].push(id);
            self.begun += 1;
        }
    }

    fn send(&mut self, side: usize, id: ConnectionId) {
        let len = u32::try_from(self.dice.below(1_600)).expect("small");
        let payload = if self.dice.yes() {
            Payload::synthetic(len, 0)
        } else {
            Payload::from(vec![7; len as usize])
        };
        // The call may fail: queue full, closed, too large, or unknown connection.
        let _refused = self.ends[side].send(self.now, id, payload);
    }

    /// Delivers an ICMP error, with a real quote or an empty one.
    fn icmp(&mut self, side: usize) {
        let quoted = self
            .flying
            .values()
            .next()
            .map(|(_, head, ..)| head.clone());
        let head = quoted.unwrap_or_default();
        let len = usize::try_from(self.dice.below(32))
            .expect("small")
            .min(head.len());
        let mtu = u32::try_from(self.dice.below(2_000)).expect("small");
        let error = if self.dice.yes() {
            IcmpError::TooBig { mtu }
        } else {
            let whys = [
                Unreachable::Host,
                Unreachable::Port,
                Unreachable::Prohibited,
            ];
            let why = whys[usize::try_from(self.dice.below(3)).expect("small")];
            IcmpError::Unreachable { why }
        };
        let quote = IcmpQuote {
            error,
            head: &head[..len],
        };
        self.ends[side].handle_icmp(self.now, path(side), quote);
    }

    /// Sends packets and delivers events to the applications.
    fn drain(&mut self) {
        let mut head = HeadBuf::new();
        for side in 0..2 {
            while let Some(transmit) = self.ends[side].poll_transmit(self.now, &mut head) {
                let copies = match self.dice.below(10) {
                    0 => 0,
                    1 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    let at = self.now + Duration::from_millis(1) + self.dice.millis(60);
                    let marked = transmit.ecn.is_capable() && self.dice.below(20) == 0;
                    let ecn = if marked { Ecn::Ce } else { transmit.ecn };
                    let flying = (
                        1 - side,
                        head.as_slice().to_vec(),
                        transmit.payload.clone(),
                        ecn,
                    );
                    self.count += 1;
                    self.flying.insert((at, self.count), flying);
                }
            }
            while let Some((id, event)) = self.ends[side].poll_event() {
                self.learn(side, id, &event);
            }
            let stats = self.ends[side].endpoint_stats();
            assert!(stats.connections <= MOST + stats.half_open);
        }
    }

    fn learn(&mut self, side: usize, id: ConnectionId, event: &Event) {
        assert!(
            !self.closed[side].contains(&id),
            "{event:?} after the end of {id:?}"
        );
        match event {
            Event::Accepted { .. } => {
                assert!(!self.ids[side].contains(&id), "{id:?} is new");
                self.ids[side].push(id);
                self.accepted += 1;
                if self.ending {
                    self.ends[side].close(self.now, id);
                }
            }
            Event::Closed { .. } => {
                self.closed[side].insert(id);
                if self.ending || self.dice.yes() {
                    self.ends[side].release(id);
                }
            }
            _ => {}
        }
    }

    fn next(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
        timers.chain(arrival).min()
    }

    /// Handles everything that is due until `to`.
    fn pass(&mut self, to: Instant) {
        while let Some(at) = self.next().filter(|&at| at <= to) {
            self.now = self.now.max(at);
            if let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 <= at) {
                let (side, head, payload, ecn) = entry.remove();
                let meta = Meta {
                    path: path(side),
                    ecn,
                };
                self.ends[side].handle_datagram(self.now, meta, &head, payload);
            }
            for end in self.ends.iter_mut() {
                end.handle_timeout(self.now);
            }
            self.drain();
        }
        self.now = to;
    }

    /// Ends everything; each connection ends in a random way.
    fn end(&mut self) {
        self.ending = true;
        for side in 0..2 {
            for port in 0..PORTS {
                let port = 5_000 + u16::try_from(port).expect("small");
                self.ends[side].unlisten(port);
            }
            for id in self.ids[side].clone() {
                match self.dice.below(3) {
                    0 => self.ends[side].close(self.now, id),
                    1 => self.ends[side].discard(self.now, id),
                    _ => self.ends[side].abort(self.now, id),
                }
                self.ends[side].release(id);
            }
        }
        self.drain();
        let begun = self.now;
        while let Some(next) = self.next() {
            let longest = Duration::from_secs(600);
            assert!(next <= begun + longest, "something would happen at {next}");
            self.pass(next);
            for side in 0..2 {
                for id in self.closed[side].clone() {
                    self.ends[side].release(id);
                }
            }
        }
    }

    /// Checks that nothing is left, not even in TIMEWAIT.
    fn check(&mut self, name: &str) {
        self.now += Duration::from_secs(300);
        for side in 0..2 {
            // A stray packet makes the endpoint check its TIMEWAIT entries.
            let ports = Ports {
                source: 1,
                destination: 2,
            };
            let mut head = HeadBuf::new();
            let encoder = Encoder::new(&mut head, ports, Seq::new(1).into(), &Kind::Data, 0, 0);
            let meta = plain(path(side));
            let head = encoder.finish().as_slice();
            self.ends[side].handle_datagram(self.now, meta, head, Payload::EMPTY);
        }
        self.flying.clear();
        self.drain();
        self.flying.clear();
        for side in 0..2 {
            let stats = self.ends[side].endpoint_stats();
            let left = (stats.connections, stats.half_open, stats.time_wait);
            assert_eq!(left, (0, 0, 0), "{name}, side {side}");
            assert_eq!(self.ends[side].next_timeout(), None, "{name}, side {side}");
            for &id in &self.ids[side] {
                assert!(
                    self.closed[side].contains(&id),
                    "{name}: {id:?} heard no end"
                );
                assert!(
                    self.ends[side].stats(id).is_none(),
                    "{name}: {id:?} is kept"
                );
            }
        }
    }
}

/// Runs a round of calls on two endpoints, and returns how many connections were begun and accepted.
fn round(ends: &mut [Endpoint; 2], now: &mut Instant, seed: u64) -> [usize; 2] {
    let mut round = Round {
        ends,
        now: *now,
        dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        flying: BTreeMap::new(),
        count: 0,
        ids: [Vec::new(), Vec::new()],
        closed: [BTreeSet::new(), BTreeSet::new()],
        begun: 0,
        accepted: 0,
        ending: false,
    };
    for _ in 0..CALLS {
        round.call();
        // Not every application lets the endpoint send after each call.
        if round.dice.below(4) > 0 {
            round.drain();
        }
        if round.dice.below(3) == 0 {
            let to = round.now + round.dice.millis(30);
            round.pass(to);
        }
    }
    round.end();
    round.check(&format!("seed {seed}"));
    *now = round.now;
    [round.begun, round.accepted]
}

fn endpoints(cookies: InitCookies) -> [Endpoint; 2] {
    let mut config = EndpointConfig::default();
    config.max_connections = MOST;
    config.max_half_open = 8;
    config.init_cookies = cookies;
    [1, 2].map(|secret| Endpoint::new(config.clone(), [secret; 32]))
}

/// Item 32: two applications connect, listen, send, read, close, reset and release in any order, four thousand calls a
/// round. Timers expire, and packets are lost, copied and reordered. Each connection reports one end and nothing after
/// it. At the end all connections are gone from every table, and later rounds hold no more memory than earlier ones.
#[test]
fn item_32_calls_in_any_order_leave_nothing() {
    for cookies in [InitCookies::WhenBusy { half_open: 4 }, InitCookies::Always] {
        let mut ends = endpoints(cookies);
        let mut now = Instant::START + Duration::from_secs(1);
        let mut sum = [0, 0];
        let mut rounds = |seeds: std::ops::RangeInclusive<u64>| {
            for seed in seeds {
                let [begun, accepted] = round(&mut ends, &mut now, seed);
                sum = [sum[0] + begun, sum[1] + accepted];
            }
            bytes()
        };
        let before = rounds(1..=30);
        let after = rounds(31..=120);
        assert!(sum[0] > 10_000 && sum[1] > 1_000, "{sum:?}");
        // A connection takes more than 4 KiB, and there were more than ten thousand.
        assert!(
            after < before + 16 * 1_024,
            "{before} bytes, then {after}, {cookies:?}"
        );
    }
}

/// Item 32 (CVE-2017-8824, CVE-2020-16119): an accepted connection shares no mutable state with its listener. It
/// continues as agreed when the listener is removed, is full, or listens again with another configuration. A change or
/// the end of one connection does not affect another.
#[test]
fn item_32_accepted_connections_are_on_their_own() {
    let mut pair = Pair::along(Encapsulation::Udp, ms(1));
    pair.ends = endpoints(InitCookies::Never);
    let both = [Ccid::TCP_LIKE, Ccid::TFRC];
    let config = |ccids: &[Ccid]| {
        let mut config = both_ways(ccids.iter().copied());
        config.ccid_change_interval = Duration::ZERO.into();
        config
    };
    pair.ends[1]
        .listen(PORT, &SERVICES, config(&both))
        .expect("free");
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let id = pair.connect_to(SERVICES[0], config(&both));
            pair.run_for(ms(500));
            id
        })
        .collect();
    let servers = accepted(&pair);
    assert_eq!(servers.len(), 3);
    let ccid = |pair: &Pair, id| pair.ends[1].stats(id).expect("there").send_ccid;
    // One connection changes its CCID, one is reset, and the listener is removed and replaced by another.
    let changed = pair.ends[1].change_ccid(pair.now, servers[0], Direction::Send, &[Ccid::TFRC]);
    changed.expect("open");
    pair.ends[1].abort(pair.now, servers[1]);
    pair.ends[1].set_accept_places(PORT, 0);
    pair.ends[1].unlisten(PORT);
    pair.run_for(ms(1_000));
    pair.ends[1]
        .listen(PORT, &[SERVICES[1]], config(&[Ccid::TFRC_SP]))
        .expect("free");
    pair.run_for(ms(1_000));
    assert_eq!(ccid(&pair, servers[0]), Some(Ccid::TFRC));
    assert_eq!(ccid(&pair, servers[2]), Some(Ccid::TCP_LIKE));
    for (at, (&client, &server)) in clients.iter().zip(&servers).enumerate() {
        let payload = || Payload::from(vec![1; 100]);
        let sent = [
            pair.ends[0].send(pair.now, client, payload()).is_ok(),
            pair.ends[1].send(pair.now, server, payload()).is_ok(),
        ];
        pair.run_for(ms(500));
        let got = [
            pair.ends[0].recv(client).is_some(),
            pair.ends[1].recv(server).is_some(),
        ];
        assert_eq!(sent, [at != 1; 2], "connection {at}");
        assert_eq!(got, [at != 1; 2], "connection {at}");
        assert_eq!(pair.ends[1].service(server), Some(SERVICES[0]));
    }
    pair.connect_to(SERVICES[1], config(&[Ccid::TFRC_SP]));
    pair.run_for(ms(500));
    let accepted = accepted(&pair);
    let last = *accepted.last().expect("accepted");
    assert_eq!(
        (accepted.len(), ccid(&pair, last)),
        (4, Some(Ccid::TFRC_SP))
    );
}

/// Returns the connections that the server accepted.
fn accepted(pair: &Pair) -> Vec<ConnectionId> {
    let events = pair.events[1].iter();
    let accepted = events.filter(|(.., event)| matches!(event, Event::Accepted { .. }));
    accepted.map(|(_, id, _)| *id).collect()
}
