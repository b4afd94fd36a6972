//! Moments: times found in a series by rules that a paper's file states.

use fairwire_units::Duration;
use serde::Deserialize;

use fairwire_sim::results::{RunResult, SeriesMetric, Subject};

/// The time at which a smoothed series first comes close to its maximum.
///
/// Smoothing is a centred mean over an odd number of periods; only places where all of them exist count. The moment is
/// the middle of the first such place whose mean is at least `1 - within` times the greatest mean.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The rule in words.
    pub meaning: String,
    /// The series: `throughput`, `goodput`, `cwnd` or `queue`.
    series: String,
    /// The time that a mean covers.
    mean_over: String,
    /// How close to the maximum counts as close, as a share of the maximum.
    within: f64,
}

impl Moment {
    /// Returns what is wrong with it, if anything.
    pub(super) fn validate(&self) -> Option<String> {
        if self.metric().is_none() {
            return Some(format!("unknown series '{}'", self.series));
        }
        if self.span().is_none_or(Duration::is_zero) {
            return Some(format!("'{}' is not a time as \"11 s\"", self.mean_over));
        }
        let small = (0.0..1.0).contains(&self.within);
        (!small).then(|| "'within' is a share: 0.01 is one per cent".to_owned())
    }

    /// Returns the moment in `run`, in seconds from its beginning.
    pub(super) fn at(&self, run: &RunResult, subject: &Subject) -> Option<f64> {
        let series = run.series(subject, self.metric()?)?;
        let period = run.period.as_secs_f64();
        let half = half_width(self.span()?, run.period)?;
        let smooth: Vec<f64> = series
            .windows(2 * half + 1)
            .map(|part| part.iter().sum::<f64>() / part.len() as f64)
            .collect();
        let greatest = smooth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !greatest.is_finite() || greatest <= 0.0 {
            return None;
        }
        let enough = greatest * (1.0 - self.within);
        let first = smooth.iter().position(|mean| *mean >= enough)?;
        Some(((first + half) as f64 + 0.5) * period)
    }

    fn metric(&self) -> Option<SeriesMetric> {
        use SeriesMetric as S;
        [S::Throughput, S::Goodput, S::Cwnd, S::Queue]
            .into_iter()
            .find(|metric| metric.name() == self.series)
    }

    fn span(&self) -> Option<Duration> {
        self.mean_over.parse().ok()
    }
}

/// Returns the number of periods on each side of the middle one.
fn half_width(span: Duration, period: Duration) -> Option<usize> {
    let periods = span.as_nanos().checked_div(period.as_nanos())?;
    usize::try_from(periods / 2).ok()
}

#[cfg(test)]
mod tests {
    use super::Moment;
    use crate::synthetic::run_with_throughput;
    use fairwire_sim::results::Subject;

    fn moment() -> Moment {
        Moment {
            meaning: "when it first comes within 1 % of its maximum".into(),
            series: "throughput".into(),
            mean_over: "3 s".into(),
            within: 0.01,
        }
    }

    /// A ramp that ends in a plateau reaches it where the ramp comes within 1 % of it, even if one period has a higher
    /// value.
    #[test]
    fn a_ramp_reaches_its_plateau() {
        let mut series: Vec<f64> = (0..200).map(|t| f64::from(t.min(100))).collect();
        let at =
            |series: &[f64]| moment().at(&run_with_throughput(1, series), &Subject::flow("dccp"));
        assert_eq!(at(&series), Some(99.5));
        series[40] = 130.0;
        assert_eq!(at(&series), Some(99.5));
    }

    /// A flow that sends nothing and a run shorter than the mean have no such moment.
    #[test]
    fn silence_has_no_maximum() {
        let silent = run_with_throughput(1, &[0.0; 20]);
        assert_eq!(moment().at(&silent, &Subject::flow("dccp")), None);
        let short = run_with_throughput(1, &[5.0, 6.0]);
        assert_eq!(moment().at(&short, &Subject::flow("dccp")), None);
    }

    /// A rule that cannot be applied is reported when the paper is loaded.
    #[test]
    fn impossible_rules_are_told() {
        assert_eq!(moment().validate(), None);
        for (series, mean_over, within) in [
            ("speed", "3 s", 0.1),
            ("cwnd", "3", 0.1),
            ("cwnd", "3 s", 1.0),
        ] {
            let broken = Moment {
                series: series.into(),
                mean_over: mean_over.into(),
                within,
                ..moment()
            };
            assert!(broken.validate().is_some(), "{broken:?}");
        }
    }
}
