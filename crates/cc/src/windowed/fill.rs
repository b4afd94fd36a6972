//! How full a window is, and what fills it.

use super::unit::{WindowUnit, unmarked};
use super::{Windowed, whole};
use crate::law::WindowLaw;
use crate::{Feedback, Flight, Limit, Signal};

impl<L: WindowLaw> Windowed<L> {
    /// Returns what is in the network.
    pub(super) fn held(&self, flight: Flight) -> f64 {
        self.unit.amount(flight.packets, flight.bytes)
    }

    /// Returns whether `held` leaves no room for a packet that counts for `packet`.
    pub(super) fn is_full(&self, held: f64, packet: f64) -> bool {
        match self.unit {
            WindowUnit::Packets => held >= self.cwnd.floor(),
            // A packet larger than the window leaves alone.
            WindowUnit::Segments { .. } => held > 0.0 && held + packet > self.cwnd,
        }
    }

    /// Returns what was acknowledged and not marked.
    pub(super) fn earning(&self, feedback: &Feedback) -> f64 {
        let packets = unmarked(feedback);
        match self.unit {
            WindowUnit::Packets => f64::from(packets),
            WindowUnit::Segments { .. } => {
                // The sizes of marked packets are those of all.
                let all = feedback.newly_acked;
                let part = f64::from(packets) / f64::from(all.max(1));
                part * self.unit.amount(all, feedback.newly_acked_bytes)
            }
        }
    }

    /// Returns whether the window was full before the packets of this feedback were acknowledged or found lost.
    pub(super) fn was_full(&self, flight: Flight, feedback: &Feedback) -> bool {
        let lost = feedback
            .congestion
            .filter(|congestion| congestion.signal == Signal::Lost)
            .map_or(0, |congestion| congestion.packets);
        let arrived = flight.packets.saturating_add(feedback.newly_acked);
        let packets = arrived.saturating_add(lost);
        let before = match self.unit {
            WindowUnit::Packets => f64::from(packets),
            WindowUnit::Segments { .. } => {
                // The sizes of lost packets are those of all.
                let bytes = flight.bytes.saturating_add(feedback.newly_acked_bytes);
                let more = f64::from(packets) / f64::from(arrived.max(1));
                more * self.unit.amount(arrived, bytes)
            }
        };
        self.is_full(before, before / f64::from(packets.max(1)))
    }

    /// Returns what so many packets count for that are like those in flight.
    pub(super) fn like_flight(&self, packets: u32, flight: Flight) -> f64 {
        match self.unit {
            WindowUnit::Packets => f64::from(packets),
            WindowUnit::Segments { .. } => {
                let mean = self.held(flight) / f64::from(flight.packets.max(1));
                f64::from(packets) * mean
            }
        }
    }

    /// Returns the rate at which a window of bytes is paced, segments per second; `None` if nothing is paced.
    pub(super) fn drain(&self) -> Option<f64> {
        let srtt = self.path.smoothed.filter(|srtt| !srtt.is_zero())?;
        match self.unit {
            WindowUnit::Packets => None,
            // RFC 9002, 7.7: somewhat faster than a window in a round trip; in slow start the window doubles in it.
            WindowUnit::Segments { .. } => {
                let gain = if self.cwnd < self.ssthresh { 2.0 } else { 1.25 };
                Some(gain * self.cwnd / srtt.as_secs_f64())
            }
        }
    }

    /// Returns the window as the limit of a sender.
    pub(super) fn as_limit(&self) -> Limit {
        match self.unit {
            WindowUnit::Packets => Limit::Window(self.cwnd),
            WindowUnit::Segments { segment, header } => Limit::Bytes {
                bytes: self.cwnd * segment,
                header,
            },
        }
    }

    /// Returns the law's window in the protocol's unit. CCID 2 uses whole packets and rounds down (RFC 4341, 5); TCP
    /// counts bytes. A cut never raises the window.
    pub(super) fn rounded(&self, left: f64) -> f64 {
        let left = left.min(self.cwnd);
        if self.growth.is_whole() {
            whole(left)
        } else {
            left
        }
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::Instant;

    use crate::{
        Congestion, Controller, Feedback, Flight, Growth, Limit, NewReno, Permit, Signal,
        WindowUnit, Windowed,
    };

    const NOW: Instant = Instant::START;

    /// Returns a window of so many segments of 1,000 bytes, in which headers count with 50 bytes for each packet.
    fn window(segments: f64) -> Windowed<NewReno> {
        let unit = WindowUnit::Segments {
            segment: 1_000.0,
            header: 50.0,
        };
        Windowed::new(NewReno, segments)
            .with_unit(unit)
            .with_growth(Growth::ByteCounting { limit: u32::MAX })
    }

    fn flight(packets: u32, bytes: u64) -> Flight {
        Flight {
            packets,
            bytes,
            waiting: 0,
        }
    }

    fn cwnd(window: &Windowed<NewReno>) -> f64 {
        window.gauges().cwnd_packets.unwrap()
    }

    /// A segment's bytes may be many small packets or a large one, headers included.
    #[test]
    fn bytes_fill_the_window() {
        let window = window(3.0);
        for (packets, bytes, size, permit) in [
            (29, 29 * 50, 50, Permit::Now),
            (30, 30 * 50, 50, Permit::AwaitFeedback),
            (2, 1_900, 950, Permit::Now),
            (2, 1_901, 950, Permit::AwaitFeedback),
            (1, 951, 1_950, Permit::AwaitFeedback),
            (0, 0, 9_000, Permit::Now),
        ] {
            assert_eq!(
                window.permit(NOW, flight(packets, bytes), size),
                permit,
                "{packets} {size}"
            );
        }
        let limit = Limit::Bytes {
            bytes: 3_000.0,
            header: 50.0,
        };
        assert_eq!(window.limit(), limit);
        assert_eq!(limit.packets_per_rtt(None, 50.0), 30.0);
    }

    /// The window grows by what was acknowledged, if it was full, and never falls below two segments (RFC 9002, sections
    /// 7.2 and 7.3.1).
    #[test]
    fn bytes_let_the_window_grow() {
        let mut small = window(3.0);
        let acks = Feedback {
            newly_acked: 10,
            newly_acked_bytes: 500,
            ..Feedback::default()
        };
        small.on_feedback(NOW, flight(20, 1_000), &acks);
        assert_eq!(cwnd(&small), 4.0, "slow start by one segment");
        small.on_feedback(NOW, flight(20, 1_000), &acks);
        assert_eq!(cwnd(&small), 4.0, "three of four segments were used");

        let lost = Congestion {
            signal: Signal::Lost,
            newest_sent: NOW,
            packets: 20,
        };
        let loss = Feedback {
            congestion: Some(lost),
            ..acks
        };
        let mut cut = window(3.0);
        cut.on_feedback(NOW, flight(0, 0), &loss);
        assert_eq!(cwnd(&cut), 2.0);
        let mut cut = window(8.0);
        cut.on_feedback(
            NOW,
            flight(0, 0),
            &Feedback {
                timeout: true,
                ..Feedback::default()
            },
        );
        assert_eq!(cwnd(&cut), 2.0);
    }

    /// Marked packets earn nothing; the others earn their part.
    #[test]
    fn marks_earn_nothing() {
        let feedback = Feedback {
            newly_acked: 10,
            newly_acked_bytes: 500,
            congestion: Some(Congestion {
                signal: Signal::Marked,
                newest_sent: NOW,
                packets: 4,
            }),
            ..Feedback::default()
        };
        assert_eq!(window(3.0).earning(&feedback), 0.6);
    }
}
