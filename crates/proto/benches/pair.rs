//! Two connections in memory: how many datagrams a second one core carries from the `send` of
//! one endpoint to the `recv` of the other, feedback included.

use std::time::Instant as Clock;

use bytes::Bytes;
use fairwire_kit::{Pair, config_of};
use fairwire_proto::{Config, Encapsulation, PathMtuDiscovery, Payload};
use fairwire_units::Duration;
use fairwire_wire::HeadBuf;

/// Datagrams in one measurement.
const DATAGRAMS: u64 = 1_000_000;

/// Two endpoints, of which each hands its packets to the other at once.
struct Bench {
    pair: Pair,
    packets: u64,
    /// How far time moves at once.
    tick: Duration,
}

impl Bench {
    fn tick(&mut self, head: &mut HeadBuf) {
        let pair = &mut self.pair;
        pair.now += self.tick;
        // By turns, so that each datagram is acknowledged as it would be on a network.
        loop {
            let moved = u64::from(pair.shuttle(0, head)) + u64::from(pair.shuttle(1, head));
            if moved == 0 {
                break;
            }
            self.packets += moved;
        }
        for end in &mut pair.ends {
            if end.next_timeout().is_some_and(|at| at <= pair.now) {
                end.handle_timeout(pair.now);
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
    let mut pair = Pair::along(encapsulation, Duration::ZERO);
    let mut head = HeadBuf::new();
    let mut config = config_of(ccid);
    config.ccid2.initial_ssthresh = Some(200.0);
    change(&mut config);
    let (client, server) = pair.open(config.clone(), config);
    // Under CCID 4 packets are that far apart: time in between costs nothing to skip.
    let tick = Duration::from_micros(if ccid == 4 { 10_000 } else { 50 });
    let packets = 0;
    let mut bench = Bench {
        pair,
        packets,
        tick,
    };
    let begun = Clock::now();
    let mut received = 0;
    while received < DATAGRAMS {
        while bench.pair.ends[0].can_send(client, payload.len()) {
            let sent = bench.pair.ends[0].send(bench.pair.now, client, payload.clone());
            assert!(sent.is_ok(), "there was room: {sent:?}");
        }
        bench.tick(&mut head);
        while bench.pair.ends[1].recv(server).is_some() {
            received += 1;
        }
        for end in &mut bench.pair.ends {
            while end.poll_event().is_some() {}
        }
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let rate = received as f64 / elapsed;
    let packets = bench.packets as f64 / elapsed;
    println!("{name:<34} {rate:>12.0} datagrams/s {packets:>12.0} packets/s");
}

fn main() {
    let bytes = Payload::Bytes(Bytes::from(vec![7; 1_200]));
    let synthetic = Payload::synthetic(1_200, 0);
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
