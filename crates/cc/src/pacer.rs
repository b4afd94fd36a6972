//! A token bucket: spreads packets over time, with a bounded burst.

use fairwire_units::{Duration, Instant, Rate};

use crate::Permit;

/// Lets bytes pass at a rate, with up to `burst` bytes at once after a pause.
///
/// A packet may leave while the bucket holds any credit, and what it takes beyond that is owed:
/// so packets larger than the burst still pass, one at a time.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    bytes_per_s: f64,
    burst: f64,
    level: f64,
    updated: Instant,
}

impl Pacer {
    /// A full bucket of `burst_bytes` (at least one) that fills at `rate`.
    pub fn new(rate: Rate, burst_bytes: u32, now: Instant) -> Self {
        let burst = f64::from(burst_bytes.max(1));
        Self {
            bytes_per_s: rate.bytes_per_s(),
            burst,
            level: burst,
            updated: now,
        }
    }

    /// From `now` on, fill at `rate` and hold at most `burst_bytes`.
    pub fn set(&mut self, now: Instant, rate: Rate, burst_bytes: u32) {
        self.level = self.level_at(now);
        self.updated = self.updated.max(now);
        self.bytes_per_s = rate.bytes_per_s();
        self.burst = f64::from(burst_bytes.max(1));
        self.level = self.level.min(self.burst);
    }

    /// May the next packet leave?
    pub fn permit(&self, now: Instant) -> Permit {
        let level = self.level_at(now);
        if level > 0.0 {
            return Permit::Now;
        }
        if self.bytes_per_s <= 0.0 {
            return Permit::AwaitFeedback;
        }
        // One nanosecond beyond the moment at which nothing is owed, so that the level is above zero.
        let wait = Duration::from_secs_f64(-level / self.bytes_per_s) + Duration::from_nanos(1);
        Permit::At(self.updated.max(now) + wait)
    }

    /// A packet of `size` bytes left.
    pub fn on_sent(&mut self, now: Instant, size: u32) {
        self.level = self.level_at(now) - f64::from(size);
        self.updated = self.updated.max(now);
    }

    fn level_at(&self, now: Instant) -> f64 {
        let filled = now.saturating_since(self.updated).as_secs_f64() * self.bytes_per_s;
        (self.level + filled).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::Pacer;
    use crate::Permit;
    use fairwire_units::{Duration, Instant, Rate};

    /// Over a second exactly the rate passes, plus the burst at its beginning and one packet owed.
    #[test]
    fn a_second_passes_the_rate_and_one_burst() {
        let rate = Rate::from_bits_per_s(800_000); // 100 packets of 1,000 bytes
        let mut now = Instant::START;
        let mut pacer = Pacer::new(rate, 3_000, now);
        let mut at = Vec::new();
        while now < Instant::START + Duration::from_secs(1) {
            match pacer.permit(now) {
                Permit::Now => {
                    pacer.on_sent(now, 1_000);
                    at.push(now);
                }
                Permit::At(then) => {
                    assert!(then > now, "time must move on");
                    now = then;
                }
                Permit::AwaitFeedback => panic!("the rate is not zero"),
            }
        }
        assert_eq!(at[2], Instant::START, "the burst leaves at once");
        assert!(at[3] > Instant::START, "the fourth waits");
        assert!((103..=104).contains(&at.len()), "{}", at.len());
    }

    /// At rate zero only the burst passes; a new rate frees the rest.
    #[test]
    fn a_standing_pacer_waits_for_a_rate() {
        let now = Instant::START;
        let mut pacer = Pacer::new(Rate::ZERO, 1, now);
        assert_eq!(pacer.permit(now), Permit::Now);
        pacer.on_sent(now, 1_000);
        assert_eq!(pacer.permit(now), Permit::AwaitFeedback);
        pacer.set(now, Rate::from_bits_per_s(8_000), 1);
        assert!(matches!(pacer.permit(now), Permit::At(_)));
        let later = now + Duration::from_secs(1);
        assert_eq!(pacer.permit(later), Permit::Now);
    }
}
