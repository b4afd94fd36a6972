//! The rate at which data arrive (RFC 5348, section 6.2; RFC 4342, section 8.3).

use fairwire_units::{Duration, Instant};

/// The number of pieces in a round trip.
const PIECES: u64 = 8;
/// The number of pieces kept: four round trips, in case the round-trip time grows.
const KEPT: usize = 32;

/// A meter of the receive rate over the round trip that ends with the newest packet.
///
/// Arrivals are summed in pieces of an eighth of a round trip. So the state is bounded, and the measured interval is
/// longer than a round trip by at most one piece.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRate {
    pieces: [Piece; KEPT],
    /// The index of the newest piece.
    newest: usize,
}

/// The arrivals within an eighth of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    start: Instant,
    end: Instant,
    /// The bytes of the first packet.
    first: u64,
    /// The bytes of all packets.
    bytes: u64,
    used: bool,
}

impl ReceiveRate {
    /// Creates a meter without arrivals.
    pub fn new() -> Self {
        Self {
            pieces: [Piece::default(); KEPT],
            newest: 0,
        }
    }

    /// Records a data packet of `bytes` bytes; `rtt` is the present round-trip time.
    pub fn on_data(&mut self, now: Instant, bytes: u32, rtt: Duration) {
        let bytes = u64::from(bytes);
        let piece = &mut self.pieces[self.newest];
        if piece.used && now.saturating_since(piece.start) < rtt / PIECES {
            piece.end = piece.end.max(now);
            piece.bytes = piece.bytes.saturating_add(bytes);
            return;
        }
        if piece.used {
            self.newest = (self.newest + 1) % KEPT;
        }
        self.pieces[self.newest] = Piece {
            start: now,
            end: now,
            first: bytes,
            bytes,
            used: true,
        };
    }

    /// Returns the rate in bytes per second over one `rtt` up to the newest packet; 0 without arrivals.
    ///
    /// A single packet counts as one packet per round trip, the least that a receiver may report (RFC 5348, section
    /// 6.2).
    pub fn bytes_per_s(&self, rtt: Duration) -> f64 {
        let rtt = rtt.max(Duration::from_micros(1));
        let last = self.pieces[self.newest].end;
        let mut start = last.saturating_before(rtt);
        let mut window = rtt;
        let mut bytes = 0u64;
        for back in 0..KEPT {
            let piece = &self.pieces[(self.newest + KEPT - back) % KEPT];
            if !piece.used || piece.end <= start {
                break;
            }
            if piece.start <= start {
                // The round trip began within this piece. The measured interval begins with the first packet of the
                // piece, so that packet does not count (RFC 5348, 6.2, permits a longer interval).
                bytes = bytes.saturating_add(piece.bytes - piece.first);
                start = piece.start;
                window = last.saturating_since(start);
                break;
            }
            bytes = bytes.saturating_add(piece.bytes);
        }
        bytes as f64 / window.max(Duration::from_micros(1)).as_secs_f64()
    }
}

impl Default for ReceiveRate {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiveRate;
    use fairwire_units::{Duration, Instant};

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// A constant stream is measured at its rate: the packets at both ends of the interval do not both count.
    #[test]
    fn a_steady_stream_is_measured_exactly() {
        for gap_us in [500u64, 3_000, 11_000, 33_000, 99_000] {
            let rtt = Duration::from_millis(100);
            let mut rate = ReceiveRate::new();
            for i in 0..1_000 {
                rate.on_data(at(1_000_000 + i * gap_us), 500, rtt);
            }
            let expected = 500.0 * 1e6 / gap_us as f64;
            let got = rate.bytes_per_s(rtt);
            // A window that does not begin within a piece is exactly one round trip long; it can contain a part of a
            // gap more or less.
            let tolerance = gap_us as f64 / 100_000.0 + 0.001;
            assert!((got / expected - 1.0).abs() <= tolerance, "{gap_us}: {got}");
        }
    }

    /// RFC 5348, 6.2: if the round trip begins within a piece, the interval begins with that piece's first packet,
    /// which does not count. So of packets a millisecond apart, as many count as the interval has milliseconds.
    #[test]
    fn the_first_packet_of_the_interval_does_not_count() {
        let rtt = Duration::from_millis(100);
        let mut rate = ReceiveRate::new();
        // Pieces of 12.5 ms begin every 13 ms, none of them exactly one round trip before the last packet.
        for i in 0..=200 {
            rate.on_data(at(1_000_000 + i * 1_000), 500, rtt);
        }
        assert_eq!(rate.bytes_per_s(rtt), 500_000.0);
    }

    /// RFC 5348, 6.2: after a pause the first packet counts as one per round trip, and packets before the pause are
    /// forgotten.
    #[test]
    fn a_lone_packet_is_one_per_round_trip() {
        let rtt = Duration::from_millis(100);
        let mut rate = ReceiveRate::new();
        assert_eq!(rate.bytes_per_s(rtt), 0.0);
        for i in 0..10 {
            rate.on_data(at(i * 1_000), 500, rtt);
        }
        rate.on_data(at(10_000_000), 500, rtt);
        assert_eq!(rate.bytes_per_s(rtt), 5_000.0);
    }

    /// A burst within a small part of the round trip counts over the whole round trip.
    #[test]
    fn a_burst_counts_over_a_round_trip() {
        let rtt = Duration::from_millis(100);
        let mut rate = ReceiveRate::new();
        for i in 0..10 {
            rate.on_data(at(1_000_000 + i), 1_000, rtt);
        }
        assert_eq!(rate.bytes_per_s(rtt), 100_000.0);
        assert!(rate.bytes_per_s(Duration::ZERO).is_finite());
    }
}
