//! Summaries over seeds: a mean and its interval for each key.

use fairwire_measure::{Confidence, Estimate, Moments};

use super::{CellResult, Metric, Subject};

/// The values of one key of a cell over all its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it describes: a flow, a link, or all flows.
    pub subject: Subject,
    /// The window of time.
    pub window: String,
    /// Its metric.
    pub metric: Metric,
    /// Mean over the seeds with its 95 % interval (Student's t); `None` if no seed has a value.
    pub estimate: Option<Estimate>,
    /// The value of the unperturbed run.
    pub unperturbed: Option<f64>,
}

/// Returns one row per key, in the order of the results.
pub fn summary(cell: &CellResult) -> Vec<Row> {
    cell.keys()
        .into_iter()
        .map(|(subject, window, metric)| cell.row(subject, &window, metric))
        .collect()
}

impl CellResult {
    /// Returns the mean over the seeds with its 95 % interval (Student's t).
    pub fn estimate(&self, subject: &Subject, window: &str, metric: Metric) -> Option<Estimate> {
        self.estimate_with(subject, window, metric, Confidence::STUDENT_95)
    }

    /// Returns the mean over the seeds with an interval of the given kind.
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

    /// Returns the row of one key.
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
