//! A link of a scenario: its rate, its delay, its queue, and its losses.

use std::fmt::{self, Write as _};

use fairwire_net::{DropTailConfig, LossModel, QueueModel, VariationConfig};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::de::{
    DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer,
};
use serde::{Deserialize, Deserializer, Serialize};

use super::queue::droptail;
use super::trace::{TraceFile, rounded};

/// A link and the queue before it. Both directions are alike, unless `back` says otherwise.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("choices" = [{
    "keys": ["rate", "trace"],
    "least": 1,
    "most": 1,
    "advice": "a link has a 'rate', or a 'trace' in its place"
}]))]
pub struct Link {
    /// The rate. A link has a rate or a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 bit/s",
        "advice" = "a link of rate zero carries nothing: write a rate as \"2 Mbit/s\""
    ))]
    pub rate: Option<Rate>,
    /// The rates from later moments of the run on, in the order of their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
    /// A file of departure times in place of a rate, in the format of mahimahi: each line is a millisecond at which a
    /// packet of 1500 bytes can leave. A relative path begins in the folder of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub trace: Option<TraceFile>,
    /// The propagation delay, one way.
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "a delay is at most 1 h"
    ))]
    pub delay: Duration,
    /// The queue before the link. A size alone means a DropTail queue of that size.
    #[serde(default = "default_queue")]
    pub queue: Chosen<dyn QueueModel>,
    /// The loss model, applied after the queue. A percentage alone means independent random losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Chosen<dyn LossModel>>,
    /// The variation of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<VariationConfig>,
    /// The bytes that the link adds to each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "65535 B",
        "advice" = "framing is at most 65535 bytes"
    ))]
    pub framing: Option<Size>,
    /// The largest IP packet that the link carries. Larger packets are dropped without a message to the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "minimum_quantity" = "576 B",
        "advice" = "an mtu is at least 576 bytes: every IPv4 host accepts packets of that size"
    ))]
    pub mtu: Option<Size>,
    /// The settings that differ from right to left: a table of the same keys, laid over the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("laid_over" = true))]
    pub back: Option<Box<Link>>,
}

/// A change of a link's rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RateChange {
    /// The time of the change, from the beginning of the run.
    pub at: Duration,
    /// The rate from then on. At `"0 bit/s"` nothing leaves.
    pub rate: Rate,
}

fn default_queue() -> Chosen<dyn QueueModel> {
    droptail(DropTailConfig::default())
}

impl Link {
    /// Returns a link with these settings and no others.
    pub fn plain(rate: Rate, delay: Duration, queue: Chosen<dyn QueueModel>) -> Self {
        Self {
            rate: Some(rate),
            rate_changes: Vec::new(),
            trace: None,
            delay,
            queue,
            loss: None,
            delay_variation: None,
            framing: None,
            mtu: None,
            back: None,
        }
    }

    /// Returns the link as it is from right to left.
    pub fn reversed(&self) -> &Self {
        self.back.as_deref().unwrap_or(self)
    }

    /// Returns its rate at the beginning; with a trace, the mean rate.
    pub fn mean_rate(&self) -> Rate {
        let traced = || self.trace.as_ref().map(TraceFile::mean_rate);
        self.rate.or_else(traced).unwrap_or(Rate::ZERO)
    }

    /// Returns whether both have the same rate at all times, or the same trace.
    pub fn is_as_fast_as(&self, other: &Self) -> bool {
        let rates = |it: &Self| (it.rate, it.rate_changes.clone());
        rates(self) == rates(other) && self.trace == other.trace
    }

    /// Returns its rates in words; with a trace, the mean rate and the name of the trace.
    pub fn rate_words(&self) -> String {
        if let Some(file) = &self.trace {
            return format!("{} by {}", rounded(file.mean_rate()), file.name());
        }
        let mut words = self.mean_rate().to_string();
        for change in &self.rate_changes {
            let _ = write!(words, ", {} from {}", change.rate, change.at);
        }
        words
    }

    /// Returns whether losses, delays or queue drops are random in either direction.
    pub fn is_random(&self) -> bool {
        [self, self.reversed()].into_iter().any(|link| {
            link.queue.is_random()
                || link.loss.as_ref().is_some_and(|loss| loss.is_random())
                || link.delay_variation.is_some()
        })
    }

    /// Returns the bytes that the link adds to each packet; zero by default.
    pub fn framing_bytes(&self) -> u64 {
        self.framing.map_or(0, Size::bytes)
    }

    /// Returns its queue in words: the limit and the discipline.
    pub fn queue_words(&self) -> String {
        format!("{} ({})", self.queue.limit(), self.queue.kind())
    }
}

/// A link and the nodes that it joins.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(extend("additionalProperties" = false))]
pub struct Joined {
    /// The two nodes that the link joins: `["a", "b"]`. Its way back is from the second to the first.
    #[schemars(extend("advice" = "a link joins two nodes: between = [\"a\", \"b\"]"))]
    pub between: [String; 2],
    /// The link.
    #[serde(flatten)]
    pub link: Link,
}

/// The key of a link's table that names its nodes.
pub(super) const BETWEEN: &str = "between";

impl<'de> Deserialize<'de> for Joined {
    /// Passes all keys but `between` on to [`Link`] one by one. A derived implementation would buffer them, and errors
    /// would lose their places.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Joined;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of a link, with the nodes that it joins")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Joined, A::Error> {
        let mut between = None;
        let rest = Rest {
            map,
            between: &mut between,
        };
        let link = Link::deserialize(MapAccessDeserializer::new(rest))?;
        let between = between.ok_or_else(|| A::Error::missing_field(BETWEEN))?;
        Ok(Joined { between, link })
    }
}

/// A table without the key `between`, whose value it keeps.
struct Rest<'a, A> {
    map: A,
    between: &'a mut Option<[String; 2]>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key != BETWEEN {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            *self.between = Some(self.map.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
