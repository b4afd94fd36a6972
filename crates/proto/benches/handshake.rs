//! Handshakes in memory: how many a second one core carries through both ends, with state and with
//! Init Cookies; how many forged Requests a second a listener bears; and what an idle connection
//! holds.

use std::net::Ipv4Addr;
use std::time::Instant as Clock;

use fairwire_held::Counting;
use fairwire_kit::{Draft, PORT, Pair, SERVICE};
use fairwire_proto::{Config, Encapsulation, InitCookies};
use fairwire_units::Duration;
use fairwire_wire::{HeadBuf, Kind, Ports, Seq};

/// Connections in one measurement: fewer than there are dynamic ports.
const CONNECTIONS: u32 = 10_000;

/// Forged Requests in one measurement.
const REQUESTS: u32 = 500_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns two endpoints, of which one listens.
fn listening(policy: InitCookies) -> Pair {
    let mut pair = Pair::along(Encapsulation::Udp, Duration::ZERO);
    pair.ends[1].reconfigure(|config| config.init_cookies = policy);
    let listening = pair.ends[1].listen(PORT, &[SERVICE], Config::default());
    assert_eq!(listening, Ok(()));
    pair
}

/// Carries packets over until none wants to leave.
fn settle(pair: &mut Pair, head: &mut HeadBuf) {
    while pair.shuttle(0, head) | pair.shuttle(1, head) {}
    for end in &mut pair.ends {
        while end.poll_event().is_some() {}
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
    let mut pair = listening(policy);
    let mut head = HeadBuf::new();
    let before = fairwire_held::bytes();
    let took = seconds(|| {
        for _ in 0..CONNECTIONS {
            let (now, path) = (pair.now, pair.path(0));
            let begun = pair.ends[0].connect(now, path, None, PORT, SERVICE, Config::default());
            begun.expect("there is room");
            settle(&mut pair, &mut head);
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
    let mut pair = listening(policy);
    let mut head = HeadBuf::new();
    let now = pair.now;
    let took = seconds(|| {
        for n in 0..REQUESTS {
            let (source, destination) = (1, PORT);
            let ports = Ports {
                source,
                destination,
            };
            let kind = Kind::Request { service: SERVICE };
            let seq = Seq::new(u64::from(n));
            pair.knock(
                Ipv4Addr::from_bits(n).into(),
                &Draft::new(ports, seq, kind),
                |_| {},
            );
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
