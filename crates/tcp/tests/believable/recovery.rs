//! The recovery of RFC 6582, round trip by round trip.

use fairwire_cc::NewReno;
use fairwire_tcp::{Config, Receiver, RecoveryKind, Sender, Source, TcpSegment};
use fairwire_units::{Duration, Instant};

use crate::path::{Path, Run};

/// One round trip: the segments that leave, in order, and the window after it.
///
/// In a recovery the window is the threshold that the cut left, without the RFC's inflation.
type Round = (&'static [u64], f64);

/// Segment 2 of a window of ten is lost. Acknowledgements of 0 and 1 let 10 and 11 leave. The third duplicate halves
/// the ten outstanding segments and retransmits 2. Of the four further duplicates the first two make up for the
/// halving, and the others let 12 and 13 leave. Two more duplicates (from 10 and 11) follow; then all is acknowledged
/// and the window is five.
const ONE_LOSS: &[Round] = &[
    (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10.0),
    (&[10, 11, 2, 12, 13], 5.0),
    (&[14, 15, 16, 17, 18], 5.39),
    (&[19, 20, 21, 22, 23, 24], 6.26),
    (&[25, 26, 27, 28, 29, 30, 31], 7.17),
];

/// Segments 2 and 5 are lost: there is one duplicate less, so 13 waits. In the next round trip 10 and 11 let 13 and 14
/// leave. The retransmitted 2 gives a partial acknowledgement of three segments, which retransmits 5 and reduces the
/// window by two; one more segment leaves for it. 12 lets another one leave.
const TWO_LOSSES: &[Round] = &[
    (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10.0),
    (&[10, 11, 2, 12], 5.0),
    (&[13, 14, 5, 15, 16], 5.0),
    (&[17, 18, 19, 20, 21], 5.39),
    (&[22, 23, 24, 25, 26, 27], 6.26),
];

/// Segments 2, 5 and 8 are lost: one round trip for each.
const THREE_LOSSES: &[Round] = &[
    (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10.0),
    (&[10, 11, 2], 5.0),
    (&[12, 13, 5, 14], 5.0),
    (&[15, 16, 8, 17, 18], 5.0),
    (&[19, 20, 21, 22, 23], 5.39),
    (&[24, 25, 26, 27, 28, 29], 6.26),
];

/// RFC 6582, section 3.2, after one, two and three losses in a window of ten: each round trip retransmits one segment,
/// new segments keep the flight at half the window, and there is one cut.
#[test]
fn one_two_and_three_losses_in_a_window() {
    for (lost, expected) in [
        (&[2][..], ONE_LOSS),
        (&[2, 5], TWO_LOSSES),
        (&[2, 5, 8], THREE_LOSSES),
    ] {
        let mut run = start(plain(), lost);
        for (round, (segments, cwnd)) in expected.iter().enumerate() {
            let sent = round_trip(&mut run, round);
            assert_eq!(sent, *segments, "round trip {round} after losing {lost:?}");
            let measured = run.sender.stats().cwnd_packets.unwrap();
            // The table has two decimals.
            assert!(
                (measured - cwnd).abs() < 0.01,
                "{measured} in round trip {round}, {lost:?}"
            );
        }
        let stats = run.sender.stats();
        assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 0), "{lost:?}");
        assert_eq!(stats.segments_retransmitted, lost.len() as u64, "{lost:?}");
        assert_eq!(stats.ssthresh_packets, Some(5.0), "{lost:?}");
    }
}

/// RFC 3042: the first two duplicates let 12 and 13 leave, which do not count in the halving. They cause further
/// duplicates, and the recovery ends as without them.
#[test]
fn limited_transmit_sends_on_the_first_duplicates() {
    let config = Config {
        limited_transmit: true,
        ..plain()
    };
    let mut run = start(config, &[2]);
    assert_eq!(round_trip(&mut run, 0).len(), 10);
    // Twelve outstanding less seven duplicates are five, which is the window: nothing more leaves.
    assert_eq!(round_trip(&mut run, 1), [10, 11, 12, 13, 2]);
    assert_eq!(run.sender.stats().ssthresh_packets, Some(5.0));
    assert_eq!(round_trip(&mut run, 2)[..4], [14, 15, 16, 17]);
    assert_eq!(run.sender.stats().timeouts, 0);
}

/// RFC 6582, section 4: with the impatient timer, many losses end in a timeout and slow start. The slow-but-steady
/// timer repairs one loss per round trip.
#[test]
fn many_losses_time_out_or_take_their_round_trips() {
    let lost: Vec<u64> = (2..60).step_by(3).collect();
    for (recovery, timeouts) in [(RecoveryKind::NewReno, 1), (RecoveryKind::NewRenoSteady, 0)] {
        let config = Config {
            initial_window: Some(64.0),
            recovery,
            ..plain()
        };
        let mut run = start(config, &lost);
        run.until(Instant::START + Duration::from_secs(6));
        let stats = run.sender.stats();
        assert_eq!(stats.timeouts, timeouts, "{recovery:?}");
        assert_eq!(stats.fast_recoveries, 1, "{recovery:?}");
        if timeouts == 0 {
            assert_eq!(stats.segments_retransmitted, lost.len() as u64);
        }
        assert!(
            run.receiver.stats().bytes_delivered > 100 * 1_000,
            "{recovery:?}"
        );
    }
}

/// If the retransmission is lost as well, only the timeout repairs it (RFC 6582, section 4); then slow start follows.
#[test]
fn a_lost_retransmission_waits_for_the_timeout() {
    let mut run = start(plain(), &[2, 2]);
    assert_eq!(round_trip(&mut run, 0).len(), 10);
    assert_eq!(round_trip(&mut run, 1)[2], 2);
    let last_ack = Instant::START + RTT;
    // RFC 6298: one second, the minimum, after the last acknowledgement of new data.
    run.until(last_ack + Duration::from_millis(999));
    assert_eq!(run.sender.stats().timeouts, 0);
    run.until(last_ack + Duration::from_secs(1));
    let stats = run.sender.stats();
    assert_eq!((stats.timeouts, stats.cwnd_packets), (1, Some(1.0)));
    let log = run.log.as_ref().unwrap();
    assert_eq!(index(&log[log.len() - 1].1), 2, "the first outstanding one");
    run.until(last_ack + Duration::from_secs(3));
    assert_eq!(run.sender.stats().timeouts, 1);
    assert!(
        run.receiver.stats().bytes_delivered > 40 * 1_000,
        "and on it goes"
    );
}

const RTT: Duration = Duration::from_millis(100);

/// Returns a configuration of RFC 6582 alone: one-way data of 1,000 bytes and a window of ten in congestion avoidance.
fn plain() -> Config {
    Config {
        initial_window: Some(10.0),
        receive_window: None,
        limited_transmit: false,
        ..Config::one_way(1_040)
    }
}

/// Returns a run over a path with a delay only, which loses each segment as often as its number is in `lost`.
fn start<'a>(config: Config, lost: &[u64]) -> Run<'a> {
    let mut lost = lost.to_vec();
    let path = Path {
        rate: None,
        delay: RTT / 2,
        buffer: usize::MAX,
        drop: Box::new(move |segment| {
            let is_this = |lost: &u64| segment.len > 0 && *lost == index(segment);
            let at = lost.iter().position(is_this);
            at.map(|at| lost.remove(at)).is_some()
        }),
    };
    let controller = Box::new(config.window(NewReno).with_initial_ssthresh(2.0));
    let sender = Sender::new(config, controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config), path);
    run.log = Some(Vec::new());
    run
}

/// Returns the segments that leave in the `round`th round trip, which begins with the acknowledgements.
fn round_trip(run: &mut Run<'_>, round: usize) -> Vec<u64> {
    let begins = Instant::START + RTT * round as u64;
    run.until(begins + RTT / 4);
    let log = run.log.as_ref().expect("the test asked for it");
    let sent = log.iter().filter(|(at, _)| *at >= begins);
    sent.map(|(_, segment)| index(segment)).collect()
}

fn index(segment: &TcpSegment) -> u64 {
    (segment.seq - 1) / 1_000
}
