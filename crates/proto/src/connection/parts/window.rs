//! The width of our Sequence Window (RFC 4340, section 7.5.2).
//!
//! Counts what we send in a round trip, acknowledgements included, and says when a fifth of the window is no longer
//! enough for it.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

/// Width of the window in round trips' worth of packets (RFC 4340, 7.5.2).
const ROUND_TRIPS: u64 = 5;

/// A measurement of one direction.
#[derive(Debug)]
pub(crate) struct WindowWatch {
    /// The last window asked for.
    asked: u64,
    cap: u64,
    /// The round trip being counted: when and at which number it began.
    began: Option<(Instant, Seq)>,
}

impl WindowWatch {
    /// Returns a measurement for a handshake that asks for `asked`; no request exceeds `cap`.
    pub(crate) fn new(asked: u64, cap: u64) -> Self {
        Self {
            asked,
            cap: cap.max(asked),
            began: None,
        }
    }

    /// Returns the window to ask for, if a wider one is needed. We have sent `gss`, the peer has acknowledged `gar`,
    /// and the sending half expects `expected` data packets per round trip.
    pub(crate) fn widen(
        &mut self,
        now: Instant,
        rtt: Duration,
        gss: Seq,
        gar: Seq,
        expected: u64,
    ) -> Option<u64> {
        let (began, first) = *self.began.get_or_insert((now, gss));
        let mut needed = expected;
        if now >= began + rtt {
            self.began = Some((now, gss));
            // More than a round trip may have passed; the packets of one round trip are at most those without an
            // acknowledgement.
            needed = needed.max(first.distance(gss).min(gar.distance(gss)));
        }
        let mut window = self.asked;
        while needed.saturating_mul(ROUND_TRIPS) > window && window < self.cap {
            window = window.saturating_mul(2).min(self.cap);
        }
        if window == self.asked {
            return None;
        }
        self.asked = window;
        Some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Seq, WindowWatch};

    /// A fifth of the window is enough, one packet more doubles it, and the cap holds.
    #[test]
    fn doubles_beyond_a_fifth() {
        let mut watch = WindowWatch::new(1_000, 3_000);
        let (rtt, seq) = (Duration::from_millis(10), Seq::new(7));
        let mut widen = |expected| watch.widen(Instant::START, rtt, seq, seq, expected);
        assert_eq!(widen(200), None);
        assert_eq!(widen(201), Some(2_000));
        assert_eq!(widen(201), None);
        assert_eq!(widen(5_000), Some(3_000));
        assert_eq!(widen(5_000), None);
    }

    /// Packets of every type count, per round trip.
    #[test]
    fn counts_what_was_sent() {
        let mut watch = WindowWatch::new(100, 10_000);
        let rtt = Duration::from_millis(10);
        let start = Seq::MAX;
        assert_eq!(watch.widen(Instant::START, rtt, start, start, 0), None);
        let half = Instant::START + rtt / 2;
        assert_eq!(watch.widen(half, rtt, start.add(30), start, 0), None);
        let end = Instant::START + rtt;
        assert_eq!(watch.widen(end, rtt, start.add(50), start, 0), Some(400));
    }
}
