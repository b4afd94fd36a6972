//! The window of CUBIC after a loss compared with the curve of RFC 9438, equation 1.

use fairwire_cc::{Cubic, CubicVersion, Growth};
use fairwire_tcp::{Config, Event, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Instant};

use crate::path::{Path, Run};

const RTT: Duration = Duration::from_millis(100);

/// The window follows W(t) = 0.4 (t - K)^3 + 1000 with K = cbrt(300 / 0.4) = 9.09 s.
///
/// It goes down to 700, then up to 1,000 along the concave part, and then along the convex part. Acknowledgements
/// arrive here in one burst per round trip. Each moves the window by a `cwnd`th of the distance to the curve one round
/// trip later. So the window is within half a round trip of the curve, and a packet.
#[test]
fn the_window_follows_the_cubic_curve() {
    for version in [CubicVersion::Rfc9438, CubicVersion::Rfc8312] {
        let config = Config {
            initial_window: Some(1_000.0),
            receive_window: None,
            recovery: RecoveryKind::Sack,
            growth: Growth::ByteCounting { limit: 2 },
            trace: true,
            ..Config::one_way(1_040)
        };
        let mut lost = false;
        let path = Path {
            rate: None,
            delay: RTT / 2,
            buffer: usize::MAX,
            drop: Box::new(move |segment| {
                let drop = segment.len > 0 && !lost;
                lost |= drop;
                drop
            }),
        };
        let law = Cubic::new(version);
        let controller = Box::new(config.window(law).with_initial_ssthresh(2.0));
        let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
        let mut run = Run::new(sender, Receiver::new(config), path);
        let mut ended = None;
        for step in 0.. {
            run.until(Instant::START + RTT / 4 * step);
            while let Some(traced) = run.sender.poll_event() {
                if traced.event == Event::RecoveryEnded {
                    assert_eq!(traced.cwnd_packets, Some(700.0));
                    ended = Some(traced.at);
                }
            }
            if ended.is_some() {
                break;
            }
        }
        let began = ended.expect("the loop waits for it");
        let k = libm::cbrt(300.0 / 0.4);
        for step in 1..=150_u64 {
            let at = began + RTT * step;
            run.until(at);
            let t = (at - began).as_secs_f64();
            let x = t - k;
            let curve = 0.4 * x * x * x + 1_000.0;
            let cwnd = run.sender.stats().cwnd_packets.unwrap();
            let slope = 1.2 * x * x;
            let tolerance = slope * RTT.as_secs_f64() / 2.0 + 1.0;
            assert!(
                (cwnd - curve).abs() <= tolerance,
                "{version:?}, {t} s: {cwnd}, the curve {curve}, tolerance {tolerance}"
            );
        }
    }
}
