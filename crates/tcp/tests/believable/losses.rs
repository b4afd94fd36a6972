//! One, two, three and four losses in a window, for each variant.
//!
//! The reference is Fall and Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", ACM CCR 26(3), 1996. A
//! single loss costs Reno and its successors half the window and no timeout. Several losses cost Tahoe a slow start,
//! Reno a second cut or a timeout, NewReno a round trip each, and SACK about one round trip in all.
//!
//! Their conditions for Reno follow from counting. If W segments are outstanding and two of them are lost, W - 2
//! duplicates arrive and W/2 - 2 new segments leave. Only these can cause duplicates for the second loss. With three
//! losses W/2 - 3 leave. The second recovery has a quarter of W and sends k - 3W/4 more, where k is the distance of the
//! second loss from the first.

use fairwire_cc::NewReno;
use fairwire_tcp::{Config, Event, Receiver, RecoveryKind, Sender, Source, Traced};
use fairwire_units::{Duration, Instant};

use crate::path::{Path, Run};

const RENO: RecoveryKind = RecoveryKind::Reno;
const NEW_RENO: RecoveryKind = RecoveryKind::NewRenoSteady;
const RTT: Duration = Duration::from_millis(100);

/// The results of a recovery.
#[derive(Debug)]
struct Outcome {
    timeouts: u64,
    recoveries: u64,
    repeated: u64,
    /// The time from the beginning of the first recovery until the whole first window was acknowledged, round trips.
    round_trips: f64,
    /// The smallest window, packets.
    least: f64,
}

/// One loss causes no timeout in any variant. Tahoe begins slow start from one segment; the others keep half the window
/// and retransmit one segment.
#[test]
fn one_loss() {
    for recovery in [RENO, NEW_RENO, RecoveryKind::Sack] {
        let outcome = lose(recovery, 16, &[0]);
        assert_eq!(counts(&outcome), (0, 1, 1), "{recovery:?}: {outcome:?}");
        assert_eq!(outcome.least, 8.0, "{recovery:?}");
        assert_eq!(outcome.round_trips, 1.0, "{recovery:?}");
    }
    let tahoe = lose(RecoveryKind::Tahoe, 16, &[0]);
    assert_eq!((tahoe.timeouts, tahoe.recoveries), (0, 1), "{tahoe:?}");
    assert_eq!(tahoe.least, 1.0);
}

/// After two losses Reno halves twice with ten segments or more, and waits for the timeout with fewer. The others need
/// one cut and no timeout: NewReno takes two round trips, SACK one.
#[test]
fn two_losses() {
    for (window, timeouts, recoveries) in [(8, 1, 1), (9, 1, 1), (10, 0, 2), (16, 0, 2), (30, 0, 2)]
    {
        let reno = lose(RENO, window, &[0, 3]);
        assert_eq!(
            (reno.timeouts, reno.recoveries),
            (timeouts, recoveries),
            "a window of {window}: {reno:?}"
        );
    }
    let reno = lose(RENO, 16, &[0, 3]);
    assert_eq!(reno.least, 4.0, "a half of a half: {reno:?}");
    for window in [8, 16, 30] {
        let newreno = lose(NEW_RENO, window, &[0, 3]);
        assert_eq!(counts(&newreno), (0, 1, 2), "{window}: {newreno:?}");
        assert_eq!(newreno.round_trips, 2.0, "{window}");
        let sack = lose(RecoveryKind::Sack, window, &[0, 3]);
        assert_eq!(counts(&sack), (0, 1, 2), "{window}: {sack:?}");
        assert_eq!(sack.round_trips, 1.0, "{window}");
    }
}

/// After three losses Reno avoids the timeout only if at least 2 + 3W/4 segments are between the first and the second.
/// With 24 segments, twenty between them are enough and nineteen are not.
#[test]
fn three_losses() {
    for (lost, timeouts) in [([0, 21, 23], 0), ([0, 20, 22], 1), ([0, 3, 6], 1)] {
        let reno = lose(RENO, 24, &lost);
        assert_eq!(reno.timeouts, timeouts, "{lost:?}: {reno:?}");
        let newreno = lose(NEW_RENO, 24, &lost);
        assert_eq!(counts(&newreno), (0, 1, 3), "{lost:?}: {newreno:?}");
        assert_eq!(newreno.round_trips, 3.0, "{lost:?}");
        let sack = lose(RecoveryKind::Sack, 24, &lost);
        assert_eq!(counts(&sack), (0, 1, 3), "{lost:?}: {sack:?}");
        assert_eq!(sack.round_trips, with_sack(24, &lost), "{lost:?}");
    }
}

/// After four losses Reno always waits for the timeout.
#[test]
fn four_losses() {
    for lost in [[0, 3, 6, 9], [0, 28, 29, 30], [0, 10, 20, 28]] {
        assert_eq!(lose(RENO, 32, &lost).timeouts, 1, "{lost:?}");
        assert_eq!(lose(NEW_RENO, 32, &lost).round_trips, 4.0, "{lost:?}");
        let sack = lose(RecoveryKind::Sack, 32, &lost);
        assert_eq!(counts(&sack), (0, 1, 4), "{lost:?}: {sack:?}");
        assert_eq!(sack.round_trips, with_sack(32, &lost), "{lost:?}");
    }
}

/// Tahoe needs no timeout for any of these losses. It always starts from one segment and sends data again that had
/// arrived.
#[test]
fn tahoe_starts_over() {
    for lost in [&[0, 3][..], &[0, 3, 6], &[0, 3, 6, 9]] {
        let tahoe = lose(RecoveryKind::Tahoe, 24, lost);
        assert_eq!((tahoe.timeouts, tahoe.recoveries), (0, 1), "{tahoe:?}");
        assert_eq!(tahoe.least, 1.0);
        assert!(tahoe.repeated > lost.len() as u64, "{tahoe:?}");
    }
}

/// The Reno of ns-2, which recovers once per window, waits for the timeout after the second loss.
#[test]
fn reno_once_per_window_times_out_with_two() {
    let careful = RecoveryKind::RenoOnce;
    assert_eq!(counts(&lose(careful, 16, &[0])), (0, 1, 1));
    let outcome = lose(careful, 16, &[0, 3]);
    assert_eq!(
        (outcome.timeouts, outcome.recoveries),
        (1, 1),
        "{outcome:?}"
    );
}

/// SACK retransmits exactly the lost segments, without a timeout, even if half of a window is lost. The pipe allows
/// this because half is lost and half may be outstanding (RFC 6675, section 5).
#[test]
fn sack_repeats_what_was_lost_and_nothing_else() {
    for lost in [
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15][..],
        &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28],
        &[5, 6, 7, 11, 19, 20, 28],
    ] {
        let sack = lose(RecoveryKind::Sack, 32, lost);
        assert_eq!(
            counts(&sack),
            (0, 1, lost.len() as u64),
            "{lost:?}: {sack:?}"
        );
        assert_eq!(sack.least, 16.0, "{sack:?}");
        assert!(sack.round_trips <= 2.0, "{sack:?}");
    }
}

/// No segments follow the last ones of a window, so a rescue retransmission avoids the timeout if there is no new data
/// (RFC 6675, 4, rule 4).
#[test]
fn sack_rescues_the_tail() {
    let config = Config {
        recovery: RecoveryKind::Sack,
        ..plain(16)
    };
    let mut run = start(config, Source::Finite(16_000), &[4, 14, 15]);
    run.until(Instant::START + Duration::from_secs(5));
    let stats = run.sender.stats();
    assert!(run.sender.is_done());
    // 15 is the rescue, whose acknowledgement selects it; 14 is retransmitted by rule 3 of the same section.
    assert_eq!((stats.timeouts, stats.fast_recoveries), (0, 1), "{stats:?}");
    assert_eq!(stats.segments_retransmitted, 3, "{stats:?}");
}

/// Returns how many round trips SACK takes: one, or two.
///
/// It takes two if a loss has fewer than three surviving segments of the window above it, so that it is detected only
/// when new segments are selected.
fn with_sack(window: u64, lost: &[u64]) -> f64 {
    let above = |from: u64| (from..window).filter(|at| !lost.contains(at)).count();
    if lost.iter().all(|&at| above(at) >= 3) {
        1.0
    } else {
        2.0
    }
}

fn counts(outcome: &Outcome) -> (u64, u64, u64) {
    (outcome.timeouts, outcome.recoveries, outcome.repeated)
}

/// Runs a flow that sends a window of `window` segments at once and loses those in `lost`.
fn lose(recovery: RecoveryKind, window: u32, lost: &[u64]) -> Outcome {
    let config = Config {
        recovery,
        ..plain(window)
    };
    let mut run = start(config, Source::Greedy, lost);
    run.until(Instant::START + Duration::from_secs(4));
    let events: Vec<Traced> = std::iter::from_fn(|| run.sender.poll_event()).collect();
    let began = events
        .iter()
        .find(|traced| matches!(traced.event, Event::RecoveryBegan { .. }));
    let began = began.map_or(Instant::START, |traced| traced.at);
    let end = 1 + u64::from(window) * 1_000;
    let over = events
        .iter()
        .position(|traced| matches!(traced.event, Event::Acked { ack } if ack >= end))
        .expect("it is repaired");
    let until_over = &events[..=over];
    let windows = until_over.iter().filter_map(|traced| traced.cwnd_packets);
    let count = |is: fn(&Event) -> bool| {
        until_over.iter().filter(|traced| is(&traced.event)).count() as u64
    };
    Outcome {
        timeouts: count(|event| matches!(event, Event::TimedOut { .. })),
        recoveries: count(|event| matches!(event, Event::RecoveryBegan { .. })),
        repeated: count(|event| {
            matches!(
                event,
                Event::Sent {
                    retransmission: true,
                    ..
                }
            )
        }),
        round_trips: (events[over].at - began).as_nanos() as f64 / RTT.as_nanos() as f64,
        least: windows.fold(f64::INFINITY, f64::min),
    }
}

/// Returns a configuration with segments of 1,000 bytes, each acknowledged, and only the recovery to test.
fn plain(window: u32) -> Config {
    Config {
        initial_window: Some(f64::from(window)),
        receive_window: None,
        limited_transmit: false,
        max_burst: u32::MAX,
        trace: true,
        ..Config::one_way(1_040)
    }
}

/// Returns a run over a path with a delay only, which loses the first copies of `lost`.
fn start<'a>(config: Config, source: Source, lost: &[u64]) -> Run<'a> {
    let mut lost = lost.to_vec();
    let path = Path {
        rate: None,
        delay: RTT / 2,
        buffer: usize::MAX,
        drop: Box::new(move |segment| {
            let is_this = |lost: &u64| segment.len > 0 && *lost == (segment.seq - 1) / 1_000;
            let at = lost.iter().position(is_this);
            at.map(|at| lost.remove(at)).is_some()
        }),
    };
    let controller = Box::new(config.window(NewReno).with_initial_ssthresh(2.0));
    let sender = Sender::new(config, controller, source, Instant::START);
    Run::new(sender, Receiver::new(config), path)
}
