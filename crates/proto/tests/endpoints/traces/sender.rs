//! A sender whose peer is a script.

use std::net::SocketAddr;

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path, Payload,
    Stats,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Packet, PacketType, Ports, Seq, ServiceCode};

const PORT: u16 = 5_001;
const SERVICE: ServiceCode = ServiceCode(1);
/// The one-way delay of every packet.
pub(crate) const ONE_WAY: Duration = Duration::from_millis(50);
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A sender with an open connection, at time 0 of its table.
pub(crate) struct Sender {
    end: Endpoint,
    id: ConnectionId,
    ports: Ports,
    start: Instant,
    pub(crate) now: Instant,
    payload: usize,
    /// Whether the application always has something to send.
    pub(crate) greedy: bool,
    /// Every sequence number used: when, the number, and the ordinal of its datagram, counted from 1, if it has one.
    sent: Vec<(Instant, Seq, Option<u64>)>,
    datagrams: u64,
    /// The last number that the peer used.
    peer: Seq,
}

impl Sender {
    /// Opens a connection over a path of 100 ms and waits until the handshake and its negotiation are complete.
    pub(crate) fn open(config: Config, payload: usize) -> Self {
        // The tables contain reports that no real receiver would send: each row tests one rule.
        let mut config = config;
        config.check_feedback = false;
        let end = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
        let mut ends = [end(1), end(2)];
        let mut now = Instant::START + Duration::from_secs(1);
        ends[SERVER]
            .listen(PORT, &[SERVICE], config.clone())
            .expect("the port is free");
        let id = ends[CLIENT]
            .connect(now, path(CLIENT), None, PORT, SERVICE, config)
            .expect("a port is free");
        let (local, remote, _) = ends[CLIENT].addresses(id).expect("begun");
        let ports = Ports {
            source: local,
            destination: remote,
        };
        let mut sender = Vec::new();
        let mut peer = Seq::ZERO;
        let mut flying: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
        let open_at = now + Duration::from_secs(2);
        while now < open_at {
            for (from, end) in ends.iter_mut().enumerate() {
                let mut head = HeadBuf::new();
                while end.poll_transmit(now, &mut head).is_some() {
                    let bytes = head.as_slice().to_vec();
                    let packet = Packet::decode(&bytes).expect("ours");
                    let seq = packet.seq.long().expect("48 bits");
                    if from == CLIENT {
                        sender.push((now, seq, None));
                    } else {
                        peer = seq;
                    }
                    flying.push((now + ONE_WAY, 1 - from, bytes));
                }
            }
            let timers = ends.iter().filter_map(Endpoint::next_timeout);
            let arrivals = flying.iter().map(|(at, ..)| *at);
            let next = timers.chain(arrivals).min().unwrap_or(open_at);
            now = next.clamp(now, open_at);
            flying.retain(|(at, to, head)| {
                let arrived = *at <= now;
                if arrived {
                    let meta = Meta {
                        path: path(*to),
                        ecn: Ecn::NotEct,
                    };
                    ends[*to].handle_datagram(now, meta, head, Payload::EMPTY);
                }
                !arrived
            });
            for end in &mut ends {
                end.handle_timeout(now);
            }
        }
        let [mut end, _] = ends;
        let opened = std::iter::from_fn(|| end.poll_event()).any(|(_, e)| e == Event::Connected);
        assert!(opened, "the connection is open");
        Self {
            end,
            id,
            ports,
            start: now,
            now,
            payload,
            greedy: false,
            sent: sender,
            datagrams: 0,
            peer,
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        self.end.stats(self.id).expect("open")
    }

    /// Queues datagrams.
    pub(crate) fn offer(&mut self, datagrams: u64) {
        for _ in 0..datagrams {
            self.end
                .send(self.now, self.id, Payload::from(vec![0; self.payload]))
                .expect("there is room");
        }
    }

    /// Sends all that may leave now, and returns the ordinals of the datagrams sent.
    pub(crate) fn drain(&mut self) -> Vec<u64> {
        let mut head = HeadBuf::new();
        let mut datagrams = Vec::new();
        self.refill();
        while self.end.poll_transmit(self.now, &mut head).is_some() {
            let packet = Packet::decode(head.as_slice()).expect("ours");
            let seq = packet.seq.long().expect("48 bits");
            let is_data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
            let ordinal = is_data.then(|| {
                self.datagrams += 1;
                self.datagrams
            });
            datagrams.extend(ordinal);
            self.sent.push((self.now, seq, ordinal));
            self.refill();
        }
        datagrams
    }

    fn refill(&mut self) {
        if self.greedy && self.stats().queued_packets < 2 {
            self.offer(2);
        }
    }

    /// Returns the newest datagram that was sent at least `age` ago, and how much longer ago that was.
    pub(crate) fn newest_older_than(&self, age: Duration) -> (u64, Duration) {
        let old_enough = |at: Instant| self.now.saturating_since(at) >= age;
        let mut data = self
            .sent
            .iter()
            .rev()
            .filter(|(.., ordinal)| ordinal.is_some());
        let found = data.find(|(at, ..)| old_enough(*at));
        let &(at, _, ordinal) = found.expect("one was sent");
        (
            ordinal.expect("a datagram"),
            self.now.saturating_since(at) - age,
        )
    }

    /// Advances to time `at` of the table, with timers. Returns the datagrams that left in between, and when.
    pub(crate) fn advance(&mut self, at: Duration) -> Vec<(Instant, u64)> {
        let until = self.start + at;
        let mut left = Vec::new();
        while let Some(next) = self.end.next_timeout().filter(|&next| next < until) {
            self.now = self.now.max(next);
            self.end.handle_timeout(self.now);
            left.extend(self.drain().into_iter().map(|ordinal| (self.now, ordinal)));
        }
        self.now = until;
        self.end.handle_timeout(self.now);
        left
    }

    /// Returns the sequence number of a datagram.
    pub(crate) fn seq_of(&self, ordinal: u64) -> Seq {
        let found = self.sent.iter().find(|(.., of)| *of == Some(ordinal));
        found.unwrap_or_else(|| panic!("{ordinal} was not sent")).1
    }

    /// Returns the datagram that a sequence number carried.
    pub(crate) fn ordinal_of(&self, seq: Seq) -> Option<u64> {
        self.sent.iter().find(|(_, of, _)| *of == seq)?.2
    }

    /// Delivers an Ack from the peer that acknowledges `ack`.
    pub(crate) fn receive_ack(&mut self, ack: Seq, options: impl FnOnce(&mut Encoder<'_>)) {
        self.peer = self.peer.next();
        let kind = Kind::Ack { ack: ack.into() };
        let ports = self.ports.swapped();
        let mut head = HeadBuf::new();
        let mut encoder = Encoder::new(&mut head, ports, self.peer.into(), &kind, 0, 0);
        options(&mut encoder);
        let head = encoder.finish().as_slice().to_vec();
        let meta = Meta {
            path: path(CLIENT),
            ecn: Ecn::NotEct,
        };
        self.end
            .handle_datagram(self.now, meta, &head, Payload::EMPTY);
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
