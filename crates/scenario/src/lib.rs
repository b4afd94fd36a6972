//! Scenarios: experiments as data, with the [`traffic`] and the [`transport`]s that they name.
//!
//! A scenario file holds a base and named cells, each a set of overrides. A [`ScenarioFile`] reads the file and lays
//! cells and `--set` over the base. It returns [`Cell`]s, which are checked and ready to run. Every error is a
//! [`ScenarioError`] that points at its line. `docs/scenario.md` and the pages of `docs/scenario` describe the format.

mod argument;
mod argument_axis;
mod bdp;
mod check;
pub mod choices;
mod complete;
mod expected;
mod explain;
mod family;
mod file;
pub mod files;
mod flow;
mod graph;
pub mod hint;
mod key_path;
mod link;
mod measure;
mod metric;
mod notes;
pub mod place;
mod preset;
mod quantity;
mod queue;
pub mod read;
mod resolved;
mod schema;
mod setting;
pub mod shorten;
mod shortened;
mod topology;
mod trace;
mod traces;
pub mod traffic;
pub mod transport;
pub mod tree;
mod voice;
mod wiring;
mod wlan;

use fairwire_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::quantity::{MinRto, Named, QuantityError, StartOffset};
pub use crate::transport::dccp::{CcidChange, Dccp, Receive, SendQueue, Sending, Stack};
pub use crate::transport::tcp::{Preset, Tcp};
pub use crate::transport::udp::Udp;
pub use argument::WrittenDuration;
pub use explain::{Explained, explain, explain_sourced};
pub use fairwire_proto::{
    Ccid2Config, Ccid3Config, Encapsulation, QueuePolicy, ReceiveQueuePolicy,
};
pub use fairwire_units::{Packets, Percent};
pub use family::matches_pattern;
pub use family::{Families, find_cell, plain, word};
pub use file::{Adjust, Cell, DUMBBELL, ScenarioFile};
pub use flow::{Flow, Side};
pub use link::{Joined, Link, RateChange};
pub use measure::{Measure, WHOLE, Window};
pub use metric::{Metric, UnknownMetric};
pub use notes::notes;
pub use place::ScenarioError;
pub use resolved::Resolved;
pub use schema::{documented, file_schema};
pub use topology::{Chain, Dumbbell, Graph, Topology, Wireless};
pub use trace::TraceFile;
pub use tree::{Provenance, Source};
pub use voice::{CodecName, RTP_HEADER};
pub use wiring::Wiring;
pub use wlan::{AccessPoint, Decibels, HandOff, Station, Wlan};

/// One complete experiment: every setting has a value.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The experiment in one line.
    pub title: String,
    /// What the experiment shows, in one or two sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The paper that the scenario reproduces. With it, every value of `topology` and `flows`, and `run.duration`,
    /// needs a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// The duration of a run, and the number of runs.
    pub run: Run,
    /// The network.
    pub topology: Topology,
    /// The flows: what each sends, from where to where, and by which protocol.
    pub flows: Named<Flow>,
    /// What is measured.
    #[serde(default)]
    pub measure: Measure,
}

/// The duration of a run and the number of runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The simulated time of one run.
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "100 h",
        "advice" = "the duration is above 0 s and at most 100 h: a run stores a record for each second"
    ))]
    pub duration: Duration,
    /// The least number of seeds.
    #[serde(default = "ten")]
    #[schemars(
        range(min = 1, max = 10_000),
        extend("advice" = "the number of seeds is 1 to 10000")
    )]
    pub seeds: u32,
    /// The greatest number of seeds. More than `seeds` run until the mean throughput of each flow in each window is
    /// known to ±5 % (95 % confidence): n = (1.96 s / (0.05 mean))², with the mean and the standard deviation s of the
    /// first `seeds` runs. If `seeds` is above 30 and this key is absent, it equals `seeds`.
    #[serde(default = "thirty")]
    #[schemars(range(max = 10_000), extend("advice" = "at most 10000 seeds"))]
    pub max_seeds: u32,
    /// The first seed. The others are the numbers that follow it.
    #[serde(default = "first")]
    pub seed: u64,
    /// The largest random delay of each flow's start, drawn uniformly from zero up: `"rtt"` (one round trip of the
    /// flow's empty path), `"none"`, or a time.
    #[serde(default)]
    pub start_offset: StartOffset,
}

fn ten() -> u32 {
    10
}

fn thirty() -> u32 {
    30
}

fn first() -> u64 {
    1
}

impl Scenario {
    /// Returns the flows that take part.
    pub fn enabled_flows(&self) -> impl Iterator<Item = (&str, &Flow)> {
        self.flows.iter().filter(|(_, flow)| flow.enabled)
    }

    /// Returns the largest random delay of the start of `flow`; zero if starts are fixed.
    pub fn start_range(&self, flow: &Flow) -> Duration {
        match self.run.start_offset {
            StartOffset::None => Duration::ZERO,
            StartOffset::UpTo(time) => time,
            StartOffset::Rtt => self.empty_rtt(flow),
        }
    }

    /// Returns whether any link, source or jitter draws at random. Random starts do not count.
    fn is_random_by_itself(&self) -> bool {
        let mut flows = self.enabled_flows();
        self.topology.is_random() || flows.any(|(_, flow)| flow.is_random())
    }

    /// Returns whether anything is random, so that runs with different seeds differ.
    pub fn is_random(&self) -> bool {
        self.is_random_by_itself()
            || self
                .enabled_flows()
                .any(|(_, flow)| !self.start_range(flow).is_zero())
    }

    /// Returns whether random starts are the only random part. If so, the results also show the run without them.
    pub fn is_perturbed_only(&self) -> bool {
        !self.is_random_by_itself() && self.is_random()
    }

    /// Returns the round-trip time of `flow` on an empty path: a data packet forth, and a packet of 40 bytes back.
    pub fn empty_rtt(&self, flow: &Flow) -> Duration {
        let extra = flow.extra_delay.unwrap_or_default();
        let mut rtt = extra + extra;
        for (way, bytes) in [
            (self.topology.data_route(flow), flow.wire_bytes()),
            (self.topology.ack_route(flow), 40),
        ] {
            for hop in way {
                let bytes = u64::from(bytes) + hop.link.framing_bytes();
                rtt += hop.link.delay
                    + hop
                        .link
                        .mean_rate()
                        .time_for(fairwire_units::Size::new(bytes));
            }
        }
        rtt
    }
}
