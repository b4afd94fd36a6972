//! Requirements of RFC 4340 that are only visible on the wire, tested with two endpoints over UDP whose packets are all
//! recorded.

mod feedback;
mod header;

use std::net::SocketAddr;

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path, Payload,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{
    AckEntry, Ccid, DccpOption, Encoder, EntryState, HeadBuf, Kind, Packet, PacketType, Ports,
    ResetCode, Seq, ServiceCode,
};

const PORT: u16 = 5_001;
const SERVICE: ServiceCode = ServiceCode(1);
const OTHER_SERVICE: ServiceCode = ServiceCode(2);
const DELAY: Duration = Duration::from_millis(20);
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// RFC 4340, 5.1 and 7.6.1: CCID 2 does not use `CCVal`, so it is zero. Without agreement on 24-bit numbers, no packet
/// has them.
#[test]
fn ccval_is_zero_and_numbers_are_long() {
    let mut pair = Pair::open(2);
    for _ in 0..20 {
        pair.send(CLIENT);
        pair.send(SERVER);
        pair.run_for(DELAY);
    }
    pair.ends[CLIENT].close(pair.now, pair.client);
    pair.run_for(Duration::from_secs(1));
    let data = pair.log.iter().filter(|sent| sent.is_data());
    assert_eq!(data.count(), 40);
    for sent in &pair.log {
        let packet = sent.packet();
        assert_eq!(packet.ccval, 0, "{:?}", packet.kind);
        assert!(!packet.is_short(), "{:?}", packet.kind);
    }
}

/// RFC 4340, 8.1.5: until the client receives another packet after the Response, it sends data in `DataAck`.
#[test]
fn data_acks_in_partopen() {
    let mut pair = Pair::new(2);
    pair.send(CLIENT);
    pair.lose = |sent| sent.from == SERVER && sent.packet_type() != PacketType::Response;
    pair.run_for(Duration::from_secs(3));
    let types: Vec<_> = pair.types(CLIENT);
    assert!(types.contains(&PacketType::DataAck), "{types:?}");
    assert!(!types.contains(&PacketType::Data), "{types:?}");
    pair.lose = |_| false;
    pair.run_for(Duration::from_secs(3));
    pair.send(CLIENT);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.types(CLIENT).contains(&PacketType::Data), "it is over");
}

/// RFC 4340, 8.1.5: a client that receives nothing after the Response repeats its Ack after 200 ms, and then each time
/// after twice the time.
#[test]
fn acks_of_partopen_come_again_after_200_ms() {
    let mut pair = Pair::new(2);
    pair.lose = |sent| sent.from == SERVER && sent.packet_type() != PacketType::Response;
    pair.run_for(Duration::from_secs(2));
    let acks = |sent: &&Sent| sent.from == CLIENT && sent.packet_type() == PacketType::Ack;
    let times: Vec<_> = pair.log.iter().filter(acks).map(|sent| sent.at).collect();
    let waits: Vec<_> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    assert_eq!(waits, [200, 400, 800]);
}

/// RFC 4340, 8.1.5: PARTOPEN ends after four segment lifetimes, eight minutes, with Reset 2.
#[test]
fn partopen_ends_after_four_segment_lifetimes() {
    let mut pair = Pair::new(2);
    pair.lose = |sent| sent.from == SERVER && sent.packet_type() != PacketType::Response;
    pair.run_for(Duration::from_secs(479));
    assert!(!pair.types(CLIENT).contains(&PacketType::Reset));
    pair.run_for(Duration::from_secs(2));
    let last = pair.log.iter().rfind(|sent| sent.from == CLIENT);
    let kind = last.expect("the client sent something").packet().kind;
    assert!(matches!(
        kind,
        Kind::Reset {
            code: ResetCode::Aborted,
            ..
        }
    ));
}

/// RFC 4340, 8.1.3: a Response answers a Request and is never repeated by a timer.
#[test]
fn no_timer_repeats_a_response() {
    let mut pair = Pair::new(2);
    pair.run_for(DELAY);
    pair.lose = |_| true;
    pair.run_for(Duration::from_secs(300));
    let requests = pair.types(CLIENT);
    assert!(requests.len() > 1, "repeated and lost: {requests:?}");
    assert_eq!(pair.types(SERVER), [PacketType::Response]);
}

/// RFC 4340, 8.2 and 5.7: a `SyncAck` acknowledges its Sync, even if newer packets have arrived since.
#[test]
fn a_sync_ack_names_its_sync() {
    let mut pair = Pair::open(2);
    let (seq, ack) = pair.next_numbers(CLIENT);
    let ack = ack.into();
    pair.inject(CLIENT, seq.add(5), &Kind::Ack { ack }, |_| {});
    let answers = pair.inject(CLIENT, seq.add(2), &Kind::Sync { ack }, |_| {});
    let named = Kind::SyncAck {
        ack: seq.add(2).into(),
    };
    assert_eq!(answers, [named]);
}

/// RFC 4340, 7.4: a packet of an unexpected type is answered with a Sync, and no other packet acknowledges it.
#[test]
fn unexpected_packets_are_not_acknowledged() {
    let mut pair = Pair::open(2);
    let (seq, ack) = pair.next_numbers(CLIENT);
    let unexpected = Kind::Response {
        ack: ack.into(),
        service: SERVICE,
    };
    let answers = pair.inject(CLIENT, seq.add(3), &unexpected, |_| {});
    let ack = seq.add(3).into();
    assert_eq!(answers, [Kind::Sync { ack }]);
    let server = pair.server.expect("open");
    let before = pair.log.len();
    pair.ends[SERVER].close(pair.now, server);
    pair.drain();
    let ack = seq.prev().into();
    assert_eq!(pair.log[before].packet().kind, Kind::CloseReq { ack });
}

/// RFC 4340, 11.4: a packet that was dropped before its options were processed is reported as missing, even if the next
/// vector covers its number.
#[test]
fn dropped_packets_are_told_as_missing() {
    let mut pair = Pair::open(2);
    let (seq, ack) = pair.next_numbers(CLIENT);
    let unexpected = Kind::Response {
        ack: ack.into(),
        service: SERVICE,
    };
    pair.inject(CLIENT, seq.add(1), &unexpected, |_| {});
    pair.inject(CLIENT, seq.add(2), &Kind::Data, |_| {});
    let told = pair.log.iter().rfind(|sent| sent.from == SERVER);
    let packet = told.expect("an acknowledgement").packet();
    let vector = packet
        .options
        .iter()
        .find_map(|raw| match raw.decode() {
            Ok(DccpOption::AckVector { entries, .. }) => Some(entries),
            _ => None,
        })
        .expect("a vector");
    let entries: Vec<_> = vector
        .iter()
        .map(|entry| (entry.state(), entry.run()))
        .collect();
    let missing = (EntryState::NotReceived, 2);
    assert_eq!(entries[..2], [(EntryState::Received, 1), missing]);
}

/// RFC 4340, 5.7: a Sync may name a packet that was never processed, so it acknowledges nothing, whatever else it
/// carries. An Ack with the same contents does.
#[test]
fn a_sync_acknowledges_nothing() {
    for (counts, acknowledged) in [(false, 0), (true, 1)] {
        let mut pair = Pair::open(2);
        pair.lose = |_| true;
        pair.send(CLIENT);
        pair.drain();
        let (seq, ack) = pair.next_numbers(SERVER);
        let ack = ack.into();
        let kind = if counts {
            Kind::Ack { ack }
        } else {
            Kind::Sync { ack }
        };
        pair.inject(SERVER, seq, &kind, |encoder| {
            let arrived = AckEntry::new(EntryState::Received, 1);
            encoder.ack_vector([arrived]).expect("there is room");
        });
        let stats = pair.ends[CLIENT].stats(pair.client).expect("open");
        assert_eq!(stats.acknowledged, acknowledged, "{kind:?}");
    }
}

/// RFC 4340, 5.1: source ports cannot be predicted without the secret, and are in the dynamic range.
#[test]
fn source_ports_are_spread() {
    let mut ports: Vec<u16> = (0..100)
        .map(|seed| {
            let mut end = Endpoint::new(EndpointConfig::default(), [seed; 32]);
            let connected =
                end.connect(Instant::START, path(CLIENT), None, PORT, SERVICE, config(2));
            let id = connected.expect("a port is free");
            end.addresses(id).expect("a connection").0
        })
        .collect();
    assert!(ports.iter().all(|&port| port >= 49_152));
    ports.sort_unstable();
    ports.dedup();
    // A hundred draws from 16,384 ports: one or two may be equal, but not many.
    assert!(ports.len() > 90, "{} different ports", ports.len());
}

/// RFC 5595, 2.4: a port serves several Service Codes and refuses others.
#[test]
fn a_port_serves_several_services() {
    for (service, opens) in [
        (SERVICE, true),
        (OTHER_SERVICE, true),
        (ServiceCode(3), false),
    ] {
        let mut pair = Pair::with_service(2, service);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.server.is_some(), opens, "{service}");
        // RFC 5595, 3.3: the server learns which one the client chose.
        let chosen = pair.server.and_then(|id| pair.ends[SERVER].service(id));
        assert_eq!(chosen, opens.then_some(service));
    }
}

/// A packet that was sent.
struct Sent {
    from: usize,
    at: Instant,
    ecn: Ecn,
    head: Vec<u8>,
    payload: Payload,
}

impl Sent {
    fn packet(&self) -> Packet<'_> {
        Packet::decode(&self.head).expect("an endpoint writes what can be read")
    }

    fn packet_type(&self) -> PacketType {
        self.packet().packet_type()
    }

    fn is_data(&self) -> bool {
        matches!(self.packet_type(), PacketType::Data | PacketType::DataAck)
    }
}

/// A client and a server, 20 ms apart.
struct Pair {
    now: Instant,
    ends: [Endpoint; 2],
    client: ConnectionId,
    server: Option<ConnectionId>,
    log: Vec<Sent>,
    /// How many packets of the log have been delivered or lost.
    arrived: usize,
    lose: fn(&Sent) -> bool,
}

impl Pair {
    /// Creates a pair whose client is about to connect.
    fn new(ccid: u8) -> Self {
        Self::with_service(ccid, SERVICE)
    }

    fn with_service(ccid: u8, service: ServiceCode) -> Self {
        Self::with_configs(service, [config(ccid), config(ccid)])
    }

    fn with_configs(service: ServiceCode, [client, server]: [Config; 2]) -> Self {
        let now = Instant::START + Duration::from_secs(1);
        let end = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
        let mut ends = [end(1), end(2)];
        ends[SERVER]
            .listen(PORT, &[SERVICE, OTHER_SERVICE], server)
            .expect("the port is free");
        let client = ends[CLIENT]
            .connect(now, path(CLIENT), None, PORT, service, client)
            .expect("a port is free");
        let mut pair = Self {
            now,
            ends,
            client,
            server: None,
            log: Vec::new(),
            arrived: 0,
            lose: |_| false,
        };
        pair.drain();
        pair
    }

    /// Creates a pair with an open connection and a complete handshake.
    fn open(ccid: u8) -> Self {
        let mut pair = Self::new(ccid);
        pair.run_for(Duration::from_secs(1));
        assert!(pair.server.is_some(), "it opened");
        pair
    }

    fn send(&mut self, side: usize) {
        let id = [Some(self.client), self.server][side].expect("open");
        self.ends[side]
            .send(self.now, id, Payload::from(vec![0; 100]))
            .expect("there is room");
    }

    /// Sends everything that is ready to leave.
    fn drain(&mut self) {
        let mut head = HeadBuf::new();
        for from in [CLIENT, SERVER] {
            while let Some(transmit) = self.ends[from].poll_transmit(self.now, &mut head) {
                self.log.push(Sent {
                    from,
                    at: self.now,
                    ecn: transmit.ecn,
                    head: head.as_slice().to_vec(),
                    payload: transmit.payload,
                });
            }
            while let Some((id, event)) = self.ends[from].poll_event() {
                if matches!(event, Event::Accepted { .. }) {
                    self.server = Some(id);
                }
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.drain();
            let arrival = self.log.get(self.arrived).map(|sent| sent.at + DELAY);
            let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|at| at <= self.now) {
                let sent = &self.log[self.arrived];
                let (to, lost) = (1 - sent.from, (self.lose)(sent));
                self.arrived += 1;
                if !lost {
                    let (head, payload) = (sent.head.clone(), sent.payload.clone());
                    let meta = Meta {
                        path: path(to),
                        ecn: sent.ecn,
                    };
                    self.ends[to].handle_datagram(self.now, meta, &head, payload);
                }
            }
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    fn types(&self, from: usize) -> Vec<PacketType> {
        let sent = self.log.iter().filter(|sent| sent.from == from);
        sent.map(Sent::packet_type).collect()
    }

    /// Returns the next sequence number of `side`, and the newest of the other side.
    fn next_numbers(&self, side: usize) -> (Seq, Seq) {
        let newest = |of| {
            let sent = self.log.iter().rfind(|sent| sent.from == of);
            let seq = sent.and_then(|sent| sent.packet().seq.long());
            seq.expect("both have spoken, in 48 bits")
        };
        (newest(side).next(), newest(1 - side))
    }

    /// Delivers a packet that `from` could have sent, and returns the immediate answers.
    fn inject(
        &mut self,
        from: usize,
        seq: Seq,
        kind: &Kind,
        options: impl FnOnce(&mut Encoder<'_>),
    ) -> Vec<Kind> {
        let (local, remote, _) = self.ends[CLIENT].addresses(self.client).expect("open");
        let mut ports = Ports {
            source: local,
            destination: remote,
        };
        if from == SERVER {
            ports = ports.swapped();
        }
        let mut head = HeadBuf::new();
        let mut encoder = Encoder::new(&mut head, ports, seq.into(), kind, 0, 0);
        options(&mut encoder);
        let head = encoder.finish();
        let meta = Meta {
            path: path(1 - from),
            ecn: Ecn::NotEct,
        };
        let before = self.log.len();
        self.ends[1 - from].handle_datagram(self.now, meta, head.as_slice(), Payload::EMPTY);
        self.drain();
        self.log[before..]
            .iter()
            .map(|sent| sent.packet().kind)
            .collect()
    }
}

fn path(side: usize) -> Path {
    let addresses = [
        SocketAddr::from(([192, 0, 2, 1], 7_001)),
        SocketAddr::from(([192, 0, 2, 2], 7_002)),
    ];
    Path {
        encapsulation: Encapsulation::Udp,
        local: addresses[side],
        remote: addresses[1 - side],
    }
}

/// Returns a configuration with one CCID in both directions and long timeouts.
fn config(ccid: u8) -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(ccid)];
    config.receive_ccids = vec![Ccid::new(ccid)];
    config.connect_timeout = Duration::from_secs(600).into();
    config.idle_timeout = Duration::from_secs(3_600).into();
    config
}
