//! Tests of the window around the laws.

use fairwire_units::{Duration, Instant};

use super::{CutFrom, Growth, IdleRule, SlowStart, Windowed};
use crate::law::{Cubic, NewReno, ThresholdWindow};
use crate::{Congestion, Controller, Feedback, Flight, Permit, RoundTrip, Signal};

/// Three losses of one round trip cut the window once; a fourth, in the next round trip, cuts it again.
#[test]
fn one_cut_per_round_trip() {
    let mut cc = Windowed::new(NewReno, 16.0);
    for sent in [10, 11, 12] {
        cc.on_feedback(
            ms(100),
            Flight::default(),
            &loss_of_packet_sent_at(ms(sent)),
        );
    }
    assert_eq!(cwnd(&cc), 8.0);
    cc.on_feedback(ms(200), Flight::default(), &loss_of_packet_sent_at(ms(99)));
    assert_eq!(cwnd(&cc), 8.0, "sent just before the cut");
    cc.on_feedback(ms(200), Flight::default(), &loss_of_packet_sent_at(ms(100)));
    assert_eq!(
        cwnd(&cc),
        4.0,
        "sent because of the acknowledgement that cut"
    );
    assert_eq!(cc.gauges().cuts, 2);
}

/// A mark cuts like a loss, and both in one round trip cut once (RFC 4341, section 5).
#[test]
fn a_mark_cuts_like_a_loss() {
    let mut cc = Windowed::new(NewReno, 16.0);
    cc.on_feedback(ms(100), Flight::default(), &mark_of_packet_sent_at(ms(10)));
    cc.on_feedback(ms(101), Flight::default(), &loss_of_packet_sent_at(ms(11)));
    assert_eq!(cwnd(&cc), 8.0);
}

/// RFC 4341, section 5: halves are rounded down; the window stays at one or more, the threshold at two or more.
#[test]
fn cuts_are_rounded_down_to_their_floors() {
    let mut cc = Windowed::new(NewReno, 7.0).with_growth(Growth::CCID2);
    let mut seen = Vec::new();
    for round in 1..=4 {
        cc.on_feedback(
            ms(100 * round),
            Flight::default(),
            &loss_of_packet_sent_at(ms(100 * round)),
        );
        seen.push((cwnd(&cc), cc.gauges().ssthresh_packets.unwrap()));
    }
    assert_eq!(seen, [(3.0, 3.0), (1.0, 2.0), (1.0, 2.0), (1.0, 2.0)]);

    let mut tcp = Windowed::new(NewReno, 7.0);
    tcp.on_feedback(ms(100), full(7), &loss_of_packet_sent_at(ms(10)));
    assert_eq!(cwnd(&tcp), 3.5, "a TCP counts bytes");
}

/// With one packet for each, acknowledgements of two packets each double a window of four in a round trip.
#[test]
fn slow_start_can_double_the_window() {
    let mut cc = Windowed::new(NewReno, 4.0).with_growth(Growth::Ccid2 {
        ack_ratio: 2,
        slow_start: SlowStart::OneForOne,
    });
    for _ in 0..2 {
        cc.on_feedback(ms(100), full(8), &acks(2));
    }
    assert_eq!(cwnd(&cc), 8.0);
    cc.on_feedback(ms(100), full(8), &acks(9));
    assert_eq!(cwnd(&cc), 10.0, "no more than the Ack Ratio counts");
}

/// RFC 4341, sections 5 and 5.1: packets sent before a cut, and a window that is not full, earn nothing. Two settings
/// allow such growth, as in other stacks.
#[test]
fn growth_that_was_not_earned_is_a_setting() {
    let after_cut = Feedback {
        oldest_acked_sent: Some(ms(50)),
        ..acks(8)
    };
    for (grows, grown) in [(false, 0.0), (true, 1.0)] {
        let mut cc = Windowed::new(NewReno, 16.0)
            .with_growth(Growth::CCID2)
            .with_growth_after_cut(grows);
        cc.on_feedback(ms(100), full(16), &loss_of_packet_sent_at(ms(10)));
        assert_eq!(cwnd(&cc), 8.0);
        cc.on_feedback(ms(110), full(8), &after_cut);
        assert_eq!(cwnd(&cc), 8.0 + grown);
    }
    for (grows, grown) in [(false, 0.0), (true, 1.0)] {
        let mut cc = Windowed::new(NewReno, 16.0)
            .with_growth(Growth::CCID2)
            .with_growth_unused(grows);
        let one = Flight {
            packets: 1,
            ..Flight::default()
        };
        cc.on_feedback(ms(100), one, &acks(2));
        assert_eq!(cwnd(&cc), 16.0 + grown);
    }
}

/// RFC 5681, section 3.1, equation 4: a TCP halves the packets outstanding, not an unused window.
#[test]
fn a_tcp_halves_what_is_outstanding() {
    let mut cc = Windowed::new(NewReno, 64.0).with_cut_from(CutFrom::Flight);
    cc.on_feedback(ms(100), full(20), &loss_of_packet_sent_at(ms(10)));
    assert_eq!(cwnd(&cc), 10.0);
}

/// A timeout leaves a window of one packet and a threshold of half. A second timeout in a row does not change the
/// threshold of TCP (RFC 5681, section 3.1) but does that of CCID 2 (RFC 4341, section 5).
#[test]
fn a_timeout_starts_again_from_one() {
    for (growth, second) in [(Growth::Tcp, 8.0), (Growth::CCID2, 2.0)] {
        let mut cc = Windowed::new(NewReno, 16.0).with_growth(growth);
        cc.on_feedback(ms(100), full(16), &timeout());
        assert_eq!((cwnd(&cc), ssthresh(&cc)), (1.0, 8.0), "{growth:?}");
        cc.on_feedback(ms(150), full(1), &loss_of_packet_sent_at(ms(99)));
        assert_eq!(
            ssthresh(&cc),
            8.0,
            "a loss from before the timeout says nothing new"
        );
        cc.on_feedback(ms(300), full(1), &timeout());
        assert_eq!((cwnd(&cc), ssthresh(&cc)), (1.0, second), "{growth:?}");
        assert_eq!(cc.gauges().timeouts, 2);
    }
}

/// RFC 5681, section 3.1: one packet per acknowledgement doubles the window each round trip; then it grows by one
/// packet per round trip. An acknowledgement of two packets counts once.
#[test]
fn tcp_growth() {
    let mut cc = Windowed::new(NewReno, 2.0).with_initial_ssthresh(8.0);
    for expected in [4.0, 8.0] {
        acknowledge_a_window(&mut cc, 1);
        assert_eq!(cwnd(&cc), expected);
    }
    acknowledge_a_window(&mut cc, 1);
    // Eight steps of 1/cwnd, each a little smaller than 1/8.
    assert!((8.9..9.0).contains(&cwnd(&cc)), "{}", cwnd(&cc));

    let mut delayed = Windowed::new(NewReno, 4.0);
    acknowledge_a_window(&mut delayed, 2);
    assert_eq!(cwnd(&delayed), 6.0, "half as many acknowledgements");
    let mut counted = Windowed::new(NewReno, 4.0).with_growth(Growth::ByteCounting { limit: 2 });
    acknowledge_a_window(&mut counted, 2);
    assert_eq!(cwnd(&counted), 8.0, "RFC 3465 makes up for them");
}

/// RFC 4341, section 5: slow start adds one packet for two acknowledged, at most half the Ack Ratio per
/// acknowledgement. Congestion avoidance adds exactly one packet per window.
#[test]
fn ccid2_growth() {
    let mut cc = Windowed::new(NewReno, 4.0)
        .with_growth(Growth::CCID2)
        .with_initial_ssthresh(6.0);
    cc.on_feedback(ms(100), full(4), &acks(1));
    assert_eq!(cwnd(&cc), 4.0, "half a packet is kept");
    cc.on_feedback(ms(100), full(4), &acks(1));
    assert_eq!(cwnd(&cc), 5.0);
    cc.on_feedback(ms(100), full(5), &acks(5));
    assert_eq!(
        cwnd(&cc),
        6.0,
        "an acknowledgement of five counts for the ratio's two"
    );
    for window in 6..60_u32 {
        for _ in 1..window {
            cc.on_feedback(ms(200), full(window), &acks(1));
            assert_eq!(cwnd(&cc), f64::from(window), "not before the whole window");
        }
        cc.on_feedback(ms(200), full(window), &acks(1));
        assert_eq!(cwnd(&cc), f64::from(window + 1));
    }
}

/// RFC 4341, section 5: slow start counts at most half the current Ack Ratio per acknowledgement; feedback may change
/// the ratio.
#[test]
fn slow_start_follows_the_ack_ratio() {
    let mut cc = Windowed::new(NewReno, 10.0).with_growth(Growth::CCID2);
    let mut window = 10.0;
    for (ratio, acked, grown) in [
        (None, 8, 1.0),
        (Some(6), 8, 3.0),
        (None, 8, 3.0),
        (Some(6), 4, 2.0),
        (Some(1), 8, 0.0),
        (Some(1), 8, 1.0),
    ] {
        let feedback = Feedback {
            ack_ratio: ratio,
            ..acks(acked)
        };
        cc.on_feedback(ms(100), full(20), &feedback);
        window += grown;
        assert_eq!(cwnd(&cc), window, "{ratio:?}, {acked}");
    }
}

/// RFC 4341, section 5: a mark in a round trip that was already answered neither cuts nor earns growth.
#[test]
fn marked_packets_earn_no_growth() {
    let mut cc = Windowed::new(NewReno, 4.0).with_initial_ssthresh(2.0);
    cc.on_feedback(ms(100), full(4), &mark_of_packet_sent_at(ms(10)));
    assert_eq!(cwnd(&cc), 2.0);
    cc.on_feedback(ms(101), full(2), &mark_of_packet_sent_at(ms(11)));
    assert_eq!(cwnd(&cc), 2.0);
    cc.on_feedback(ms(102), full(2), &acks(1));
    assert_eq!(cwnd(&cc), 2.5);
}

/// RFC 4341, 5.1: a window that the application does not fill stays as it is; one that it filled within the last round
/// trip grows.
#[test]
fn an_unused_window_does_not_grow() {
    let small = Flight {
        packets: 3,
        bytes: 1_500,
        waiting: 0,
    };
    let mut cc = Windowed::new(NewReno, 10.0);
    let ack = Feedback {
        path: RoundTrip {
            smoothed: Some(Duration::from_millis(50)),
            timeout: Some(Duration::from_secs(1)),
            ..RoundTrip::default()
        },
        ..acks(1)
    };
    cc.on_feedback(ms(100), small, &ack);
    assert_eq!(cwnd(&cc), 10.0, "four of ten");
    cc.on_sent(
        ms(200),
        Flight {
            packets: 10,
            bytes: 5_000,
            waiting: 0,
        },
        500,
    );
    cc.on_feedback(ms(250), small, &ack);
    assert_eq!(cwnd(&cc), 11.0, "full one round trip ago");
    cc.on_feedback(ms(260), small, &ack);
    assert_eq!(cwnd(&cc), 11.0, "longer ago");
    cc.on_feedback(
        ms(300),
        Flight {
            waiting: 1,
            ..small
        },
        &ack,
    );
    assert_eq!(cwnd(&cc), 12.0, "held back");
}

/// After a pause longer than the timeout the window is the initial one, is halved per timeout, or stays. Just within
/// the timeout nothing changes (RFC 5681, section 4.1; RFC 2861, section 3.1).
#[test]
fn an_idle_window_shrinks_by_its_rule() {
    // Without samples the timeout is one second.
    for (idle_ms, rule, expected) in [
        (1_000, IdleRule::Restart, (32.0, 16.0)),
        (1_001, IdleRule::Restart, (4.0, 16.0)),
        (1_000, IdleRule::Halve, (32.0, 16.0)),
        (1_001, IdleRule::Halve, (16.0, 24.0)),
        (2_001, IdleRule::Halve, (8.0, 24.0)),
        (3_600_000, IdleRule::Halve, (1.0, 24.0)),
        (3_600_000, IdleRule::Keep, (32.0, 16.0)),
    ] {
        let mut cc = Windowed::new(NewReno, 4.0).with_idle(rule);
        (cc.cwnd, cc.ssthresh) = (32.0, 16.0);
        cc.on_sent(ms(10), full(1), 500);
        cc.on_sent(ms(10 + idle_ms), full(1), 500);
        assert_eq!(
            (cwnd(&cc), ssthresh(&cc)),
            expected,
            "{rule:?} after {idle_ms} ms"
        );
    }
}

/// A sender whose data waits for a delayed acknowledgement is not idle, however long the peer delays it. One without
/// data is.
#[test]
fn waiting_for_an_acknowledgement_is_not_idle() {
    for (waiting, expected) in [(1, 32.0), (0, 4.0)] {
        let mut cc = Windowed::new(NewReno, 4.0);
        (cc.cwnd, cc.ssthresh) = (32.0, 16.0);
        cc.on_sent(ms(10), full(1), 500);
        let ack = Feedback {
            newly_acked: 1,
            ..Feedback::default()
        };
        let flight = Flight {
            waiting,
            ..Flight::default()
        };
        cc.on_feedback(ms(1_200), flight, &ack);
        cc.on_sent(ms(1_200), full(1), 500);
        assert_eq!(cwnd(&cc).floor(), expected, "{waiting} waiting");
    }
}

/// RFC 2861, section 3.2: if the application fills only a part of the window for a timeout, here one second, the window
/// goes half way down to that part and the threshold to three quarters. Filling it once in that time keeps it; so do
/// the other rules (RFC 4341, 5.1).
#[test]
fn a_window_that_is_not_filled_comes_down() {
    for (rule, fills, expected) in [
        (IdleRule::Halve, false, (20.0, 24.0)),
        (IdleRule::Halve, true, (32.0, 16.0)),
        (IdleRule::Restart, false, (32.0, 16.0)),
        (IdleRule::Keep, false, (32.0, 16.0)),
    ] {
        let mut cc = Windowed::new(NewReno, 4.0).with_idle(rule);
        (cc.cwnd, cc.ssthresh) = (32.0, 16.0);
        for tenth in 0..=11 {
            let packets = if fills && tenth == 5 { 32 } else { 8 };
            cc.on_sent(ms(tenth * 100), full(packets), 500);
            let before = tenth < 11;
            if before {
                assert_eq!(cwnd(&cc), 32.0, "{rule:?}, {tenth} tenths");
            }
        }
        assert_eq!((cwnd(&cc), ssthresh(&cc)), expected, "{rule:?} {fills}");
    }
    // Each second the window goes half way down to 8, in whole packets; the threshold stays.
    let mut cc = Windowed::new(NewReno, 4.0)
        .with_idle(IdleRule::Halve)
        .with_growth(Growth::CCID2);
    (cc.cwnd, cc.ssthresh) = (33.0, 16.0);
    let mut seen = Vec::new();
    for second in 0..6 {
        for tenth in 0..10 {
            cc.on_sent(ms(second * 1_000 + tenth * 100), full(8), 500);
        }
        seen.push(cwnd(&cc));
    }
    assert_eq!(seen, [33.0, 20.0, 14.0, 11.0, 9.0, 8.0]);
    assert_eq!(ssthresh(&cc), 24.75);
}

/// The window is the limit: floor(cwnd) packets may be in flight and no more, and one always may.
#[test]
fn the_permit_counts_whole_packets() {
    let mut cc = Windowed::new(NewReno, 3.9);
    assert_eq!(cc.permit(ms(0), full(2), 500), Permit::Now);
    assert_eq!(cc.permit(ms(0), full(3), 500), Permit::AwaitFeedback);
    cc.on_feedback(ms(1), full(3), &timeout());
    assert_eq!(cc.permit(ms(1), full(0), 500), Permit::Now);
    assert_eq!(cc.permit(ms(1), full(1), 500), Permit::AwaitFeedback);
}

/// The law of the long-delay paper: slow start up to 200 packets, a cut of 5 % in congestion avoidance and of half in
/// slow start. The cut in slow start and the threshold of any law can be set.
#[test]
fn the_threshold_window_of_the_paper() {
    let mut cc = Windowed::new(ThresholdWindow::PAPER, 400.0).with_growth(Growth::CCID2);
    assert_eq!(ssthresh(&cc), 200.0);
    cc.on_feedback(ms(100), full(400), &loss_of_packet_sent_at(ms(10)));
    assert_eq!((cwnd(&cc), ssthresh(&cc)), (380.0, 380.0));

    let mut slow_start = Windowed::new(ThresholdWindow::PAPER, 100.0);
    slow_start.on_feedback(ms(100), full(100), &loss_of_packet_sent_at(ms(10)));
    assert_eq!(cwnd(&slow_start), 50.0);
    let gentle = ThresholdWindow {
        slow_start_cut: 0.25,
        ..ThresholdWindow::PAPER
    };
    let mut slow_start = Windowed::new(gentle, 100.0);
    slow_start.on_feedback(ms(100), full(100), &loss_of_packet_sent_at(ms(10)));
    assert_eq!(cwnd(&slow_start), 75.0);

    assert_eq!(
        ssthresh(&Windowed::new(NewReno, 4.0).with_initial_ssthresh(20.0)),
        20.0
    );
    assert_eq!(
        ssthresh(&Windowed::new(ThresholdWindow::PAPER, 4.0).with_initial_ssthresh(0.0)),
        2.0
    );
}

/// A reset returns to the initial state but keeps the count of cuts.
#[test]
fn a_reset_forgets_the_path() {
    let mut cc = Windowed::new(ThresholdWindow::new(50.0, 0.25), 4.0);
    acknowledge_a_window(&mut cc, 1);
    cc.on_feedback(ms(100), full(8), &loss_of_packet_sent_at(ms(10)));
    cc.reset(ms(200));
    assert_eq!((cwnd(&cc), ssthresh(&cc)), (4.0, 50.0));
    assert_eq!(cc.path.smoothed, None);
    assert_eq!(cc.gauges().cuts, 1);
}

fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn cwnd(cc: &impl Controller) -> f64 {
    cc.gauges().cwnd_packets.unwrap()
}

fn ssthresh(cc: &impl Controller) -> f64 {
    cc.gauges().ssthresh_packets.unwrap()
}

/// Returns a flight that the window holds back.
fn full(packets: u32) -> Flight {
    Flight {
        packets,
        bytes: u64::from(packets) * 500,
        waiting: 1,
    }
}

/// RFC 4015, section 3: after a spurious timeout the window continues with what is in flight, and slow start leads back
/// to the window before, once. RFC 9438, 4.9.1: CUBIC remembers nothing of it.
#[test]
fn a_spurious_timeout_is_undone() {
    let mut cc = Windowed::new(Cubic::default(), 4.0).with_initial_ssthresh(2.0);
    cc.on_feedback(ms(100), full(16), &loss_of_packet_sent_at(ms(10)));
    let law = *cc.law();
    cc.on_feedback(ms(1_100), full(12), &timeout());
    assert_ne!(*cc.law(), law);
    let spurious = Feedback {
        spurious_timeout: true,
        ..Feedback::default()
    };
    let mut marked = cc.clone();
    cc.on_feedback(ms(1_200), full(10), &spurious);
    assert_eq!(cwnd(&cc), 10.0, "what is in flight");
    assert_eq!(
        cc.gauges().ssthresh_packets,
        Some(12.0),
        "what was in flight"
    );
    assert_eq!(*cc.law(), law);
    cc.on_feedback(ms(1_300), full(2), &spurious);
    assert_eq!(cwnd(&cc), 10.0, "the same timeout is not undone twice");

    // Step 7: if the late packets were marked, the reduction stands.
    let feedback = Feedback {
        spurious_timeout: true,
        ..mark_of_packet_sent_at(ms(50))
    };
    marked.on_feedback(ms(1_200), full(10), &feedback);
    assert_eq!(cwnd(&marked), 1.0);
}

/// RFC 4015, section 3, step 8: what was acknowledged adds to the window, at most an initial window.
#[test]
fn a_restored_window_is_no_burst() {
    let mut cc = Windowed::new(NewReno, 4.0);
    cc.on_feedback(ms(1_100), full(12), &timeout());
    let spurious = Feedback {
        spurious_timeout: true,
        ..acks(6)
    };
    cc.on_feedback(ms(1_200), full(10), &spurious);
    assert_eq!(cwnd(&cc), 14.0);
}

fn acks(newly_acked: u32) -> Feedback {
    Feedback {
        newly_acked,
        newly_acked_bytes: u64::from(newly_acked) * 500,
        ..Feedback::default()
    }
}

fn timeout() -> Feedback {
    Feedback {
        timeout: true,
        ..Feedback::default()
    }
}

fn loss_of_packet_sent_at(newest_sent: Instant) -> Feedback {
    let congestion = Congestion {
        signal: Signal::Lost,
        newest_sent,
        packets: 1,
    };
    Feedback {
        congestion: Some(congestion),
        ..Feedback::default()
    }
}

fn mark_of_packet_sent_at(newest_sent: Instant) -> Feedback {
    let congestion = Congestion {
        signal: Signal::Marked,
        newest_sent,
        packets: 1,
    };
    Feedback {
        congestion: Some(congestion),
        ..acks(1)
    }
}

/// Acknowledges the whole present window, `each` packets at a time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small whole windows"
)]
fn acknowledge_a_window(cc: &mut impl Controller, each: u32) {
    let window = cwnd(cc) as u32;
    for _ in 0..window / each {
        cc.on_feedback(ms(100), full(window), &acks(each));
    }
}
