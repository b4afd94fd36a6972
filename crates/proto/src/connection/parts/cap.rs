//! A cap on the rate of the application's data (`Config::max_rate`).

use fairwire_units::{Duration, Instant, Rate, Size};

/// How much may leave at once after a pause, as a time at the capped rate. Timers of hosts are late by as much, and the
/// rate is kept nevertheless.
const BURST: Duration = Duration::from_millis(5);

/// The lowest rate, at which a datagram takes hours.
const LEAST: Rate = Rate::from_bits_per_s(1);

/// The cap, and what has used it up. In any interval, at most the rate and one burst leave, and one datagram more.
#[derive(Debug)]
pub(crate) struct Cap {
    rate: Option<Rate>,
    /// Until when the data that has left uses the rate up.
    used_until: Instant,
}

impl Cap {
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            used_until: Instant::START,
        }
    }

    /// Sets another rate, or none. What has left counts at the new rate.
    pub(crate) fn set(&mut self, now: Instant, rate: Option<Rate>) {
        let used = self.used_until.saturating_since(now);
        let rate = rate.map(|rate| rate.max(LEAST));
        if let (Some(old), Some(new)) = (self.rate, rate) {
            self.used_until = now + used.mul_f64(old.bytes_per_s() / new.bytes_per_s());
        }
        self.rate = rate;
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Returns when the next datagram may leave, if that is later than now.
    #[inline]
    pub(crate) fn holds_until(&self, now: Instant) -> Option<Instant> {
        (self.rate.is_some() && self.used_until > now).then_some(self.used_until)
    }

    /// Notes that a datagram leaves.
    #[inline]
    pub(crate) fn spend(&mut self, now: Instant, bytes: usize) {
        if let Some(rate) = self.rate {
            let free_from = self.used_until.max(now.saturating_before(BURST));
            self.used_until = free_from + rate.time_for(Size::new(bytes as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polled late, early or after a pause, the rate is kept, apart from one burst.
    #[test]
    fn the_rate_is_kept() {
        let rate = Rate::from_bits_per_s(8_000_000);
        for step in [100, 900, 3_000] {
            let mut cap = Cap::new(Some(rate));
            let (mut now, mut sent) = (Instant::START + Duration::from_secs(1), 0);
            let end = now + Duration::from_secs(2);
            while now < end {
                while cap.holds_until(now).is_none() {
                    cap.spend(now, 1_000);
                    sent += 1;
                }
                now += Duration::from_micros(step);
            }
            // A datagram takes 1 ms, and a burst holds five.
            assert!((2_000..=2_006).contains(&sent), "every {step} us: {sent}");
        }
    }

    /// A cap that is taken away holds nothing.
    #[test]
    fn without_a_rate_nothing_is_held() {
        let mut cap = Cap::new(Some(Rate::from_bits_per_s(1)));
        cap.spend(Instant::START, 1_000);
        assert!(cap.holds_until(Instant::START).is_some());
        cap.set(Instant::START, None);
        assert_eq!(cap.holds_until(Instant::START), None);
    }

    /// A cap that is raised a hundredfold ends a wait of 100 s in one, however often it is set.
    #[test]
    fn another_rate_counts_at_once() {
        let (now, rate) = (Instant::START, |bits| Some(Rate::from_bits_per_s(bits)));
        let mut cap = Cap::new(rate(80));
        cap.spend(now, 1_000);
        for _ in 0..3 {
            cap.set(now, rate(8_000));
            assert_eq!(cap.holds_until(now), Some(now + Duration::from_secs(1)));
        }
        cap.set(now, Some(Rate::ZERO));
        assert!(cap.holds_until(now + Duration::from_secs(7_000)).is_some());
    }
}
