//! Response of the window when the peer's host, not the network, is the bottleneck.

use fairwire_units::Instant;

use super::{Windowed, at_least};
use crate::{DEFAULT_RTT, Flight, HostLimits, WindowLaw};

impl<L: WindowLaw> Windowed<L> {
    /// Returns whether the window is held because the peer asked for no higher rate.
    pub(super) fn is_held(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// Starts the hold after a Slow Receiver: no growth for about a round trip (RFC 4340, 11.6).
    pub(super) fn start_hold(&mut self, now: Instant, host: HostLimits) {
        if host.slow {
            self.held_until = Some(now + self.path.smoothed.unwrap_or(DEFAULT_RTT));
        }
    }

    /// Applies the limits of the host, in addition to the network's signals.
    ///
    /// `before` is the window when the feedback arrived.
    pub(super) fn apply_host_limits(&mut self, before: f64, flight: Flight, host: HostLimits) {
        if host.buffer_drops > 0 {
            // RFC 4341, 5.2: one packet less for each drop, down to one. RFC 4340, 11.7.1: each response is computed
            // from the old window, and the smaller result applies.
            let left = at_least(
                self.unit.least(),
                before - self.like_flight(host.buffer_drops, flight),
            );
            if left < self.cwnd {
                self.cwnd = left;
                self.credit = 0.0;
            }
        }
        if host.slow || host.ends_slow_start {
            // RFC 4341, 5.2: slow start ends, even for the smallest window.
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use crate::{
        Congestion, Controller, Feedback, Flight, Growth, HostLimits, NewReno, RoundTrip, Signal,
        Windowed,
    };

    const FULL: Flight = Flight {
        packets: 100,
        bytes: 100_000,
        waiting: 1,
    };

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// Returns a CCID 2 window of 20 packets in slow start, with a round trip of 100 ms.
    fn window() -> Windowed<NewReno> {
        let mut window = Windowed::new(NewReno, 20.0).with_growth(Growth::CCID2);
        let rtt = Some(Duration::from_millis(100));
        let feedback = Feedback {
            path: RoundTrip {
                smoothed: rtt,
                timeout: Some(Duration::from_secs(1)),
                ..RoundTrip::default()
            },
            ..Feedback::default()
        };
        window.on_feedback(ms(0), FULL, &feedback);
        window
    }

    fn acked(newly_acked: u32, host: HostLimits) -> Feedback {
        Feedback {
            newly_acked,
            host,
            ..Feedback::default()
        }
    }

    fn drops(buffer_drops: u32) -> HostLimits {
        HostLimits {
            buffer_drops,
            ends_slow_start: true,
            ..HostLimits::default()
        }
    }

    fn shown(window: &Windowed<NewReno>) -> (Option<f64>, Option<f64>) {
        let gauges = window.gauges();
        (gauges.cwnd_packets, gauges.ssthresh_packets)
    }

    /// RFC 4341, 5.2: each packet dropped from the receive buffer takes one packet from the window, down to one, and
    /// ends slow start. Packets acknowledged by the same feedback add nothing.
    #[test]
    fn buffer_drops_take_a_packet_each() {
        let mut window = window();
        window.on_feedback(ms(100), FULL, &acked(2, drops(3)));
        assert_eq!(shown(&window), (Some(17.0), Some(17.0)));
        window.on_feedback(ms(110), FULL, &acked(0, drops(1)));
        assert_eq!(shown(&window), (Some(16.0), Some(16.0)));
        window.on_feedback(ms(120), FULL, &acked(2, drops(40)));
        assert_eq!(shown(&window), (Some(1.0), Some(1.0)));
    }

    /// RFC 4340, 11.7.1: the responses to loss and to drops are both computed from the old window of 20, and the
    /// smaller applies: 10 instead of 17, and 5 instead of 10.
    #[test]
    fn the_smaller_of_both_responses_holds() {
        for (dropped, left) in [(3, 10.0), (15, 5.0)] {
            let mut window = window();
            let feedback = Feedback {
                congestion: Some(Congestion {
                    signal: Signal::Lost,
                    newest_sent: ms(50),
                    packets: 1,
                }),
                ..acked(2, drops(dropped))
            };
            window.on_feedback(ms(100), FULL, &feedback);
            assert_eq!(window.gauges().cwnd_packets, Some(left), "{dropped}");
        }
    }

    /// RFC 4340, 11.6: after a Slow Receiver the window stays the same for one round trip. RFC 4341, 5.2: slow start
    /// ends, so a window of 20 then needs 20 acknowledged packets for one more.
    #[test]
    fn a_slow_receiver_holds_the_window_for_a_round_trip() {
        let mut window = window();
        let slow = HostLimits {
            slow: true,
            ..HostLimits::default()
        };
        window.on_feedback(ms(100), FULL, &acked(2, slow));
        for at in [110, 150, 199] {
            window.on_feedback(ms(at), FULL, &acked(40, HostLimits::default()));
        }
        assert_eq!(shown(&window), (Some(20.0), Some(20.0)));
        window.on_feedback(ms(200), FULL, &acked(20, HostLimits::default()));
        assert_eq!(shown(&window), (Some(21.0), Some(20.0)));
    }
}
