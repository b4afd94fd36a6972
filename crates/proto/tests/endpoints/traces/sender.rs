//! A sender whose peer is a script.

use fairwire_kit::{Draft, Pair, plain};
use fairwire_proto::{Config, ConnectionId, Encapsulation, Endpoint, Event, Path, Payload, Stats};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Packet, PacketType, Ports, Seq};

/// The one-way delay of every packet.
pub(crate) const ONE_WAY: Duration = Duration::from_millis(50);
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A sender with an open connection, at time 0 of its table.
pub(crate) struct Sender {
    end: Endpoint,
    id: ConnectionId,
    ports: Ports,
    path: Path,
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
        let mut pair = Pair::along(Encapsulation::Udp, ONE_WAY);
        let id = pair.connect(config.clone(), config);
        pair.run_for(Duration::from_secs(2));
        assert!(pair.told(CLIENT).contains(&Event::Connected));
        let (now, path) = (pair.now, pair.path(CLIENT));
        let (_, ports) = pair.last_of(CLIENT);
        let (peer, _) = pair.last_of(SERVER);
        let sent = pair.log.iter().filter(|wire| wire.from == CLIENT);
        let sent = sent.map(|wire| (wire.at, wire.seq(), None)).collect();
        let [end, _] = pair.ends;
        Self {
            end,
            id,
            ports,
            path,
            start: now,
            now,
            payload,
            greedy: false,
            sent,
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
        let draft = Draft::new(self.ports.swapped(), self.peer, kind);
        let head = draft.head(&self.path, options);
        self.end
            .handle_datagram(self.now, plain(self.path), &head, Payload::EMPTY);
    }
}
