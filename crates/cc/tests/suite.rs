//! Invariants of every controller.
//!
//! A random sequence of permits, packets, acknowledgements, losses, marks, pauses and timeouts must keep its gauges
//! valid.
//!
//! A new controller or law is one line in [`CONTROLLERS`].

use fairwire_cc::tfrc::{Sender, TfrcConfig};
use fairwire_cc::{
    Congestion, Controller, Cubic, CubicVersion, CutFrom, Dctcp, Delivery, Feedback, Flight,
    Growth, IdleRule, NewReno, Permit, RtoConfig, RttEstimator, Signal, TfrcReport,
    ThresholdWindow, Vegas, Veno, Windowed,
};
use fairwire_units::{Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

type Make = fn() -> Box<dyn Controller>;

const CONTROLLERS: &[(&str, Make)] = &[
    ("newreno", || Box::new(Windowed::new(NewReno, 4.0))),
    ("newreno-ccid2", || {
        Box::new(Windowed::new(NewReno, 4.0).with_growth(Growth::CCID2))
    }),
    ("newreno-tcp", || {
        Box::new(
            Windowed::new(NewReno, 10.0)
                .with_growth(Growth::ByteCounting { limit: 2 })
                .with_cut_from(CutFrom::Flight)
                .with_idle(IdleRule::Halve),
        )
    }),
    ("threshold-window", || {
        Box::new(Windowed::new(ThresholdWindow::PAPER, 4.0).with_growth(Growth::CCID2))
    }),
    ("threshold-window-no-cut", || {
        Box::new(Windowed::new(ThresholdWindow::new(20.0, 0.0), 4.0))
    }),
    ("threshold-window-whole-cut", || {
        Box::new(Windowed::new(ThresholdWindow::new(20.0, 1.0), 4.0))
    }),
    ("vegas", || Box::new(Windowed::new(Vegas::NS2, 4.0))),
    ("vegas-ccid2", || {
        Box::new(Windowed::new(Vegas::NS2, 4.0).with_growth(Growth::CCID2))
    }),
    ("veno", || {
        Box::new(Windowed::new(Veno::default(), 4.0).with_cut_from(CutFrom::Flight))
    }),
    ("cubic", || {
        Box::new(
            Windowed::new(Cubic::default(), 4.0)
                .with_growth(Growth::ByteCounting { limit: 2 })
                .with_cut_from(CutFrom::Flight),
        )
    }),
    ("cubic-ccid2", || {
        Box::new(Windowed::new(Cubic::default(), 4.0).with_growth(Growth::CCID2))
    }),
    ("cubic-8312", || {
        Box::new(Windowed::new(Cubic::new(CubicVersion::Rfc8312), 4.0))
    }),
    ("dctcp", || Box::new(Windowed::new(Dctcp::default(), 4.0))),
    ("dctcp-ccid2", || {
        Box::new(Windowed::new(Dctcp::default(), 4.0).with_growth(Growth::CCID2))
    }),
    ("tfrc", || Box::new(Sender::new(TfrcConfig::default()))),
];

/// One event of a random sequence.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Time passes.
    Wait(Duration),
    /// The application offers this many more packets, and the caller sends what is permitted.
    Offer(u32),
    /// Up to this many of the packets in flight are acknowledged, with or without a round-trip sample.
    Acknowledge(u32, Option<Duration>),
    /// Up to this many of the packets in flight are found lost or marked; the newest was sent this long ago.
    Congest(Signal, u32, Duration),
    /// A TFRC receiver reports a rate (bytes per second), a loss event rate and whether there is a new loss event.
    Report(f64, f64, bool),
    /// The retransmission timeout expires.
    TimeOut,
    /// The path changed.
    Reset,
}

/// The caller of a controller, which owns the flight.
#[derive(Debug)]
struct Caller {
    now: Instant,
    flight: Flight,
    rtt: RttEstimator,
    sent: u64,
}

/// The size of every packet, bytes.
const SIZE: u32 = 500;

/// More packets than any sequence of this suite can send, so no window should be larger.
const MANY: f64 = 1e6;

impl Caller {
    fn apply(&mut self, cc: &mut dyn Controller, op: Op) {
        match op {
            Op::Wait(time) => {
                let then = self.now + time;
                while let Some(wake) = cc.next_timeout().filter(|wake| *wake <= then) {
                    self.now = self.now.max(wake);
                    cc.handle_timeout(self.now, self.flight);
                    assert!(
                        cc.next_timeout().is_none_or(|next| next > wake),
                        "the timer stands still"
                    );
                }
                self.now = then;
            }
            Op::Offer(packets) => self.flight.waiting += packets,
            Op::Acknowledge(packets, rtt) => {
                let newly_acked = self.leave(packets);
                if let Some(rtt) = rtt {
                    self.rtt.on_sample(rtt);
                }
                let feedback = Feedback {
                    rtt,
                    path: self.rtt.round_trip(),
                    delivery: self.delivery(newly_acked, 0, rtt),
                    newly_acked,
                    newly_acked_bytes: u64::from(newly_acked * SIZE),
                    ..Feedback::default()
                };
                cc.on_feedback(self.now, self.flight, &feedback);
            }
            Op::Congest(signal, packets, ago) => {
                let packets = self.leave(packets).max(1);
                let newly_acked = if signal == Signal::Marked { packets } else { 0 };
                let newest_sent = self.now.saturating_before(ago);
                let congestion = Some(Congestion {
                    signal,
                    newest_sent,
                    packets,
                });
                let feedback = Feedback {
                    newly_acked,
                    delivery: self.delivery(newly_acked, newly_acked, Some(ago)),
                    congestion,
                    ..Feedback::default()
                };
                cc.on_feedback(self.now, self.flight, &feedback);
            }
            Op::Report(x_recv, p, new_loss) => {
                let report = TfrcReport {
                    x_recv,
                    p,
                    new_loss,
                    covers_until: None,
                };
                let feedback = Feedback {
                    rtt: Some(Duration::from_millis(50)),
                    tfrc: Some(report),
                    ..Feedback::default()
                };
                cc.on_feedback(self.now, self.flight, &feedback);
            }
            Op::TimeOut => {
                let feedback = Feedback {
                    timeout: true,
                    ..Feedback::default()
                };
                cc.on_feedback(self.now, self.flight, &feedback);
                self.flight.packets = 0;
                self.flight.bytes = 0;
            }
            Op::Reset => cc.reset(self.now),
        }
        self.send(cc);
    }

    fn leave(&mut self, packets: u32) -> u32 {
        let left = packets.min(self.flight.packets);
        self.flight.packets -= left;
        self.flight.bytes -= u64::from(left * SIZE);
        left
    }

    /// Returns a delivery of `packets` packets, the newest of which was sent `ago` before now.
    fn delivery(&self, packets: u32, marked: u32, ago: Option<Duration>) -> Delivery {
        Delivery {
            packets,
            bytes: u64::from(packets * SIZE),
            marked,
            newest_sent: ago.map(|ago| self.now.saturating_before(ago)),
        }
    }

    fn send(&mut self, cc: &mut dyn Controller) {
        while self.flight.waiting > 0 && cc.permit(self.now, self.flight, SIZE) == Permit::Now {
            self.flight.waiting -= 1;
            self.flight.packets += 1;
            self.flight.bytes += u64::from(SIZE);
            self.sent += 1;
            cc.on_sent(self.now, self.flight, SIZE);
        }
    }

    fn check(&self, cc: &dyn Controller) {
        let gauges = cc.gauges();
        assert_eq!(cc.limit().window(), gauges.cwnd_packets);
        assert!(cc.limit().packets_per_rtt(None, f64::from(SIZE)) >= 1.0);
        if let Some(cwnd) = gauges.cwnd_packets {
            assert!(cwnd >= 1.0, "{gauges:?}");
            assert!(cwnd <= MANY, "{gauges:?}");
            assert!(f64::from(self.flight.packets) <= MANY, "{self:?}");
            let empty = Flight {
                packets: 0,
                bytes: 0,
                waiting: 1,
            };
            assert_eq!(
                cc.permit(self.now, empty, SIZE),
                Permit::Now,
                "an empty window is open"
            );
        }
        if let Some(ssthresh) = gauges.ssthresh_packets {
            assert!(ssthresh >= 2.0, "{gauges:?}");
        }
        if let Some(rate) = gauges.rate_bytes_per_s {
            assert!(rate.is_finite(), "{gauges:?}");
            assert!(rate >= 0.0, "{gauges:?}");
        }
        if let Some(p) = gauges.p {
            assert!((0.0..=1.0).contains(&p), "{gauges:?}");
        }
        if let Permit::At(then) = cc.permit(self.now, self.flight, SIZE) {
            assert!(then > self.now, "a permit in the past");
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    let time = || (0_u64..400_000).prop_map(Duration::from_micros);
    let signal = prop_oneof![Just(Signal::Lost), Just(Signal::Marked)];
    prop_oneof![
        4 => time().prop_map(Op::Wait),
        1 => (0_u64..100).prop_map(|s| Op::Wait(Duration::from_secs(s))),
        4 => (0_u32..200).prop_map(Op::Offer),
        8 => (0_u32..50, proptest::option::of(time())).prop_map(|(n, rtt)| Op::Acknowledge(n, rtt)),
        3 => (signal, 0_u32..20, time()).prop_map(|(s, n, ago)| Op::Congest(s, n, ago)),
        3 => (0.0..1e7, 0.0..=1.0, any::<bool>()).prop_map(|(x, p, new)| Op::Report(x, p, new)),
        1 => Just(Op::TimeOut),
        1 => Just(Op::Reset),
    ]
}

/// Windows stay between one packet and what the sequence could have earned, thresholds at two or more, rates finite,
/// and loss event rates between 0 and 1. A permit is never in the past. A failure prints the shortest sequence of
/// operations that shows it.
#[test]
fn every_controller_stays_sane() {
    for (name, make) in CONTROLLERS {
        let config = Config {
            cases: 200,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(0xfa12),
            ..Config::default()
        };
        let outcome =
            TestRunner::new(config).run(&proptest::collection::vec(op(), 1..150), |ops| {
                let mut cc = make();
                let mut caller = Caller {
                    now: Instant::START,
                    flight: Flight::default(),
                    rtt: RttEstimator::new(RtoConfig::TCP),
                    sent: 0,
                };
                for op in ops {
                    caller.apply(&mut *cc, op);
                    caller.check(&*cc);
                }
                Ok(())
            });
        assert!(outcome.is_ok(), "{name}: {}", outcome.unwrap_err());
    }
}

/// With steady acknowledgements and no loss, every window lets more and more packets leave. (Rates need a receiver's
/// reports and are tested beside their sender.)
#[test]
fn every_window_grows_on_a_clear_path() {
    for (name, make) in CONTROLLERS {
        let mut cc = make();
        if cc.gauges().cwnd_packets.is_none() {
            continue;
        }
        let mut caller = Caller {
            now: Instant::START,
            flight: Flight::default(),
            rtt: RttEstimator::new(RtoConfig::TCP),
            sent: 0,
        };
        let mut per_round = Vec::new();
        for _ in 0..8 {
            let before = caller.sent;
            caller.apply(&mut *cc, Op::Offer(500));
            per_round.push(caller.sent - before);
            caller.apply(&mut *cc, Op::Wait(Duration::from_millis(100)));
            let rtt = Some(Duration::from_millis(100));
            while caller.flight.packets > 0 {
                let arrived = caller.flight.packets.min(2);
                caller.leave(arrived);
                let feedback = Feedback {
                    rtt,
                    newly_acked: arrived,
                    newly_acked_bytes: u64::from(arrived * SIZE),
                    ..Feedback::default()
                };
                cc.on_feedback(caller.now, caller.flight, &feedback);
            }
        }
        assert!(per_round[7] >= 2 * per_round[0], "{name}: {per_round:?}");
    }
}
