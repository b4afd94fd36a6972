//! The delivery rate: how fast packets arrive while the network is kept busy.
//!
//! This follows draft-cheng-iccrg-delivery-rate-estimation, section 2, in packets and bytes. A sample spans the flight of one
//! packet: it counts the packets delivered from the time the packet left until it was acknowledged. The count is
//! divided by the sending time or the acknowledging time, whichever is longer. So neither bunched packets nor bunched
//! acknowledgements make the rate too high.
//!
//! A protocol passes its controller through [`with_delivery_rate`]. Only a controller that asks for the rate then gets
//! a [`DeliveryRate`] in front of it; other controllers have no cost.

use std::collections::VecDeque;

use fairwire_units::{Duration, Ecn, Instant};

use crate::{Controller, Delivery, Feedback, Flight, Gauges, Limit, Permit, RateSample};

/// The state when packets left.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    sent_at: Instant,
    /// The packets and bytes delivered by then; `delivered_at` is when the last of them was acknowledged.
    delivered: u64,
    delivered_bytes: u64,
    delivered_at: Instant,
    /// When the sending interval of a sample with this stamp begins.
    first_sent_at: Instant,
    app_limited: bool,
}

/// An estimator that takes samples of the delivery rate.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    /// One stamp for each time at which packets left that may still be acknowledged.
    stamps: VecDeque<Stamp>,
    delivered: u64,
    delivered_bytes: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The application is the limit until this many packets are delivered.
    limited_until: u64,
}

impl Default for DeliveryRate {
    fn default() -> Self {
        Self {
            stamps: VecDeque::new(),
            delivered: 0,
            delivered_bytes: 0,
            delivered_at: Instant::START,
            first_sent_at: Instant::START,
            limited_until: 0,
        }
    }
}

impl DeliveryRate {
    /// Returns the number of packets delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the bytes of memory held in addition to its own size.
    pub fn memory(&self) -> usize {
        self.stamps.capacity() * size_of::<Stamp>()
    }

    /// Records that a packet left; `flight` includes it.
    pub fn on_sent(&mut self, now: Instant, flight: Flight) {
        if flight.packets <= 1 {
            // Nothing was in the network. Time without packets to deliver does not count, and stamps of packets that
            // never arrived are of no use.
            (self.first_sent_at, self.delivered_at) = (now, now);
            self.stamps.clear();
        }
        if self.stamps.back().is_none_or(|last| last.sent_at != now) {
            self.stamps.push_back(Stamp {
                sent_at: now,
                delivered: self.delivered,
                delivered_bytes: self.delivered_bytes,
                delivered_at: self.delivered_at,
                first_sent_at: self.first_sent_at,
                app_limited: self.delivered < self.limited_until,
            });
        }
        if flight.waiting == 0 {
            self.limited_until = self.delivered + u64::from(flight.packets);
        }
    }

    /// Records delivered packets and returns the sample, if they give one.
    ///
    /// `shortest` is the shortest round trip seen; a shorter interval gives no sample.
    pub fn on_delivery(
        &mut self,
        now: Instant,
        delivery: Delivery,
        shortest: Option<Duration>,
    ) -> Option<RateSample> {
        if delivery.packets == 0 {
            return None;
        }
        self.delivered += u64::from(delivery.packets);
        self.delivered_bytes += delivery.bytes;
        self.delivered_at = now;
        let newest = delivery.newest_sent?;
        // Packets that left earlier and are not delivered are late or lost; they cannot be the newest packet any more.
        while self.stamps.front().is_some_and(|it| it.sent_at < newest) {
            self.stamps.pop_front();
        }
        let stamp = *self.stamps.front().filter(|it| it.sent_at == newest)?;
        self.first_sent_at = stamp.sent_at;
        let sending = stamp.sent_at.saturating_since(stamp.first_sent_at);
        let acknowledging = now.saturating_since(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        if interval.is_zero() || shortest.is_some_and(|shortest| interval < shortest) {
            return None;
        }
        let per_s = |amount: u64| amount as f64 / interval.as_secs_f64();
        Some(RateSample {
            packets_per_s: per_s(self.delivered - stamp.delivered),
            bytes_per_s: per_s(self.delivered_bytes - stamp.delivered_bytes),
            app_limited: stamp.app_limited,
            delivered_before: stamp.delivered,
            delivered: self.delivered,
        })
    }
}

/// Returns `controller` as a protocol uses it: with samples of the delivery rate in its feedback, if it asks for them.
pub fn with_delivery_rate(controller: Box<dyn Controller>) -> Box<dyn Controller> {
    if !controller.wants_delivery_rate() {
        return controller;
    }
    Box::new(Sampled {
        controller,
        rate: DeliveryRate::default(),
        shortest: None,
    })
}

/// A controller that gets samples of the delivery rate.
#[derive(Debug)]
struct Sampled {
    controller: Box<dyn Controller>,
    rate: DeliveryRate,
    /// The shortest round trip seen.
    shortest: Option<Duration>,
}

impl Controller for Sampled {
    fn permit(&self, now: Instant, flight: Flight, size: u32) -> Permit {
        self.controller.permit(now, flight, size)
    }

    fn on_sent(&mut self, now: Instant, flight: Flight, size: u32) {
        self.rate.on_sent(now, flight);
        self.controller.on_sent(now, flight, size);
    }

    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback) {
        if feedback.path.timeout.is_some() {
            self.shortest = feedback.path.min;
        }
        let rate = self.rate.on_delivery(now, feedback.delivery, self.shortest);
        let feedback = Feedback { rate, ..*feedback };
        self.controller.on_feedback(now, flight, &feedback);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.controller.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, flight: Flight) {
        self.controller.handle_timeout(now, flight);
    }

    fn reset(&mut self, now: Instant) {
        self.rate = DeliveryRate::default();
        self.shortest = None;
        self.controller.reset(now);
    }

    fn limit(&self) -> Limit {
        self.controller.limit()
    }

    fn ecn(&self) -> Ecn {
        self.controller.ecn()
    }

    fn memory(&self) -> usize {
        size_of_val(&*self.controller) + self.controller.memory() + self.rate.memory()
    }

    fn gauges(&self) -> Gauges {
        self.controller.gauges()
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::DeliveryRate;
    use crate::{Delivery, Flight};

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn flight(packets: u32, waiting: u32) -> Flight {
        Flight {
            packets,
            waiting,
            ..Flight::default()
        }
    }

    fn arrived(packets: u32, sent: u64) -> Delivery {
        Delivery {
            packets,
            bytes: u64::from(packets) * 500,
            newest_sent: Some(ms(sent)),
            ..Delivery::default()
        }
    }

    /// Ten packets at once, a bottleneck of one packet in 10 ms and a path of 100 ms give 100 packets a second. The
    /// first sample shows one packet in a round trip, and the burst spreads over the second round; from then on each
    /// sample shows 100. Bunched acknowledgements do not raise it.
    #[test]
    fn a_busy_path_shows_its_rate() {
        let mut rate = DeliveryRate::default();
        for packets in 1..=10 {
            rate.on_sent(ms(0), flight(packets, 1));
        }
        let mut rates = Vec::new();
        for index in 0..10_u64 {
            let now = ms(100 + 10 * index);
            let sample = rate.on_delivery(now, arrived(1, 0), RTT);
            rates.push(sample.map(|it| it.packets_per_s));
            rate.on_sent(now, flight(10, 1));
        }
        assert_eq!(rates[0], Some(10.0), "one in a round trip");
        assert!(
            rates.iter().flatten().all(|rate| *rate < 100.0),
            "{rates:?}"
        );
        for index in 0..15_u64 {
            let now = ms(200 + 10 * index);
            let sample = rate.on_delivery(now, arrived(1, 100 + 10 * index), RTT);
            let per_s = sample.expect("a sample").packets_per_s;
            assert!(per_s <= 100.0, "{index}: {per_s}");
            if index >= 10 {
                assert_eq!(per_s, 100.0, "{index}");
            }
            rate.on_sent(now, flight(10, 1));
        }
        // Five acknowledgements arrive as one, when the last of them is due.
        let bunched = rate
            .on_delivery(ms(390), arrived(5, 290), RTT)
            .expect("a sample");
        assert_eq!(bunched.packets_per_s, 100.0);
        assert_eq!(bunched.bytes_per_s, 50_000.0);
        assert_eq!(bunched.delivered, rate.delivered());
    }

    /// Samples are application-limited while the application has nothing more to send, until the packets then in flight
    /// are delivered. A packet sent twice, or one back sooner than the shortest round trip, gives no sample.
    #[test]
    fn samples_say_whether_the_application_was_the_limit() {
        let mut rate = DeliveryRate::default();
        rate.on_sent(ms(0), flight(1, 1));
        rate.on_sent(ms(1), flight(2, 0));
        rate.on_sent(ms(2), flight(3, 0));
        let limited = |rate: &mut DeliveryRate, now, sent| {
            let sample = rate.on_delivery(ms(now), arrived(1, sent), RTT);
            sample.map(|it| it.app_limited)
        };
        assert_eq!(limited(&mut rate, 100, 0), Some(false));
        rate.on_sent(ms(100), flight(3, 1));
        assert_eq!(limited(&mut rate, 101, 1), Some(false));
        assert_eq!(limited(&mut rate, 102, 2), Some(true));
        rate.on_sent(ms(102), flight(2, 1));
        assert_eq!(limited(&mut rate, 200, 100), Some(true));
        assert_eq!(limited(&mut rate, 202, 102), Some(false));
        assert_eq!(rate.delivered(), 5);
        let twice = Delivery {
            newest_sent: None,
            ..arrived(1, 0)
        };
        assert_eq!(rate.on_delivery(ms(203), twice, RTT), None);
        rate.on_sent(ms(210), flight(1, 1));
        assert_eq!(rate.on_delivery(ms(260), arrived(1, 210), RTT), None);
        assert_eq!(rate.on_delivery(ms(260), Delivery::default(), RTT), None);
    }
}
