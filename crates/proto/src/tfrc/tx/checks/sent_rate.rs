//! How much a receiver can have got in a round trip (RFC 5348, sections 6.2 and 10).

use fairwire_units::{Duration, Instant};

/// How many pieces a round trip is cut into.
const PIECES: u64 = 4;
/// How many are kept: eight round trips.
const KEPT: usize = 32;

/// How much longer our round trip may be than the receiver's own measure of it.
const RTT_SLACK: f64 = 1.25;

/// The bytes that left lately, in pieces of a quarter of a round trip.
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

    /// A datagram of `bytes` bytes leaves now, with `rtt` as the round-trip time known.
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

    /// The largest receive rate, bytes per second, that a report on the packet that left at `until` can
    /// tell of.
    ///
    /// RFC 5348, 6.2: the receiver measures over the round trip that ends with that packet. What comes
    /// then left within as long a time, but for what waited in queues: a round trip more is granted
    /// for that. Packets that waited longer are not counted against anybody; the rate is only cut.
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
            // The piece in which the time begins counts as a whole.
            bytes = bytes.saturating_add(piece.bytes);
            if piece.start <= from {
                break;
            }
        }
        // Of a packet that left before all that is remembered nothing better is known.
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

    /// A steady stream of 100 kB/s bounds a receive rate to that of two round trips in the time of
    /// a shorter one: 20 packets and the last, and up to two more of each of the two pieces of three packets at
    /// the ends.
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

    /// What left after the packet that is reported does not count, nor what left long before.
    #[test]
    fn only_what_can_have_come_counts() {
        let mut sent = SentRate::new();
        sent.on_data(at(1_000), 500, R);
        for ms in 1_500..1_600 {
            sent.on_data(at(ms), 500, R);
        }
        assert_eq!(sent.largest(at(1_000), R), 6_250.0);
        // A piece is 25 ms long, from its first packet on: 1500 to 1524.
        assert_eq!(sent.largest(at(1_500), R), 26.0 * 6_250.0);
        assert_eq!(sent.largest(at(900), R), 101.0 * 6_250.0, "forgotten");
    }
}
