//! Results of runs: values by cell, seed, subject, window and metric.
//!
//! `docs/results.md` describes the files that are written from these.

mod axis;
mod choice;
mod json;
mod output;
mod question;
mod representative;
mod summary;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use fairwire_net::DigestValue;
use fairwire_units::Duration;
use serde::Serialize;

use fairwire_scenario::transport::TRANSPORTS;
pub use fairwire_scenario::{Metric, UnknownMetric, WHOLE};
use fairwire_scenario::{Provenance, Scenario, matches_pattern};

pub use axis::{Axis, AxisKind, Unit};
pub use choice::{SeriesChoice, SeriesName};
pub use json::{means_to_json, to_json};
pub use output::{Form, Output, OutputDirectory, Placement, UNFINISHED};
pub use output::{is_of_results, make_directory, obstacle, write_file};
pub use question::{Answers, Question, means};
pub use representative::Representative;
pub use summary::{Row, summary};
pub use table::{Grid, NO_VALUE, Tables, WindowTables, tables};
pub use table::{overview, table, table_of_means};

/// The subject of a value: a flow, a link, or all flows together.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Subject {
    /// One direction of a flow: `NAME` from its sender, or `NAME/back` for the reverse direction.
    Flow(String),
    /// One direction of a link: `NAME`, or `NAME/back` for right to left.
    Link(String),
    /// All flows together.
    All,
}

impl Subject {
    /// Returns the subject for the flow called `name`.
    pub fn flow(name: &str) -> Self {
        Self::Flow(name.to_owned())
    }

    /// Returns the subject for the link called `name`.
    pub fn link(name: &str) -> Self {
        Self::Link(name.to_owned())
    }

    /// Returns `flow`, `link` or `all`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Flow(_) => "flow",
            Self::Link(_) => "link",
            Self::All => "all",
        }
    }

    /// Returns whether a pattern means it: `all` is all flows together. A star stands neither for them nor for a slash,
    /// which is in the names of the directions back.
    pub fn is_named(&self, pattern: &str) -> bool {
        match self {
            Self::All => ["all", ""].contains(&pattern),
            Self::Flow(name) | Self::Link(name) => {
                pattern.contains('/') == name.contains('/') && matches_pattern(pattern, name)
            }
        }
    }

    /// Returns its name; empty for all flows together.
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

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it describes: a flow, a link, or all flows.
    pub subject: Subject,
    /// The window of time: `whole`, or one of the scenario's.
    pub window: String,
    /// Its metric.
    pub metric: Metric,
    /// The value, in the metric's unit.
    pub value: f64,
}

/// A time series, with one value per period.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it describes: a flow, a link, or all flows.
    pub subject: Subject,
    /// Its metric.
    pub metric: SeriesMetric,
    /// Value `i` covers the periods `[i, i + 1)`; a gauge is read at the end of its period.
    ///
    /// NaN where there is no reading.
    pub values: Vec<f64>,
}

/// The metrics that are kept as time series.
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
    /// Mean queue length, packets, including the one in transmission.
    Queue,
}

impl SeriesMetric {
    /// All metrics of time series.
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

    /// Finds the metric called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|metric| metric.name() == name)
    }

    /// Returns its name in files.
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

    /// Returns the unit of its values; empty for a plain number.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Throughput | Self::Goodput | Self::Rate => "bit/s",
            Self::Dropped | Self::Cwnd | Self::Ssthresh | Self::Queue => "packets",
            Self::Delay | Self::Srtt => "s",
            Self::LossEventRate => "",
        }
    }
}

/// There is no time series of this name. The message lists those that there are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownSeries(String);

impl fmt::Display for UnknownSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = SeriesMetric::ALL.iter().map(|it| it.name()).collect();
        write!(f, "no series {:?}: there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownSeries {}

impl FromStr for SeriesMetric {
    type Err = UnknownSeries;

    fn from_str(name: &str) -> Result<Self, UnknownSeries> {
        Self::find(name).ok_or_else(|| UnknownSeries(name.to_owned()))
    }
}

/// The result of one run: one cell with one seed.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Its seed.
    pub seed: u64,
    /// Whether start times were moved at random as the scenario says; false for the unperturbed run.
    pub perturbed: bool,
    /// The digest of everything seen on the wires.
    pub digest: DigestValue,
    /// The number of packets that reached the end of a link, over all links.
    pub packet_hops: u64,
    /// The simulated time; less than the scenario's if the run was interrupted.
    pub simulated: Duration,
    /// The values.
    pub values: Vec<Value>,
    /// The period of the series.
    pub period: Duration,
    /// The time series.
    pub series: Vec<Series>,
    /// Notes for the reader, for example on connections that ended early or datagrams that were refused.
    pub notes: Vec<String>,
    /// The number of packets in the capture file by protocol, if there was one.
    pub captured: Option<Captured>,
    /// Why the capture file is incomplete, if it is; the run itself is complete.
    pub capture_failure: Option<String>,
}

/// The contents of a capture file: the number of packets of each protocol.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Captured(BTreeMap<&'static str, u64>);

impl Default for Captured {
    /// Returns a count of zero for each protocol.
    fn default() -> Self {
        Self(TRANSPORTS.iter().map(|name| (*name, 0)).collect())
    }
}

impl Captured {
    /// Returns the number of packets of `transport`, as scenarios call it; `udp` excludes those that carry DCCP.
    pub fn packets(&self, transport: &str) -> u64 {
        self.0.get(transport).copied().unwrap_or(0)
    }

    /// Counts one more packet.
    pub(crate) fn add(&mut self, transport: &'static str) {
        *self.0.entry(transport).or_default() += 1;
    }
}

/// The results of all runs of a cell.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// The cell's name.
    pub name: String,
    /// The values of its axes, with the names of the axes.
    pub axes: Vec<(String, String)>,
    /// The resolved scenario.
    pub scenario: Scenario,
    /// The sources of its values, by dotted path.
    pub provenance: BTreeMap<String, Provenance>,
    /// The runs, in order of their seeds.
    pub runs: Vec<RunResult>,
    /// The unperturbed run, if the cell has one.
    pub unperturbed: Option<RunResult>,
    /// Whether it was interrupted, so that there are fewer runs than planned.
    pub partial: bool,
}

/// The results of a scenario file.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The name of the file or paper.
    pub name: String,
    /// The version of this program.
    pub version: &'static str,
    /// The cells, in the order of the file.
    pub cells: Vec<CellResult>,
    /// Whether anything is missing because the run was interrupted.
    pub partial: bool,
    /// Notes on all runs together, in addition to the notes of single runs.
    pub notes: Vec<String>,
}

impl RunResult {
    /// Returns one value, if the run has it.
    pub fn value(&self, subject: &Subject, window: &str, metric: Metric) -> Option<f64> {
        self.values
            .iter()
            .find(|v| v.metric == metric && v.window == window && v.subject == *subject)
            .map(|v| v.value)
    }

    /// Returns one time series, if the run has it.
    pub fn series(&self, subject: &Subject, metric: SeriesMetric) -> Option<&[f64]> {
        self.series
            .iter()
            .find(|series| series.metric == metric && series.subject == *subject)
            .map(|series| series.values.as_slice())
    }
}

impl CellResult {
    /// Returns the values of the seeds that have one.
    pub fn samples(&self, subject: &Subject, window: &str, metric: Metric) -> Vec<f64> {
        self.runs
            .iter()
            .filter_map(|run| run.value(subject, window, metric))
            .collect()
    }

    /// Returns the notes of its runs, each once.
    pub fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for run in self.runs.iter().chain(&self.unperturbed) {
            for note in &run.notes {
                if !notes.contains(&note.as_str()) {
                    notes.push(note);
                }
            }
        }
        notes
    }

    /// Returns the subjects, windows and metrics that any run has, in order.
    ///
    /// Not every run has all of them: one without a loss has no time of the first loss.
    pub fn keys(&self) -> Vec<(Subject, String, Metric)> {
        let mut keys: Vec<(Subject, String, Metric)> = Vec::new();
        for run in self.runs.iter().chain(&self.unperturbed) {
            let is = |key: &(Subject, String, Metric), v: &Value| {
                key.2 == v.metric && key.1 == v.window && key.0 == v.subject
            };
            // Runs mostly have the same keys in the same order, so the search begins after the key before.
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
    /// Returns results without cells.
    pub(crate) fn empty(name: String) -> Self {
        Self {
            name,
            version: env!("CARGO_PKG_VERSION"),
            cells: Vec::new(),
            partial: false,
            notes: Vec::new(),
        }
    }

    /// Finds the cell called `name`.
    pub fn cell(&self, name: &str) -> Option<&CellResult> {
        self.cells.iter().find(|cell| cell.name == name)
    }
}
