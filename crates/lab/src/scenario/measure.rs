//! What of a run is looked at.

use fairwire_units::Duration;
use serde::{Deserialize, Serialize};

use super::quantity::{Named, text_option};
use crate::results::Metric;

/// Windows of time, series and the metrics wanted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The metrics wanted; all if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Windows by name, beside `whole`, which is always there.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub windows: Named<Window>,
    /// The period of the time series; none is kept if it does not say.
    #[serde(with = "text_option", default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Duration>,
    /// How long after its offer a packet is played: what comes later is as good as lost.
    #[serde(with = "text_option", default, skip_serializing_if = "Option::is_none")]
    pub playout: Option<Duration>,
    /// The window whose throughput is the whole of `throughput_ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// A window of time, `[from, to)`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its beginning; the run's if it does not say.
    #[serde(with = "text_option", default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// Its end; the run's if it does not say.
    #[serde(with = "text_option", default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
}

impl Measure {
    /// Is `metric` wanted?
    pub fn wants(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }
}
