//! One flow alone on a link.

use fairwire_cc::{NewReno, RtoConfig};
use fairwire_tcp::{Config, Receiver, RecoveryKind, SackAfterTimeout, Sender, SenderStats, Source};
use fairwire_units::{Duration, Instant, Rate};

use crate::path::{Path, Run};

/// A single flow fills at least 95 % of a link whose buffer holds one bandwidth-delay product, with or without delayed
/// acknowledgements.
///
/// Half of (product + buffer) is the product, so after a cut the link is only just kept busy. The tolerance of 5 % is
/// for the pause of a recovery and for whole packets. The first 30 s are not measured: they include the end of slow
/// start, which overflows the buffer by a window at once.
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

/// Keeping selections after a timeout spares retransmissions when slow start loses about eighty packets at once.
///
/// The timer expires while these packets are repaired. If selections are forgotten (RFC 2018), each acknowledgement of
/// a hole covers data that had arrived behind it. The window then sends more data that had arrived, in bursts that
/// overflow the buffer again, and the timer expires twice. If selections are kept, only lost packets and packets still
/// on their way are sent twice.
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
    // The recovery retransmits about 85 packets. After the timeout, those and the new segments of the recovery that are
    // not selected by then are sent again: at most three times 85.
    assert!(kept.1 <= 255, "{} sent again", kept.1);
    assert!(forgotten.1 > 255, "{} sent again", forgotten.1);
}

/// `HyStart++` leaves slow start with a window that fills the link and does not overflow the buffer; standard slow
/// start overflows it.
///
/// The link needs 83 packets, and the buffer has four bandwidth-delay products. Samples are a round trip old: the
/// window is 187 packets when they show a queue. Five rounds at a quarter of the pace, with delayed acknowledgements,
/// increase it to 337.
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

/// Runs a flow for `seconds` over 10 Mbit/s and 100 ms, with room for `buffer` packets.
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

/// If the path could carry more, the receive window of 20 packets is the limit: 20 packets of 1,040 bytes in 604 ms
/// plus the time of their own transmission.
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
    // The window grows by one packet per round trip until one round trip after it was last full.
    let cwnd = stats.cwnd_packets.unwrap();
    assert!(
        (20.0..=22.0).contains(&cwnd),
        "an unused window does not grow: {cwnd}"
    );
}
