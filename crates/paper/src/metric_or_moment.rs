//! What a quantity measures: a metric or a moment of a series.

use fairwire_sim::results::Metric;

/// A metric or a moment of a series.
#[derive(Clone, Debug)]
pub(super) enum MetricOrMoment {
    Metric(Metric),
    /// A moment, by its name in the paper's file.
    Moment(String),
}

impl MetricOrMoment {
    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Metric(metric) => metric.name(),
            Self::Moment(name) => name,
        }
    }
}
