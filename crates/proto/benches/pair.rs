//! Two connections in memory: how many datagrams a second one core carries from the `send` of
//! one endpoint to the `recv` of the other, feedback included.

use std::time::Instant as Clock;

use bytes::Bytes;
use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path,
    PathMtuDiscovery, Payload,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, HeadBuf, ServiceCode};

const SERVICE: ServiceCode = ServiceCode(42);
const PORT: u16 = 5_001;

/// Datagrams in one measurement.
const DATAGRAMS: u64 = 1_000_000;

struct Pair {
    now: Instant,
    ends: [Endpoint; 2],
    paths: [Path; 2],
    heads: u64,
    /// How far time moves at once.
    tick: Duration,
}

impl Pair {
    fn new(encapsulation: Encapsulation) -> Self {
        let port = u16::from(encapsulation == Encapsulation::Udp) * 6_511;
        let (a, b) = (([192, 0, 2, 1], port).into(), ([192, 0, 2, 2], port).into());
        let path = |local, remote| Path {
            encapsulation,
            local,
            remote,
        };
        let end = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
        Self {
            now: Instant::START,
            ends: [end(1), end(2)],
            paths: [path(a, b), path(b, a)],
            heads: 0,
            tick: Duration::from_micros(50),
        }
    }

    /// Moves one packet from `side` to the other, if one wants to leave.
    fn shuttle(&mut self, side: usize, head: &mut HeadBuf) -> bool {
        let Some(transmit) = self.ends[side].poll_transmit(self.now, head) else {
            return false;
        };
        let meta = Meta {
            path: self.paths[1 - side],
            ecn: transmit.ecn,
        };
        self.heads += 1;
        self.ends[1 - side].handle_datagram(self.now, meta, head.as_slice(), transmit.payload);
        true
    }

    fn tick(&mut self, head: &mut HeadBuf) {
        self.now += self.tick;
        // By turns, so that each datagram is acknowledged as it would be on a network.
        while self.shuttle(0, head) | self.shuttle(1, head) {}
        for end in &mut self.ends {
            if end.next_timeout().is_some_and(|at| at <= self.now) {
                end.handle_timeout(self.now);
            }
        }
    }

    fn connect(&mut self, config: &Config, head: &mut HeadBuf) -> (ConnectionId, ConnectionId) {
        let listening = self.ends[1].listen(PORT, &[SERVICE], config.clone());
        assert_eq!(listening, Ok(()));
        let path = self.paths[0];
        let client = self.ends[0].connect(self.now, path, None, PORT, SERVICE, config.clone());
        let client = client.expect("an empty endpoint has room");
        loop {
            self.tick(head);
            while let Some((id, event)) = self.ends[1].poll_event() {
                if matches!(event, Event::Accepted { .. }) {
                    return (client, id);
                }
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures time, and nothing that it computes depends on it"
)]
fn measure(
    name: &str,
    encapsulation: Encapsulation,
    ccid: u8,
    payload: &Payload,
    change: impl FnOnce(&mut Config),
) {
    let mut pair = Pair::new(encapsulation);
    if ccid == 4 {
        // Its packets are that far apart: time in between costs nothing to skip.
        pair.tick = Duration::from_millis(10);
    }
    let mut head = HeadBuf::new();
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(ccid)];
    config.receive_ccids = vec![Ccid::new(ccid)];
    config.ccid2.initial_ssthresh = Some(200.0);
    change(&mut config);
    let (client, server) = pair.connect(&config, &mut head);
    let begun = Clock::now();
    let mut received = 0;
    while received < DATAGRAMS {
        while pair.ends[0].can_send(client, payload.len()) {
            let sent = pair.ends[0].send(pair.now, client, payload.clone());
            assert!(sent.is_ok(), "there was room: {sent:?}");
        }
        pair.tick(&mut head);
        while pair.ends[1].recv(server).is_some() {
            received += 1;
        }
        for end in &mut pair.ends {
            while end.poll_event().is_some() {}
        }
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let rate = received as f64 / elapsed;
    let packets = pair.heads as f64 / elapsed;
    println!("{name:<34} {rate:>12.0} datagrams/s {packets:>12.0} packets/s");
}

fn main() {
    let bytes = Payload::Bytes(Bytes::from(vec![7; 1_200]));
    let synthetic = Payload::Synthetic { len: 1_200, tag: 0 };
    let udp = Encapsulation::Udp;
    let as_is = |_: &mut Config| {};
    let no_ecn = |config: &mut Config| config.ecn = false;
    let no_probes = |config: &mut Config| config.path_mtu_discovery = PathMtuDiscovery::Off;
    measure("CCID 2, UDP, 1200 B", udp, 2, &bytes, as_is);
    // What each of two things that are on by default costs.
    measure("CCID 2, UDP, 1200 B, ECN off", udp, 2, &bytes, no_ecn);
    measure("CCID 2, UDP, 1200 B, PMTU off", udp, 2, &bytes, no_probes);
    measure(
        "CCID 2, native, 1200 B",
        Encapsulation::Native,
        2,
        &bytes,
        as_is,
    );
    measure(
        "CCID 2, native, 1200 B synthetic",
        Encapsulation::Native,
        2,
        &synthetic,
        as_is,
    );
    measure("CCID 3, UDP, 1200 B", udp, 3, &bytes, as_is);
    measure("CCID 3, UDP, 1200 B, ECN off", udp, 3, &bytes, no_ecn);
    measure("CCID 3, UDP, 1200 B, PMTU off", udp, 3, &bytes, no_probes);
    measure("CCID 4, UDP, 1200 B", udp, 4, &bytes, as_is);
}
