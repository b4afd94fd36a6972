//! The most that a receiver can have received in a round trip (RFC 5348, sections 6.2 and 10).

use fairwire_units::{Duration, Instant};

/// The number of pieces per round trip.
const PIECES: u64 = 4;
/// The number of pieces kept: eight round trips.
const KEPT: usize = 32;

/// Factor by which our round-trip time may exceed the receiver's own estimate of it.
const RTT_SLACK: f64 = 1.25;

/// The bytes sent recently, in pieces of a quarter of a round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRate {
    pieces: [Option<Piece>; KEPT],
    newest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Instant,
    bytes: u64,
}

impl SentRate {
    pub(super) const fn new() -> Self {
        Self {
            pieces: [None; KEPT],
            newest: 0,
        }
    }

    /// Records that a datagram of `bytes` bytes leaves now; `rtt` is the known round-trip time.
    pub(super) fn on_data(&mut self, now: Instant, bytes: u32, rtt: Duration) {
        let bytes = u64::from(bytes);
        if let Some(piece) = &mut self.pieces[self.newest]
            && now.saturating_since(piece.start) < rtt / PIECES
        {
            piece.bytes = piece.bytes.saturating_add(bytes);
            return;
        }
        self.newest = (self.newest + 1) % KEPT;
        self.pieces[self.newest] = Some(Piece { start: now, bytes });
    }

    /// Returns the largest receive rate, bytes per second, that a report on the packet that left at `until` can give.
    ///
    /// RFC 5348, 6.2: the receiver measures over the round trip that ends with that packet. What arrives in that time
    /// left within an equally long time, except for packets that waited in queues; one more round trip is allowed for
    /// those. A packet that waited even longer is not held against the receiver: the rate is only reduced.
    pub(super) fn largest(&self, until: Instant, rtt: Duration) -> f64 {
        let rtt = rtt.max(Duration::from_micros(1));
        let from = until.saturating_before(rtt * 2);
        let (mut bytes, mut all) = (0u64, 0u64);
        let mut begun = false;
        for back in 0..KEPT {
            let Some(piece) = &self.pieces[(self.newest + KEPT - back) % KEPT] else {
                break;
            };
            all = all.saturating_add(piece.bytes);
            if piece.start > until {
                continue;
            }
            begun = true;
            // The piece in which the period begins counts completely.
            bytes = bytes.saturating_add(piece.bytes);
            if piece.start <= from {
                break;
            }
        }
        // If the packet left before everything that is remembered, all of that is the best bound known.
        let bytes = if begun { bytes } else { all };
        bytes as f64 * RTT_SLACK / rtt.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::SentRate;
    use fairwire_units::{Duration, Instant};

    const R: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// For a steady stream of 100 kB/s, the bound is the bytes of two round trips over one shortened round trip. These
    /// are 20 packets and the last one. Each of the two pieces at the ends, of three packets, adds up to two more.
    #[test]
    fn a_round_trip_of_queue_is_granted() {
        let mut sent = SentRate::new();
        for packet in 0..1_000 {
            sent.on_data(at(packet * 10), 1_000, R);
            let until = at((packet * 10).saturating_sub(100));
            if packet > 40 {
                let largest = sent.largest(until, R);
                assert!((250_000.0..=325_000.0).contains(&largest), "{largest}");
            }
        }
    }

    /// Data sent after the reported packet does not count, nor does data sent long before.
    #[test]
    fn only_what_can_have_come_counts() {
        let mut sent = SentRate::new();
        sent.on_data(at(1_000), 500, R);
        for ms in 1_500..1_600 {
            sent.on_data(at(ms), 500, R);
        }
        assert_eq!(sent.largest(at(1_000), R), 6_250.0);
        // A piece lasts 25 ms from its first packet: 1500 to 1524.
        assert_eq!(sent.largest(at(1_500), R), 26.0 * 6_250.0);
        assert_eq!(sent.largest(at(900), R), 101.0 * 6_250.0, "forgotten");
    }
}
