//! The round-trip time: the one place that measures it, and that knows it.
//!
//! The timeout follows from one segment that is timed per round trip (RFC 6298), or from what timestamps echo (RFC
//! 7323). A law that lives on delays needs one
//! sample per acknowledgement: then there is a second mean of these, and Vegas's fine-grained timeout.

use fairwire_cc::{RoundTrip, RttEstimator};
use fairwire_units::{Duration, Instant};

use super::fine::FineTimeout;
use crate::config::Config;

/// What a sender knows of its round-trip time.
#[derive(Debug)]
pub(super) struct RoundTrips {
    timer: RttEstimator,
    /// The clock that measures for the timeout.
    tick: Option<Duration>,
    timed: Option<Timed>,
    every_ack: Option<EveryAck>,
}

/// The segment whose round trip is being measured.
#[derive(Clone, Copy, Debug)]
struct Timed {
    /// Measured when this number is acknowledged.
    end: u64,
    sent_at: Instant,
}

/// What follows from one sample per acknowledgement.
#[derive(Debug)]
struct EveryAck {
    mean: RttEstimator,
    fine: FineTimeout,
}

impl RoundTrips {
    pub(super) fn new(config: &Config) -> Self {
        let rto = config.rto;
        Self {
            timer: RttEstimator::new(rto),
            tick: config.tick,
            timed: None,
            every_ack: (config.sample_every_ack || config.hystart).then(|| EveryAck {
                mean: RttEstimator::new(rto),
                fine: FineTimeout::default(),
            }),
        }
    }

    /// The SYN took `rtt` to be answered. Returns the sample for the law: one that compares round trips is not given
    /// that of a packet without data, which a slow link sends sooner.
    pub(super) fn on_handshake(&mut self, rtt: Duration) -> Option<Duration> {
        self.timer.on_sample(rtt);
        self.every_ack.is_none().then_some(rtt)
    }

    /// RFC 6298, 5.7: a lost SYN makes data start with three seconds.
    pub(super) fn on_handshake_repeated(&mut self) {
        self.timer.raise_initial(Duration::from_secs(3));
    }

    /// Times the segment that ends at `end` and leaves now, unless one is being timed.
    pub(super) fn begin(&mut self, now: Instant, end: u64) {
        self.timed.get_or_insert(Timed { end, sent_at: now });
    }

    /// RFC 6298, 3: what was sent twice, or waits behind it, measures nothing (Karn's rule).
    pub(super) fn stop(&mut self) {
        self.timed = None;
    }

    /// Ticks of the clock between two moments, as a time: what a host measures that reads its clock at both, one at least.
    fn between(&self, then: Instant, now: Instant) -> Duration {
        match self.tick {
            None => now.saturating_since(then),
            Some(tick) => {
                let count = |at: Instant| at.as_nanos() / tick.as_nanos().max(1);
                tick * count(now).saturating_sub(count(then)).max(1)
            }
        }
    }

    /// Data up to `ack` was acknowledged. `left_at` is when the newest segment of it left, if that was sent once and did
    /// not wait behind a hole; `stamped` is what an echoed timestamp measures, and of how many samples in a round trip this is one.
    /// Returns the sample for the law, if there is one.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        ack: u64,
        left_at: Option<Instant>,
        stamped: Option<(Duration, u32)>,
    ) -> Option<Duration> {
        let timed = self.timed.take_if(|timed| timed.end <= ack);
        let measured = stamped.or_else(|| Some((self.between(timed?.sent_at, now), 1)));
        if let Some((rtt, samples)) = measured {
            self.timer.on_sample_of(rtt, samples);
        }
        let measured = measured.map(|(rtt, _)| rtt);
        let Some(every_ack) = &mut self.every_ack else {
            return measured;
        };
        let rtt = now.saturating_since(left_at?);
        every_ack.mean.on_sample(rtt);
        every_ack.fine.on_sample(rtt);
        Some(rtt)
    }

    /// The retransmission timer expired.
    pub(super) fn back_off(&mut self) {
        self.timer.back_off();
    }

    /// The retransmission timeout, backed off.
    pub(super) fn rto(&self) -> Duration {
        self.timer.rto()
    }

    /// The smoothed round-trip time that the timeout follows from.
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.timer.srtt()
    }

    /// What the controller is told.
    pub(super) fn known(&self) -> RoundTrip {
        let every_ack = self.every_ack.as_ref().map(|every_ack| &every_ack.mean);
        every_ack.unwrap_or(&self.timer).round_trip()
    }

    /// Is a segment that left so long ago older than Vegas's fine-grained timeout?
    pub(super) fn has_expired(&self, age: Duration) -> bool {
        let timeout = self.every_ack.as_ref().and_then(|it| it.fine.timeout());
        timeout.is_some_and(|timeout| age >= timeout)
    }
}
