//! The rules of RFC 3448, and of stacks with another first rate.

use super::{GREEDY, MODEST, R, S, assert_rate, at, by_equation, ms, plain, report};
use crate::tfrc::{Bursts, Equation, FirstRate, ReceiveLimit, ReductionFrom, Sender, TfrcConfig};
use crate::{Controller, Feedback, Permit, TfrcReport};

/// Returns a sender that got the round trip of the handshake and then sent its first packet.
fn started(config: TfrcConfig) -> Sender {
    let mut sender = Sender::new(config);
    let rtt = Feedback {
        rtt: Some(ms(R)),
        ..Feedback::default()
    };
    sender.on_feedback(at(990), MODEST, &rtt);
    sender.on_sent(at(1_000), GREEDY, S);
    sender
}

/// RFC 3448, 4.3: only the latest report is the limit, and slow start keeps one packet per round trip.
#[test]
fn the_latest_report_is_the_limit() {
    let mut sender = started(TfrcConfig {
        receive_limit: ReceiveLimit::Rfc3448,
        ..plain()
    });
    assert_rate(&sender, 40_000.0);
    report(&mut sender, 1_200, 30_000.0, 0.0);
    assert_rate(&sender, 60_000.0);
    report(&mut sender, 1_301, 4_000.0, 0.0);
    // s/R; RFC 5348 would keep W_init/R.
    assert_rate(&sender, 10_000.0);
    report(&mut sender, 1_500, 100_000.0, 0.01);
    assert_rate(&sender, by_equation(0.01));
    report(&mut sender, 1_600, 20_000.0, 0.01);
    assert_rate(&sender, 40_000.0);
}

/// RFC 3448, 6.3: a receive rate of zero in the first report is no limit. The rate of the handshake stays and doubles
/// with the next report.
#[test]
fn a_first_report_of_zero_is_no_limit() {
    let mut sender = started(TfrcConfig {
        receive_limit: ReceiveLimit::Rfc3448,
        ..plain()
    });
    report(&mut sender, 1_100, 0.0, 0.0);
    assert_rate(&sender, 40_000.0);
    report(&mut sender, 1_200, 100_000.0, 0.0);
    assert_rate(&sender, 80_000.0);
}

/// RFC 3448, 4.4: without feedback the recorded receive rate is halved, or becomes a quarter of the equation's rate if
/// that is the limit; the rate is at most twice this. An idle sender below four packets per round trip keeps its rate.
#[test]
fn silence_halves_what_was_received() {
    let config = TfrcConfig {
        receive_limit: ReceiveLimit::Rfc3448,
        ..plain()
    };
    let mut sender = started(config);
    report(&mut sender, 1_100, 20_000.0, 0.01);
    assert_rate(&sender, 40_000.0);
    sender.on_sent(at(1_200), GREEDY, S);
    sender.handle_timeout(at(1_600), GREEDY);
    assert_rate(&sender, 20_000.0);
    let mut fast = started(config);
    report(&mut fast, 1_100, 400_000.0, 0.01);
    fast.on_sent(at(1_200), GREEDY, S);
    fast.handle_timeout(at(1_600), GREEDY);
    assert_rate(&fast, by_equation(0.01) / 2.0);
    let mut idle = started(config);
    report(&mut idle, 1_100, 39_000.0, 0.01);
    idle.handle_timeout(at(1_600), MODEST);
    assert_rate(&idle, 78_000.0);
}

/// RFC 3448, 4.2 and 4.3, and RFC 4342, 5: the round trip of the handshake can be ignored. Then one packet leaves per
/// second until the first report, which gives one packet per round trip, or the initial window.
#[test]
fn the_first_rate_is_a_setting() {
    for (start, before, after) in [
        (FirstRate::Handshake, 40_000.0, 80_000.0),
        (FirstRate::FirstReport, 1_000.0, 40_000.0),
        (FirstRate::OnePacket, 1_000.0, 10_000.0),
    ] {
        let mut sender = started(TfrcConfig { start, ..plain() });
        assert_rate(&sender, before);
        report(&mut sender, 1_100, 0.0, 0.0);
        assert_rate(&sender, after);
    }
}

/// A stated first rate holds until the first report, for any round trip. That report doubles it, or only measures the
/// round trip and leaves the rate.
#[test]
fn the_first_rate_can_be_stated() {
    for (start, after) in [
        (FirstRate::Handshake, 12_500.0),
        (FirstRate::FirstReport, 6_250.0),
        (FirstRate::OnePacket, 6_250.0),
    ] {
        let mut sender = started(TfrcConfig {
            start,
            initial_rate: Some(6_250.0),
            ..plain()
        });
        assert_rate(&sender, 6_250.0);
        report(&mut sender, 1_100, 6_250.0, 0.0);
        assert_rate(&sender, after);
    }
}

/// The nofeedback timer has a configured minimum, in addition to 4R and 2s/X.
#[test]
fn the_nofeedback_timer_can_have_a_floor() {
    for (least, expires) in [(0, 1_500), (200, 1_500), (900, 2_000)] {
        let mut sender = started(TfrcConfig {
            min_nofeedback: ms(least),
            ..plain()
        });
        report(&mut sender, 1_100, 40_000.0, 0.0);
        assert_eq!(sender.next_timeout(), Some(at(expires)), "{least}");
    }
}

/// In ns-2's module a longer round trip does not lower the rate in slow start. It does after a loss, with the average
/// that the samples of slow start belong to.
#[test]
fn oscillations_are_reduced_from_the_first_loss_on() {
    for (from, slow_start) in [
        (ReductionFrom::FirstReport, 0.9 * f64::sqrt(0.5) + 0.1),
        (ReductionFrom::FirstLoss, 1.0),
    ] {
        let mut sender = Sender::new(TfrcConfig {
            oscillation_reduction_from: from,
            ..TfrcConfig::default()
        });
        sender.on_sent(at(0), GREEDY, S);
        report(&mut sender, 100, 0.0, 0.0);
        let mut late = |at_ms, p| {
            let report = TfrcReport {
                x_recv: 1e6,
                p,
                new_loss: false,
                covers_until: Some(at(0)),
            };
            let feedback = Feedback {
                rtt: Some(ms(200)),
                tfrc: Some(report),
                ..Feedback::default()
            };
            sender.on_feedback(at(at_ms), GREEDY, &feedback);
            sender.clone()
        };
        // R = 110 ms: too early to double the initial rate.
        assert_rate(&late(150, 0.0), 40_000.0 * slow_start);
        let sender = late(160, 0.01);
        // R = 119 ms. Two samples of 200 ms in the average of the square roots.
        let x = Equation::RFC5348.rate(f64::from(S), ms(119), 0.01);
        let ratio = 0.81 * f64::sqrt(0.5) + 0.19;
        assert_rate(&sender, x * ratio);
    }
}

/// On a host whose clock ticks every 4 ms, a sender in the manner of Linux keeps a rate of one packet in 1.5 ms: at each
/// tick it sends what is due until two milliseconds later. With the bound of RFC 5348 a tick has two packets.
#[test]
fn a_host_with_ticks_keeps_its_rate() {
    for (bursts, expected) in [(Bursts::Unbounded, 667), (Bursts::Bounded, 500)] {
        let mut sender = started(TfrcConfig {
            granularity: ms(4),
            bursts,
            initial_rate: Some(1_000.0 / 1.5e-3),
            ..plain()
        });
        let mut sent = 0;
        for tick in 1..=250 {
            while sender.permit(at(1_000 + 4 * tick), GREEDY, S) == Permit::Now {
                sender.on_sent(at(1_000 + 4 * tick), GREEDY, S);
                sent += 1;
            }
        }
        // In a second; the first packet left before, and the last tick may send one early.
        assert!(
            (expected..=expected + 1).contains(&sent),
            "{bursts:?}: {sent}"
        );
    }
}
