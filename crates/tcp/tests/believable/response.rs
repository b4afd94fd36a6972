//! Long-run windows where every n-th segment is lost, so that nothing is random and the loss rate is known.

use fairwire_cc::{Cubic, CubicVersion, Growth, NewReno, Veno, WindowLaw};
use fairwire_tcp::{Config, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Instant};

use crate::path::{Path, Run};

const RTT: Duration = Duration::from_millis(100);

/// The Reno family follows the square-root law (Mathis, Semke, Mahdavi and Ott 1997): a window that climbs
/// from half its height by a packet per round trip and is halved once in n packets is sqrt(3n/2) on average.
///
/// What the law leaves out takes up to three packets, and adds none: a window sends whole segments (half a
/// packet on average), and whole ones are left of a cut (up to another); for the round trip of a recovery it stays at
/// half (in W/2 + 1 round trips at W/2 in place of 3/4 W, half a packet); and as each acknowledgement adds
/// a part of a window that has grown meanwhile, a round trip adds a little less than a packet.
#[test]
fn the_reno_family_follows_the_square_root_law() {
    for recovery in [
        RecoveryKind::Reno,
        RecoveryKind::NewReno,
        RecoveryKind::Sack,
    ] {
        for n in [1_000, 300, 100, 50] {
            let law = (1.5 * f64::from(n)).sqrt();
            let measured = mean_window(config(recovery, Growth::Tcp), NewReno, n, law / 0.75);
            let missing = law - measured;
            assert!(
                (0.0..=3.0).contains(&missing),
                "{recovery:?}, n = {n}: {missing} packets below {law}"
            );
        }
    }
}

/// Tahoe's cycle is a slow start from one segment to W/2, in log2(W/2) round trips and about W segments, the
/// climb from W/2 to W, and the round trip in which it waits: 3/8 W^2 + W = n segments in
/// W/2 + log2(W/2) + 1 round trips. A cycle takes whole round trips, so one more or less.
#[test]
fn tahoe_pays_for_its_slow_start() {
    for n in [1_000, 300, 100] {
        let n_f = f64::from(n);
        let w = ((1.0 + 1.5 * n_f).sqrt() - 1.0) / 0.75;
        let round_trips = w / 2.0 + libm::log2(w / 2.0) + 1.0;
        let config = config(RecoveryKind::Tahoe, Growth::Tcp);
        let measured = mean_window(config, NewReno, n, w);
        let ratio = measured * round_trips / n_f;
        let tolerance = 1.0 / round_trips;
        assert!(
            (ratio - 1.0).abs() <= tolerance,
            "n = {n}: {measured}, {ratio} of the law"
        );
    }
}

/// Random losses to Veno take a fifth. A cycle is a recovery at 0.8 W, for a round trip, and a climb of
/// W/5 round trips at 0.9 W on average: 0.18 W^2 + 0.8 W = n segments in W/5 + 1 round trips. Whole segments and what
/// whole ones are left of a cut take up to a packet and a half of that, growth within a round trip another.
#[test]
fn veno_keeps_four_fifths_of_a_random_loss() {
    for n in [1_000, 300, 100] {
        let n_f = f64::from(n);
        let w = ((0.64 + 0.72 * n_f).sqrt() - 0.8) / 0.36;
        let law = n_f / (w / 5.0 + 1.0);
        let config = Config {
            sample_every_ack: true,
            ..config(RecoveryKind::Sack, Growth::Tcp)
        };
        let measured = mean_window(config, Veno::default(), n, w);
        let missing = law - measured;
        assert!(
            (0.0..=2.5).contains(&missing),
            "n = {n}: {missing} packets below {law}"
        );
    }
}

/// CUBIC follows the response function of RFC 9438, section 5.1, for a round trip of 100 ms: 12 and 38 packets at
/// loss rates of 1 % and 0.1 %, as Reno (equation 3), 187 and 1,054 at 0.01 % and 0.001 % (equation 6).
/// The older version has the same function (RFC 8312, section 5.1).
///
/// The function is for the cycle in which each loss meets the window at its old maximum. That cycle is
/// the same wherever it begins within a flat stretch, so the flow begins at the maximum that the function has (the mean
/// over 0.925, or over 0.85 in Reno's region); a curve that were steeper or flatter would leave it at
/// once. Tolerances: 5 % for the table's whole numbers, the curve's place within a round trip and a loss just
/// before or after the maximum; with windows of a dozen packets what Reno misses, too, three packets.
#[test]
fn cubic_follows_its_response_function() {
    for version in [CubicVersion::Rfc9438, CubicVersion::Rfc8312] {
        for (n, mean, of_maximum, tolerance) in [
            (100, 12.2, 0.85, 3.0),
            (1_000, 38.7, 0.85, 38.7 * 0.05),
            (10_000, 187.4, 0.925, 187.4 * 0.05),
            (100_000, 1_054.0, 0.925, 1_054.0 * 0.05),
        ] {
            let config = config(RecoveryKind::Sack, Growth::ByteCounting { limit: 2 });
            let law = Cubic::new(version).with_fast_convergence(false);
            let measured = mean_window(config, law, n, mean / of_maximum);
            assert!(
                (measured - mean).abs() <= tolerance,
                "{version:?}, n = {n}: {measured}, not {mean}"
            );
        }
    }
}

fn config(recovery: RecoveryKind, growth: Growth) -> Config {
    Config {
        recovery,
        growth,
        receive_window: None,
        ..Config::one_way(1_040)
    }
}

/// Segments sent per round trip over twenty cycles of a window that begins with a loss at `maximum`; the first
/// three are not counted.
fn mean_window(config: Config, law: impl WindowLaw + 'static, n: u32, maximum: f64) -> f64 {
    let config = Config {
        initial_window: Some(maximum),
        ..config
    };
    let mut sent = 0_u64;
    let path = Path {
        rate: None,
        delay: RTT / 2,
        buffer: usize::MAX,
        drop: Box::new(move |segment| {
            sent += u64::from(segment.len > 0);
            segment.len > 0 && sent % u64::from(n) == 1
        }),
    };
    let controller = Box::new(config.window(law).with_initial_ssthresh(2.0));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    let mut until = |cycles: u64| {
        let mut at = run.now();
        while run.sender.stats().segments_sent < cycles * u64::from(n) {
            at += RTT;
            run.until(at);
        }
        (at, run.sender.stats().segments_sent)
    };
    let (from, before) = until(3);
    let (to, after) = until(23);
    (after - before) as f64 * RTT.as_secs_f64() / (to - from).as_secs_f64()
}
