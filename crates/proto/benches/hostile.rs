//! What one hostile packet costs an endpoint: median, 99th percentile and maximum of the time from its
//! arrival until everything it brought about has left, beside an honest packet of a connection.

use std::time::Instant as Clock;

use fairwire_proto::{
    Config, Encapsulation, Endpoint, EndpointConfig, InitCookies, Meta, Path, Payload, Transmit,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{
    AckEntries, AckEntry, DccpOption, DropBlocks, Encoder, EntryState, HeadBuf, Kind, Packet,
    Ports, Seq, SeqNo, ServiceCode,
};

const SERVICE: ServiceCode = ServiceCode(42);
const PORTS: Ports = Ports {
    source: 1,
    destination: 5_001,
};

/// Packets in one measurement.
const PACKETS: u32 = 20_000;

/// An endpoint with a listener, and what a peer needs to know in order to be believed.
struct Victim {
    end: Endpoint,
    now: Instant,
    /// The next number of the peer.
    seq: Seq,
    /// The newest number of the endpoint.
    newest: Seq,
    /// Packets that the endpoint sent.
    answers: u32,
}

/// One packet of a measurement, made from its number; gives who sends it.
type Make<'a> = &'a dyn Fn(&Victim, u32, &mut HeadBuf) -> Path;

impl Victim {
    fn new(cookies: InitCookies) -> Self {
        let mut endpoint = EndpointConfig::default();
        endpoint.init_cookies = cookies;
        let mut end = Endpoint::new(endpoint, [7; 32]);
        let listening = end.listen(PORTS.destination, &[SERVICE], Config::default());
        assert_eq!(listening, Ok(()));
        Self {
            end,
            now: Instant::START + Duration::from_secs(1),
            seq: Seq::new(1_000),
            newest: Seq::ZERO,
            answers: 0,
        }
    }

    /// The same with a connection in use, which an honest peer opened: the endpoint keeps packets in
    /// flight, and whoever forges knows all numbers.
    fn open() -> Self {
        let mut victim = Self::new(InitCookies::Never);
        let mut peer = Endpoint::new(EndpointConfig::default(), [8; 32]);
        let (local, remote) = (path_from(1).remote, path_from(1).local);
        let encapsulation = Encapsulation::Udp;
        let path = Path {
            encapsulation,
            local,
            remote,
        };
        let (source, config) = (Some(PORTS.source), Config::default());
        let begun = peer.connect(victim.now, path, source, PORTS.destination, SERVICE, config);
        begun.expect("there is room");
        for _ in 0..4 {
            victim.exchange(&mut peer, path);
        }
        let (id, _) = victim.end.poll_event().expect("it is accepted");
        for _ in 0..40 {
            let data = Payload::synthetic(100, 0);
            let _ = victim.end.send(victim.now, id, data);
            victim.exchange(&mut peer, path);
        }
        // What the peer does not answer is in flight.
        let mut out = HeadBuf::new();
        for _ in 0..20 {
            let data = Payload::synthetic(100, 0);
            let _ = victim.end.send(victim.now, id, data);
            victim.drain(&mut out, |_, _| {});
        }
        assert!(victim.end.stats(id).is_some_and(|s| s.flight_packets > 3));
        victim.seq = victim.seq.next();
        victim.answers = 0;
        victim
    }

    /// Carries over what waits on either side, ten milliseconds later.
    fn exchange(&mut self, peer: &mut Endpoint, path: Path) {
        let (mut head, now) = (HeadBuf::new(), self.now);
        while let Some(sent) = peer.poll_transmit(now, &mut head) {
            let packet = Packet::decode_head(head.as_slice(), sent.payload.len());
            self.seq = packet.expect("ours").seq.long().expect("48 bits");
            let meta = Meta {
                path: path_from(1),
                ecn: sent.ecn,
            };
            self.end
                .handle_datagram(now, meta, head.as_slice(), sent.payload);
        }
        self.drain(&mut head, |head, sent| {
            let meta = Meta {
                path,
                ecn: sent.ecn,
            };
            peer.handle_datagram(now, meta, head, sent.payload);
        });
        self.now += Duration::from_millis(10);
        self.end.handle_timeout(self.now);
        peer.handle_timeout(self.now);
    }

    /// Takes what the endpoint wants to send.
    fn drain(&mut self, out: &mut HeadBuf, mut take: impl FnMut(&[u8], Transmit)) {
        while let Some(sent) = self.end.poll_transmit(self.now, out) {
            self.answers += 1;
            if let Ok(packet) = Packet::decode_head(out.as_slice(), sent.payload.len()) {
                self.newest = packet.seq.long().unwrap_or(self.newest);
            }
            take(out.as_slice(), sent);
        }
    }

    /// Gives the microseconds that the endpoint works on the packet.
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark measures time, and nothing that it computes depends on it"
    )]
    fn receive(&mut self, number: u32, make: Make<'_>) -> f64 {
        let (mut head, mut out) = (HeadBuf::new(), HeadBuf::new());
        let path = make(self, number, &mut head);
        let ecn = Ecn::NotEct;
        let meta = Meta { path, ecn };
        let begun = Clock::now();
        self.end.handle_timeout(self.now);
        self.end
            .handle_datagram(self.now, meta, head.as_slice(), Payload::EMPTY);
        self.drain(&mut out, |_, _| {});
        while self.end.poll_event().is_some() {}
        let took = begun.elapsed().as_secs_f64() * 1e6;
        self.seq = self.seq.next();
        self.now += Duration::from_millis(1);
        took
    }
}

/// A stranger, or the peer itself, which is number one.
fn path_from(number: u32) -> Path {
    Path {
        encapsulation: Encapsulation::Udp,
        local: ([192, 0, 2, 2], 6_511).into(),
        remote: (std::net::Ipv4Addr::from_bits(0x0A00_0000 | number), 6_511).into(),
    }
}

/// Writes a head with these options, over and over until it is full.
fn write(head: &mut HeadBuf, seq: Seq, kind: &Kind, options: &[DccpOption<'_>]) {
    let mut encoder = Encoder::new(head, PORTS, seq.into(), kind, 0, 0);
    for option in options.iter().cycle() {
        if encoder.option(option).is_err() {
            break;
        }
    }
    encoder.finish();
}

fn measure(name: &str, mut victim: Victim, make: Make<'_>) {
    let is_peer = victim.end.endpoint_stats().connections == 1;
    let mut took: Vec<f64> = (0..PACKETS).map(|n| victim.receive(n, make)).collect();
    took.sort_by(f64::total_cmp);
    let at = |share: usize| took[(took.len() - 1) * share / 1_000];
    let (median, high, most) = (at(500), at(990), at(1_000));
    let answers = f64::from(victim.answers) / f64::from(PACKETS);
    println!("{name:<44} {median:>8.2} {high:>8.2} {most:>8.1} us {answers:>8.3}");
    if is_peer {
        let left = victim.end.endpoint_stats().connections;
        assert_eq!(left, 1, "the connection outlives it");
    }
}

/// Requests of strangers, each from an address of its own.
fn requests(name: &str, cookies: InitCookies, options: &[DccpOption<'_>]) {
    let service = SERVICE;
    measure(name, Victim::new(cookies), &|victim, number, head| {
        write(head, victim.seq, &Kind::Request { service }, options);
        path_from(2 + number)
    });
}

/// Acknowledgements of a peer that has a connection.
fn acks(name: &str, options: &[DccpOption<'_>]) {
    measure(name, Victim::open(), &|victim, _, head| {
        let ack = SeqNo::from(victim.newest);
        write(head, victim.seq, &Kind::Ack { ack }, options);
        path_from(1)
    });
}

/// Packets of the peer's address whose numbers are `far` ahead of the peer's.
fn jumps(name: &str, far: u64, sync: bool) {
    measure(name, Victim::open(), &|victim, number, head| {
        let ack = SeqNo::from(victim.newest);
        let seq = victim.seq.add(far * u64::from(number % 2));
        let kind = if sync {
            Kind::Sync { ack }
        } else {
            Kind::DataAck { ack }
        };
        write(head, seq, &kind, &[]);
        path_from(1)
    });
}

fn main() {
    let runs = |state| [AckEntry::new(state, AckEntry::MAX_RUN).byte(); 250];
    let (all, none) = (runs(EntryState::Received), runs(EntryState::NotReceived));
    let vector = |entries| DccpOption::AckVector {
        nonce: false,
        entries: AckEntries(entries),
    };
    let wish = |feature, value| DccpOption::ChangeR { feature, value };
    println!(
        "{:<44} {:>8} {:>8} {:>8}    {:>8}",
        "", "median", "99 %", "most", "answers"
    );
    acks("Ack of a peer", &[]);
    jumps("DataAck of a peer", 0, false);
    requests("Request, with state", InitCookies::Never, &[]);
    requests("Request, Init Cookie", InitCookies::Always, &[]);
    let many = [wish(2, &[1]), wish(1, &[3, 4, 2]), wish(3, &[0x3F; 6])];
    requests("Request full of Changes", InitCookies::Never, &many);
    requests(
        "Request full of Changes, Init Cookie",
        InitCookies::Always,
        &many,
    );
    acks("Ack full of Changes", &many);
    acks(
        "Ack full of Changes of an unknown feature",
        &[wish(200, &[1])],
    );
    acks("Ack Vectors that report all received", &[vector(&all)]);
    acks("Ack Vectors that report all lost", &[vector(&none)]);
    let dropped = DccpOption::DataDropped(DropBlocks(&[0x7F; 250]));
    acks("Ack full of Data Dropped", &[dropped]);
    let unknown = DccpOption::Unknown {
        option_type: 100,
        data: &[],
    };
    acks("Ack full of unknown options", &[unknown]);
    jumps("DataAck, every other within the window", 50, false);
    jumps("DataAck, every other beyond the window", 1 << 30, false);
    jumps("Sync, every other beyond the window", 1 << 30, true);
}
