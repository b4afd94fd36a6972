//! Long-run windows if every n-th segment is lost, so that nothing is random and the loss rate is known.

use fairwire_cc::{Cubic, CubicVersion, Growth, NewReno, Veno, WindowLaw};
use fairwire_tcp::{Config, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Instant};

use crate::path::{Path, Run};

const RTT: Duration = Duration::from_millis(100);

/// The Reno family follows the square-root law (Mathis, Semke, Mahdavi and Ott 1997).
///
/// A window that grows from half its maximum by a packet per round trip and is halved once in n packets is sqrt(3n/2)
/// on average. Four effects outside the law reduce this by up to three packets, and none increases it:
///
/// - A window sends whole segments: half a packet on average.
/// - A cut leaves whole segments: up to another packet.
/// - The window stays at half for the round trip of a recovery: half a packet (W/2 + 1 round trips, one at W/2 instead
///   of 3/4 W).
/// - Each acknowledgement adds a part of a window that has grown meanwhile: a round trip adds slightly less than a
///   packet.
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

/// Tahoe follows the law of its cycle, within one round trip.
///
/// A cycle is a slow start from one segment to W/2, in log2(W/2) round trips and about W segments, the growth from W/2
/// to W, and the round trip in which it waits. So 3/8 W^2 + W = n segments take W/2 + log2(W/2) + 1 round trips. A
/// cycle takes whole round trips, hence the tolerance.
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

/// Veno reduces its window by a fifth after a random loss.
///
/// A cycle is a recovery at 0.8 W for a round trip, and a growth of W/5 round trips at 0.9 W on average. So 0.18 W^2 +
/// 0.8 W = n segments take W/5 + 1 round trips. Whole segments and cuts to whole segments reduce this by up to a packet
/// and a half, the growth within a round trip by another packet.
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

/// CUBIC follows the response function of RFC 9438, section 5.1, for a round trip of 100 ms.
///
/// That is 12 and 38 packets at loss rates of 1 % and 0.1 %, as Reno (equation 3), and 187 and 1,054 packets at 0.01 %
/// and 0.001 % (equation 6). The older version has the same function (RFC 8312, section 5.1).
///
/// The function describes the cycle in which each loss meets the window at its old maximum. Within a flat part of the
/// curve that cycle does not depend on where it begins. So the flow begins at the maximum of the function: the mean
/// divided by 0.925, or by 0.85 in Reno's region. A steeper or flatter curve would leave this cycle at once.
///
/// The tolerance is 5 %, for the whole numbers of the table, the position of the curve within a round trip and a loss
/// just before or after the maximum. For windows of a dozen packets it is three packets, as for Reno.
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

/// Returns the segments sent per round trip over twenty cycles.
///
/// The window begins with a loss at `maximum`; three cycles before the twenty are not counted.
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
