//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! The code that measures round trips owns the estimator: a protocol has one and passes its values to the controller as
//! a [`RoundTrip`].
//!
//! The estimator holds no timer. Its owner gives it samples, reports timeouts, and asks how long to wait. The owner
//! also decides which packets may be timed (Karn's algorithm).

use fairwire_units::Duration;

/// The assumed round-trip time before the first sample (RFC 4340, section 3.4).
pub const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The parameters of the retransmission timeout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RtoConfig {
    /// The timeout before the first sample.
    pub initial: Duration,
    /// The least timeout.
    pub min: Duration,
    /// The greatest timeout, with or without back-off.
    pub max: Duration,
    /// The clock's granularity `G`: the least term added to the mean for variation.
    pub granularity: Duration,
}

impl RtoConfig {
    /// TCP: one second initially and as the minimum (RFC 6298, 2.1 and 2.4), 60 s as the maximum (2.5).
    pub const TCP: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
    };

    /// CCID 2: nothing is retransmitted, so the minimum of one second is not needed (RFC 4341, section 5). A minimum of
    /// 200 ms avoids a timeout while the peer delays an acknowledgement.
    pub const CCID2: Self = Self {
        min: Duration::from_millis(200),
        ..Self::TCP
    };

    /// As in common simulators: a minimum of one second for CCID 2 as well.
    pub const NS2: Self = Self::TCP;

    /// Returns this configuration with another minimum.
    pub const fn with_min(self, min: Duration) -> Self {
        Self { min, ..self }
    }
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self::TCP
    }
}

/// What is known about the round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    /// The smoothed round-trip time; `None` before the first sample.
    pub smoothed: Option<Duration>,
    /// The newest sample.
    pub latest: Option<Duration>,
    /// The shortest sample.
    pub min: Option<Duration>,
    /// The timeout without back-off. `None` if nothing at all is known.
    pub timeout: Option<Duration>,
}

/// The estimator of the smoothed round-trip time, its variation and the resulting timeout.
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
    /// Creates an estimator without samples.
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

    /// Adds a sample, taken on a packet that was sent only once, and ends any back-off.
    pub fn on_sample(&mut self, rtt: Duration) {
        self.on_sample_of(rtt, 1);
    }

    /// Adds one of `samples` samples that are taken in each round trip, and ends any back-off.
    ///
    /// Each sample has a smaller weight, so that the estimate covers as many round trips as with one sample in each
    /// (RFC 7323, section 4.2).
    pub fn on_sample_of(&mut self, rtt: Duration, samples: u32) {
        let samples = u64::from(samples.max(1));
        let next = match self.smoothed {
            // RFC 6298, 2.2: the mean is the first sample, the variation half of it.
            None => Smoothed {
                srtt: rtt,
                rttvar: rtt / 2,
            },
            // RFC 6298, 2.3: the variation first, with the old mean. The weights are 1/4 and 1/8 for all samples
            // together.
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

    /// Doubles the timeout until the next sample, after the timer expired (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Ends the back-off without a sample: the peer answered, but the answer could not be timed.
    pub fn clear_back_off(&mut self) {
        self.doublings = 0;
    }

    /// Raises the first timeout to at least `initial`, because the connection request had to be repeated.
    ///
    /// It has no effect after the first sample. RFC 6298, 5.7, uses three seconds.
    pub fn raise_initial(&mut self, initial: Duration) {
        if self.smoothed.is_none() {
            self.base = self.base.max(initial);
            self.doublings = 0;
        }
    }

    /// Forgets all samples: the path changed.
    pub fn reset(&mut self) {
        *self = Self::new(self.config);
    }

    /// Returns the values for a controller.
    pub fn round_trip(&self) -> RoundTrip {
        RoundTrip {
            smoothed: self.srtt(),
            latest: self.latest,
            min: self.min,
            timeout: Some(self.base.max(self.config.min).min(self.config.max)),
        }
    }

    /// Returns the current timeout with back-off, between the configured minimum and maximum.
    pub fn rto(&self) -> Duration {
        let bounded = self.base.max(self.config.min);
        let factor = 1_u64
            .checked_shl(self.doublings.min(63))
            .unwrap_or(u64::MAX);
        (bounded * factor).min(self.config.max)
    }

    /// Returns the smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    /// Returns the smoothed mean deviation; `None` before the first sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }

    /// Returns the newest sample.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Returns the shortest sample.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min
    }
}

/// Returns `old` moved towards `new` by the fraction 1 / `parts`.
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

    /// RFC 6298, 2.1 to 2.3: the timeout is one second, then R + 4 R/2, then follows the weights 1/4 and 1/8.
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

    /// RFC 7323, 4.2 and appendix G: with ten samples in a round trip, each has a tenth of the weight. All ten together
    /// move the estimate about as far as one sample: slightly less, because each moves it by a part of what remains.
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

    /// RFC 6298, 2.4 and 2.5: the timeout stays between the minimum and the maximum, also with back-off.
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

    /// On a path with constant round trips the timeout is one clock tick above the mean (`G` in RFC 6298, 2.3).
    #[test]
    fn a_steady_path_keeps_the_granularity() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP.with_min(Duration::ZERO));
        for _ in 0..200 {
            rtt.on_sample(ms(50));
        }
        assert_eq!(rtt.rto(), ms(51));
    }

    /// RFC 4341, section 5: CCID 2 may time out sooner than TCP. RFC 6298, 5.7: a repeated request makes the first
    /// timeout longer.
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

    /// Absurd samples saturate and do not panic.
    #[test]
    fn absurd_samples_saturate() {
        let mut rtt = RttEstimator::new(RtoConfig::TCP);
        rtt.on_sample(Duration::MAX);
        rtt.on_sample(Duration::ZERO);
        rtt.on_sample(Duration::MAX);
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}
