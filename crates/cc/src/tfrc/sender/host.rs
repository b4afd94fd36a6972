//! Response of the rate when the peer's host, not the network, is the bottleneck.
//!
//! RFC 4342, section 5.2, and RFC 4340, section 11.7.1, apply. RFC 4342 lowers the reported receive rate to half of
//! `X_drop`, so that TFRC of RFC 3448 sends no more than `X_drop` in the next round trip. RFC 5348 uses the largest
//! receive rate of two round trips, which would undo this. So here `X_drop` is a separate limit for one round trip.

use fairwire_units::{Duration, Instant};

use crate::HostLimits;

/// A limit that expires.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostLimit {
    /// `X_drop`, bytes per second, and the end of its validity.
    asked: Option<(f64, Instant)>,
}

impl HostLimit {
    /// Returns the present limit, bytes per second.
    pub(super) fn at(self, now: Instant) -> Option<f64> {
        let (rate, _) = self.asked.filter(|&(_, until)| now < until)?;
        Some(rate)
    }

    /// Lowers the limit to what the host asked for, for one round trip `rtt`.
    ///
    /// The host receives `received` bytes per second; `packet` is the rate of one packet per round trip.
    pub(super) fn lower(
        &mut self,
        now: Instant,
        rtt: Duration,
        host: HostLimits,
        (received, packet): (f64, f64),
    ) {
        let received = received.min(self.at(now).unwrap_or(f64::INFINITY));
        // RFC 4342, 5.2: each dropped packet takes one packet per round trip, down to one.
        let less = received - f64::from(host.buffer_drops) * packet;
        self.asked = Some((less.max(received.min(packet)), now + rtt));
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use crate::tfrc::{SegmentSize, Sender, TfrcConfig};
    use crate::{Controller, Feedback, Flight, HostLimits, TfrcReport};

    const SEGMENT: u32 = 1_000;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn report(x_recv: f64, p: f64, host: HostLimits) -> Feedback {
        Feedback {
            rtt: Some(Duration::from_millis(100)),
            tfrc: Some(TfrcReport {
                x_recv,
                p,
                new_loss: false,
                covers_until: None,
            }),
            host,
            ..Feedback::default()
        }
    }

    fn dropped(buffer_drops: u32) -> HostLimits {
        HostLimits {
            buffer_drops,
            ends_slow_start: true,
            ..HostLimits::default()
        }
    }

    /// Returns a sender of packets of 1,000 bytes with a round trip of 100 ms; the report at 1,000 ms said that 100,000
    /// bytes per second arrive.
    fn sender(p: f64) -> Sender {
        let mut sender = Sender::new(TfrcConfig {
            segment: SegmentSize::Fixed(SEGMENT),
            oscillation_reduction: false,
            ..TfrcConfig::default()
        });
        let none = HostLimits::default();
        sender.on_sent(at(0), Flight::default(), SEGMENT);
        for ms in [100, 400, 700, 1_000] {
            sender.on_sent(at(ms - 50), Flight::default(), SEGMENT);
            sender.on_feedback(at(ms), Flight::default(), &report(100_000.0, p, none));
        }
        sender
    }

    /// RFC 4342, 5.2: three dropped packets take three packets per round trip from the receive rate, 100,000 - 3 x
    /// 1,000 / 0.1 s. The rate stays at one packet per round trip or more, and the limit holds for one round trip.
    #[test]
    fn drops_take_a_packet_per_round_trip_each() {
        for (drops, rate) in [(1, 90_000.0), (3, 70_000.0), (9, 10_000.0), (50, 10_000.0)] {
            let mut sender = sender(0.0001);
            let before = sender.rate_bytes_per_s();
            assert!(before > 100_000.0, "{before}");
            let told = report(100_000.0, 0.0001, dropped(drops));
            sender.on_feedback(at(1_100), Flight::default(), &told);
            assert_eq!(sender.rate_bytes_per_s(), rate, "{drops}");
            let calm = report(100_000.0, 0.0001, HostLimits::default());
            sender.on_feedback(at(1_190), Flight::default(), &calm);
            assert_eq!(sender.rate_bytes_per_s(), rate, "within the round trip");
            sender.on_feedback(at(1_200), Flight::default(), &calm);
            assert!(sender.rate_bytes_per_s() > 100_000.0, "behind it");
        }
    }

    /// Two reports within a round trip add up: five packets of ten, then three more.
    #[test]
    fn drops_of_one_round_trip_add_up() {
        let mut sender = sender(0.0001);
        for (ms, drops, rate) in [(1_100, 5, 50_000.0), (1_150, 3, 20_000.0)] {
            let told = report(100_000.0, 0.0001, dropped(drops));
            sender.on_feedback(at(ms), Flight::default(), &told);
            assert_eq!(sender.rate_bytes_per_s(), rate, "{ms}");
        }
    }

    /// RFC 4340, 11.6, and RFC 4342, 5.2: for a round trip a slow receiver gets no more than its reported receive rate,
    /// with or without earlier losses.
    #[test]
    fn a_slow_receiver_gets_what_it_received() {
        for p in [0.0, 0.0001] {
            let mut sender = sender(p);
            let slow = HostLimits {
                slow: true,
                ..HostLimits::default()
            };
            sender.on_feedback(at(1_100), Flight::default(), &report(100_000.0, p, slow));
            assert_eq!(sender.rate_bytes_per_s(), 100_000.0, "p = {p}");
            let calm = report(100_000.0, p, HostLimits::default());
            sender.on_feedback(at(1_150), Flight::default(), &calm);
            assert_eq!(sender.rate_bytes_per_s(), 100_000.0, "p = {p}");
            sender.on_feedback(at(1_250), Flight::default(), &calm);
            assert!(sender.rate_bytes_per_s() > 100_000.0, "p = {p}");
        }
    }

    /// The receive rate of the first report is zero, which is not taken for a limit: the initial rate stays.
    #[test]
    fn a_first_report_of_zero_stops_nothing() {
        let mut sender = Sender::new(TfrcConfig {
            segment: SegmentSize::Fixed(SEGMENT),
            oscillation_reduction: false,
            ..TfrcConfig::default()
        });
        sender.on_sent(at(0), Flight::default(), SEGMENT);
        let slow = HostLimits {
            slow: true,
            ..HostLimits::default()
        };
        sender.on_feedback(at(100), Flight::default(), &report(0.0, 0.0, slow));
        // RFC 5348, 4.2: min(4s, max(2s, 4380)) in 100 ms.
        assert_eq!(sender.rate_bytes_per_s(), 40_000.0);
    }
}
