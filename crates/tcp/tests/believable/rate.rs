//! A controller without a window over this TCP: a test of delivery rates, round-trip values and pacing.

use std::collections::VecDeque;

use fairwire_cc::{
    Adjustment, Controller, Feedback, Flight, Gauges, Limit, NewReno, Permit, RateSample, Signal,
    Window, WindowLaw,
};
use fairwire_tcp::{Config, Receiver, RecoveryKind, Sender, Source};
use fairwire_units::{Duration, Ecn, Instant, Rate};

use crate::path::{Path, Run};

/// A small model of BBR (Cardwell and others, CACM 60(2), 2017) for this test.
///
/// The largest delivery rate of the last ten round trips paces packets. At most twice the product of this rate and the
/// shortest round trip is in the network. The model has no phase that searches for a new shortest round trip.
#[derive(Debug)]
struct Model {
    /// The largest rate of each of the last round trips, the newest first.
    rates: VecDeque<f64>,
    round_ends: u64,
    phase: Phase,
    shortest: Option<Duration>,
    next: Instant,
    size: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Doubling until three round trips in a row are no faster: the best rate, and the number of such round trips so
    /// far.
    Startup(f64, u32),
    Drain,
    /// A cycle of eight round trips: one faster, one slower, six at the measured rate.
    Cruise(usize),
}

const ROUNDS: usize = 10;
const STARTUP: f64 = 2.89;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

impl Model {
    fn new() -> Self {
        Self {
            rates: VecDeque::new(),
            round_ends: 0,
            phase: Phase::Startup(0.0, 0),
            shortest: None,
            next: Instant::START,
            size: 1_500.0,
        }
    }

    /// Returns the packets per second, once there is a sample.
    fn rate(&self) -> Option<f64> {
        self.rates.iter().copied().reduce(f64::max)
    }

    fn product(&self) -> Option<f64> {
        Some(self.rate()? * self.shortest?.as_secs_f64())
    }

    fn gain(&self) -> f64 {
        match self.phase {
            Phase::Startup(..) => STARTUP,
            Phase::Drain => 1.0 / STARTUP,
            Phase::Cruise(at) => CYCLE[at],
        }
    }

    fn on_sample(&mut self, sample: RateSample, flight: Flight) {
        let begins = sample.delivered_before >= self.round_ends || self.rates.is_empty();
        if begins {
            self.round_ends = sample.delivered;
            self.rates.push_front(0.0);
            self.rates.truncate(ROUNDS);
        }
        let newest = &mut self.rates[0];
        if !sample.app_limited || sample.packets_per_s > *newest {
            *newest = newest.max(sample.packets_per_s);
        }
        if begins {
            self.advance();
        }
        let drained = self
            .product()
            .is_some_and(|it| f64::from(flight.packets) <= it);
        if self.phase == Phase::Drain && drained {
            self.phase = Phase::Cruise(2);
        }
    }

    fn advance(&mut self) {
        let rate = self.rate().unwrap_or(0.0);
        self.phase = match self.phase {
            Phase::Startup(best, _) if rate > 1.25 * best => Phase::Startup(rate, 0),
            Phase::Startup(best, rounds) if rounds < 2 => Phase::Startup(best, rounds + 1),
            Phase::Startup(..) | Phase::Drain => Phase::Drain,
            Phase::Cruise(at) => Phase::Cruise((at + 1) % CYCLE.len()),
        };
    }
}

impl Controller for Model {
    fn permit(&self, now: Instant, flight: Flight, _size: u32) -> Permit {
        let most = self
            .product()
            .map_or(10.0, |product| (2.0 * product).max(4.0));
        if f64::from(flight.packets) >= most {
            Permit::AwaitFeedback
        } else if now >= self.next {
            Permit::Now
        } else {
            Permit::At(self.next)
        }
    }

    fn on_sent(&mut self, now: Instant, _flight: Flight, size: u32) {
        self.size = f64::from(size);
        if let Some(rate) = self.rate().filter(|rate| *rate > 0.0) {
            self.next = now.max(self.next) + Duration::from_secs_f64(1.0 / (rate * self.gain()));
        }
    }

    fn on_feedback(&mut self, _now: Instant, flight: Flight, feedback: &Feedback) {
        self.shortest = feedback.path.min.or(self.shortest);
        if let Some(sample) = feedback.rate {
            self.on_sample(sample, flight);
        }
    }

    fn reset(&mut self, _now: Instant) {
        *self = Self::new();
    }

    fn limit(&self) -> Limit {
        Limit::Rate(self.rate().unwrap_or(0.0) * self.size)
    }

    fn ecn(&self) -> Ecn {
        // This controller has no answer to marks.
        Ecn::NotEct
    }

    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            rate_bytes_per_s: self.rate().map(|rate| rate * self.size),
            ..Gauges::default()
        }
    }
}

/// 10 Mbit/s and 100 ms: 83 packets of 1,500 bytes fill the path. The buffer holds three times as many.
const RATE: Rate = Rate::from_bits_per_s(10_000_000);

/// The controller finds the rate, and the queue stays far shorter than with a window.
///
/// With 1 % of the segments lost, where NewReno has sqrt(1.5/0.01) = 12 packets of the 83, the rate is nearly the same.
///
/// The bounds: six eighths of a cycle are sent at the measured rate, and the packets sent faster in one eighth wait in
/// the queue for the next. With losses, retransmissions are 1 %. The queue holds a quarter of a product at the end of
/// the faster round trip, and less on average.
#[test]
fn a_controller_without_a_window_fills_the_path_and_no_queue() {
    let (share, queue) = run(Box::new(Model::new()), 0);
    assert!((0.95..=1.0).contains(&share), "{share}");
    assert!(queue < 83.0 / 4.0, "{queue}");
    let (share, _) = run(Box::new(Model::new()), 100);
    assert!((0.9..=1.0).contains(&share), "with losses: {share}");
    let (reno, _) = run(Box::new(config().window(NewReno)), 100);
    assert!(reno < 0.25, "{reno}");
}

/// A window law based on delivery rates, after Westwood (Mascolo and others, `MobiCom` 2001).
///
/// A loss leaves as many packets as the path delivers in its shortest round trip.
#[derive(Debug, Default)]
struct Westwood {
    packets_per_s: f64,
}

impl WindowLaw for Westwood {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        let shortest = window.min_rtt.unwrap_or(Duration::ZERO).as_secs_f64();
        self.packets_per_s * shortest
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        if let Some(sample) = window.delivery_rate.filter(|sample| !sample.app_limited) {
            self.packets_per_s += (sample.packets_per_s - self.packets_per_s) / 16.0;
        }
        None
    }

    fn wants_delivery_rate(&self) -> bool {
        true
    }
}

/// A window law gets the delivery rate as well. With 1 % of the segments lost, a cut to what the path delivered costs
/// only the pause of a recovery: the share is more than twice that of NewReno.
#[test]
fn a_window_law_may_live_on_the_delivery_rate() {
    let (share, _) = run(Box::new(config().window(Westwood::default())), 100);
    let (reno, _) = run(Box::new(config().window(NewReno)), 100);
    assert!(share > 2.0 * reno, "{share}, {reno}");
}

fn config() -> Config {
    Config {
        recovery: RecoveryKind::Sack,
        delayed_acks: None,
        ..Config::default()
    }
}

/// Returns the share of the link and the mean queue of 30 s, after five seconds.
///
/// One new segment in `lost` is lost, unless `lost` is zero. Retransmissions are not lost, because that would take a
/// timeout of a second with any controller.
fn run(controller: Box<dyn Controller>, lost: u64) -> (f64, f64) {
    let (mut sent, mut end) = (0_u64, 0);
    let path = Path {
        rate: Some(RATE),
        delay: Duration::from_millis(50),
        buffer: 250,
        drop: Box::new(move |segment| {
            let is_new = segment.len > 0 && segment.end() > end;
            end = end.max(segment.end());
            sent += u64::from(is_new);
            lost > 0 && is_new && sent.is_multiple_of(lost)
        }),
    };
    let sender = Sender::new(config(), controller, Source::Greedy, Instant::START);
    let mut run = Run::new(sender, Receiver::new(config()), path);
    let settled = Instant::START + Duration::from_secs(5);
    run.until(settled);
    let before = run.receiver.stats().bytes_delivered;
    let mut waiting = 0.0;
    for step in 1..=3_000_u64 {
        run.until(settled + Duration::from_millis(10) * step);
        waiting += run.waiting();
    }
    let delivered = run.receiver.stats().bytes_delivered - before;
    let packets = delivered as f64 / f64::from(config().mss());
    (packets * 0.0012 / 30.0, waiting / 3_000.0)
}
