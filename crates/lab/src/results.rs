//! What runs come to: values by cell, seed, subject, window and metric.
//!
//! `docs/results.md` describes the files written from these.

mod choice;
mod json;
mod output;
mod summary;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use fairwire_net::DigestValue;
use fairwire_units::Duration;
use serde::Serialize;

pub use crate::scenario::{Metric, WHOLE};
use crate::scenario::{Provenance, Scenario};
use crate::transport::TRANSPORTS;

pub use choice::{SeriesChoice, SeriesName};
pub use json::to_json;
pub(crate) use output::write_file;
pub use output::{Form, Output, OutputDirectory, Published, UNFINISHED};
pub use summary::{Row, summary};
pub use table::table;

/// Whom a value is about.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Subject {
    /// One direction of a flow: `NAME`, or `NAME/back` for the way back.
    Flow(String),
    /// One direction of a link: `NAME`, or `NAME/back` for right to left.
    Link(String),
    /// All flows together.
    All,
}

impl Subject {
    /// The flow called `name`.
    pub fn flow(name: &str) -> Self {
        Self::Flow(name.to_owned())
    }

    /// The link called `name`.
    pub fn link(name: &str) -> Self {
        Self::Link(name.to_owned())
    }

    /// `flow`, `link` or `all`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Flow(_) => "flow",
            Self::Link(_) => "link",
            Self::All => "all",
        }
    }

    /// Its name; empty for all.
    pub fn name(&self) -> &str {
        match self {
            Self::Flow(name) | Self::Link(name) => name,
            Self::All => "",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow(name) | Self::Link(name) => f.pad(name),
            Self::All => f.pad("all"),
        }
    }
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Whom it is about.
    pub subject: Subject,
    /// The window of time: `whole`, or one of the scenario's.
    pub window: String,
    /// What it is.
    pub metric: Metric,
    /// How much, in the metric's unit.
    pub value: f64,
}

/// Numbers over time, one per period.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Whom they are about.
    pub subject: Subject,
    /// What they are.
    pub metric: SeriesMetric,
    /// Value `i` belongs to `[i, i + 1)` periods; a gauge is read at the end of that. NaN where
    /// there is nothing to read.
    pub values: Vec<f64>,
}

/// What is kept over time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesMetric {
    /// Bits of IP packets delivered per second, bit/s.
    Throughput,
    /// Bits of payload delivered per second, bit/s.
    Goodput,
    /// Data packets dropped, packets.
    Dropped,
    /// Mean one-way delay of data packets that arrived in the period, s.
    Delay,
    /// Congestion window, packets.
    Cwnd,
    /// Slow-start threshold, packets.
    Ssthresh,
    /// The rate that the controller permits, bit/s.
    Rate,
    /// Smoothed round-trip time, s.
    Srtt,
    /// Loss event rate (TFRC), 0 to 1.
    LossEventRate,
    /// Mean queue, packets, the one in transmission included.
    Queue,
}

impl SeriesMetric {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Throughput,
        Self::Goodput,
        Self::Dropped,
        Self::Delay,
        Self::Cwnd,
        Self::Ssthresh,
        Self::Rate,
        Self::Srtt,
        Self::LossEventRate,
        Self::Queue,
    ];

    /// The one called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|metric| metric.name() == name)
    }

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Goodput => "goodput",
            Self::Dropped => "dropped",
            Self::Delay => "delay",
            Self::Cwnd => "cwnd",
            Self::Ssthresh => "ssthresh",
            Self::Rate => "rate",
            Self::Srtt => "srtt",
            Self::LossEventRate => "loss_event_rate",
            Self::Queue => "queue",
        }
    }

    /// The unit of its values; empty if they have none.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Throughput | Self::Goodput | Self::Rate => "bit/s",
            Self::Dropped | Self::Cwnd | Self::Ssthresh | Self::Queue => "packets",
            Self::Delay | Self::Srtt => "s",
            Self::LossEventRate => "",
        }
    }
}

/// One run: one cell, one seed.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Its seed.
    pub seed: u64,
    /// Were starts moved at random as the scenario says? False for the unperturbed run.
    pub perturbed: bool,
    /// Of everything seen on the wires.
    pub digest: DigestValue,
    /// Packets that came to the end of a link, over all links.
    pub packet_hops: u64,
    /// Simulated time that was run; less than the scenario's if the run was interrupted.
    pub simulated: Duration,
    /// The numbers.
    pub values: Vec<Value>,
    /// The period of the series.
    pub period: Duration,
    /// Numbers over time.
    pub series: Vec<Series>,
    /// What a reader should know: connections that ended early, datagrams refused.
    pub notes: Vec<String>,
    /// Packets written to the capture file, by protocol, if there was one.
    pub captured: Option<Captured>,
    /// Why the capture file is not complete, if it is not; the run is.
    pub capture_failure: Option<String>,
}

/// What a capture file got.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Captured(BTreeMap<&'static str, u64>);

impl Default for Captured {
    /// Nothing of each protocol.
    fn default() -> Self {
        Self(TRANSPORTS.iter().map(|name| (*name, 0)).collect())
    }
}

impl Captured {
    /// Packets of the protocol that scenarios call `transport`; `udp` without those that carry DCCP.
    pub fn packets(&self, transport: &str) -> u64 {
        self.0.get(transport).copied().unwrap_or(0)
    }

    /// One more packet was written.
    pub(crate) fn add(&mut self, transport: &'static str) {
        *self.0.entry(transport).or_default() += 1;
    }
}

/// All runs of a cell.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// The cell's name.
    pub name: String,
    /// The values of its axes, by their names.
    pub axes: Vec<(String, String)>,
    /// What was run.
    pub scenario: Scenario,
    /// Where its values come from, by dotted path.
    pub provenance: BTreeMap<String, Provenance>,
    /// The runs, by seed.
    pub runs: Vec<RunResult>,
    /// The run in which nothing was moved at random, where there is a difference.
    pub unperturbed: Option<RunResult>,
    /// True if it was interrupted: fewer runs than wanted.
    pub partial: bool,
}

/// The results of a scenario file.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The file or paper.
    pub name: String,
    /// Version of this program.
    pub version: &'static str,
    /// By cell, in the order of the file.
    pub cells: Vec<CellResult>,
    /// True if anything is missing because the run was interrupted.
    pub partial: bool,
    /// What a reader should know of all of it, beside the notes of runs.
    pub notes: Vec<String>,
}

impl RunResult {
    /// One value.
    pub fn value(&self, subject: &Subject, window: &str, metric: Metric) -> Option<f64> {
        self.values
            .iter()
            .find(|v| v.metric == metric && v.window == window && v.subject == *subject)
            .map(|v| v.value)
    }

    /// One series.
    pub fn series(&self, subject: &Subject, metric: SeriesMetric) -> Option<&[f64]> {
        self.series
            .iter()
            .find(|series| series.metric == metric && series.subject == *subject)
            .map(|series| series.values.as_slice())
    }
}

impl CellResult {
    /// One value per seed, of the seeds that have it.
    pub fn samples(&self, subject: &Subject, window: &str, metric: Metric) -> Vec<f64> {
        self.runs
            .iter()
            .filter_map(|run| run.value(subject, window, metric))
            .collect()
    }

    /// Which subjects, windows and metrics any run has, in order. Not every run has all: one without a loss has
    /// no first one.
    pub fn keys(&self) -> Vec<(Subject, String, Metric)> {
        let mut keys: Vec<(Subject, String, Metric)> = Vec::new();
        for run in self.runs.iter().chain(&self.unperturbed) {
            let is = |key: &(Subject, String, Metric), v: &Value| {
                key.2 == v.metric && key.1 == v.window && key.0 == v.subject
            };
            // Runs are nearly always alike, so each key is looked for behind the one before it first.
            let mut next = 0;
            for value in &run.values {
                let mut places = (next..keys.len()).chain(0..next.min(keys.len()));
                if let Some(place) = places.find(|place| is(&keys[*place], value)) {
                    next = place + 1;
                } else {
                    let key = (value.subject.clone(), value.window.clone(), value.metric);
                    keys.insert(next, key);
                    next += 1;
                }
            }
        }
        keys
    }
}

impl Results {
    /// Nothing yet.
    pub(crate) fn empty(name: String) -> Self {
        Self {
            name,
            version: env!("CARGO_PKG_VERSION"),
            cells: Vec::new(),
            partial: false,
            notes: Vec::new(),
        }
    }

    /// The cell called `name`.
    pub fn cell(&self, name: &str) -> Option<&CellResult> {
        self.cells.iter().find(|cell| cell.name == name)
    }
}
