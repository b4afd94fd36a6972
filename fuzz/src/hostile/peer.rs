//! The peer: its flows, its packets, and what it has received.

use std::collections::BTreeSet;

use arbitrary::Unstructured;
use bytes::Bytes;
use fairwire_proto::{ConnectionId, Encapsulation, Meta, Path};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Kind, Packet, Seq, SeqNo, ServiceCode};

use super::flow::Flow;
use super::outside::Outside;
use crate::application::{Application, Ledger, PORT};
use crate::setup::{Setup, byte};
use crate::trace;
use crate::watched::{Read, Sent, Watched};

/// The service of every connection.
pub(super) const SERVICE: ServiceCode = ServiceCode(42);

/// The most packets of one input, in both directions.
const PACKETS: u64 = 4_000;

/// The most wake-ups while time passes: one for each millisecond of the busiest second, and those of timers with
/// back-off.
const WAKE_UPS: u64 = 4_000;

/// The state of a run.
#[derive(Debug)]
pub(super) struct World {
    pub(super) end: Watched,
    pub(super) now: Instant,
    pub(super) setup: Setup,
    /// Two flows to the listener and two that the endpoint begins; the second of each pair has another path.
    pub(super) flows: [Flow; 4],
    sent: Vec<(Path, Vec<u8>)>,
    heard: Vec<Sent>,
    pub(super) ledger: PeerData,
    pub(super) application: Application,
    /// Whether the endpoint is not called when its timers are due.
    pub(super) late: bool,
}

/// The data that the peer has sent, by sequence number, and what the endpoint delivered.
#[derive(Debug, Default)]
pub(super) struct PeerData {
    sent: Vec<(SeqNo, Vec<u8>)>,
    read: BTreeSet<(ConnectionId, u64)>,
    /// Whether the peer sent a Sync or `SyncAck`. One with a small number says that the greater numbers were forged, so
    /// the true packets with these numbers may still arrive.
    synced: bool,
}

impl Ledger for PeerData {
    fn sent(&mut self, _: ConnectionId, _: &Bytes) {}

    /// Checks that delivered data came in a packet of that number, and that each number is delivered once.
    fn read(&mut self, read: &Read) {
        let (seq, payload) = (read.seq, &read.payload);
        let came = self.sent.iter().any(|(number, sent)| {
            let same = match *number {
                SeqNo::Long(number) => number == seq,
                SeqNo::Short(number) => number == seq.short(),
            };
            same && sent == payload
        });
        assert!(came, "{} bytes that nobody sent in {seq:?}", payload.len());
        let is_new = self.read.insert((read.id, seq.get()));
        assert!(is_new || self.synced, "{seq:?} delivered twice");
    }
}

fn path(setup: &Setup, other: bool) -> Path {
    let port = match setup.encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 6_511,
    };
    let host = u8::from(other);
    let (local, remote) = if setup.v6 {
        let at = |net, host: u8| ([0x2001, 0xDB8, net, 0, 0, 0, 0, u16::from(host)], port).into();
        (at(1, 1), at(2 + u16::from(host), host))
    } else {
        (
            ([192, 0, 2, 1], port).into(),
            ([192, 0, 2, 2 + host], port).into(),
        )
    };
    Path {
        encapsulation: setup.encapsulation,
        local,
        remote,
    }
}

impl World {
    pub(super) fn new(setup: Setup) -> Self {
        let now = Instant::START + Duration::from_secs(1);
        let app = (setup.config.keep_alive.is_some(), setup.config.report_fates);
        let mut end = Watched::new(setup.endpoint.clone(), 7, now, app);
        end.call(now, |end| {
            // Cloned here, so that the memory counts as the endpoint's.
            let config = setup.config.clone();
            let listening = end.listen(PORT, &[SERVICE, ServiceCode(43)], config);
            assert_eq!(listening, Ok(()), "the input chooses sound settings only");
        });
        let flows = [
            Flow::new(path(&setup, false), 50_000, PORT, false),
            Flow::new(path(&setup, true), 50_001, PORT, false),
            Flow::new(path(&setup, false), 7_000, 40_000, true),
            Flow::new(path(&setup, true), 7_001, 40_001, true),
        ];
        Self {
            end,
            now,
            setup,
            flows,
            sent: Vec::new(),
            heard: Vec::new(),
            ledger: PeerData::default(),
            application: Application::default(),
            late: false,
        }
    }

    /// Returns whether the input has caused as many packets as it may.
    pub(super) fn is_exhausted(&self) -> bool {
        self.sent.len() as u64 + self.end.packets > PACKETS
    }

    /// Returns the flow that `which` selects; 0 and 1 select the flows in the role that the setup prefers.
    pub(super) fn flow(&self, which: usize) -> usize {
        (which & 3) ^ if self.setup.listens { 0 } else { 2 }
    }

    /// Delivers a packet of the peer.
    pub(super) fn launch(&mut self, path: Path, ecn: Ecn, bytes: Vec<u8>) {
        let now = self.now;
        let meta = Meta { path, ecn };
        let (mut head, mut outside) = (bytes.len(), None);
        if let Ok(packet) = Packet::decode(&bytes) {
            head = packet.data_offset;
            trace::line(format_args!(
                "{now} gets {:?} {:?}",
                packet.seq, packet.kind
            ));
            outside = Outside::of(&self.end, &path, &packet);
            self.ledger.synced |= matches!(packet.kind, Kind::Sync { .. } | Kind::SyncAck { .. });
            // RFC 4340, 7.5.3: a packet that acknowledges a number never sent must not be delivered.
            if !self.acknowledges_nothing(&path, &packet) {
                self.ledger.sent.push((packet.seq, bytes[head..].to_vec()));
            }
        }
        let (head, payload) = bytes.split_at(head);
        self.end
            .call(now, |end| end.handle_datagram(now, meta, head, payload));
        if let Some(outside) = outside {
            outside.check(&self.end);
        }
        self.check_answers(&path, &bytes);
        self.sent.push((path, bytes));
        self.listen();
    }

    /// Returns whether this packet acknowledges a number beyond everything that the endpoint has sent on its flow.
    fn acknowledges_nothing(&self, path: &Path, packet: &Packet<'_>) -> bool {
        let flow = self.flows.iter().find(|flow| {
            let ports = (packet.ports.source, packet.ports.destination);
            ports == (flow.local_port, flow.remote_port) && flow.path == *path
        });
        let ack = packet.ack().and_then(SeqNo::long);
        match (flow, ack) {
            (Some(flow), Some(ack)) if !flow.numbers.is_empty() => ack.is_after(flow.heard),
            _ => false,
        }
    }

    /// Lets the peer read what the endpoint has sent.
    pub(super) fn listen(&mut self) {
        for sent in std::mem::take(&mut self.end.out) {
            let packet = Packet::decode(&sent.bytes).expect("what was sent could be read");
            let flow = self.flows.iter_mut().find(|flow| {
                let ports = (packet.ports.source, packet.ports.destination);
                ports == (flow.remote_port, flow.local_port) && sent.path == flow.path
            });
            if let Some(flow) = flow {
                flow.hear(&packet);
            }
            self.heard.push(sent);
        }
    }

    /// Checks that a stranger gets at most three times the bytes of its packet (docs/security.md). Packets that a timer
    /// sends, such as the Reset of an attempt that got no further, do not count.
    fn check_answers(&self, path: &Path, packet: &[u8]) {
        let Some(ports) = packet.first_chunk::<4>() else {
            return;
        };
        if self.end.has_known_anybody() {
            return;
        }
        let back = [ports[2], ports[3], ports[0], ports[1]];
        let answers = self
            .end
            .out
            .iter()
            .filter(|sent| sent.path == *path && sent.bytes.starts_with(&back));
        let left: usize = answers.map(|sent| below(path) + sent.bytes.len()).sum();
        let came = below(path) + packet.len();
        assert!(left <= 3 * came, "{left} bytes for {came} of a stranger");
    }

    /// Returns one of the packets that the peer has sent, counted from the latest.
    pub(super) fn sent_back(&self, back: usize) -> Option<(Path, Vec<u8>)> {
        self.sent
            .iter()
            .nth_back(back % self.sent.len().max(1))
            .cloned()
    }

    /// Returns one of the packets that the endpoint has sent, counted from the latest.
    pub(super) fn heard_back(&self, back: usize) -> Option<Sent> {
        self.heard
            .iter()
            .nth_back(back % self.heard.len().max(1))
            .cloned()
    }

    /// Handles due timers, unless this call is skipped once because the caller is late.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.late) {
            self.end.wake(self.now);
        }
        self.listen();
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Handles timers one after the other, without answers.
    pub(super) fn run_until(&mut self, until: Instant) {
        let mut wake_ups = 0;
        while let Some(at) = self.end.next_timeout().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.end.wake(self.now);
            self.listen();
            wake_ups += 1;
            assert!(
                wake_ups <= WAKE_UPS,
                "{wake_ups} wake-ups, and nobody answers"
            );
        }
        self.now = self.now.max(until);
    }

    /// Lets the application connect, or wait for one client, on a flow of its own.
    pub(super) fn begin(&mut self, which: usize, u: &mut Unstructured<'_>) {
        let how = byte(u);
        let flow = &self.flows[2 + (which & 1)];
        let (now, path, config) = (self.now, flow.path, &self.setup.config);
        let (ours, theirs) = (flow.remote_port, flow.local_port);
        let begun = self.end.begin(now, |end| match how & 3 {
            3 => end.listen_towards(now, path, ours, theirs, SERVICE, config.clone()),
            _ => end.connect(now, path, Some(ours), theirs, SERVICE, config.clone()),
        });
        if begun {
            self.flows[2 + (which & 1)].restart(Seq::new(u64::from(how) << 40));
        }
        self.listen();
    }
}

/// Returns the bytes of the headers below DCCP.
fn below(path: &Path) -> usize {
    let ip = if path.remote.is_ipv6() { 40 } else { 20 };
    let udp = match path.encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 8,
    };
    ip + udp
}
