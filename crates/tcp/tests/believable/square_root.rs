//! Throughput under random loss compared with the square-root law.
//!
//! Mathis, Semke, Mahdavi and Ott (1997): a window that gains 1/b packets per round trip and loses half per loss event
//! carries sqrt(3 / (2 b p)) packets per round trip. b = 1 if every segment is acknowledged, and b = 2 if every second
//! one is. As in their derivation, packets are those sent, lost ones included.

use fairwire_cc::NewReno;
use fairwire_tcp::{Config, DelayedAcks, Receiver, Sender, Source};
use fairwire_units::{Duration, Instant};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::path::{Path, Run};

/// The law holds within 10 % at 0.1 %, 0.3 % and 1 % random loss, with every segment acknowledged.
///
/// Four seeds of about a thousand loss events each leave a sampling error near 1 %. The rest of the tolerance is for
/// effects outside the law. Random instead of periodic loss carries up to 7 % more (the same authors give 1.31 for
/// 1.22). Whole segments, second losses in a recovery and timeouts carry less, which matters at a window of 12 packets
/// (p = 1 %).
#[test]
fn the_law_holds_with_an_acknowledgement_per_segment() {
    for p in [0.001, 0.003, 0.01] {
        assert_within_a_tenth(p, None);
    }
}

/// With delayed acknowledgements the law holds with b = 2 as long as windows are large. At 1 % loss they average eight
/// packets, and the effects outside the law are more than 10 %.
#[test]
fn the_law_holds_with_delayed_acknowledgements() {
    for p in [0.001, 0.003] {
        assert_within_a_tenth(p, Some(DelayedAcks::default()));
    }
}

/// Long enough that the minimum timeout of one second, which the law does not include, is only a few round trips.
const RTT: Duration = Duration::from_millis(250);

fn assert_within_a_tenth(p: f64, delayed_acks: Option<DelayedAcks>) {
    let b = delayed_acks.map_or(1.0, |delayed| f64::from(delayed.every));
    let law = (1.5 / (b * p)).sqrt();
    let seeds = [1, 2, 3, 4];
    let measured = seeds.map(|seed| packets_per_round_trip(p, delayed_acks, law, seed));
    let ratio = measured.iter().sum::<f64>() / 4.0 / law;
    assert!(
        (0.9..=1.1).contains(&ratio),
        "p = {p}, b = {b}, seeds {seeds:?}: {measured:?} packets per round trip, law {law}, ratio {ratio}"
    );
}

fn packets_per_round_trip(p: f64, delayed_acks: Option<DelayedAcks>, law: f64, seed: u64) -> f64 {
    let config = Config {
        delayed_acks,
        ..Config::default()
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let path = Path {
        rate: None,
        delay: RTT / 2,
        buffer: usize::MAX,
        drop: Box::new(move |segment| {
            segment.len > 0 && f64::from(random.next_u32()) < p * f64::from(u32::MAX)
        }),
    };
    let controller = Box::new(config.window(NewReno));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    // A thousand loss events take a thousand times 1/p packets.
    let round_trips = 1_000.0 / p / law;
    run.until(Instant::START + RTT.mul_f64(round_trips));
    run.sender.stats().segments_sent as f64 / round_trips
}
