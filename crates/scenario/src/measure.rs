//! What is measured in a run.

use fairwire_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use crate::quantity::Named;

/// The window that every run has.
pub const WHOLE: &str = "whole";

/// The windows of time, the series and the metrics of a scenario.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The metrics to report, by their [names](results.md#metrics). Only these are written to files and shown in the
    /// table that `run` prints. Without this key files hold all metrics and the table shows a few. If `throughput` is
    /// not among them, only `seeds` seeds run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Half-open windows of time. The window `whole` always exists.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub windows: Named<Window>,
    /// The period of the time series. Without it no series are written, and metrics that need a period
    /// (`peak_throughput`, `cwnd_mean`) use 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Duration>,
    /// The playout limit. A packet that arrives later than this after its offer is overdue (`overdue`,
    /// `loss_playout`). `timely` counts the packets that arrive within this time after they left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "advice" = "a playout limit is above 0 s: write it as \"400 ms\""
    ))]
    pub playout: Option<Duration>,
    /// The window with which `throughput_ratio` compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// A window of time, `[from, to)`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The beginning of the window. The default is the beginning of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// The end of the window. The default is the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
}

impl Measure {
    /// Returns whether `metric` is wanted.
    pub fn wants(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }
}
