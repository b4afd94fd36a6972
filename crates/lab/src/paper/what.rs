//! What is measured: a metric, or a moment read off a series.

use crate::results::Metric;

/// What is measured.
#[derive(Clone, Debug)]
pub(super) enum What {
    Metric(Metric),
    /// By its name in the paper's file.
    Moment(String),
}
