//! Scenarios: experiments as data.
//!
//! A scenario file holds a base and named cells, each a set of overrides; a [`ScenarioFile`]
//! reads it, lays cells and `--set` over the base and gives [`Cell`]s, which are checked and
//! ready to run. Every refusal is a [`ScenarioError`] that points at its line.
//! `docs/scenario.md` describes the format.

mod argument;
mod bdp;
mod beside;
mod check;
pub(crate) mod choices;
mod complete;
mod crossed;
mod explain;
mod family;
mod file;
mod flow;
mod graph;
mod link;
mod measure;
mod metric;
mod notes;
pub(crate) mod place;
mod preset;
mod queue;
pub(crate) mod read;
mod schema;
mod setting;
pub(crate) mod shorten;
mod shortened;
#[cfg(test)]
mod tests;
mod topology;
mod trace;
mod traces;
pub(crate) mod tree;
mod voice;
mod wiring;
mod wlan;

use fairwire_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::quantity::{MinRto, Named, QuantityError, StartOffset};
pub use crate::transport::dccp::{CcidChange, Dccp, Receive, SendQueue, Stack};
pub use crate::transport::tcp::{Preset, Tcp};
pub use crate::transport::udp::Udp;
pub use explain::{Explained, explain};
pub use fairwire_proto::{
    Ccid2Config, Ccid3Config, Encapsulation, QueuePolicy, ReceiveQueuePolicy,
};
pub use fairwire_units::{Packets, Percent};
pub(crate) use family::{Families, literal, plain, word};
pub use file::{Adjust, Cell, DUMBBELL, ScenarioFile};
pub use flow::{Flow, Side};
pub use link::{Joined, Link};
pub use measure::{Measure, WHOLE, Window};
pub use metric::Metric;
pub use notes::notes;
pub use place::ScenarioError;
pub use schema::{documented, file_schema};
pub use topology::{Chain, Dumbbell, Graph, Topology, Wireless};
pub use trace::TraceFile;
pub use tree::{Provenance, Source};
pub use voice::{CodecName, RTP_HEADER};
pub(crate) use wiring::Wiring;
pub use wlan::{AccessPoint, Decibels, HandOff, Station, Wlan};

/// One experiment, complete: nothing is left to defaults.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is, in a line.
    pub title: String,
    /// What it shows, in a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The paper that it reproduces. Then every value of `topology`, `flows` and `run.duration` needs a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// How long and how often.
    pub run: Run,
    /// The network.
    pub topology: Topology,
    /// Who sends what.
    pub flows: Named<Flow>,
    /// What is looked at.
    #[serde(default)]
    pub measure: Measure,
}

/// How long a run is and how many there are.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time.
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "100 h",
        "advice" = "a run takes some time, and at most 100 hours: it keeps what happened in each second"
    ))]
    pub duration: Duration,
    /// Seeds at least.
    #[serde(default = "ten")]
    #[schemars(
        range(min = 1, max = 10_000),
        extend("advice" = "at least one seed is needed, and at most 10000 seeds run")
    )]
    pub seeds: u32,
    /// Seeds at most. In between, as many run as bring each flow's throughput in each window within 5 %:
    /// n = (1.96 s / (0.05 mean))² over the first `seeds` runs. More `seeds` than the default are as many at
    /// most where nothing else is said.
    #[serde(default = "thirty")]
    #[schemars(range(max = 10_000), extend("advice" = "at most 10000 seeds"))]
    pub max_seeds: u32,
    /// The first seed; the others follow it.
    #[serde(default = "first")]
    pub seed: u64,
    /// How far the starts of flows are moved at random, uniformly, in every cell: `"rtt"` (up to one round trip of the
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
    /// The flows that take part.
    pub fn enabled_flows(&self) -> impl Iterator<Item = (&str, &Flow)> {
        self.flows.iter().filter(|(_, flow)| flow.enabled)
    }

    /// How far the start of `flow` may be moved; zero where starts are fixed.
    pub fn start_range(&self, flow: &Flow) -> Duration {
        match self.run.start_offset {
            StartOffset::None => Duration::ZERO,
            StartOffset::UpTo(time) => time,
            StartOffset::Rtt => self.empty_rtt(flow),
        }
    }

    /// Does any link, source or jitter draw at random, starts not counted?
    fn is_random_by_itself(&self) -> bool {
        let mut flows = self.enabled_flows();
        self.topology.is_random() || flows.any(|(_, flow)| flow.is_random())
    }

    /// Is anything random, so that seeds differ?
    pub fn is_random(&self) -> bool {
        self.is_random_by_itself()
            || self
                .enabled_flows()
                .any(|(_, flow)| !self.start_range(flow).is_zero())
    }

    /// Are random starts the only thing that is random? Then the run without them is shown, too.
    pub fn is_perturbed_only(&self) -> bool {
        !self.is_random_by_itself() && self.is_random()
    }

    /// The round-trip time of `flow`'s path when nobody else is on it: a data packet there, a
    /// header of 40 bytes back.
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
