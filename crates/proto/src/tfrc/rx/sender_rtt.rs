//! The round-trip time that the sender of the data tells (RFC 6323, sections 3.3 and 3.4).

use fairwire_units::{Duration, Instant};
use fairwire_wire::RTT_TOO_LARGE;

/// `receiver_RTT` until the sender has told a value.
const FIRST: Duration = Duration::from_millis(500);
/// The largest `receiver_RTT`: `t_mbi`.
const MAX: Duration = Duration::from_secs(64);
/// The weight of the previous value in the long-term average (RFC 5348, section 4.3).
const Q: f64 = 0.9;

/// The value that the sender told last, and the long-term average for times without a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderRtt {
    /// The round-trip time told last, unless the last packet told none.
    latest: Option<Duration>,
    /// `receiver_RTT`.
    long_term: Duration,
    /// Whether that is a guess, or backed off, so that the next value replaces it.
    is_guess: bool,
    /// Since when the sender has told no value, or when that last doubled the average.
    silent_since: Option<Instant>,
}

impl SenderRtt {
    pub(super) const fn new() -> Self {
        Self {
            latest: None,
            long_term: FIRST,
            is_guess: true,
            silent_since: None,
        }
    }

    /// Returns the round-trip time to use.
    pub(super) fn rtt(&self) -> Duration {
        // RFC 6323, 3.3: the sender's value is used wherever a round-trip time is needed; 3.4: without a value, the
        // long-term average is used.
        self.latest.unwrap_or(self.long_term)
    }

    /// Handles a packet; `us` is the value of its option, if it has one. The sender must send the option with its data,
    /// so data without it counts as data without a value.
    pub(super) fn on_packet(&mut self, now: Instant, is_data: bool, us: Option<u32>) {
        match us {
            Some(us) => self.on_option(now, us),
            None if is_data => self.on_no_number(now),
            None => {}
        }
    }

    fn on_option(&mut self, now: Instant, us: u32) {
        if us == 0 || us >= RTT_TOO_LARGE {
            return self.on_no_number(now);
        }
        let sample = Duration::from_micros(u64::from(us));
        self.long_term = if self.is_guess {
            sample
        } else {
            self.long_term.mul_f64(Q) + sample.mul_f64(1.0 - Q)
        };
        self.latest = Some(sample);
        self.is_guess = false;
        self.silent_since = None;
    }

    /// Doubles the average if no value has come for longer than it. RFC 6323, 3.4: the next doubling waits for the new
    /// average.
    fn on_no_number(&mut self, now: Instant) {
        self.latest = None;
        let since = *self.silent_since.get_or_insert(now);
        if now.saturating_since(since) > self.long_term {
            self.long_term = (self.long_term * 2).min(MAX);
            self.is_guess = true;
            self.silent_since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, MAX, SenderRtt};
    use fairwire_units::{Duration, Instant};
    use fairwire_wire::RTT_TOO_LARGE;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// RFC 6323, 3.4: half a second counts until there is a value; then the sender's value counts at once.
    #[test]
    fn half_a_second_until_a_number_is_told() {
        let mut rtt = SenderRtt::new();
        assert_eq!(rtt.rtt(), ms(500));
        rtt.on_option(at(0), 0);
        assert_eq!(rtt.rtt(), ms(500));
        rtt.on_option(at(10), 100_000);
        assert_eq!(rtt.rtt(), ms(100));
        rtt.on_option(at(20), 300_000);
        assert_eq!(rtt.rtt(), ms(300));
        rtt.on_option(at(30), RTT_TOO_LARGE - 1);
        assert_eq!(rtt.rtt(), Duration::from_micros(16_777_214));
    }

    /// RFC 6323, 3.4: in a short time without values the long-term average counts, here 0.9 * 100 + 0.1 * 300 ms. The
    /// next value counts again at once.
    #[test]
    fn the_average_bridges_a_moment() {
        for no_number in [0, RTT_TOO_LARGE] {
            let mut rtt = SenderRtt::new();
            rtt.on_option(at(0), 100_000);
            rtt.on_option(at(10), 300_000);
            rtt.on_option(at(20), no_number);
            assert_eq!(rtt.rtt(), ms(120));
            rtt.on_option(at(140), no_number);
            assert_eq!(rtt.rtt(), ms(120), "no longer than that");
            rtt.on_option(at(141), 200_000);
            assert_eq!(rtt.rtt(), ms(200));
        }
    }

    /// RFC 6323, 3.4: without values for longer than the average, the average doubles, then again after twice the time,
    /// up to 64 s. Data without the option has the same effect. The first value afterwards counts at once and begins a
    /// new average.
    #[test]
    fn silence_backs_off() {
        let mut rtt = SenderRtt::new();
        rtt.on_packet(at(0), true, Some(100_000));
        rtt.on_packet(at(10), true, None);
        assert_eq!(rtt.rtt(), ms(100));
        rtt.on_packet(at(110), true, None);
        assert_eq!(rtt.rtt(), ms(100), "exactly");
        rtt.on_packet(at(111), false, None);
        assert_eq!(rtt.rtt(), ms(100), "no data");
        rtt.on_packet(at(111), true, None);
        assert_eq!(rtt.rtt(), ms(200));
        rtt.on_option(at(311), 0);
        assert_eq!(rtt.rtt(), ms(200));
        rtt.on_option(at(312), 0);
        assert_eq!(rtt.rtt(), ms(400));
        for s in 1..200 {
            rtt.on_option(at(s * 1_000), RTT_TOO_LARGE);
        }
        assert_eq!(rtt.rtt(), MAX);
        rtt.on_option(at(200_000), 100_000);
        assert_eq!(rtt.rtt(), ms(100));
        rtt.on_option(at(200_010), 0);
        assert_eq!(rtt.rtt(), ms(100));
        assert!(FIRST < MAX);
    }
}
