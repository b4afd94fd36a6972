//! Seeds taken together: a mean and its interval for each key.

use fairwire_measure::{Confidence, Estimate, Moments};

use super::{CellResult, Metric, Subject};

/// One key of a cell over all its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whom it is about.
    pub subject: Subject,
    /// The window of time.
    pub window: String,
    /// What it is.
    pub metric: Metric,
    /// Mean over the seeds with its 95 % interval (Student's t); `None` if no seed has a value.
    pub estimate: Option<Estimate>,
    /// The unperturbed run's value.
    pub unperturbed: Option<f64>,
}

/// One row per key, in the order of results.
pub fn summary(cell: &CellResult) -> Vec<Row> {
    cell.keys()
        .into_iter()
        .map(|(subject, window, metric)| cell.row(subject, &window, metric))
        .collect()
}

impl CellResult {
    /// Mean over the seeds with its 95 % interval (Student's t).
    pub fn estimate(&self, subject: &Subject, window: &str, metric: Metric) -> Option<Estimate> {
        self.estimate_with(subject, window, metric, Confidence::STUDENT_95)
    }

    /// The same with another kind of interval.
    pub fn estimate_with(
        &self,
        subject: &Subject,
        window: &str,
        metric: Metric,
        confidence: Confidence,
    ) -> Option<Estimate> {
        let samples = self.samples(subject, window, metric);
        let moments: Moments = samples.into_iter().collect();
        moments.estimate(confidence)
    }

    /// Everything about one key.
    pub fn row(&self, subject: Subject, window: &str, metric: Metric) -> Row {
        Row {
            estimate: self.estimate(&subject, window, metric),
            unperturbed: self
                .unperturbed
                .as_ref()
                .and_then(|run| run.value(&subject, window, metric)),
            subject,
            window: window.to_owned(),
            metric,
        }
    }
}
