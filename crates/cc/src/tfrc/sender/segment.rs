//! The segment size `s` (RFC 5348, section 4.1; RFC 4342, section 5.3; RFC 4828, section 3).

use fairwire_units::Duration;

use crate::tfrc::Equation;

/// The segment size in the throughput equation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentSize {
    /// The mean size of the packets sent in the last four loss intervals.
    Mean,
    /// The largest packet that may be sent; each packet counts as this size.
    Mps,
    /// This many bytes; each packet counts as this size.
    Fixed(u32),
    /// This many bytes in the equation and between packets, while received bytes count as they are. This is RFC 5348
    /// taken literally, as in simulators whose packets have another size.
    Literal(u32),
    /// The small-packet variant (RFC 4828). The equation is that of a TCP with segments of `nominal` bytes, and the
    /// headers take their share of the resulting rate.
    Small {
        /// The nominal segment size, bytes.
        nominal: u32,
        /// The assumed size of a packet's headers, `H`, bytes.
        header: u32,
    },
}

/// The number of loss intervals in the mean (RFC 5348, section 4.1).
const INTERVALS: usize = 4;
/// At this many packets the sums of an interval are halved, so that the mean still follows changes in a long time
/// without a loss.
const MANY: u64 = 1 << 16;

/// The sizes of the packets sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    rule: SegmentSize,
    max_segment: u32,
    /// The sums of the last intervals, newest first.
    sums: [Sum; INTERVALS],
    /// The largest packet sent so far.
    largest: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    bytes: u64,
}

impl Segments {
    pub(super) fn new(rule: SegmentSize, max_segment: u32) -> Self {
        Self {
            rule,
            max_segment,
            sums: [Sum::default(); INTERVALS],
            largest: 0,
        }
    }

    /// Records that a packet of `size` bytes left; returns whether it is the largest so far.
    pub(super) fn on_sent(&mut self, size: u32) -> bool {
        let sum = &mut self.sums[0];
        if sum.packets >= MANY {
            sum.packets /= 2;
            sum.bytes /= 2;
        }
        sum.packets += 1;
        sum.bytes += u64::from(size);
        let grew = size > self.largest;
        self.largest = self.largest.max(size);
        grew
    }

    /// Begins a new interval after a loss event was reported.
    ///
    /// An interval in which nothing was sent has no size and is reused. So invented reports of a peer do not make the
    /// sender forget the sizes.
    pub(super) fn on_loss_event(&mut self) {
        if self.sums[0].packets == 0 {
            return;
        }
        self.sums.rotate_right(1);
        self.sums[0] = Sum::default();
    }

    /// Returns the size of one packet in the computation, at least 1, because an empty packet has a cost as well.
    ///
    /// Except for small packets this is the `s` of the equation.
    pub(super) fn size(&self) -> f64 {
        match self.rule {
            SegmentSize::Mean | SegmentSize::Small { .. } => self.mean(),
            SegmentSize::Mps => f64::from(self.max_segment.max(1)),
            SegmentSize::Fixed(size) | SegmentSize::Literal(size) => f64::from(size.max(1)),
        }
    }

    /// Returns `X_Bps`, the rate by the equation in bytes per second, with packets counted as [`Self::size`] says.
    pub(super) fn rate(&self, equation: &Equation, rtt: Duration, p: f64) -> f64 {
        match self.rule {
            SegmentSize::Small { nominal, header } => {
                // RFC 4828, 3: X * s_true / (s_true + H), with the nominal size in the equation.
                let true_size = self.mean();
                let rate = equation.rate(f64::from(nominal.max(1)), rtt, p);
                rate * true_size / (true_size + f64::from(header))
            }
            _ => equation.rate(self.size(), rtt, p),
        }
    }

    /// Returns the factor that converts a receive rate in bytes to the unit of `s`.
    ///
    /// If every packet sent counts as `s`, packets received do so as well.
    pub(super) fn recv_scale(&self) -> f64 {
        match self.rule {
            SegmentSize::Mean | SegmentSize::Small { .. } | SegmentSize::Literal(_) => 1.0,
            SegmentSize::Mps | SegmentSize::Fixed(_) => self.size() / self.mean(),
        }
    }

    /// Returns `W_init` in bytes (RFC 5348, section 4.2), for the largest packets sent so far.
    pub(super) fn initial_window(&self) -> f64 {
        let segment = match self.rule {
            // RFC 5622, 5: slow start is that of CCID 3, so small packets begin with four.
            SegmentSize::Mean | SegmentSize::Small { .. } if self.largest > 0 => {
                f64::from(self.largest)
            }
            SegmentSize::Mean | SegmentSize::Small { .. } => f64::from(self.max_segment.max(1)),
            SegmentSize::Mps | SegmentSize::Fixed(_) | SegmentSize::Literal(_) => self.size(),
        };
        (4.0 * segment).min((2.0 * segment).max(4_380.0))
    }

    fn mean(&self) -> f64 {
        let (packets, bytes) = self.sums.iter().fold((0, 0), |(packets, bytes), sum| {
            (packets + sum.packets, bytes + sum.bytes)
        });
        if packets == 0 {
            return f64::from(self.max_segment.max(1));
        }
        (bytes as f64 / packets as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Equation, SegmentSize, Segments};

    /// RFC 5348, 4.1: the mean covers the last four loss intervals and no older packets.
    #[test]
    fn the_mean_spans_four_loss_intervals() {
        let mut segments = Segments::new(SegmentSize::Mean, 1_460);
        assert_eq!(segments.size(), 1_460.0);
        segments.on_sent(100);
        for size in [200, 300, 400] {
            segments.on_loss_event();
            segments.on_sent(size);
        }
        assert_eq!(segments.size(), 250.0);
        segments.on_loss_event();
        segments.on_sent(500);
        assert_eq!(segments.size(), 350.0, "the interval of 100 is forgotten");
    }

    /// Loss events without a packet between them, as a peer may invent, do not change the mean size. With the largest
    /// size instead, small packets would get many times their rate.
    #[test]
    fn intervals_without_packets_tell_nothing() {
        let mut segments = Segments::new(SegmentSize::Mean, 1_460);
        segments.on_sent(100);
        for _ in 0..10 {
            segments.on_loss_event();
        }
        assert_eq!(segments.size(), 100.0);
    }

    /// RFC 5348, 4.2: the initial window is four small packets, two large ones, or 4380 bytes in between.
    #[test]
    fn initial_windows() {
        for (size, expected) in [
            (80, 320.0),
            (1_095, 4_380.0),
            (1_460, 4_380.0),
            (3_000, 6_000.0),
        ] {
            let mut segments = Segments::new(SegmentSize::Mean, 9_000);
            segments.on_sent(size);
            assert_eq!(segments.initial_window(), expected, "{size}");
        }
    }

    /// Empty packets count as one byte; with a fixed size the receive rate is counted in that size.
    #[test]
    fn sizes_are_never_zero() {
        let mut segments = Segments::new(SegmentSize::Mean, 0);
        segments.on_sent(0);
        assert_eq!(segments.size(), 1.0);
        let mut segments = Segments::new(SegmentSize::Fixed(1_460), 1_460);
        segments.on_sent(146);
        assert_eq!(segments.size(), 1_460.0);
        assert_eq!(segments.recv_scale(), 10.0);
        let mut segments = Segments::new(SegmentSize::Literal(1_460), 1_460);
        segments.on_sent(146);
        assert_eq!((segments.size(), segments.recv_scale()), (1_460.0, 1.0));
    }

    /// RFC 4828, 3 and 4.2: f(0.01) = sqrt(0.02/3) + 12 sqrt(0.03/8) 0.01 (1 + 0.0032) = 0.089022, so segments of 1460
    /// bytes get 14600 / 0.089022 = 164.0 kB/s at R = 100 ms (the RFC's table 1, which counts headers, has 168.6).
    /// Packets of 14 bytes with headers of 42 may carry a quarter of that, for any maximum packet size.
    #[test]
    fn small_packets_share_the_rate_of_large_ones_with_their_headers() {
        let rule = SegmentSize::Small {
            nominal: 1_460,
            header: 42,
        };
        let mut segments = Segments::new(rule, 9_000);
        segments.on_sent(14);
        let rtt = Duration::from_millis(100);
        let rate = segments.rate(&Equation::RFC5348, rtt, 0.01);
        assert!((rate * 4.0 / 164_004.0 - 1.0).abs() < 1e-4, "{rate}");
        assert_eq!(segments.size(), 14.0);
        assert_eq!(segments.recv_scale(), 1.0);
        assert_eq!(segments.initial_window(), 56.0, "four packets");
    }

    /// A mean over very many packets still follows a change of the packet size.
    #[test]
    fn a_long_interval_follows() {
        let mut segments = Segments::new(SegmentSize::Mean, 1_460);
        for _ in 0..1_000_000 {
            segments.on_sent(100);
        }
        for _ in 0..200_000 {
            segments.on_sent(1_000);
        }
        assert!(segments.size() > 900.0, "{}", segments.size());
    }
}
