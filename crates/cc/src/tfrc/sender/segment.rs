//! The segment size `s` (RFC 5348, section 4.1; RFC 4342, section 5.3; RFC 4828, section 3).

use fairwire_units::Duration;

use crate::tfrc::Equation;

/// Which segment size the throughput equation takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentSize {
    /// The mean size of the packets sent in the last four loss intervals.
    Mean,
    /// The largest packet that may be sent: each packet counts as that much.
    Mps,
    /// This many bytes: each packet counts as that much.
    Fixed(u32),
    /// This many bytes in the equation and between packets, while bytes received count as they are:
    /// RFC 5348 word for word, as simulators do it whose packets are not of that size.
    Literal(u32),
    /// The small-packet variant (RFC 4828): the equation is that of a TCP with segments of
    /// `nominal` bytes, and of the rate that it gives, headers take their share.
    Small {
        /// The nominal segment size, bytes.
        nominal: u32,
        /// What a packet's headers count as, `H`, bytes.
        header: u32,
    },
}

/// Loss intervals that the mean is taken over (RFC 5348, section 4.1).
const INTERVALS: usize = 4;
/// When an interval holds this many packets its sums are halved, so that a long time without a
/// loss does not hold the mean for ever.
const MANY: u64 = 1 << 16;

/// The sizes of the packets sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    rule: SegmentSize,
    max_segment: u32,
    /// Newest first.
    sums: [Sum; INTERVALS],
    /// The largest packet sent.
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

    /// A packet left; returns whether it is the largest so far.
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

    /// A loss event was reported: a new interval begins. One in which nothing was sent tells no size:
    /// reports alone, of a peer that makes them up, do not push out what is known.
    pub(super) fn on_loss_event(&mut self) {
        if self.sums[0].packets == 0 {
            return;
        }
        self.sums.rotate_right(1);
        self.sums[0] = Sum::default();
    }

    /// What one packet counts as, at least 1: an empty packet costs something, too. But for small
    /// packets this is the `s` of the equation.
    pub(super) fn size(&self) -> f64 {
        match self.rule {
            SegmentSize::Mean | SegmentSize::Small { .. } => self.mean(),
            SegmentSize::Mps => f64::from(self.max_segment.max(1)),
            SegmentSize::Fixed(size) | SegmentSize::Literal(size) => f64::from(size.max(1)),
        }
    }

    /// `X_Bps`: what the equation allows, bytes per second as [`Self::size`] counts them.
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

    /// What turns a receive rate in bytes into the unit of `s`: where every packet counts as `s`,
    /// packets received count as that, too.
    pub(super) fn recv_scale(&self) -> f64 {
        match self.rule {
            SegmentSize::Mean | SegmentSize::Small { .. } | SegmentSize::Literal(_) => 1.0,
            SegmentSize::Mps | SegmentSize::Fixed(_) => self.size() / self.mean(),
        }
    }

    /// `W_init` in bytes (RFC 5348, section 4.2), for the largest packets known to be sent.
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

    /// RFC 5348, 4.1: the mean goes over the last four loss intervals and forgets older packets.
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

    /// Loss events without a packet between them, as a peer may make up, leave the mean at what was
    /// sent: with the largest packet in its place, small packets would get many times their rate.
    #[test]
    fn intervals_without_packets_tell_nothing() {
        let mut segments = Segments::new(SegmentSize::Mean, 1_460);
        segments.on_sent(100);
        for _ in 0..10 {
            segments.on_loss_event();
        }
        assert_eq!(segments.size(), 100.0);
    }

    /// RFC 5348, 4.2: four small, two large, or between them 4380 bytes.
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

    /// Empty packets count as one byte; a fixed size makes the receive rate count in that size.
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

    /// RFC 4828, 3 and 4.2: f(0.01) = sqrt(0.02/3) + 12 sqrt(0.03/8) 0.01 (1 + 0.0032) = 0.089022, so
    /// segments of 1460 bytes get 14600 / 0.089022 = 164.0 kB/s at R = 100 ms (the RFC's table 1,
    /// which counts headers, has 168.6). Packets of 14 bytes with headers of 42 may carry a quarter
    /// of that, whatever size the path would take.
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

    /// A mean over very many packets still follows the application.
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
