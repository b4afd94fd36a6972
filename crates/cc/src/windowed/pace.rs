//! Pacing of a window of bytes: how much may leave at once (RFC 9002, section 7.7).

use fairwire_units::{Duration, Instant};

use crate::Permit;

/// What may leave at once is at least what leaves in this time, so that a coarse timer does not limit the rate.
const TICK: Duration = Duration::from_millis(2);

/// What has left lately, less what the rate of the window has made up for: a leaky bucket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    level: f64,
    /// When the level was right.
    at: Option<Instant>,
}

impl Pace {
    fn level(self, now: Instant, drain: f64) -> f64 {
        let passed = self
            .at
            .map_or(Duration::ZERO, |at| now.saturating_since(at));
        (self.level - passed.as_secs_f64() * drain).max(0.0)
    }

    /// Records that `packet` left. `drain` is by how much the level falls in a second.
    pub(super) fn on_sent(&mut self, now: Instant, packet: f64, drain: Option<f64>) {
        if let Some(drain) = drain {
            *self = Self {
                level: self.level(now, drain) + packet,
                at: Some(now),
            };
        }
    }

    /// Returns when `packet` may leave, if `burst` may leave at once.
    pub(super) fn permit(
        self,
        now: Instant,
        packet: f64,
        burst: f64,
        drain: Option<f64>,
    ) -> Permit {
        let Some(drain) = drain else {
            return Permit::Now;
        };
        let burst = burst.max(packet).max(drain * TICK.as_secs_f64());
        let beyond = self.level(now, drain) + packet - burst;
        if beyond <= 0.0 {
            return Permit::Now;
        }
        let wait = Duration::from_secs_f64(beyond / drain);
        Permit::At(now + wait.max(Duration::from_nanos(1)))
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::Pace;
    use crate::Permit;

    /// A burst of ten leaves at once, and then one for each that the rate has made up for, here a hundred a second.
    #[test]
    fn bursts_are_bounded() {
        let ms = |ms| Instant::START + Duration::from_millis(ms);
        let drain = Some(100.0);
        let mut pace = Pace::default();
        for _ in 0..10 {
            assert_eq!(pace.permit(ms(0), 1.0, 10.0, drain), Permit::Now);
            pace.on_sent(ms(0), 1.0, drain);
        }
        assert_eq!(pace.permit(ms(0), 1.0, 10.0, drain), Permit::At(ms(10)));
        assert_eq!(pace.permit(ms(10), 1.0, 10.0, drain), Permit::Now);
        pace.on_sent(ms(10), 1.0, drain);
        assert_eq!(pace.permit(ms(10), 1.0, 10.0, drain), Permit::At(ms(20)));
        assert_eq!(pace.permit(ms(1_000), 10.0, 10.0, drain), Permit::Now);
        assert_eq!(
            pace.permit(ms(1_000), 99.0, 10.0, drain),
            Permit::Now,
            "alone"
        );
        assert_eq!(
            pace.permit(ms(10), 1.0, 10.0, None),
            Permit::Now,
            "no round trip is known"
        );
        // A fast window may send 2 ms of its rate.
        let (mut fast, drain) = (Pace::default(), Some(10_000.0));
        for _ in 0..20 {
            assert_eq!(fast.permit(ms(0), 1.0, 10.0, drain), Permit::Now);
            fast.on_sent(ms(0), 1.0, drain);
        }
        assert_ne!(fast.permit(ms(0), 1.0, 10.0, drain), Permit::Now);
    }
}
