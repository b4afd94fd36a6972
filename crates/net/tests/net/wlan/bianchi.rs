//! Saturation compared with Bianchi's model ("Performance analysis of the IEEE 802.11 distributed coordination
//! function", IEEE JSAC 18(3), 2000).
//!
//! The model has the finite number of attempts that Wu et al. (INFOCOM 2002) added: a frame that has failed seven times
//! is dropped, and the next one starts in the first window.

use super::support::{Cells, Host};
use crate::support::ms;
use fairwire_net::{Dcf, Network, PhyRate, RateControl};
use fairwire_units::{Duration, Instant};

/// The size of the IP packets, in bytes.
const BYTES: u32 = 1_500;

/// The model's result for stations that always have a frame to send.
struct Model {
    /// IP bits per second.
    throughput: f64,
    /// The probability that a frame collides.
    collides: f64,
}

/// Returns the mean number of attempts of a frame, and of the slots that it takes over all of them.
///
/// Stage `i` is reached with probability `p^i` and draws from `W_i` slots, `(W_i + 1) / 2` on average including its
/// own.
fn attempts_and_slots(p: f64) -> (f64, f64) {
    let (mut attempts, mut slots, mut reach, mut window) = (0.0, 0.0, 1.0, 16.0);
    for _ in 0..7 {
        attempts += reach;
        slots += reach * (window + 1.0) / 2.0;
        reach *= p;
        window *= 2.0;
    }
    (attempts, slots)
}

fn bianchi(stations: u32, rate: PhyRate) -> Model {
    let power = |base: f64, n: u32| (0..n).fold(1.0, |product, _| product * base);
    let tau = |p: f64| {
        let (attempts, slots) = attempts_and_slots(p);
        attempts / slots
    };
    // p = 1 - (1 - tau(p))^(n - 1) has one solution, because the right side falls as p rises.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = f64::midpoint(low, high);
        if 1.0 - power(1.0 - tau(p), stations - 1) > p {
            low = p;
        } else {
            high = p;
        }
    }
    let tau = tau(low);
    let someone = 1.0 - power(1.0 - tau, stations);
    let one = f64::from(stations) * tau * power(1.0 - tau, stations - 1);
    let slot = Dcf::G.slot.as_secs_f64();
    let busy = rate.airtime(BYTES + 36) + Dcf::G.sifs + rate.ack_airtime() + Dcf::G.difs;
    let mean_slot = (1.0 - someone) * slot + someone * busy.as_secs_f64();
    Model {
        throughput: one * f64::from(BYTES) * 8.0 / mean_slot,
        collides: low,
    }
}

/// Returns the measured IP bits per second, and the share of attempts that collided.
fn saturated(stations: u32, rate: PhyRate, length: Duration) -> (f64, f64) {
    let mut cells = Cells::new(1, 100, u64::from(stations));
    let nodes: Vec<_> = (0..stations)
        .map(|_| cells.station(20, |spec| spec.rate(RateControl::Fixed(rate))))
        .collect();
    let ap = cells.aps[0];
    let mut net: Network<Host> = Network::new(cells.topology, (), ());
    net.place(ap, Host::default());
    for node in &nodes {
        // A frame takes at least 300 us, so ten never fit into 2 ms.
        let clock = (Instant::START, ms(2));
        net.place(*node, Host::sending((*node, ap), (10, BYTES), clock));
    }
    net.run_until(Instant::START + length);
    let received = net.agent(ap).expect("placed above").received.len();
    let stats = nodes
        .iter()
        .map(|node| net.radio_stats(*node).expect("it has a radio"));
    let (attempts, collisions) = stats.fold((0, 0), |(attempts, collisions), stats| {
        (attempts + stats.attempts, collisions + stats.collisions)
    });
    let bits = received as f64 * f64::from(BYTES) * 8.0;
    (
        bits / length.as_secs_f64(),
        collisions as f64 / attempts as f64,
    )
}

/// At 54 Mbit/s the throughput of one to twenty stations is within 3 % of the model's.
///
/// In the model a busy slot counts against every backoff, in the standard it does not. An independent program for the
/// counters alone shows that this is worth 1.7 % at three stations. Three seconds leave about 0.5 % to chance.
#[test]
fn saturation_throughput_is_bianchis() {
    for stations in 1..=20 {
        is_within_3_percent(stations, PhyRate::M54, ms(3_000));
    }
}

/// The throughput at 6 Mbit/s matches too, where a frame takes two milliseconds and slots matter little.
#[test]
fn saturation_at_the_slowest_rate() {
    for stations in [1, 2, 5, 10, 20] {
        is_within_3_percent(stations, PhyRate::M6, ms(12_000));
    }
}

fn is_within_3_percent(stations: u32, rate: PhyRate, time: Duration) {
    let model = bianchi(stations, rate);
    let (throughput, _) = saturated(stations, rate, time);
    let off = throughput / model.throughput - 1.0;
    assert!(
        off.abs() < 0.03,
        "{stations}: {throughput} for {}: {off}",
        model.throughput
    );
}

/// The share of attempts that collide matches the model: none for one station, and more with each further station.
///
/// Here the busy slot matters more, up to a tenth of the share.
#[test]
fn collisions_are_bianchis() {
    assert_eq!(saturated(1, PhyRate::M54, ms(1_000)).1, 0.0);
    let mut before = 0.0;
    for stations in [2, 5, 10, 20] {
        let model = bianchi(stations, PhyRate::M54);
        let (_, collides) = saturated(stations, PhyRate::M54, ms(5_000));
        let off = collides - model.collides;
        assert!(
            off.abs() < 0.03,
            "{stations}: {collides} for {}",
            model.collides
        );
        assert!(collides > before);
        before = collides;
    }
}

/// A single station has the throughput calculated by hand: DIFS, 7.5 slots, frame, SIFS and acknowledgement per frame.
///
/// 28 + 67.5 + 254 + 10 + 34 us for 12,000 bits are 30.49 Mbit/s. The mean of 7,600 draws of 0 to 15 slots is within
/// 0.2 slots, which is 1.9 us of 393.5.
#[test]
fn one_station_by_hand() {
    let (throughput, _) = saturated(1, PhyRate::M54, ms(3_000));
    let expected = 12_000.0 / 393.5e-6;
    assert!((throughput / expected - 1.0).abs() < 0.005, "{throughput}");
}
