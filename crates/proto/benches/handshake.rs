//! Handshakes in memory: how many a second one core carries through both ends, with state and with
//! Init Cookies; how many forged Requests a second a listener bears; and what an idle connection
//! holds.

use std::time::Instant as Clock;

use fairwire_held::Counting;
use fairwire_proto::{
    Config, Encapsulation, Endpoint, EndpointConfig, InitCookies, Meta, Path, Payload,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Ports, Seq, ServiceCode};

const SERVICE: ServiceCode = ServiceCode(42);
const PORT: u16 = 5_001;

/// Connections in one measurement: fewer than there are dynamic ports.
const CONNECTIONS: u32 = 10_000;

/// Forged Requests in one measurement.
const REQUESTS: u32 = 500_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Pair {
    now: Instant,
    ends: [Endpoint; 2],
    paths: [Path; 2],
}

impl Pair {
    fn new(policy: InitCookies) -> Self {
        let (a, b) = (
            ([192, 0, 2, 1], 6_511).into(),
            ([192, 0, 2, 2], 6_511).into(),
        );
        let path = |local, remote| Path {
            encapsulation: Encapsulation::Udp,
            local,
            remote,
        };
        let mut config = EndpointConfig::default();
        config.init_cookies = policy;
        let end = |secret| Endpoint::new(config.clone(), [secret; 32]);
        let mut ends = [end(1), end(2)];
        let listening = ends[1].listen(PORT, &[SERVICE], Config::default());
        assert_eq!(listening, Ok(()));
        Self {
            now: Instant::START + Duration::from_secs(1),
            ends,
            paths: [path(a, b), path(b, a)],
        }
    }

    /// Carries packets over until none wants to leave.
    fn settle(&mut self, head: &mut HeadBuf) {
        loop {
            let mut moved = false;
            for side in 0..2 {
                while let Some(transmit) = self.ends[side].poll_transmit(self.now, head) {
                    let meta = Meta {
                        path: self.paths[1 - side],
                        ecn: transmit.ecn,
                    };
                    let to = &mut self.ends[1 - side];
                    to.handle_datagram(self.now, meta, head.as_slice(), transmit.payload);
                    moved = true;
                }
                while self.ends[side].poll_event().is_some() {}
            }
            if !moved {
                return;
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures time, and nothing that it computes depends on it"
)]
fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Clock::now();
    work();
    begun.elapsed().as_secs_f64()
}

fn handshakes(name: &str, policy: InitCookies) {
    let mut pair = Pair::new(policy);
    let mut head = HeadBuf::new();
    let before = fairwire_held::bytes();
    let took = seconds(|| {
        for _ in 0..CONNECTIONS {
            let (now, path) = (pair.now, pair.paths[0]);
            let begun = pair.ends[0].connect(now, path, None, PORT, SERVICE, Config::default());
            begun.expect("there is room");
            pair.settle(&mut head);
            pair.now += Duration::from_micros(10);
        }
    });
    let held = fairwire_held::bytes() - before;
    let open = pair.ends[1].endpoint_stats().connections;
    assert_eq!(open, CONNECTIONS as usize, "all are open");
    let rate = f64::from(CONNECTIONS) / took;
    let bytes = held / (2 * open).cast_signed();
    println!("{name:<28} {rate:>10.0} handshakes/s {bytes:>8} bytes per idle connection and end");
}

fn flood(name: &str, policy: InitCookies) {
    let mut pair = Pair::new(policy);
    let mut head = HeadBuf::new();
    let mut request = HeadBuf::new();
    let (now, to) = (pair.now, pair.paths[1]);
    let took = seconds(|| {
        for n in 0..REQUESTS {
            let path = Path {
                remote: (std::net::Ipv4Addr::from_bits(n), 6_511).into(),
                ..to
            };
            let (source, destination) = (1, PORT);
            let ports = Ports {
                source,
                destination,
            };
            let kind = Kind::Request { service: SERVICE };
            let seq = Seq::new(u64::from(n)).into();
            let encoded = Encoder::new(&mut request, ports, seq, &kind, 0, 0).finish();
            let ecn = Ecn::NotEct;
            let meta = Meta { path, ecn };
            pair.ends[1].handle_datagram(now, meta, encoded.as_slice(), Payload::EMPTY);
            while pair.ends[1].poll_transmit(now, &mut head).is_some() {}
        }
    });
    let rate = f64::from(REQUESTS) / took;
    let held = pair.ends[1].endpoint_stats().half_open;
    println!("{name:<28} {rate:>10.0} requests/s   {held:>8} half-open connections");
}

fn main() {
    handshakes("with state", InitCookies::Never);
    handshakes("with Init Cookies", InitCookies::Always);
    flood("forged, with state", InitCookies::Never);
    flood("forged, by default", InitCookies::default());
    flood("forged, with Init Cookies", InitCookies::Always);
}
