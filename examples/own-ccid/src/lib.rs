//! CCID 248, "probing": a rate that follows the delivery rate, as in BBR.
//!
//! [`register`] makes the CCID known. Connections, scenarios and commands of this process can then use it by its number.
//!
//! The controller is a small form of the first version of BBR; sections are those of
//! draft-cardwell-iccrg-bbr-congestion-control-00. It keeps a model of the path: the largest delivery rate of the last
//! ten round trips (section 4.1.1), and the shortest round trip of the last ten seconds (section 4.1.2). Packets leave
//! at that rate (section 4.2.1), and at most twice the product of the two is in flight (section 4.2.3).
//!
//! The number is one of those for experiments, 248 to 254 (RFC 4340, section 19.5). All others are assigned by the
//! IETF, so a peer could take another meaning for granted.

use std::collections::VecDeque;

use fairwire::Ccid;
use fairwire::ccids::{
    CcidProfile, Controller, Duration, Ecn, Feedback, Flight, Gauges, Instant, Limit, Permit,
    RateSample, RegisterCcidError, register_ccid,
};

/// The number of this CCID.
pub const PROBING: Ccid = Ccid::new(248);

/// Registers the CCID. Call it once, before endpoints and scenarios are made.
///
/// # Errors
/// If the number is taken.
pub fn register() -> Result<(), RegisterCcidError> {
    register_ccid(CcidProfile::with_ack_vectors(
        PROBING,
        "probing",
        "A rate that follows the delivery rate, as in BBR.",
        |setup| Box::new(Probing::new(setup.max_datagram)),
    ))
}

/// The round trips for which a delivery rate counts (section 4.1.1).
const RATE_ROUNDS: usize = 10;
/// The time for which a round trip counts (section 4.1.2).
const SHORTEST_LASTS: Duration = Duration::from_secs(10);
/// How long a new shortest round trip is searched for, and the packets in flight meanwhile (section 4.3.5).
const SEARCH_LASTS: Duration = Duration::from_millis(200);
const FEW: u32 = 4;
/// How late a packet may leave and still not delay the next one (section 4.2.2). Timers of sockets tick once a
/// millisecond; without this the rate would never be above a packet per tick, and so would what is measured.
const LATENESS: Duration = Duration::from_millis(2);
/// The least gain with which the rate can double in each round trip: 2 / ln 2 (section 4.3.2).
const STARTUP: f64 = 2.89;
/// The gains of a cycle of eight round trips: one probes for more, and the next one drains what has queued (section
/// 4.3.4).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Doubling until three round trips in a row are hardly faster: the best rate, and the round trips without progress
    /// (section 4.3.2).
    Startup(f64, u32),
    /// Slow, until what startup has queued is gone (section 4.3.3).
    Drain,
    /// At a place of [`CYCLE`].
    Cruise(usize),
}

/// The controller.
#[derive(Debug)]
struct Probing {
    /// The largest datagram, bytes.
    max_datagram: u32,
    phase: Phase,
    /// The largest rate of each of the last round trips, newest first, bytes per second.
    rates: VecDeque<f64>,
    /// The round trip ends when a packet is delivered that left after this many deliveries.
    round_ends: u64,
    /// The shortest round trip, and when it was measured.
    shortest: Option<(Duration, Instant)>,
    /// The end of a search for a new one.
    search_ends: Option<Instant>,
    /// When the next packet may leave.
    next: Instant,
    timeouts: u64,
}

impl Probing {
    fn new(max_datagram: u32) -> Self {
        Self {
            max_datagram,
            phase: Phase::Startup(0.0, 0),
            rates: VecDeque::new(),
            round_ends: 0,
            shortest: None,
            search_ends: None,
            next: Instant::START,
            timeouts: 0,
        }
    }

    /// Returns the delivery rate of the path, bytes per second, once it is known.
    fn rate(&self) -> Option<f64> {
        self.rates.iter().copied().reduce(f64::max)
    }

    fn gain(&self) -> f64 {
        match self.phase {
            Phase::Startup(..) => STARTUP,
            Phase::Drain => 1.0 / STARTUP,
            Phase::Cruise(place) => CYCLE[place],
        }
    }

    /// Returns the bytes that fill the path without a queue, once they are known.
    fn product(&self) -> Option<f64> {
        Some(self.rate()? * self.shortest?.0.as_secs_f64())
    }

    /// Returns how many bytes may be in flight.
    fn most(&self) -> f64 {
        let few = f64::from(FEW * self.max_datagram);
        let gain = match self.phase {
            Phase::Startup(..) => STARTUP,
            _ => 2.0,
        };
        match self.product() {
            Some(product) if self.search_ends.is_none() => (gain * product).max(few),
            _ => few,
        }
    }

    fn on_sample(&mut self, sample: RateSample, flight: Flight) {
        let begins = sample.delivered_before >= self.round_ends || self.rates.is_empty();
        if begins {
            self.round_ends = sample.delivered;
            self.rates.push_front(0.0);
            self.rates.truncate(RATE_ROUNDS);
        }
        // A sample that the application limited shows the path's rate only if it is faster than all others.
        if !sample.app_limited || self.rate().is_none_or(|rate| sample.bytes_per_s > rate) {
            self.rates[0] = self.rates[0].max(sample.bytes_per_s);
        }
        if begins {
            self.end_round(sample.app_limited);
        }
        let is_empty = self
            .product()
            .is_some_and(|product| flight.bytes as f64 <= product);
        if self.phase == Phase::Drain && is_empty {
            self.phase = Phase::Cruise(2);
        }
    }

    fn end_round(&mut self, app_limited: bool) {
        let rate = self.rate().unwrap_or(0.0);
        self.phase = match self.phase {
            Phase::Startup(best, _) if rate > 1.25 * best => Phase::Startup(rate, 0),
            Phase::Startup(..) if app_limited => self.phase,
            Phase::Startup(best, rounds) if rounds < 2 => Phase::Startup(best, rounds + 1),
            Phase::Startup(..) | Phase::Drain => Phase::Drain,
            Phase::Cruise(place) => Phase::Cruise((place + 1) % CYCLE.len()),
        };
    }

    /// Takes a round trip. If the shortest one is old, the flight is kept small until a new one is found.
    fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        if self.search_ends.is_some_and(|end| now >= end) {
            self.search_ends = None;
            self.shortest = None;
        }
        match self.shortest {
            Some((shortest, _)) if rtt > shortest => {}
            _ => self.shortest = Some((rtt, now)),
        }
        let since = self.shortest.map_or(now, |(_, at)| at);
        if self.search_ends.is_none() && now.saturating_since(since) > SHORTEST_LASTS {
            self.search_ends = Some(now + SEARCH_LASTS);
        }
    }
}

impl Controller for Probing {
    fn permit(&self, now: Instant, flight: Flight, _size: u32) -> Permit {
        if flight.bytes as f64 >= self.most() {
            Permit::AwaitFeedback
        } else if now < self.next {
            Permit::At(self.next)
        } else {
            Permit::Now
        }
    }

    fn on_sent(&mut self, now: Instant, _flight: Flight, size: u32) {
        if let Some(rate) = self.rate().filter(|rate| *rate > 0.0) {
            let apart = f64::from(size) / (rate * self.gain());
            let due = self.next.max(now.saturating_before(LATENESS));
            self.next = due + Duration::from_secs_f64(apart);
        }
    }

    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        if feedback.timeout {
            // Nothing came back for a long time, so the model no longer describes the path.
            *self = Self {
                timeouts: self.timeouts + 1,
                ..Self::new(self.max_datagram)
            };
            return;
        }
        if let Some(rtt) = feedback.rtt {
            self.on_rtt(now, rtt);
        }
        if let Some(sample) = feedback.rate {
            self.on_sample(sample, flight);
        }
    }

    fn reset(&mut self, _now: Instant) {
        *self = Self::new(self.max_datagram);
    }

    fn limit(&self) -> Limit {
        Limit::Rate(self.rate().unwrap_or(0.0))
    }

    fn ecn(&self) -> Ecn {
        // It has no answer to marks.
        Ecn::NotEct
    }

    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        self.rates.capacity() * size_of::<f64>()
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            rate_bytes_per_s: self.rate(),
            timeouts: self.timeouts,
            ..Gauges::default()
        }
    }
}
