//! How the paper wifi-handoff averages flows that start late: its equations 1 to 8 as printed, and
//! as they should be.
//!
//! `S` is how long after the start of the run the late flows begin, `T` how long the run lasts.
//! The paper multiplies every mean of a late flow by `1 + S/T`, "to normalise". A mean per second over
//! the flow's own life is comparable as it is; a total that was collected in `T - S` grows to
//! `T` by `T / (T - S)`; a jitter is no total at all. Equation 15 is [`Repetitions`](crate::Repetitions).

/// When late flows begin, and how long a run is, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateStart {
    /// From the start of the run to that of the late flows.
    pub start: f64,
    /// The whole run.
    pub run: f64,
}

/// Equations 1 and 2: the mean over repetitions of what a first flow did. Nothing is wrong with
/// them. `None` of no repetitions.
pub fn over_repetitions(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Equations 3 and 4: the mean over repetitions of the mean over the flows of each. `None` of no
/// repetitions, or of one without flows.
pub fn over_flows(repetitions: &[&[f64]]) -> Option<f64> {
    let means = repetitions.iter().map(|flows| over_repetitions(flows));
    over_repetitions(&means.collect::<Option<Vec<f64>>>()?)
}

impl LateStart {
    /// Equation 5 as printed: `m + S (m / T)`, for throughput and load alike.
    pub fn as_printed(self, mean: f64) -> f64 {
        mean + self.start * (mean / self.run)
    }

    /// Equation 5 put right for a rate, which needs nothing.
    pub const fn rate(self, mean: f64) -> f64 {
        mean
    }

    /// Equation 5 put right for a total: `m T / (T - S)`.
    pub fn total(self, mean: f64) -> f64 {
        mean * self.run / (self.run - self.start)
    }

    /// Equations 6 to 8 as printed, for one flow: the differences of successive delays are summed, divided by
    /// the number of intervals of a whole run, `T - 1`, whatever the number of differences, and
    /// then multiplied as equation 5 does. Delays are readings of each second.
    pub fn jitter_as_printed(self, delays: &[f64]) -> f64 {
        self.as_printed(variation(delays) / (self.run - 1.0))
    }

    /// Equations 6 to 8 put right: the mean difference of successive delays, each difference once. `None` of
    /// fewer than two delays.
    pub fn jitter(self, delays: &[f64]) -> Option<f64> {
        let differences = delays.len().checked_sub(1).filter(|count| *count > 0)?;
        Some(variation(delays) / differences as f64)
    }
}

/// Equation 11 as printed: the `z` of a confidence of 95 % is that of `(1 - 0.05) / 2`, which it gives as
/// 0.975; that fraction is 0.475. What is meant, and used, is `1 - 0.05 / 2 = 0.975`.
pub const EQUATION_11: (f64, f64) = ((1.0 - 0.05) / 2.0, 1.0 - 0.05 / 2.0);

fn variation(delays: &[f64]) -> f64 {
    delays
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{EQUATION_11, LateStart, over_flows, over_repetitions};

    const PAPER: LateStart = LateStart {
        start: 20.0,
        run: 300.0,
    };

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9 * other.abs()
    }

    /// Two late flows of 2,000 and 4,000 and of 3,000 and 5,000 kbit/s: means 3,000 and 4,000, in all
    /// 3,500. A repetition without flows has no mean.
    #[test]
    fn means_of_means() {
        assert_eq!(
            over_flows(&[&[2_000.0, 4_000.0], &[3_000.0, 5_000.0]]),
            Some(3_500.0)
        );
        assert_eq!(over_flows(&[&[1.0], &[]]), None);
        assert_eq!(over_repetitions(&[]), None);
    }

    /// 3,000 kbit/s become 3,200 on paper and are 3,000. 280 MB collected in 280 s are 298.67 on paper and
    /// 300 in 300 s; with T = 100 s the paper's factor is 1.2 and the right one 1.25.
    #[test]
    fn equation_5() {
        assert!(close(PAPER.as_printed(3_000.0), 3_200.0));
        assert!(close(PAPER.rate(3_000.0), 3_000.0));
        assert!(close(PAPER.as_printed(280.0), 280.0 * 320.0 / 300.0));
        assert!(close(PAPER.total(280.0), 300.0));
        let short = LateStart {
            run: 100.0,
            ..PAPER
        };
        assert!(close(short.as_printed(1.0), 1.2));
        assert!(close(short.total(1.0), 1.25));
    }

    /// 10, 11, 9, 9 ms: differences of 1, 2 and 0, in the mean 1 ms. On paper they are spread over the 299
    /// intervals of a whole run. For 281 delays that alternate by 1 ms the paper has 280/299 x 1.0667 = 0.9989 ms:
    /// its two errors all but cancel at T = 300 s; with T = 100 s 81 delays give 80/99 x 1.2 = 0.9697.
    #[test]
    fn equations_6_to_8() {
        assert!(close(
            PAPER.jitter(&[10.0, 11.0, 9.0, 9.0]).expect("four delays"),
            1.0
        ));
        assert!(close(
            PAPER.jitter_as_printed(&[10.0, 11.0, 9.0, 9.0]),
            3.0 / 299.0 * 320.0 / 300.0
        ));
        assert_eq!(PAPER.jitter(&[10.0]), None);
        let alternating =
            |count: u32| -> Vec<f64> { (0..count).map(|i| f64::from(i % 2)).collect() };
        assert!((PAPER.jitter_as_printed(&alternating(281)) - 0.998_885).abs() < 1e-6);
        let short = LateStart {
            run: 100.0,
            ..PAPER
        };
        assert!((short.jitter_as_printed(&alternating(81)) - 0.969_697).abs() < 1e-6);
    }

    /// The misprint of equation 11.
    #[test]
    fn equation_11() {
        assert!(close(EQUATION_11.0, 0.475));
        assert!(close(EQUATION_11.1, 0.975));
    }
}
