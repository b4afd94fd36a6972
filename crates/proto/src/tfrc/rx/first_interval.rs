//! The length that stands for the interval before the first loss event.

use fairwire_cc::tfrc::{Equation, ReceiveRate};
use fairwire_units::Duration;

/// The inputs for the interval before the first loss event (RFC 5348, section 6.3.1).
pub(super) struct SyntheticInterval<'a> {
    pub(super) equation: Equation,
    pub(super) rtt: Duration,
    /// The segment size `s` of the equation.
    pub(super) size: f64,
    /// An earlier receive rate, bytes per second: the largest that was reported, or 0 if earlier rates do not count.
    pub(super) rate: f64,
    pub(super) rate_now: &'a ReceiveRate,
}

impl SyntheticInterval<'_> {
    /// Returns the length, in packets, at which the equation gives the rate reached so far. `data` is the number of
    /// data packets that arrived before the loss.
    pub(super) fn length(&self, data: u64) -> f64 {
        // RFC 5348, 6.3.1: at least half a packet per round trip. The same rate is used if the very first data packet
        // is lost or marked, because TCP would then wait for its timer.
        let least = 0.5 * self.size / self.rtt.max(Duration::from_micros(1)).as_secs_f64();
        let target = if data == 0 {
            least
        } else {
            self.rate
                .max(self.rate_now.bytes_per_s(self.rtt))
                .max(least)
        };
        1.0 / self.equation.loss_rate(self.size, self.rtt, target)
    }
}

#[cfg(test)]
mod tests {
    use fairwire_cc::tfrc::{Equation, ReceiveRate};
    use fairwire_units::{Duration, Instant};

    use super::SyntheticInterval;

    const R: Duration = Duration::from_millis(100);

    /// Returns the length of the first interval if `reported` bytes per second were reported and 125 kB/s arrive now.
    fn length(reported: f64) -> f64 {
        let mut rate_now = ReceiveRate::new();
        for i in 0..50 {
            rate_now.on_data(Instant::from_nanos(i * 8_000_000), 1_000, R);
        }
        let first = SyntheticInterval {
            equation: Equation::RFC5348,
            rtt: R,
            size: 1_000.0,
            rate: reported,
            rate_now: &rate_now,
        };
        first.length(50)
    }

    /// RFC 5348, 6.3.1: the largest rate so far counts. f(p) = s / (R X) = 1000 / (0.1 * 250,000) = 0.04 holds at p =
    /// 0.0023: sqrt(2p/3) = 0.0392 and 12 sqrt(3p/8) p = 0.0008.
    #[test]
    fn the_largest_rate_makes_it_long() {
        let length = length(250_000.0);
        // p by hand has two digits, so it is within 1 in 46, or 2.2 %, and rounding of the terms adds as much.
        assert!((length - 434.0).abs() < 434.0 * 0.05, "{length}");
    }

    /// RFC 3448, 6.3.1: the rate of the latest round trip counts if so configured. f(p) = 0.08 holds at p = 0.0083:
    /// 0.0744 and 0.0056.
    #[test]
    fn the_latest_rate_makes_it_short() {
        let length = length(0.0);
        // A round trip holds 12 or 13 packets, so the rate is within 4 % and p within 8 %.
        assert!((length - 120.0).abs() < 120.0 * 0.1, "{length}");
    }
}
