use fairwire_units::{Duration, Instant};
use proptest::prelude::*;

use self::rests::timer_if_sent;
use super::{SegmentSize, Sender, TfrcConfig};
use crate::tfrc::Equation;
use crate::{Controller, Feedback, Flight, Permit, TfrcReport};

mod pipe;
mod rests;
mod rules;

/// The size of every packet, bytes: `s`.
const S: u32 = 1_000;
/// The round-trip time `R`, milliseconds.
const R: u64 = 100;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn plain() -> TfrcConfig {
    TfrcConfig {
        oscillation_reduction: false,
        ..TfrcConfig::default()
    }
}

/// More datagrams wait: the controller is the limit.
const GREEDY: Flight = Flight {
    packets: 0,
    bytes: 0,
    waiting: 1,
};
/// Nothing waits: the application is the limit.
const MODEST: Flight = Flight {
    waiting: 0,
    ..GREEDY
};

/// Returns a sender that knows R = 100 ms and sent its first packet at one second.
fn started() -> Sender {
    let mut sender = Sender::new(plain());
    let rtt = Feedback {
        rtt: Some(ms(R)),
        ..Feedback::default()
    };
    sender.on_feedback(at(990), MODEST, &rtt);
    sender.on_sent(at(1_000), GREEDY, S);
    sender
}

/// Sends all that is allowed from now on, burst after burst, half a granularity apart, with the controller as the
/// limit. Returns how many packets left.
fn fill(sender: &mut Sender, now_ms: u64, size: u32) -> u32 {
    let (mut now, mut packets) = (at(now_ms), 0);
    loop {
        match sender.permit(now, GREEDY, size) {
            Permit::Now => {
                sender.on_sent(now, GREEDY, size);
                packets += 1;
            }
            Permit::At(next) if next <= now + ms(1) / 2 => now = next,
            _ => return packets,
        }
    }
}

/// Passes a report with a sample of 100 ms, which covers the packets sent until 100 ms ago and the bursts that began
/// then.
fn report(sender: &mut Sender, now_ms: u64, x_recv: f64, p: f64) {
    let feedback = Feedback {
        rtt: Some(ms(R)),
        tfrc: Some(TfrcReport {
            x_recv,
            p,
            new_loss: false,
            covers_until: Some(at(now_ms - R + 5)),
        }),
        ..Feedback::default()
    };
    sender.on_feedback(at(now_ms), GREEDY, &feedback);
}

#[track_caller]
fn assert_rate(sender: &Sender, expected: f64) {
    let got = sender.rate_bytes_per_s();
    assert!((got / expected - 1.0).abs() < 1e-9, "{got}, not {expected}");
}

fn by_equation(p: f64) -> f64 {
    Equation::RFC5348.rate(f64::from(S), ms(R), p)
}

/// RFC 5348, 4.2: without a round-trip time one packet leaves per second. The nofeedback timer first expires after two
/// seconds and halves this rate.
#[test]
fn one_packet_per_second_on_an_unknown_path() {
    let mut sender = Sender::new(plain());
    assert_eq!(sender.permit(at(5), GREEDY, S), Permit::Now);
    sender.on_sent(at(5), GREEDY, S);
    assert_eq!(sender.permit(at(5), GREEDY, S), Permit::At(at(1_005)));
    assert_eq!(sender.next_timeout(), Some(at(2_005)));
    sender.on_sent(at(1_005), GREEDY, S);
    sender.handle_timeout(at(2_005), GREEDY);
    assert_rate(&sender, 500.0);
    // 2s/X is now four seconds.
    assert_eq!(timer_if_sent(&sender, 2_005), Some(at(6_005)));
    // Nothing was sent since: an idle sender keeps its rate while it does not know the path.
    sender.handle_timeout(at(6_005), MODEST);
    assert_rate(&sender, 500.0);
    assert_eq!(sender.next_timeout(), None, "until the next packet");
    sender.on_sent(at(9_000), MODEST, S);
    assert!(sender.next_timeout().is_some());
}

/// RFC 5348, 4.2: the first report brings the round-trip time and so the rate `W_init / R`.
#[test]
fn the_first_report_gives_the_initial_rate() {
    let mut sender = Sender::new(plain());
    sender.on_sent(at(0), GREEDY, S);
    report(&mut sender, 100, 0.0, 0.0);
    // W_init = min(4 * 1000, max(2 * 1000, 4380)) = 4000 bytes per 100 ms.
    assert_rate(&sender, 40_000.0);
    assert_eq!(timer_if_sent(&sender, 100), Some(at(500)), "4R");
}

/// RFC 5348, 4.3: slow start doubles the rate once per round trip. In the first two the receive rate is no limit; then
/// the limit is twice the receive rate.
#[test]
fn slow_start_follows_the_receive_rate() {
    let mut sender = started();
    assert_rate(&sender, 40_000.0);
    report(&mut sender, 1_100, 0.0, 0.0);
    assert_rate(&sender, 80_000.0);
    fill(&mut sender, 1_100, S);
    report(&mut sender, 1_150, 40_000.0, 0.0);
    assert_rate(&sender, 80_000.0);
    report(&mut sender, 1_200, 40_000.0, 0.0);
    assert_rate(&sender, 160_000.0);
    // Infinity is now older than two round trips; 2 * 60000 is the limit.
    fill(&mut sender, 1_201, S);
    report(&mut sender, 1_301, 60_000.0, 0.0);
    assert_rate(&sender, 120_000.0);
    // In slow start the limit is never less than the initial rate.
    fill(&mut sender, 1_450, S);
    report(&mut sender, 1_600, 10.0, 0.0);
    assert_rate(&sender, 40_000.0);
    assert_eq!(sender.gauges().x_recv_bytes_per_s, Some(10.0));
}

/// RFC 5348, 4.3: with losses the equation gives the rate, limited to twice the receive rate, but at least one packet
/// in 64 seconds.
#[test]
fn congestion_avoidance_follows_the_equation() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_100, S);
    report(&mut sender, 1_200, 40_000.0, 0.01);
    assert_rate(&sender, by_equation(0.01));
    fill(&mut sender, 1_250, S);
    report(&mut sender, 1_350, 20_000.0, 0.01);
    fill(&mut sender, 1_600, S);
    report(&mut sender, 1_700, 20_000.0, 0.01);
    assert_rate(&sender, 40_000.0);
    fill(&mut sender, 2_600, S);
    report(&mut sender, 2_700, 0.0, 0.01);
    assert_rate(&sender, f64::from(S) / 64.0);
}

/// RFC 5348, 4.3: reports about an interval in which the application was the limit do not lower the rate, unless they
/// contain a loss.
#[test]
fn data_limited_intervals_are_no_limit() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_150, S);
    report(&mut sender, 1_250, 100_000.0, 0.0001);
    report(&mut sender, 1_301, 100_000.0, 0.0001);
    assert_rate(&sender, 200_000.0);
    // The application stops for two seconds and then sends single packets.
    sender.on_sent(at(3_300), MODEST, S);
    report(&mut sender, 3_400, 10_000.0, 0.0001);
    assert_rate(&sender, 200_000.0);
    // A loss event: the entries halve to 50000, the new one counts 0.85 * 10000, and the limit is not doubled.
    sender.on_sent(at(3_450), MODEST, S);
    report(&mut sender, 3_550, 10_000.0, 0.0002);
    assert_rate(&sender, 50_000.0);
    assert_eq!(sender.gauges().cuts, 1);
}

/// RFC 5348, 4.4: a rate far above the initial one is halved in idle time as well. The gauges show no timeout then,
/// because there was nothing to answer.
#[test]
fn idle_time_shows_no_timeouts() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    sender.handle_timeout(at(1_500), MODEST);
    assert_rate(&sender, 40_000.0);
    assert_eq!(sender.gauges().timeouts, 0);
}

/// RFC 5348, 4.4: in slow start the nofeedback timer halves the rate of a sender that has sent.
#[test]
fn silence_in_slow_start_halves_the_rate() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    assert_rate(&sender, 80_000.0);
    fill(&mut sender, 1_150, S);
    sender.handle_timeout(at(1_499), GREEDY);
    assert_rate(&sender, 80_000.0);
    sender.handle_timeout(at(1_500), GREEDY);
    assert_rate(&sender, 40_000.0);
    assert_eq!(sender.gauges().timeouts, 1);
    assert_eq!(timer_if_sent(&sender, 1_500), Some(at(1_900)));
}

/// RFC 5348, 4.4: if the receive rate is the limit, it is halved, and the rate can double again from there. If the
/// equation is the limit, half of its rate becomes the limit.
#[test]
fn silence_with_losses_halves_what_was_the_limit() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_250, S);
    report(&mut sender, 1_350, 20_000.0, 0.001);
    assert_rate(&sender, 40_000.0);
    fill(&mut sender, 1_400, S);
    sender.handle_timeout(at(1_750), GREEDY);
    assert_rate(&sender, 20_000.0);
    fill(&mut sender, 1_800, S);
    sender.handle_timeout(at(2_150), GREEDY);
    assert_rate(&sender, 10_000.0);

    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_250, S);
    report(&mut sender, 1_350, 500_000.0, 0.01);
    assert_rate(&sender, by_equation(0.01));
    fill(&mut sender, 1_400, S);
    sender.handle_timeout(at(1_750), GREEDY);
    assert_rate(&sender, by_equation(0.01) / 2.0);
}

/// RFC 5348, 4.4, and RFC 4342, 5.1: idle time reduces the rate to no less than the initial rate; a sender below it
/// keeps its rate.
#[test]
fn idle_time_keeps_the_initial_rate() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_150, S);
    report(&mut sender, 1_250, 400_000.0, 0.001);
    report(&mut sender, 1_350, 400_000.0, 0.001);
    assert_rate(&sender, by_equation(0.001));
    let mut expiries = 0;
    while let Some(at) = sender.next_timeout() {
        sender.handle_timeout(at, MODEST);
        expiries += 1;
        assert!(expiries < 20, "the timer of an idle sender ends");
    }
    let rate = sender.rate_bytes_per_s();
    assert!((40_000.0..80_000.0).contains(&rate), "{rate}");

    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_150, S);
    report(&mut sender, 1_250, 5_000.0, 0.001);
    report(&mut sender, 1_350, 5_000.0, 0.001);
    sender.handle_timeout(at(1_750), MODEST);
    assert_rate(&sender, 10_000.0);
    assert_eq!(sender.next_timeout(), None);
}

/// RFC 5348, 4.5: a sample above the average lowers the present rate by the ratio of the square roots.
#[test]
fn a_longer_round_trip_lowers_the_rate_in_force() {
    let mut sender = Sender::new(TfrcConfig::default());
    sender.on_sent(at(0), GREEDY, S);
    report(&mut sender, 100, 0.0, 0.0);
    assert_rate(&sender, 40_000.0);
    let slow = Feedback {
        rtt: Some(ms(200)),
        tfrc: Some(TfrcReport {
            x_recv: 40_000.0,
            p: 0.0,
            new_loss: false,
            covers_until: Some(at(0)),
        }),
        ..Feedback::default()
    };
    sender.on_feedback(at(150), GREEDY, &slow);
    // R = 110 ms: too early to double. sqrt(0.1) has the weight 0.9, sqrt(0.2) has 0.1.
    let ratio = 0.9 * f64::sqrt(0.5) + 0.1;
    assert_rate(&sender, 40_000.0 * ratio);
    assert_eq!(sender.rtt(), Some(ms(110)));
}

/// RFC 5348, 4.3: the receive rate of the first report is no limit, however late it arrives. Otherwise a sender whose
/// first packets were lost would stay at one packet in 64 seconds.
#[test]
fn a_first_report_after_losses_is_no_limit() {
    let mut sender = Sender::new(plain());
    sender.on_rtt_sample(ms(R), true);
    sender.on_sent(at(0), GREEDY, S);
    report(&mut sender, 5_000, 0.0, 0.2);
    assert_rate(&sender, by_equation(0.2));
    // The receive rate of a later report is a limit.
    report(&mut sender, 6_000, 0.0, 0.2);
    assert_rate(&sender, f64::from(S) / 64.0);
}

/// RFC 5348, 4.6 and 8.3: packets leave one interval apart, at most half a granularity early. A higher rate has effect
/// for a packet that already waits.
#[test]
fn packets_are_paced() {
    let mut sender = started();
    // 25 ms apart; early by min(25, 1, 100) / 2 ms.
    assert_eq!(
        sender.permit(at(1_001), GREEDY, S),
        Permit::At(Instant::from_nanos(1_024_500_000))
    );
    report(&mut sender, 1_010, 0.0, 0.0);
    report(&mut sender, 1_100, 0.0, 0.0);
    assert_rate(&sender, 80_000.0);
    // Now 12.5 ms apart. A round trip is eight packets, and the first left at 1000 ms. Two of them leave at once.
    sender.on_sent(at(1_100), GREEDY, S);
    sender.on_sent(at(1_100), GREEDY, S);
    let next = Instant::from_nanos(1_100_500_000);
    assert_eq!(sender.permit(at(1_100), GREEDY, S), Permit::At(next));
    assert_eq!(fill(&mut sender, 1_100, S), 6);
}

/// RFC 5348, 4.3: if the first report says that nothing was received, because the first round trips were lost, there is
/// no limit for two more round trips.
#[test]
fn a_first_report_of_nothing_is_no_limit() {
    let mut sender = started();
    fill(&mut sender, 1_000, S);
    report(&mut sender, 1_500, 0.0, 0.01);
    assert_rate(&sender, by_equation(0.01));
    fill(&mut sender, 1_500, S);
    report(&mut sender, 1_600, 1_000.0, 0.01);
    assert_rate(&sender, by_equation(0.01));
    fill(&mut sender, 1_700, S);
    report(&mut sender, 1_800, 1_000.0, 0.01);
    assert_rate(&sender, 2_000.0);
}

/// RFC 5348, 4.2: the initial rate follows the largest packet of the first round trip, even if it is not the first
/// packet.
#[test]
fn a_larger_packet_raises_the_initial_rate() {
    let mut sender = Sender::new(plain());
    let rtt = Feedback {
        rtt: Some(ms(R)),
        ..Feedback::default()
    };
    sender.on_feedback(at(990), MODEST, &rtt);
    sender.on_sent(at(1_000), GREEDY, 100);
    // Four packets of 100 bytes in 100 ms.
    assert_rate(&sender, 4_000.0);
    sender.on_sent(at(1_025), GREEDY, S);
    assert_rate(&sender, 40_000.0);
}

/// RFC 5348, 4.2: the initial rate is four packets per round trip for small packets, even if the path allows larger
/// ones.
#[test]
fn small_packets_start_with_four_per_round_trip() {
    let mut sender = Sender::new(plain());
    sender.on_feedback(
        at(0),
        MODEST,
        &Feedback {
            rtt: Some(ms(R)),
            ..Feedback::default()
        },
    );
    sender.on_sent(at(1), GREEDY, 80);
    assert_rate(&sender, 3_200.0);
    assert_eq!(sender.segment_size(), 80.0);
}

/// With a fixed segment size the equation counts packets, so a receive rate in bytes does not hold small packets back.
#[test]
fn a_fixed_segment_size_counts_packets() {
    let mut sender = Sender::new(TfrcConfig {
        segment: SegmentSize::Fixed(1_460),
        ..plain()
    });
    sender.on_sent(at(1_000), GREEDY, 146);
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_250, 146);
    report(&mut sender, 1_350, 14_600.0, 1e-6);
    // 14600 B/s are 100 packets per second, and twice that is allowed.
    assert_rate(&sender, 200.0 * 1_460.0);
}

/// Taken literally, the same receive rate allows twice 14600 B/s in packets that count as 1460 bytes. That is 20
/// packets per second, a fifth of those received.
#[test]
fn a_literal_segment_size_holds_small_packets_back() {
    let mut sender = Sender::new(TfrcConfig {
        segment: SegmentSize::Literal(1_460),
        ..plain()
    });
    sender.on_sent(at(1_000), GREEDY, 146);
    report(&mut sender, 1_100, 0.0, 0.0);
    fill(&mut sender, 1_250, 146);
    report(&mut sender, 1_350, 14_600.0, 1e-6);
    assert_rate(&sender, 29_200.0);
    assert_eq!(sender.segment_size(), 1_460.0);
}

/// Returns the parameters of CCID 4: packets of 80 bytes with headers of 36, at least 10 ms apart.
fn small_packets() -> TfrcConfig {
    TfrcConfig {
        segment: SegmentSize::Small {
            nominal: 1_460,
            header: 36,
        },
        min_interval: ms(10),
        ..plain()
    }
}

/// RFC 5622, 5, and RFC 4828, 3: the equation applies to segments of 1460 bytes; 80 of the 116 bytes of each packet are
/// data. Twice the receive rate is the limit in the same unit.
#[test]
fn small_packets_get_the_rate_of_large_ones() {
    let mut sender = Sender::new(small_packets());
    sender.on_sent(at(1_000), GREEDY, 80);
    report(&mut sender, 1_100, 0.0, 0.0);
    assert_rate(&sender, 3_200.0);
    fill(&mut sender, 1_150, 80);
    report(&mut sender, 1_250, 1e6, 0.3);
    // f(0.3) = sqrt(0.6/3) + 12 sqrt(0.9/8) 0.3 (1 + 2.88) = 0.447214 + 4.684960: 2.845 kB/s, of
    // which 80/116 are 1.962.
    let large = Equation::RFC5348.rate(1_460.0, ms(R), 0.3);
    assert!(
        (large / (14_600.0 / 5.132_174) - 1.0).abs() < 1e-5,
        "{large}"
    );
    assert_rate(&sender, large * 80.0 / 116.0);
    // Everything that is allowed leaves, 10 ms apart.
    for now in (1_600..=1_650).step_by(10) {
        if sender.permit(at(now), GREEDY, 80) == Permit::Now {
            sender.on_sent(at(now), GREEDY, 80);
        }
    }
    report(&mut sender, 1_750, 900.0, 0.3);
    assert_rate(&sender, 1_800.0);
}

/// RFC 5348, 4.1, and RFC 4828, 3: the mean size covers the last four loss intervals. A rise of p within an interval,
/// by more lost packets, begins no new one: (80 + 5 * 200) / 6 = 180.
#[test]
fn a_rise_within_a_loss_event_begins_no_interval() {
    let mut sender = Sender::new(small_packets());
    sender.on_sent(at(1_000), GREEDY, 80);
    for i in 1..=5u32 {
        let tfrc = TfrcReport {
            x_recv: 1_000.0,
            p: 0.1 * f64::from(i),
            new_loss: i == 1,
            covers_until: None,
        };
        let feedback = Feedback {
            rtt: Some(ms(R)),
            tfrc: Some(tfrc),
            ..Feedback::default()
        };
        let now = at(1_000 + 100 * u64::from(i));
        sender.on_feedback(now, GREEDY, &feedback);
        sender.on_sent(now, GREEDY, 200);
    }
    assert_eq!(sender.segment_size(), 180.0);
}

/// RFC 4828, 4.3: packets are at least 10 ms apart, for any rate and after any pause.
#[test]
fn small_packets_keep_ten_milliseconds_apart() {
    let mut sender = Sender::new(small_packets());
    sender.on_sent(at(1_000), GREEDY, 80);
    report(&mut sender, 1_100, 0.0, 0.0);
    report(&mut sender, 1_200, 1e6, 0.001);
    assert!(sender.rate_bytes_per_s() > 100.0 * 80.0, "more is allowed");
    assert_eq!(sender.departure_rate_bytes_per_s(), 100.0 * 80.0);
    for left in [1_200, 1_210, 1_220, 9_000, 9_010] {
        assert_eq!(sender.permit(at(left), GREEDY, 80), Permit::Now, "{left}");
        sender.on_sent(at(left), GREEDY, 80);
        let next = Permit::At(at(left + 10));
        assert_eq!(sender.permit(at(left), GREEDY, 80), next, "{left}");
        assert_eq!(sender.permit(at(left + 9), GREEDY, 80), next, "{left}");
    }
}

/// A reset forgets the path and keeps the counters.
#[test]
fn a_reset_starts_afresh() {
    let mut sender = started();
    report(&mut sender, 1_100, 0.0, 0.5);
    sender.reset(at(2_000));
    assert_eq!(sender.gauges().p, Some(0.0));
    assert_eq!(sender.rtt(), None);
    assert_eq!(sender.permit(at(2_000), GREEDY, S), Permit::Now);
    sender.on_sent(at(2_000), GREEDY, S);
    assert_rate(&sender, f64::from(S));
}

fn wild_rate() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(f64::from(u32::MAX)),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1.0),
        Just(1e-300),
        0.0..1e7f64,
    ]
}

fn wild_p() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(f64::NAN),
        Just(2.0),
        Just(-1.0),
        Just(1.0 / f64::from(u32::MAX)),
        0.0..1.0f64,
    ]
}

fn wild_rtt() -> impl Strategy<Value = Option<Duration>> {
    prop_oneof![
        Just(None),
        Just(Some(Duration::ZERO)),
        Just(Some(Duration::MAX)),
        (1u64..2_000_000_000).prop_map(|ns| Some(Duration::from_nanos(ns))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any reports of a peer, the rate stays finite, at or below the maximum, and at least one packet in 64
    /// seconds. There is always a time at which the next packet may leave.
    #[test]
    fn item_27_hostile_reports_leave_the_rate_sane(
        steps in prop::collection::vec(
            (0u64..3_000_000_000, wild_rate(), wild_p(), wild_rtt(), any::<bool>(), 0u32..1_500),
            1..60,
        ),
        segment in prop_oneof![
            Just(SegmentSize::Mean),
            Just(SegmentSize::Mps),
            Just(SegmentSize::Fixed(0)),
            Just(SegmentSize::Literal(0)),
            Just(SegmentSize::Small { nominal: 0, header: 0 }),
            Just(SegmentSize::Small { nominal: 1_460, header: 36 }),
        ],
        min_interval in prop_oneof![Just(Duration::ZERO), Just(ms(10))],
    ) {
        let config = TfrcConfig { segment, min_interval, ..TfrcConfig::default() };
        let mut sender = Sender::new(config);
        let mut now = Instant::START;
        for (ns, x_recv, p, rtt, flag, size) in steps {
            now += Duration::from_nanos(ns);
            let flight = if flag { GREEDY } else { MODEST };
            if sender.next_timeout().is_some_and(|at| at <= now) {
                sender.handle_timeout(now, flight);
            }
            if sender.permit(now, flight, size) == Permit::Now {
                sender.on_sent(now, flight, size);
            }
            let tfrc = TfrcReport {
                x_recv,
                p,
                new_loss: flag,
                covers_until: flag.then_some(Instant::START),
            };
            let feedback = Feedback { rtt, tfrc: Some(tfrc), ..Feedback::default() };
            sender.on_feedback(now, flight, &feedback);
            let rate = sender.rate_bytes_per_s();
            let least = sender.segment_size() / 64.0;
            prop_assert!(rate.is_finite());
            prop_assert!((least..=config.max_rate).contains(&rate), "{}", rate);
            if let Permit::At(at) = sender.permit(now, flight, size) {
                // The interval is at most 64 s, rounded.
                prop_assert!(at > now && at <= now + Duration::from_secs(65), "{} at {}", at, now);
            }
        }
    }
}
