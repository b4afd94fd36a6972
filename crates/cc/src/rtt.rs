//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! Who measures owns the estimator: a protocol has one, and tells its controller what it knows, as
//! [`RoundTrip`].
//!
//! The estimator holds no timer: its owner feeds it samples, tells it of timeouts and asks how
//! long to wait. Which packets may be timed (Karn's rule) is the owner's knowledge, too.

use fairwire_units::Duration;

/// The round-trip time while none is known (RFC 4340, section 3.4).
pub const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The parameters of the timeout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RtoConfig {
    /// The timeout before the first sample.
    pub initial: Duration,
    /// No timeout is shorter.
    pub min: Duration,
    /// No timeout is longer, backed off or not.
    pub max: Duration,
    /// The clock's granularity `G`: the smallest variation that is waited for.
    pub granularity: Duration,
}

impl RtoConfig {
    /// TCP: one second at first and at least (RFC 6298, 2.1 and 2.4), 60 s at most (2.5).
    pub const TCP: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
    };

    /// CCID 2: nothing is retransmitted, so the minimum of one second is not needed (RFC 4341,
    /// section 5); 200 ms keep the timer clear of an acknowledgement that a peer delays.
    pub const CCID2: Self = Self {
        min: Duration::from_millis(200),
        ..Self::TCP
    };

    /// As common simulators have it: a one-second minimum for CCID 2 as well.
    pub const NS2: Self = Self::TCP;

    /// This configuration with another minimum.
    pub const fn with_min(self, min: Duration) -> Self {
        Self { min, ..self }
    }
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self::TCP
    }
}

/// What is known of the round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    /// The smoothed one, once there is a sample.
    pub smoothed: Option<Duration>,
    /// The newest sample.
    pub latest: Option<Duration>,
    /// The shortest sample.
    pub min: Option<Duration>,
    /// The timeout, not backed off; `None` says nothing at all.
    pub timeout: Option<Duration>,
}

/// Smoothed round-trip time, its variation and the timeout that follows from them.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    smoothed: Option<Smoothed>,
    latest: Option<Duration>,
    min: Option<Duration>,
    base: Duration,
    doublings: u32,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: Duration,
    rttvar: Duration,
}

impl RttEstimator {
    /// An estimator without samples.
    pub const fn new(config: RtoConfig) -> Self {
        Self {
            config,
            smoothed: None,
            latest: None,
            min: None,
            base: config.initial,
            doublings: 0,
        }
    }

    /// A round trip was measured on a packet that was sent once; ends any back-off.
    pub fn on_sample(&mut self, rtt: Duration) {
        self.on_sample_of(rtt, 1);
    }

    /// The same for one of `samples` that a round trip brings: each weighs less, so that the estimate remembers as
    /// many round trips as with one sample in each (RFC 7323, section 4.2).
    pub fn on_sample_of(&mut self, rtt: Duration, samples: u32) {
        let samples = u64::from(samples.max(1));
        let next = match self.smoothed {
            // RFC 6298, 2.2: the first sample is the mean, its half the variation.
            None => Smoothed {
                srtt: rtt,
                rttvar: rtt / 2,
            },
            // RFC 6298, 2.3: the variation first, with the old mean; weights 1/4 and 1/8, of all samples together.
            Some(Smoothed { srtt, rttvar }) => {
                let error = srtt.max(rtt) - srtt.min(rtt);
                Smoothed {
                    rttvar: weighted(rttvar, error, 4 * samples),
                    srtt: weighted(srtt, rtt, 8 * samples),
                }
            }
        };
        self.smoothed = Some(next);
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.base = next.srtt + self.config.granularity.max(next.rttvar * 4);
        self.doublings = 0;
    }

    /// The timer expired: the timeout doubles until the next sample (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// The peer is heard again though no sample could be taken: the timeout is the last computed.
    pub fn clear_back_off(&mut self) {
        self.doublings = 0;
    }

    /// The connection request had to be repeated: without a sample, data starts with a timeout of
    /// at least `initial` (three seconds in RFC 6298, 5.7).
    pub fn raise_initial(&mut self, initial: Duration) {
        if self.smoothed.is_none() {
            self.base = self.base.max(initial);
            self.doublings = 0;
        }
    }

    /// Forget all samples: the path changed.
    pub fn reset(&mut self) {
        *self = Self::new(self.config);
    }

    /// What a controller is to know.
    pub fn round_trip(&self) -> RoundTrip {
        RoundTrip {
            smoothed: self.srtt(),
            latest: self.latest,
            min: self.min,
            timeout: Some(self.base.max(self.config.min).min(self.config.max)),
        }
    }

    /// The timeout in force, back-off included, between the configured minimum and maximum.
    pub fn rto(&self) -> Duration {
        let bounded = self.base.max(self.config.min);
        let factor = 1_u64
            .checked_shl(self.doublings.min(63))
            .unwrap_or(u64::MAX);
        (bounded * factor).min(self.config.max)
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    /// The smoothed mean deviation, once there is a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }

    /// The newest sample.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// The shortest sample.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min
    }
}

/// `old` moved towards `new` by one part in `parts`.
fn weighted(old: Duration, new: Duration, parts: u64) -> Duration {
    if new >= old {
        old + (new - old) / parts
    } else {
        old - (old - new) / parts
    }
}

#[cfg(test)]
mod tests {
    use super::{RtoConfig, RttEstimator};
    use fairwire_units::Duration;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// RFC 6298, 2.1 to 2.3: one second, then R + 4 R/2, then the weights of 1/4 and 1/8.
    #[test]
    fn the_formulas_of_the_rfc() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP.with_min(ms(1)));
        assert_eq!(rtt.rto(), ms(1000));
        rtt.on_sample(ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(100)), Some(ms(50))));
        assert_eq!(rtt.rto(), ms(300));
        rtt.on_sample(ms(180));
        // rttvar = 3/4 * 50 + 1/4 * 80 = 57.5, srtt = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!(rtt.srtt(), Some(ms(110)));
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(57_500)));
        assert_eq!(rtt.rto(), ms(340));
        assert_eq!(rtt.min_rtt(), Some(ms(100)));
        assert_eq!(rtt.latest(), Some(ms(180)));
    }

    /// RFC 7323, 4.2 and appendix G: of ten samples in a round trip each weighs a tenth, so that a round trip of them
    /// moves the estimate about as far as one sample (a ninth less, as later ones count from what earlier ones left).
    #[test]
    fn many_samples_weigh_as_one() {
        let after = |samples: u32| {
            let mut rtt = RttEstimator::new(RtoConfig::TCP);
            rtt.on_sample(ms(100));
            (0..samples).for_each(|_| rtt.on_sample_of(ms(180), samples));
            rtt.srtt().map(Duration::as_secs_f64).unwrap() - 0.1
        };
        assert!((after(1) - 0.01).abs() < 1e-9);
        let each: f64 = 1.0 - 1.0 / 80.0;
        let expected = 0.08 * (1.0 - (0..10).map(|_| each).product::<f64>());
        assert!((after(10) - expected).abs() < 1e-6, "{}", after(10));
    }

    /// RFC 6298, 2.4 and 2.5: the minimum holds from below, the maximum from above, backed off too.
    #[test]
    fn the_timeout_keeps_its_bounds() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP);
        rtt.on_sample(ms(10));
        assert_eq!(rtt.rto(), ms(1000));
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        for _ in 0..200 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.on_sample(ms(10));
        assert_eq!(rtt.rto(), ms(1000), "a sample ends the back-off");
    }

    /// A perfectly steady path still waits one clock tick beyond the mean (the `G` of RFC 6298, 2.3).
    #[test]
    fn a_steady_path_keeps_the_granularity() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP.with_min(Duration::ZERO));
        for _ in 0..200 {
            rtt.on_sample(ms(50));
        }
        assert_eq!(rtt.rto(), ms(51));
    }

    /// RFC 4341, section 5: CCID 2 may time out sooner than TCP; RFC 6298, 5.7: a lost request
    /// makes the first timeout longer.
    #[test]
    fn presets_and_the_lost_request() {
        let mut rtt = RttEstimator::new(RtoConfig::CCID2);
        rtt.raise_initial(Duration::from_secs(3));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
        rtt.on_sample(ms(20));
        assert_eq!(rtt.rto(), ms(200));
        rtt.raise_initial(Duration::from_secs(3));
        assert_eq!(rtt.rto(), ms(200), "a sample outlives the request");
        rtt.reset();
        assert_eq!(rtt.rto(), ms(1000));
    }

    /// Absurd samples saturate and never panic.
    #[test]
    fn absurd_samples_saturate() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP);
        rtt.on_sample(Duration::MAX);
        rtt.on_sample(Duration::ZERO);
        rtt.on_sample(Duration::MAX);
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}
