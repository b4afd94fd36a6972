//! A sender, a receiver and a lossy path between them: the long-run rate compared with the equation.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

use crate::tfrc::{
    ByTime, Equation, LossAverage, LossHistory, ReceiveRate, ReceivedPacket, Sender, TfrcConfig,
};
use crate::{Controller, Feedback, Flight, Permit, TfrcReport};

const RTT: Duration = Duration::from_millis(100);
const SIZE: u32 = 1_000;

/// A 64-bit generator (xorshift64*) for losses.
struct Losses(u64);

impl Losses {
    fn lose(&mut self, probability: f64) -> bool {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let draw = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        (draw as f64) < probability * (1u64 << 53) as f64
    }
}

struct Outcome {
    sent: u64,
    /// Loss events per packet sent.
    p: f64,
    bytes_per_s: f64,
}

/// Runs a greedy sender for `seconds` over a path with a fixed round trip and random losses; measures the last four
/// fifths.
fn run(loss: f64, seconds: u64, seed: u64) -> Outcome {
    let greedy = Flight {
        waiting: 1,
        ..Flight::default()
    };
    let mut losses = Losses(seed);
    let mut sender = Sender::new(TfrcConfig::default());
    let mut history = LossHistory::new(ByTime { rtt: RTT }, 0, LossAverage::new(true));
    let mut meter = ReceiveRate::new();
    let mut arrivals: VecDeque<(Instant, u64, Instant)> = VecDeque::new();
    let mut reports: VecDeque<(Instant, Feedback)> = VecDeque::new();
    let (mut next_report, mut reported) = (Instant::START, false);
    let (mut now, mut seq, mut max_rate) = (Instant::START, 0u64, 0.0f64);
    let (mut counted_from, mut counted_events) = (0, 0);
    let end = Instant::START + Duration::from_secs(seconds);
    let begin = Instant::START + Duration::from_secs(seconds / 5);
    while now < end {
        if now < begin {
            (counted_from, counted_events) = (seq, history.events());
        }
        while sender.permit(now, greedy, SIZE) == Permit::Now {
            seq += 1;
            if !losses.lose(loss) {
                arrivals.push_back((now + RTT / 2, seq, now));
            }
            sender.on_sent(now, greedy, SIZE);
        }
        if sender.next_timeout().is_some_and(|at| at <= now) {
            sender.handle_timeout(now, greedy);
        }
        while let Some((_, seq, sent)) = arrivals.pop_front_if(|(at, ..)| *at <= now) {
            meter.on_data(now, SIZE, RTT);
            let packet = ReceivedPacket {
                seq,
                stamp: now,
                is_data: true,
                marked: false,
                non_data_before: 0,
            };
            let rate = meter.bytes_per_s(RTT).max(max_rate);
            let seed = |_| 1.0 / Equation::RFC5348.loss_rate(f64::from(SIZE), RTT, rate);
            let new_loss = history.receive(packet, seed);
            if new_loss || now >= next_report {
                next_report = now + RTT;
                let x_recv = if reported {
                    meter.bytes_per_s(RTT)
                } else {
                    0.0
                };
                reported = true;
                max_rate = max_rate.max(x_recv);
                let feedback = Feedback {
                    rtt: Some(RTT),
                    tfrc: Some(TfrcReport {
                        x_recv,
                        p: history.p(),
                        new_loss,
                        covers_until: Some(sent),
                    }),
                    ..Feedback::default()
                };
                reports.push_back((now + RTT / 2, feedback));
            }
        }
        while let Some((_, feedback)) = reports.pop_front_if(|(at, _)| *at <= now) {
            sender.on_feedback(now, greedy, &feedback);
        }
        now += Duration::from_micros(500);
    }
    let sent = seq - counted_from;
    let measured = (end - begin).as_secs_f64();
    Outcome {
        sent,
        p: (history.events() - counted_events) as f64 / sent as f64,
        bytes_per_s: sent as f64 * f64::from(SIZE) / measured,
    }
}

/// The long-run rate is that of the equation at the measured loss event rate, within 10 %.
///
/// The rate is the mean of a function of the estimated p, not the function of its mean; with eight intervals the two
/// differ by some per cent. The statistical error over the thousand loss events of each run has the same size.
#[test]
fn the_long_run_rate_is_that_of_the_equation() {
    for (loss, seconds) in [(0.002, 600), (0.01, 600), (0.05, 1_200)] {
        let seed = 0x5EED;
        let outcome = run(loss, seconds, seed);
        let expected = Equation::RFC5348.rate(f64::from(SIZE), RTT, outcome.p);
        let ratio = outcome.bytes_per_s / expected;
        assert!(
            (0.9..=1.1).contains(&ratio),
            "loss {loss}, seed {seed}: {} packets, p {}, rate {} is {ratio} of the equation's",
            outcome.sent,
            outcome.p,
            outcome.bytes_per_s,
        );
        // Each loss event has at least one loss; at these rates few events have two.
        assert!(
            outcome.p <= loss * 1.2 && outcome.p > loss * 0.5,
            "p {}",
            outcome.p
        );
    }
}
