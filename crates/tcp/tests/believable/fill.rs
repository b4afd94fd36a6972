//! One flow alone on a link.

use fairwire_cc::NewReno;
use fairwire_tcp::{Config, Receiver, Sender, Source};
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
