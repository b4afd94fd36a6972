//! Two endpoints over a bad line, with the oracle beside them: the implementation must pass.
//!
//! This small world tests the oracle without the large one: one client or more, random configurations, loss, copies,
//! reordering, marks, damage, and sometimes an attacker.

mod broken;

use std::collections::{BTreeMap, VecDeque};

use fairwire_proto::{
    Config, ConnectionId, DataChecksum, Direction, Encapsulation, Endpoint, EndpointConfig, Event,
    Meta, Path, Payload, QueuePolicy, ReceiveQueuePolicy, SendOptions,
};
use fairwire_torture::oracle::{Oracle, Violation};
use fairwire_torture::plan::settings::ccids_of;
use fairwire_torture::seen::{Call, Origin, PacketNo, Seen};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, Packet, ServiceCode};

const SERVICE: ServiceCode = ServiceCode(42);
const PORT: u16 = 5_000;

/// A reproducible random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("less than a length")
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.place(all.len())]
    }

    fn config(&mut self) -> Config {
        let mut config = Config::default();
        let lists: [&[u8]; 6] = [&[2], &[3], &[4], &[2, 3], &[3, 2], &[4, 2, 3]];
        config.send_ccids = ccids_of(self.pick(&lists));
        config.receive_ccids = ccids_of(self.pick(&lists));
        config.ecn = !self.one_in(4);
        config.check_feedback = !self.one_in(3);
        config.short_seqnos = self.one_in(3);
        config.report_fates = !self.one_in(4);
        config.keep_alive = self
            .pick(&[None, Some(500), Some(15_000)])
            .map(|ms| Duration::from_millis(ms).into());
        config.connect_timeout = Duration::from_secs(1 + self.below(8)).into();
        config.idle_timeout = Duration::from_secs(2 + self.below(30)).into();
        config.close_timeout = Duration::from_millis(self.below(3_000)).into();
        config.ccid_change_interval = Duration::from_millis(self.below(2_000)).into();
        config.send_queue.packets = self.pick(&[1, 8, 64]);
        config.send_queue.age = self.one_in(3).then_some(Duration::from_millis(300).into());
        config.receive_queue_packets = self.pick(&[2, 16, 256]);
        config.send_rtt_estimate = self.one_in(2);
        if self.one_in(3) {
            config.send_queue.policy = QueuePolicy::DropOldest;
        }
        if self.one_in(4) {
            config.receive_queue_policy = ReceiveQueuePolicy::DropOldest;
        }
        if self.one_in(4) {
            config.data_checksum = DataChecksum::On;
        }
        config
    }
}

/// The faults of the line and the attacker, each once in this many packets; zero means never.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    loses: u64,
    copies: u64,
    marks: u64,
    damages: u64,
    forges: u64,
    delay_ms: u64,
    jitter_ms: u64,
}

/// A packet in flight: receiver, origin, head, payload, ECN field.
type Flying = (usize, Origin, Vec<u8>, Payload, Ecn);

struct World {
    oracle: Oracle,
    ends: Vec<Endpoint>,
    now: Instant,
    dice: Dice,
    line: Line,
    encapsulation: Encapsulation,
    flying: BTreeMap<(Instant, u64), Flying>,
    packets: u64,
    tags: u64,
    ids: Vec<BTreeMap<ConnectionId, bool>>,
    /// The number of each event.
    events: BTreeMap<&'static str, u64>,
    received: u64,
    violation: Option<Violation>,
    /// The latest observations.
    log: VecDeque<String>,
    distort: Option<Distort>,
}

/// Shows the oracle a changed observation and returns its verdict; `None` leaves the observation unchanged.
type Distort = fn(&mut Oracle, Instant, usize, &Seen<'_>) -> Option<Result<(), Violation>>;

/// The number of observations shown when an invariant is violated.
const LOGGED: usize = 40;

/// Describes an observation in one line.
fn short(seen: &Seen<'_>) -> String {
    let packet = |head: &[u8]| {
        Packet::decode_head(head, 2_000).map_or_else(
            |error| format!("{error}"),
            |packet| format!("{:?} {:?} {:?}", packet.seq, packet.kind, packet.options),
        )
    };
    match seen {
        Seen::Sent {
            packet: no,
            head,
            transmit,
        } => {
            format!(
                "sent {no:?} {:?} {:?} {}",
                transmit.connection,
                transmit.id,
                packet(head)
            )
        }
        Seen::Arrived {
            origin, head, meta, ..
        } => {
            format!("arrived {origin:?} {:?} {}", meta.ecn, packet(head))
        }
        Seen::State {
            id,
            stats,
            inspection,
        } => format!(
            "{id:?} {} gss {:?} gsr {:?} gar {:?} flight {} cwnd {:?} timeouts {} ccid {:?}",
            inspection.state,
            inspection.gss,
            inspection.gsr,
            inspection.gar,
            inspection.flight_packets,
            inspection.cwnd,
            stats.gauges.timeouts,
            stats.send_ccid
        ),
        Seen::Call(Call::Send { id, result, .. }) => format!("send {id:?} {result:?}"),
        Seen::Call(call) => format!("{call:?}"),
        Seen::Event { id, event } => format!("{id:?} {event:?}"),
        Seen::Received { id, received, .. } => format!("{id:?} reads {:?}", received.seq),
        _ => "more".to_owned(),
    }
}

fn path(encapsulation: Encapsulation, side: usize) -> Path {
    let port = match encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 6_511,
    };
    let addr = |host: usize| ([192, 0, 2, [1, 2][host]], port).into();
    Path {
        encapsulation,
        local: addr(side),
        remote: addr(1 - side),
    }
}

impl World {
    fn new(seed: u64, line: Line) -> Self {
        let mut dice = Dice(seed);
        let encapsulation = dice.pick(&[Encapsulation::Native, Encapsulation::Udp]);
        let mut world = Self {
            oracle: Oracle::new(),
            ends: Vec::new(),
            now: Instant::START,
            dice,
            line,
            encapsulation,
            flying: BTreeMap::new(),
            packets: 0,
            tags: 0,
            ids: vec![BTreeMap::new(), BTreeMap::new()],
            events: BTreeMap::new(),
            received: 0,
            violation: None,
            log: VecDeque::new(),
            distort: None,
        };
        for side in 0..2u8 {
            let config = EndpointConfig::default();
            world.see(usize::from(side), &Seen::Started { config: &config });
            world.ends.push(Endpoint::new(config, [side + 1; 32]));
        }
        world
    }

    fn see(&mut self, host: usize, seen: &Seen<'_>) {
        if self.violation.is_none() {
            if self.log.len() == LOGGED {
                self.log.pop_front();
            }
            self.log
                .push_back(format!("{} host {host}: {}", self.now, short(seen)));
            let now = self.now;
            let distorted = self
                .distort
                .and_then(|distort| distort(&mut self.oracle, now, host, seen));
            let judged = distorted.unwrap_or_else(|| self.oracle.see(now, host, seen));
            self.violation = judged.err();
        }
    }

    fn listen(&mut self, config: Config) {
        self.see(
            1,
            &Seen::Call(Call::Listen {
                port: PORT,
                services: &[SERVICE],
                config: &config,
            }),
        );
        let listens = self.ends[1].listen(PORT, &[SERVICE], config);
        listens.expect("the port is free");
    }

    fn connect(&mut self, config: &Config) {
        let path = path(self.encapsulation, 0);
        let began = self.ends[0].connect(self.now, path, None, PORT, SERVICE, config.clone());
        self.see(
            0,
            &Seen::Call(Call::Connect {
                remote: path.remote,
                config,
                result: began.as_ref().copied(),
            }),
        );
        if let Ok(id) = began {
            self.ids[0].insert(id, false);
        }
        self.drain(0);
    }

    /// Takes everything from an endpoint after something has happened to it.
    fn drain(&mut self, side: usize) {
        let mut head = HeadBuf::new();
        while let Some(transmit) = self.ends[side].poll_transmit(self.now, &mut head) {
            self.packets += 1;
            let no = PacketNo(self.packets);
            let bytes = head.as_slice().to_vec();
            self.see(
                side,
                &Seen::Sent {
                    packet: no,
                    head: &bytes,
                    transmit: &transmit,
                },
            );
            self.fly(side, no, &bytes, &transmit.payload, transmit.ecn);
        }
        while let Some((id, event)) = self.ends[side].poll_event() {
            self.see(side, &Seen::Event { id, event: &event });
            self.learn(side, id, &event);
        }
        let stats = self.ends[side].endpoint_stats();
        self.see(side, &Seen::Endpoint { stats: &stats });
        let inspection = self.ends[side].inspect_endpoint();
        self.see(
            side,
            &Seen::Inside {
                inspection: &inspection,
            },
        );
        let ids: Vec<ConnectionId> = self.ids[side].keys().copied().collect();
        for id in ids {
            let stats = self.ends[side].stats(id);
            let inspection = self.ends[side].inspect(id);
            if let (Some(stats), Some(inspection)) = (stats, inspection) {
                let (stats, inspection) = (&stats, &inspection);
                self.see(
                    side,
                    &Seen::State {
                        id,
                        stats,
                        inspection,
                    },
                );
            }
        }
    }

    fn fly(&mut self, side: usize, no: PacketNo, head: &[u8], payload: &Payload, ecn: Ecn) {
        let line = self.line;
        let happens = |dice: &mut Dice, one_in: u64| one_in > 0 && dice.one_in(one_in);
        if happens(&mut self.dice, line.loses) {
            return;
        }
        let copies = 1 + u64::from(happens(&mut self.dice, line.copies));
        for _ in 0..copies {
            let mut bytes = head.to_vec();
            let mut origin = Origin::Genuine(no);
            let marked = ecn.is_capable() && happens(&mut self.dice, line.marks);
            let ecn = if marked { Ecn::Ce } else { ecn };
            // In UDP the UDP checksum rejects damaged packets.
            let native = self.encapsulation == Encapsulation::Native;
            if native && happens(&mut self.dice, line.damages) {
                let at = self.dice.place(bytes.len());
                bytes[at] ^= 1 << self.dice.below(8);
                origin = Origin::Damaged(no);
            }
            if happens(&mut self.dice, line.forges) && !native {
                let at = self.dice.place(bytes.len());
                bytes[at] = bytes[at].wrapping_add(1);
                origin = Origin::Forged;
            }
            let jitter = self.dice.below(1_000 * line.jitter_ms + 1);
            let late = Duration::from_millis(line.delay_ms) + Duration::from_micros(jitter);
            self.packets += 1;
            let payload = payload.to_bytes().into();
            let flying = (1 - side, origin, bytes, payload, ecn);
            self.flying.insert((self.now + late, self.packets), flying);
        }
    }

    fn learn(&mut self, side: usize, id: ConnectionId, event: &Event) {
        let name = match event {
            Event::Connected => "connected",
            Event::Accepted { .. } => {
                self.ids[side].insert(id, false);
                "accepted"
            }
            Event::Closed { .. } => {
                self.ids[side].insert(id, true);
                "closed"
            }
            Event::Fate { .. } => "fate",
            _ => "other",
        };
        *self.events.entry(name).or_default() += 1;
    }

    fn call(&mut self, side: usize) {
        let ids: Vec<(ConnectionId, bool)> = self.ids[side]
            .iter()
            .map(|(&id, &over)| (id, over))
            .collect();
        if ids.is_empty() {
            return;
        }
        let (id, over) = self.dice.pick(&ids);
        let now = self.now;
        match self.dice.below(400) {
            0..=249 => self.send(side, id),
            250..=385 => self.read(side, id),
            386 => {
                self.see(side, &Seen::Call(Call::Close(id)));
                self.ends[side].close(now, id);
            }
            387 => {
                self.see(side, &Seen::Call(Call::Discard(id)));
                self.ends[side].discard(now, id);
            }
            388 if self.dice.one_in(4) => {
                self.see(side, &Seen::Call(Call::Abort(id)));
                self.ends[side].abort(now, id);
            }
            389 if self.dice.one_in(4) => {
                self.see(side, &Seen::Call(Call::StopReading(id)));
                self.ends[side].stop_reading(now, id);
            }
            390 => {
                self.see(side, &Seen::Call(Call::PathChanged(id)));
                self.ends[side].path_changed(now, id);
            }
            391..=393 => {
                let sending = self.dice.one_in(2);
                let direction = [Direction::Receive, Direction::Send][usize::from(sending)];
                let wanted = [self.dice.pick(&[2, 3, 4])];
                let taken = self.ends[side].change_ccid(now, id, direction, &ccids_of(&wanted));
                self.see(
                    side,
                    &Seen::Call(Call::ChangeCcid {
                        id,
                        sending,
                        wanted: &wanted,
                        taken: taken.is_ok(),
                    }),
                );
            }
            394 if over => {
                self.see(side, &Seen::Call(Call::Release(id)));
                self.ends[side].release(id);
                self.ids[side].remove(&id);
            }
            _ => {}
        }
        self.drain(side);
    }

    fn send(&mut self, side: usize, id: ConnectionId) {
        let len = self.dice.pick(&[8, 100, 1_000, 1_300, 2_000]);
        for _ in 0..=self.dice.below(12) {
            self.tags += 1;
            let mut payload = self.tags.to_be_bytes().to_vec();
            payload.resize(len, 7);
            let taken = self.ends[side].send(self.now, id, payload.clone().into());
            self.see(
                side,
                &Seen::Call(Call::Send {
                    id,
                    payload: &payload,
                    options: SendOptions::default(),
                    result: taken,
                }),
            );
        }
    }

    fn read(&mut self, side: usize, id: ConnectionId) {
        while let Some(received) = self.ends[side].recv(id) {
            self.received += 1;
            let (payload, ecn) = (received.payload.as_slice(), received.ecn);
            let received = &received;
            self.see(
                side,
                &Seen::Received {
                    id,
                    payload,
                    ecn,
                    received,
                },
            );
        }
    }

    /// Runs the line and the timers until `until`.
    fn pass(&mut self, until: Instant) {
        loop {
            let timers = self.ends.iter().filter_map(Endpoint::next_timeout).min();
            let arrival = self.flying.keys().next().map(|&(at, _)| at);
            let next = [timers, arrival].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= until) else {
                break;
            };
            if self.violation.is_some() {
                return;
            }
            self.now = self.now.max(next);
            if arrival == Some(next)
                && let Some((_, flying)) = self.flying.pop_first()
            {
                self.arrive(flying);
                continue;
            }
            for side in 0..self.ends.len() {
                if self.ends[side].next_timeout().is_some_and(|at| at <= next) {
                    self.ends[side].handle_timeout(self.now);
                    self.drain(side);
                }
            }
        }
        self.now = self.now.max(until);
    }

    fn arrive(&mut self, (side, origin, head, payload, ecn): Flying) {
        let meta = Meta {
            path: path(self.encapsulation, side),
            ecn,
        };
        self.see(
            side,
            &Seen::Arrived {
                origin,
                meta,
                head: &head,
                payload: payload.as_slice(),
            },
        );
        self.ends[side].handle_datagram(self.now, meta, &head, payload);
        self.drain(side);
    }

    /// Runs `rounds` tenths of a second with faults, then a time without.
    fn run(&mut self, rounds: u64) {
        let config = self.dice.config();
        self.listen(config);
        for round in 0..rounds {
            if round % 40 == 0 {
                let mut config = self.dice.config();
                config.short_seqnos &= self.dice.one_in(2);
                self.connect(&config);
            }
            for _ in 0..self.dice.below(5) {
                let side = usize::from(self.dice.one_in(2));
                self.call(side);
            }
            let until = self.now + Duration::from_millis(self.dice.below(200));
            self.pass(until);
        }
        self.line = Line {
            delay_ms: self.line.delay_ms,
            jitter_ms: self.line.jitter_ms,
            ..Line::default()
        };
        self.see(0, &Seen::Healed);
        let until = self.now + Duration::from_secs(150);
        while self.now < until && self.violation.is_none() {
            for side in 0..2 {
                let ids: Vec<ConnectionId> = self.ids[side].keys().copied().collect();
                for id in ids {
                    self.read(side, id);
                }
                self.drain(side);
            }
            self.pass(self.now + Duration::from_millis(500));
        }
        self.see(0, &Seen::Ended);
    }
}

/// Runs `seeds` worlds with lines drawn by `line`. All must pass, and enough must have happened.
fn runs(seeds: std::ops::Range<u64>, line: impl Fn(&mut Dice) -> Line) {
    let (mut received, mut events) = (0, BTreeMap::new());
    for seed in seeds {
        let line = line(&mut Dice(seed ^ 0x11_4E));
        let mut world = World::new(seed, line);
        world.run(200);
        if let Some(violation) = &world.violation {
            let log: Vec<String> = world.log.into();
            let log = log.join("\n");
            panic!(
                "seed {seed}, {line:?}, at {}: {violation}\n{log}",
                world.now
            );
        }
        received += world.received;
        for (event, count) in world.events {
            *events.entry(event).or_insert(0) += count;
        }
    }
    for event in ["connected", "accepted", "closed", "fate"] {
        assert!(events.get(event).is_some_and(|&n| n > 10), "{events:?}");
    }
    assert!(received > 1_000, "{received} datagrams were read");
}

/// A line that only delays packets violates no invariant.
#[test]
fn a_good_line_passes() {
    runs(0..40, |dice| Line {
        delay_ms: 1 + dice.below(100),
        ..Line::default()
    });
}

/// A line that loses, copies, reorders, marks and damages packets violates no invariant.
#[test]
fn a_bad_line_passes() {
    runs(1_000..1_100, |dice| Line {
        loses: dice.pick(&[0, 5, 20, 100]),
        copies: dice.pick(&[0, 20]),
        marks: dice.pick(&[0, 20]),
        damages: dice.pick(&[0, 50]),
        forges: 0,
        delay_ms: dice.below(200),
        jitter_ms: dice.pick(&[0, 5, 100]),
    });
}

/// An attacker who changes passing packets violates no hard invariant.
#[test]
fn an_attacked_line_passes() {
    runs(2_000..2_060, |dice| Line {
        loses: dice.pick(&[0, 20]),
        copies: dice.pick(&[0, 20]),
        forges: dice.pick(&[10, 100]),
        delay_ms: dice.below(100),
        jitter_ms: dice.pick(&[0, 20]),
        ..Line::default()
    });
}
