//! What of a run is looked at.

use fairwire_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use crate::quantity::Named;

/// The window that every run has.
pub const WHOLE: &str = "whole";

/// Windows of time, series and the metrics wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The metrics wanted, by their [names](results.md#metrics). These alone are written to files, and they are
    /// the columns of the table that `run` prints; without it that shows a few. Without `throughput` among them
    /// `max_seeds` has nothing to go by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Windows of time, half-open, beside `whole`, which is always there.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub windows: Named<Window>,
    /// The period of the time series that are written. Counts that need a period (`peak_throughput`,
    /// `cwnd_mean`) use 1 s if none is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Duration>,
    /// The play-out limit. A packet that comes later after its offer is overdue (`overdue`, `loss_playout`), and
    /// `timely` counts those that come within it after they left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "advice" = "a play-out limit of no time loses everything: write it as \"400 ms\""
    ))]
    pub playout: Option<Duration>,
    /// The window that `throughput_ratio` compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// A window of time, `[from, to)`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its beginning, or else the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// Its end, or else the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
}

impl Measure {
    /// Is `metric` wanted?
    pub fn wants(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }
}
