//! DCTCP (RFC 8257) at a queue that marks all packets above a threshold.

use fairwire_cc::{Dctcp, NewReno, WindowLaw};
use fairwire_tcp::{Config, EcnMode, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Instant, Rate};

use crate::path::{Path, Run};

/// 100 Mbit/s and 10 ms there and back, plus a segment's own 120 us: 83.3 packets of 1,500 bytes, and one.
const RATE: Rate = Rate::from_bits_per_s(100_000_000);
const DELAY: Duration = Duration::from_millis(5);
const PRODUCT: f64 = 10.12 / 0.12;

/// The results of a run in its steady state.
#[derive(Debug)]
struct Steady {
    /// The mean part of the window that a cut takes.
    taken: f64,
    /// The least and the most packets in the queue.
    queue: (f64, f64),
    /// The part of the link's capacity that is used.
    share: f64,
}

/// One flow oscillates as in the fluid model of Alizadeh and others (SIGCOMM 2010, section 3.3).
///
/// The window varies between W* = product + K and W* less alpha/2 of it. The estimate is steady if it agrees with the
/// one marked round trip of a cycle: alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2. The queue is at most K + 1,
/// because the flow learns of a mark a round trip later, and at least that less (W* + 1) alpha/2.
///
/// The tolerance of the estimate is a fifth: its memory of 16 round trips covers two or three cycles, so that it
/// differs from cut to cut. The tolerance of the queue is four packets, for whole segments, the part of a round trip in
/// which a cycle ends, and the growth in the round trip of a cut.
#[test]
fn one_flow_swings_as_the_fluid_model_says() {
    for k in [20.0, 40.0, 65.0] {
        let steady = run(Dctcp::default(), EcnMode::Dctcp, k);
        let w = PRODUCT + k;
        let alpha = alpha(w);
        let (least, most) = (k + 1.0 - (w + 1.0) * alpha / 2.0, k + 1.0);
        let ratio = steady.taken / (alpha / 2.0);
        assert!(
            (0.8..=1.2).contains(&ratio),
            "K = {k}: {ratio} of {alpha}, {steady:?}"
        );
        assert!(
            (steady.queue.0 - least).abs() <= 4.0,
            "K = {k}: {steady:?}, not {least}"
        );
        assert!(
            (steady.queue.1 - most).abs() <= 4.0,
            "K = {k}: {steady:?}, not {most}"
        );
        assert!(steady.share > 0.999, "K = {k}: {steady:?}");
    }
}

/// At the same queue NewReno with classic ECN takes half at each mark, so that the queue becomes empty and the link
/// idle.
#[test]
fn a_law_that_halves_leaves_the_link_idle() {
    let halves = run(NewReno, EcnMode::Classic, 20.0);
    assert!((halves.taken - 0.5).abs() < 0.03, "{halves:?}");
    assert_eq!(halves.queue.0, 0.0, "{halves:?}");
    // From (product + K)/2 = 52 of the 84 packets that fill the link: of the growth to 104, 62 % is below 84, by 16 of
    // 84 on average. So 12 % are missing.
    assert!((0.85..0.91).contains(&halves.share), "{halves:?}");
    let cuts_by_marks = run(Dctcp::default(), EcnMode::Dctcp, 20.0);
    assert!(cuts_by_marks.share > 0.999, "{cuts_by_marks:?}");
}

/// Returns the root of alpha^2 (1 - alpha/4) = (2w + 1) / (w + 1)^2, by bisection.
fn alpha(w: f64) -> f64 {
    let target = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * middle * (1.0 - middle / 4.0) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Runs a greedy flow for two seconds to settle and then eight seconds, with a measurement every 100 us.
fn run(law: impl WindowLaw + 'static, ecn: EcnMode, k: f64) -> Steady {
    let config = Config {
        ecn,
        recovery: RecoveryKind::Sack,
        initial_window: Some(10.0),
        // Each acknowledgement covers one segment, and the window grows by a packet per round trip.
        delayed_acks: None,
        ..Config::default()
    };
    let path = Path {
        rate: Some(RATE),
        delay: DELAY,
        buffer: 1_000,
        drop: Box::new(|_| false),
    };
    let controller = Box::new(config.window(law));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    run.mark_above = Some(k);
    let settled = Instant::START + Duration::from_secs(2);
    run.until(settled);
    let before = run.receiver.stats().bytes_delivered;
    let (mut window, mut queue) = (run.window(), (f64::INFINITY, 0.0_f64));
    let (mut taken, mut cuts) = (0.0, 0_u32);
    for step in 1..=80_000_u64 {
        run.until(settled + Duration::from_micros(100) * step);
        let now = run.window();
        if now < window * 0.99 {
            taken += 1.0 - now / window;
            cuts += 1;
        }
        window = now;
        let waiting = run.waiting();
        queue = (queue.0.min(waiting), queue.1.max(waiting));
    }
    let delivered = run.receiver.stats().bytes_delivered - before;
    let segments = delivered as f64 / f64::from(config.mss());
    Steady {
        taken: taken / f64::from(cuts),
        queue,
        share: segments * 120e-6 / 8.0,
    }
}
