//! The two kinds of cuts of Veno (Fu and Liew 2003): a fifth for a random loss, half for a full queue.

use fairwire_cc::Veno;
use fairwire_tcp::{Config, Event, Receiver, RecoveryKind, Sender, Source, TcpSegment};
use fairwire_units::{Duration, Instant, Rate};

use crate::path::{Path, Run};

/// On a path that is never full, each loss of a thousandth segment leaves four fifths of the window.
#[test]
fn a_random_loss_takes_a_fifth() {
    let mut sent = 0_u32;
    let drop = move |segment: &TcpSegment| {
        sent += u32::from(segment.len > 0);
        segment.len > 0 && sent.is_multiple_of(1_000)
    };
    let cuts = cuts(None, usize::MAX, drop);
    assert!(cuts.len() > 20, "{cuts:?}");
    // The first ones are from slow start.
    for cut in &cuts[2..] {
        assert!((cut - 0.8).abs() < 0.02, "{cuts:?}");
    }
}

/// If only the queue of 20 packets causes losses, it is full at each loss: half is left.
#[test]
fn a_full_queue_takes_half() {
    let cuts = cuts(Some(Rate::from_bits_per_s(4_000_000)), 20, |_| false);
    assert!(cuts.len() > 5, "{cuts:?}");
    for cut in &cuts[2..] {
        assert!((cut - 0.5).abs() < 0.02, "{cuts:?}");
    }
}

/// While three packets or more wait in the queue, the window takes twice as long to grow by a packet.
#[test]
fn a_queue_slows_the_growth() {
    let rate = Rate::from_bits_per_s(4_000_000);
    let mut run = start(Some(rate), 1_000, |_| false);
    // The path holds 36 segments of 1,040 bytes; the queue never overflows here.
    let mut at = Instant::START;
    let mut climb = |from: f64, to: f64| {
        let mut began = None;
        loop {
            at += Duration::from_millis(10);
            run.until(at);
            let cwnd = run.sender.stats().cwnd_packets.unwrap();
            if cwnd >= from && began.is_none() {
                began = Some(at);
            }
            if cwnd >= to {
                let rtt = run.sender.stats().srtt.unwrap();
                return (at - began.unwrap()).as_secs_f64() / rtt.as_secs_f64();
            }
        }
    };
    let (empty, full) = (climb(20.0, 30.0), climb(60.0, 70.0));
    // A packet per round trip, and slightly less because the window grows within it.
    assert!((10.0..=11.0).contains(&empty), "{empty} round trips");
    // One packet in two round trips. The round trip grows by a seventh and is measured at the end: 7 % fewer round
    // trips.
    assert!((18.6..=21.0).contains(&full), "{full} round trips");
}

fn config() -> Config {
    Config {
        recovery: RecoveryKind::Sack,
        receive_window: None,
        sample_every_ack: true,
        trace: true,
        ..Config::one_way(1_040)
    }
}

fn start<'a>(
    rate: Option<Rate>,
    buffer: usize,
    drop: impl FnMut(&TcpSegment) -> bool + 'a,
) -> Run<'a> {
    let config = config();
    let path = Path {
        rate,
        delay: Duration::from_millis(37),
        buffer,
        drop: Box::new(drop),
    };
    let controller = Box::new(config.window(Veno::default()).with_initial_ssthresh(16.0));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    Run::new(sender, Receiver::new(config), path)
}

/// Returns the window after each cut divided by the window before it.
fn cuts(rate: Option<Rate>, buffer: usize, drop: impl FnMut(&TcpSegment) -> bool) -> Vec<f64> {
    let mut run = start(rate, buffer, drop);
    let mut cuts = Vec::new();
    let mut before = 0.0;
    for step in 0..10_000_u64 {
        run.until(Instant::START + Duration::from_millis(10) * step);
        while let Some(traced) = run.sender.poll_event() {
            let cwnd = traced.cwnd_packets.expect("a window");
            if matches!(traced.event, Event::RecoveryBegan { .. }) {
                cuts.push(cwnd / before);
            }
            before = cwnd;
        }
    }
    cuts
}
