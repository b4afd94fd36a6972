//! Vegas (Brakmo and Peterson 1995) over a bottleneck.

use fairwire_cc::{NewReno, Vegas};
use fairwire_tcp::{Config, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Instant, Rate};

use crate::path::{Path, Run};

/// The bottleneck of the voice paper: 46.4 ms for a segment.
const RATE: Rate = Rate::from_bits_per_s(250_000);
const DELAY: Duration = Duration::from_millis(70);

/// Between `alpha` and `beta` packets wait, and nothing is ever lost, on a path of four packets or forty.
///
/// The waiting packets are the outstanding ones less those that an empty path holds. The law compares whole packets
/// with its thresholds, so half a packet on both sides is its own tolerance; the test adds nothing to it.
#[test]
fn the_queue_stays_between_alpha_and_beta() {
    for (rate, alpha, beta) in [
        (250_000, 1.0, 3.0),
        (2_500_000, 1.0, 3.0),
        (2_500_000, 2.0, 4.0),
    ] {
        let rate = Rate::from_bits_per_s(rate);
        let law = Vegas::new(alpha, beta, 1.0);
        let config = vegas();
        let mut run = start(config, Box::new(config.window(law)), rate, 100, |_| false);
        run.until(Instant::START + Duration::from_secs(60));
        let service = 1_500.0 * 8.0 / rate.bits_per_s() as f64;
        let holds = (2.0 * DELAY.as_secs_f64() + service) / service;
        let mut sum = 0.0;
        for step in 0..6_000_u64 {
            run.until(Instant::START + Duration::from_secs(60) + Duration::from_millis(10) * step);
            sum += f64::from(run.sender.stats().outstanding);
        }
        let waiting = sum / 6_000.0 - holds;
        let stats = run.sender.stats();
        assert_eq!((stats.segments_retransmitted, stats.timeouts), (0, 0));
        let bounds = alpha - 0.5..=beta + 0.5;
        assert!(bounds.contains(&waiting), "{waiting}, {stats:?}");
    }
}

/// Slow start doubles every other round trip and stops before it has filled a queue.
#[test]
fn slow_start_doubles_every_other_round_trip() {
    let config = vegas();
    let rate = Rate::from_bits_per_s(2_500_000);
    let mut run = start(
        config,
        Box::new(config.window(Vegas::NS2)),
        rate,
        100,
        |_| false,
    );
    let mut windows = Vec::new();
    for round in 0..20_u64 {
        run.until(Instant::START + Duration::from_millis(150 * round + 149));
        windows.push(run.sender.stats().cwnd_packets.unwrap());
    }
    // Initially two packets; the first round trip measures, the second doubles.
    assert_eq!(windows[..5], [2.0, 4.0, 4.0, 8.0, 8.0], "{windows:?}");
    let most = windows.iter().copied().fold(0.0, f64::max);
    // 140 ms and the transmission of a segment hold 30 of them.
    assert!(most <= 30.0, "{windows:?}");
    let stats = run.sender.stats();
    assert_eq!(stats.ssthresh_packets, Some(2.0), "slow start is over");
    assert_eq!(stats.segments_retransmitted, 0);
}

/// If a window of three loses its first segment, two duplicates arrive, one too few for Reno. Vegas sees with the first
/// one that the segment is late, because each takes a third of the round trip to send.
#[test]
fn a_late_segment_goes_again_at_once() {
    for (recovery, timeouts) in [(RecoveryKind::Reno, 1), (RecoveryKind::Vegas, 0)] {
        let config = Config {
            recovery,
            receive_window: Some(3),
            limited_transmit: false,
            ..vegas()
        };
        let mut lost = false;
        let controller = Box::new(config.window(NewReno).with_initial_ssthresh(2.0));
        let mut run = start(config, controller, RATE, 100, |segment| {
            let drop = !lost && segment.seq > 1_460 * 50;
            lost |= drop;
            drop
        });
        run.until(Instant::START + Duration::from_secs(60));
        let stats = run.sender.stats();
        assert_eq!(stats.timeouts, timeouts, "{recovery:?}: {stats:?}");
        assert_eq!(stats.segments_retransmitted, 1, "{recovery:?}: {stats:?}");
    }
}

fn vegas() -> Config {
    Config {
        recovery: RecoveryKind::Vegas,
        receive_window: None,
        sample_every_ack: true,
        limited_transmit: false,
        ..Config::one_way(1_500)
    }
}

fn start<'a>(
    config: Config,
    controller: Box<dyn fairwire_cc::Controller>,
    rate: Rate,
    buffer: usize,
    mut drop: impl FnMut(&fairwire_tcp::TcpSegment) -> bool + 'a,
) -> Run<'a> {
    let path = Path {
        rate: Some(rate),
        delay: DELAY,
        buffer,
        drop: Box::new(move |segment| segment.len > 0 && drop(segment)),
    };
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    Run::new(sender, Receiver::new(config), path)
}
