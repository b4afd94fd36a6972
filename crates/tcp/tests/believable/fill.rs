//! One flow alone on a link.

use fairwire_cc::{NewReno, RtoConfig};
use fairwire_tcp::{Config, Receiver, RecoveryKind, SackAfterTimeout, Sender, SenderStats, Source};
use fairwire_units::{Duration, Instant, Rate};

use crate::path::{Path, Run};

/// A lone flow fills at least 95 % of a link whose buffer holds one bandwidth-delay product, with
/// delayed acknowledgements and without.
///
/// Half of (product + buffer) is the product, so after a cut the link is just kept busy; 5 %
/// are left for the recovery's pause and whole packets. The first 30 s are the end of slow
/// start, which overflows the buffer by a window at once and is not what this is about.
#[test]
fn a_lone_flow_fills_its_link() {
    for config in [
        Config::default(),
        Config {
            delayed_acks: None,
            ..Config::default()
        },
    ] {
        let path = Path {
            rate: Some(Rate::from_bits_per_s(10_000_000)),
            delay: Duration::from_millis(50),
            // 10 Mbit/s for 100 ms are 83 packets of 1,500 bytes.
            buffer: 83,
            drop: Box::new(|_| false),
        };
        let controller = Box::new(config.window(NewReno));
        let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
        let mut run = Run::new(sender, Receiver::new(config), path);
        run.until(Instant::START + Duration::from_secs(30));
        let before = run.receiver.stats().bytes_delivered;
        run.until(Instant::START + Duration::from_secs(230));
        let delivered = run.receiver.stats().bytes_delivered - before;
        let packets = delivered as f64 / f64::from(config.mss());
        let share = packets * 1_500.0 * 8.0 / 200.0 / 1e7;
        let cuts = run.sender.stats().fast_recoveries;
        assert!(cuts > 5, "several cycles of the sawtooth: {cuts}");
        assert!(
            (0.95..=1.0).contains(&share),
            "{share} of the link, {config:?}"
        );
    }
}

/// A slow start that overflows the buffer loses some eighty packets at once, and the timer expires while they are repaired. Where what was
/// selected before is forgotten, as RFC 2018 has it, each acknowledgement of a hole covers what had arrived behind it, and the window that
/// becomes free sends more of what had arrived, in bursts that overflow the buffer again; the timer expires twice. Where it is
/// kept, nothing is sent twice but what was lost and what is still on its way.
#[test]
fn a_mass_loss_is_repaired_twice_without_memory() {
    let of = |sack_after_timeout| {
        let config = Config {
            recovery: RecoveryKind::Sack,
            sack_after_timeout,
            rto: RtoConfig::TCP.with_min(Duration::from_millis(200)),
            ..Config::default()
        };
        let stats = overflow(config, 85, 4);
        (stats.timeouts, stats.segments_retransmitted)
    };
    let (forgotten, kept) = (of(SackAfterTimeout::Forget), of(SackAfterTimeout::Keep));
    assert_eq!((forgotten.0, kept.0), (2, 1), "timeouts");
    // The recovery sends some 85 again, and the timeout once more what of them, and of the new segments of the recovery, is not
    // selected by then: three times 85 at most.
    assert!(kept.1 <= 255, "{} sent again", kept.1);
    assert!(forgotten.1 > 255, "{} sent again", forgotten.1);
}

/// `HyStart++` leaves slow start with a window that fills the link, 83 packets, and that a buffer of four bandwidth-delay products holds; the
/// standard slow start overflows it. (Samples are a round trip old: the window is 187 packets when they show a queue, and five rounds at a
/// quarter of the pace with delayed acknowledgements make 337 of that.)
#[test]
fn slow_start_by_delay_spares_the_buffer() {
    for hystart in [false, true] {
        let config = Config {
            recovery: RecoveryKind::Sack,
            hystart,
            ..Config::default()
        };
        let stats = overflow(config, 332, 4);
        assert_eq!(stats.segments_retransmitted == 0, hystart, "{stats:?}");
        let threshold = stats.ssthresh_packets.expect("slow start is over");
        assert!(threshold > 83.0 && threshold.is_finite(), "{stats:?}");
    }
}

/// So many seconds over 10 Mbit/s and 100 ms with room for `buffer` packets.
fn overflow(config: Config, buffer: usize, seconds: u64) -> SenderStats {
    let path = Path {
        rate: Some(Rate::from_bits_per_s(10_000_000)),
        delay: Duration::from_millis(50),
        buffer,
        drop: Box::new(|_| false),
    };
    let controller = Box::new(config.window(NewReno));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    run.until(Instant::START + Duration::from_secs(seconds));
    run.sender.stats()
}

/// The hidden window of 20 packets is the limit where the path could carry more: 20 packets of
/// 1,040 bytes per 604 ms and what their own transmission takes.
#[test]
fn a_receive_window_is_a_rate_limit() {
    let config = Config::one_way(1_040);
    let rate = Rate::from_bits_per_s(2_000_000);
    let path = Path {
        rate: Some(rate),
        delay: Duration::from_millis(302),
        buffer: 20,
        drop: Box::new(|_| false),
    };
    let controller = Box::new(config.window(NewReno).with_initial_ssthresh(20.0));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    run.until(Instant::START + Duration::from_secs(50));
    let before = run.receiver.stats().bytes_delivered;
    run.until(Instant::START + Duration::from_secs(250));
    let delivered = (run.receiver.stats().bytes_delivered - before) as f64;
    let bits_per_s = delivered * 1.04 * 8.0 / 200.0;
    // One round trip more or less in 200 s is 0.3 %.
    let expected = 20.0 * 1_040.0 * 8.0 / (0.604 + 0.004_16);
    let ratio = bits_per_s / expected;
    assert!(
        (0.99..=1.01).contains(&ratio),
        "{bits_per_s} bit/s, expected {expected}"
    );
    let stats = run.sender.stats();
    assert_eq!(stats.segments_retransmitted, 0);
    // It grows by one packet per round trip up to the one after it was last full.
    let cwnd = stats.cwnd_packets.unwrap();
    assert!(
        (20.0..=22.0).contains(&cwnd),
        "an unused window does not grow: {cwnd}"
    );
}
