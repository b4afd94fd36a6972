//! The measurement of the round-trip time.
//!
//! The timeout is computed from one timed segment per round trip (RFC 6298), or from echoed timestamps (RFC 7323). A
//! law based on delays needs one sample per acknowledgement. For it there is a second mean of these samples, and the
//! fine-grained timeout of Vegas.

use fairwire_cc::{RoundTrip, RttEstimator};
use fairwire_units::{Duration, Instant};

use super::fine::FineTimeout;
use crate::config::Config;

/// The round-trip measurements of a sender.
#[derive(Debug)]
pub(super) struct RoundTrips {
    timer: RttEstimator,
    /// The tick of the clock that measures for the timeout; `None` is exact.
    tick: Option<Duration>,
    timed: Option<Timed>,
    every_ack: Option<EveryAck>,
}

/// The segment whose round trip is being measured.
#[derive(Clone, Copy, Debug)]
struct Timed {
    /// The measurement ends when this number is acknowledged.
    end: u64,
    sent_at: Instant,
}

/// The means of one sample per acknowledgement.
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

    /// Records the round trip of the handshake and returns the sample for the law.
    ///
    /// A law that compares round trips does not get it, because a slow link sends a packet without data faster.
    pub(super) fn on_handshake(&mut self, rtt: Duration) -> Option<Duration> {
        self.timer.on_sample(rtt);
        self.every_ack.is_none().then_some(rtt)
    }

    /// Sets the first timeout to at least three seconds, because a SYN was lost (RFC 6298, 5.7).
    pub(super) fn on_handshake_repeated(&mut self) {
        self.timer.raise_initial(Duration::from_secs(3));
    }

    /// Times the segment that ends at `end` and leaves now, unless another one is being timed.
    pub(super) fn begin(&mut self, now: Instant, end: u64) {
        self.timed.get_or_insert(Timed { end, sent_at: now });
    }

    /// Stops the measurement, because a segment was retransmitted (Karn's algorithm, RFC 6298, 3).
    pub(super) fn stop(&mut self) {
        self.timed = None;
    }

    /// Returns the time between two clock readings at `then` and `now`: whole ticks, at least one.
    fn between(&self, then: Instant, now: Instant) -> Duration {
        match self.tick {
            None => now.saturating_since(then),
            Some(tick) => {
                let count = |at: Instant| at.as_nanos() / tick.as_nanos().max(1);
                tick * count(now).saturating_sub(count(then)).max(1)
            }
        }
    }

    /// Records that data up to `ack` was acknowledged, and returns the sample for the law, if there is one.
    ///
    /// `sent_at` is when the newest acknowledged segment left, if it was sent only once and did not wait behind a hole.
    /// `stamped` is the sample of an echoed timestamp, with the number of such samples in a round trip.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        ack: u64,
        sent_at: Option<Instant>,
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
        let rtt = now.saturating_since(sent_at?);
        every_ack.mean.on_sample(rtt);
        every_ack.fine.on_sample(rtt);
        Some(rtt)
    }

    /// Doubles the timeout, because the retransmission timer expired.
    pub(super) fn back_off(&mut self) {
        self.timer.back_off();
    }

    /// Returns the retransmission timeout, with back-off.
    pub(super) fn rto(&self) -> Duration {
        self.timer.rto()
    }

    /// Returns the smoothed round-trip time from which the timeout is computed.
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.timer.srtt()
    }

    /// Returns the round-trip values for the controller.
    pub(super) fn known(&self) -> RoundTrip {
        let every_ack = self.every_ack.as_ref().map(|every_ack| &every_ack.mean);
        every_ack.unwrap_or(&self.timer).round_trip()
    }

    /// Returns whether a segment of this age is older than the fine-grained timeout of Vegas.
    pub(super) fn has_expired(&self, age: Duration) -> bool {
        let timeout = self.every_ack.as_ref().and_then(|it| it.fine.timeout());
        timeout.is_some_and(|timeout| age >= timeout)
    }
}
