//! Models of a link beyond rate, delay and DropTail: losses in bursts, bit errors, delay that varies,
//! queues that manage themselves. `docs/models/` says what each is and how it was validated.

use fairwire_units::{Duration, Packets, Percent, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: the Gilbert-Elliott chain, a step per packet.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// How likely a good link is bad for the next packet.
    pub good_to_bad: Percent,
    /// How likely a bad link is good for the next packet.
    pub bad_to_good: Percent,
    /// What a good link loses.
    #[serde(default = "nothing")]
    pub loss_good: Percent,
    /// What a bad link loses.
    #[serde(default = "everything")]
    pub loss_bad: Percent,
}

/// Delay that varies around the link's.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DelayVariation {
    /// Its standard deviation.
    pub deviation: Duration,
    /// The shape.
    #[serde(default)]
    pub distribution: Distribution,
    /// How long what was drawn holds; a new delay for each packet if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Duration>,
    /// May packets overtake each other?
    #[serde(default)]
    pub reorders: bool,
}

/// The shape of a distribution of delays.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Normal, cut at zero.
    #[default]
    Normal,
    /// Even, cut at zero.
    Uniform,
    /// Pareto's.
    Pareto,
}

/// Random Early Detection (Floyd and Jacobson, 1993).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// An average below it signals nothing.
    pub min: Packets,
    /// From this average on everything is signalled, unless `gentle`.
    pub max: Packets,
    /// The probability as the average comes to `max`.
    #[serde(default = "ten_percent")]
    pub max_p: Percent,
    /// The weight of the newest sample in the average.
    #[serde(default = "weight")]
    pub weight: f64,
    /// Does the probability go on to 1 at twice `max`?
    #[serde(default = "yes")]
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them?
    #[serde(default)]
    pub ecn: bool,
    /// The typical packet: what an idle link could have sent.
    #[serde(default = "typical")]
    pub mean_packet: Size,
}

/// Controlled Delay (RFC 8289).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// The time in the queue that is accepted as standing.
    #[serde(default = "target")]
    pub target: Duration,
    /// How long it may be exceeded.
    #[serde(default = "interval")]
    pub interval: Duration,
    /// A queue with at most so much left drops nothing.
    #[serde(default = "keeps")]
    pub keeps: Size,
    /// Mark ECN-capable packets instead of dropping them?
    #[serde(default)]
    pub ecn: bool,
}

fn nothing() -> Percent {
    Percent::NONE
}

fn everything() -> Percent {
    Percent::ALL
}

fn ten_percent() -> Percent {
    Percent::of(0.1)
}

fn weight() -> f64 {
    0.002
}

fn yes() -> bool {
    true
}

fn typical() -> Size {
    Size::new(1_000)
}

fn target() -> Duration {
    Duration::from_millis(5)
}

fn interval() -> Duration {
    Duration::from_millis(100)
}

fn keeps() -> Size {
    Size::new(1_500)
}
