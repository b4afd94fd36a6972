//! Delay that varies from packet to packet.
//!
//! The link's delay is the mean of a distribution with a given standard deviation, and each packet draws its own delay.
//! Whether a packet may overtake the one before it is a separate setting. A real path that queues packets does not
//! reorder them; one that spreads packets over several paths does.

use fairwire_units::{Duration, Instant};

use crate::{LinkContext, Stream};

/// The settings of a [`DelayVariation`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct VariationConfig {
    /// The standard deviation around the link's delay.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "maximum_quantity" = "1 h",
            "advice" = "deviation and hold must be at most 1 h"
        ))
    )]
    pub deviation: Duration,
    /// The shape of the distribution.
    #[cfg_attr(feature = "settings", serde(default))]
    pub distribution: Distribution,
    /// How long a drawn delay is used for all packets. With zero each packet draws its own.
    #[cfg_attr(
        feature = "settings",
        serde(default),
        schemars(extend(
            "maximum_quantity" = "1 h",
            "advice" = "deviation and hold must be at most 1 h"
        ))
    )]
    pub hold: Duration,
    /// Whether packets may overtake each other.
    #[cfg_attr(feature = "settings", serde(default))]
    pub reorders: bool,
}

impl VariationConfig {
    /// Builds the delay variation of `link`.
    pub fn build(&self, link: &LinkContext<'_>) -> DelayVariation {
        let stream = link.stream("delay");
        let variation = DelayVariation::new(self.distribution, self.deviation, stream);
        let variation = variation.holding(self.hold);
        if self.reorders {
            variation.reordering()
        } else {
            variation
        }
    }
}

/// The shape of a distribution of delays.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Distribution {
    /// The normal distribution. A negative delay becomes zero.
    #[default]
    Normal,
    /// The uniform distribution from `mean - sqrt(3) deviation` to `mean + sqrt(3) deviation`. A negative delay becomes
    /// zero.
    Uniform,
    /// The Pareto distribution, which has a least delay and a heavy tail. Mean `m` and deviation `s` give the shape `a
    /// = 1 + sqrt(1 + (m/s)^2)` and the least delay `m (a - 1) / a`.
    Pareto,
}

/// The delay variation of a link.
#[derive(Clone, Debug)]
pub struct DelayVariation {
    distribution: Distribution,
    deviation: Duration,
    hold: Duration,
    reorders: bool,
    /// Which packets are not delayed at all, if any.
    overtakes: Option<Overtaking>,
    stream: Stream,
    /// The last drawn delay, and until when it is used.
    drawn: Option<(Duration, Instant)>,
}

/// The packets that overtake all others: each with this probability, after so many that did not.
#[derive(Clone, Copy, Debug)]
struct Overtaking {
    probability: f64,
    gap: u32,
    passed: u32,
}

impl DelayVariation {
    /// Creates a variation with this standard deviation around the link's delay, and a new delay for each packet.
    ///
    /// Packets stay in order: a later one waits for the earlier one.
    pub fn new(distribution: Distribution, deviation: Duration, stream: Stream) -> Self {
        Self {
            distribution,
            deviation,
            hold: Duration::ZERO,
            reorders: false,
            overtakes: None,
            stream,
            drawn: None,
        }
    }

    /// Uses each drawn delay for this long: packets that leave within it have the same delay.
    pub fn holding(mut self, hold: Duration) -> Self {
        self.hold = hold;
        self
    }

    /// Lets packets overtake each other.
    pub fn reordering(mut self) -> Self {
        self.reorders = true;
        self
    }

    /// Lets a packet pass without delay with this probability, and so overtake those before it. At least `gap - 1`
    /// packets between two of them are delayed.
    pub fn overtaking(mut self, probability: f64, gap: u32) -> Self {
        self.reorders = true;
        self.overtakes = Some(Overtaking {
            probability,
            gap,
            passed: 0,
        });
        self
    }

    pub(crate) fn reorders(&self) -> bool {
        self.reorders
    }

    /// Returns the delay of a packet that leaves at `departs`, on a link with the mean delay `mean`.
    pub(crate) fn delay(&mut self, departs: Instant, mean: Duration) -> Duration {
        if let Some(overtakes) = &mut self.overtakes {
            overtakes.passed += 1;
            if overtakes.passed >= overtakes.gap && self.stream.bool(overtakes.probability) {
                overtakes.passed = 0;
                return Duration::ZERO;
            }
        }
        if let Some((delay, until)) = self.drawn
            && departs < until
        {
            return delay;
        }
        let delay = self.draw(mean);
        self.drawn = Some((delay, departs + self.hold));
        delay
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        let (m, s) = (mean.as_secs_f64(), self.deviation.as_secs_f64());
        let seconds = match self.distribution {
            Distribution::Normal => m + s * self.stream.normal(),
            Distribution::Uniform => m + s * f64::sqrt(3.0) * (2.0 * self.stream.uniform() - 1.0),
            Distribution::Pareto if s > 0.0 => {
                let shape = 1.0 + (1.0 + (m / s) * (m / s)).sqrt();
                let least = m * (shape - 1.0) / shape;
                // 1 - u is in (0, 1]: 1 gives the least delay, and values near 0 give the tail.
                least * libm::pow(1.0 - self.stream.uniform(), -1.0 / shape)
            }
            Distribution::Pareto => m,
        };
        Duration::from_secs_f64(seconds.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{DelayVariation, Distribution};
    use crate::Streams;
    use fairwire_units::{Duration, Instant};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn variation(distribution: Distribution, deviation: Duration) -> DelayVariation {
        let stream = Streams::new(1).stream("middle/delay");
        DelayVariation::new(distribution, deviation, stream)
    }

    /// Every distribution has the given mean and deviation.
    #[test]
    fn mean_and_deviation_are_met() {
        for (distribution, tolerance) in [
            // Tolerances of the deviation, relative to it. Four standard errors, sqrt((kurtosis - 1) / 4n), are 0.9 %
            // for the normal and 0.6 % for the uniform distribution. The Pareto distribution has shape 11.05 and an
            // excess kurtosis of 13.4, which gives 2.5 %.
            (Distribution::Normal, 0.009),
            (Distribution::Uniform, 0.006),
            (Distribution::Pareto, 0.025),
        ] {
            let mut variation = variation(distribution, ms(10));
            let n = 100_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let off = variation.delay(Instant::START, ms(100)).as_secs_f64() - 0.1;
                sum += off;
                squares += off * off;
            }
            let mean = sum / f64::from(n);
            // Four standard errors: 4 * 10 ms / sqrt(n).
            assert!(
                mean.abs() < 0.04 / f64::from(n).sqrt(),
                "{distribution:?}: {mean}"
            );
            let deviation = (squares / f64::from(n) - mean * mean).sqrt();
            let off = (deviation / 0.01 - 1.0).abs();
            assert!(off < tolerance, "{distribution:?}: {deviation}");
        }
    }

    /// The uniform distribution ends at sqrt(3) deviations, and no delay is negative.
    ///
    /// The Pareto distribution starts at its least delay, 100 ms * 10.05 / 11.05 = 90.95 ms.
    #[test]
    fn ends_are_where_they_should_be() {
        let mut uniform = variation(Distribution::Uniform, ms(10));
        let mut pareto = variation(Distribution::Pareto, ms(10));
        let mut normal = variation(Distribution::Normal, ms(10));
        let mut negative = false;
        for _ in 0..10_000 {
            let delay = uniform.delay(Instant::START, ms(100)).as_secs_f64();
            assert!((0.082_679..0.117_321).contains(&delay), "{delay}");
            assert!(pareto.delay(Instant::START, ms(100)) >= Duration::from_micros(90_949));
            negative |= normal.delay(Instant::START, ms(1)).is_zero();
        }
        assert!(
            negative,
            "a mean of a tenth of the deviation is cut at zero"
        );
    }

    /// With a deviation of zero every delay is the link's delay, whatever the shape.
    #[test]
    fn no_deviation_is_no_variation() {
        for distribution in [
            Distribution::Normal,
            Distribution::Uniform,
            Distribution::Pareto,
        ] {
            let mut variation = variation(distribution, Duration::ZERO);
            assert_eq!(variation.delay(Instant::START, ms(7)), ms(7));
        }
    }

    /// A drawn delay is used for exactly as long as given.
    #[test]
    fn a_delay_holds() {
        let mut variation = variation(Distribution::Normal, ms(10)).holding(ms(50));
        let first = variation.delay(Instant::START, ms(100));
        let almost = Instant::from_nanos(49_999_999);
        assert_eq!(variation.delay(almost, ms(100)), first);
        assert_ne!(variation.delay(Instant::START + ms(50), ms(100)), first);
    }

    /// Packets that overtake have no delay, are as many as asked for, and are apart by the gap.
    #[test]
    fn some_packets_overtake() {
        let mut all = variation(Distribution::Normal, Duration::ZERO).overtaking(0.25, 1);
        let delays = (0..10_000).map(|_| all.delay(Instant::START, ms(7)));
        let overtook = delays.filter(|delay| delay.is_zero()).count();
        // Four standard errors of 10,000 draws: 4 * sqrt(0.25 * 0.75 * 10,000).
        assert!(overtook.abs_diff(2_500) < 174, "{overtook}");
        let mut fifth = variation(Distribution::Normal, Duration::ZERO).overtaking(1.0, 5);
        let delays: Vec<u64> = (0..10)
            .map(|_| fifth.delay(Instant::START, ms(7)).as_millis())
            .collect();
        assert_eq!(delays, [7, 7, 7, 7, 0, 7, 7, 7, 7, 0]);
    }
}
