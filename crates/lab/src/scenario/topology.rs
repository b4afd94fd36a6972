//! The network of a scenario: links, and how they are joined.

use fairwire_net::{DropTailConfig, LossModel, QueueModel, VariationConfig};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::droptail;
use super::trace::{TraceFile, rounded};
use super::wlan::Wlan;
use crate::quantity::Named;

/// How links are joined.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TopologyKind {
    /// Links one after the other; every flow enters at one end and leaves at the other.
    Chain,
    /// Two routers joined by the bottleneck; each flow has a host of its own on each side.
    Dumbbell,
    /// Links between nodes with names, and flows between any two of them.
    Graph,
    /// Access points on one or two sides of a bottleneck, and stations that belong to them.
    Wlan,
}

/// The network.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// How links are joined.
    pub kind: TopologyKind,
    /// Dumbbell: the link between each host and its router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Link>,
    /// Dumbbell: the link between the routers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Link>,
    /// Chain: the links from left to right. Graph: the links in any order.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub links: Named<Link>,
    /// Wlan: access points and stations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wlan: Option<Wlan>,
}

/// A link and the queue before it, both ways alike unless `back` says otherwise.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["rate"] }, { "required": ["trace"] }]))]
pub struct Link {
    /// Graph: the two nodes that it joins, `["a", "b"]`; the way back is from the second to the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(equal = 2))]
    pub between: Vec<String>,
    /// Bits per second. A link has a rate or a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 bit/s",
        "advice" = "a link of rate zero carries nothing: write a rate as \"2 Mbit/s\""
    ))]
    pub rate: Option<Rate>,
    /// A file of times in place of a rate, as mahimahi has them: each line is a millisecond at which a packet of 1500
    /// bytes can leave. The path begins in the folder of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub trace: Option<TraceFile>,
    /// Propagation delay, one way.
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "a delay of more than an hour is surely not meant"
    ))]
    pub delay: Duration,
    /// Who waits, how much, and who is dropped; a size alone is a DropTail queue of it.
    #[serde(default = "default_queue")]
    pub queue: Chosen<dyn QueueModel>,
    /// What is lost behind the queue; a percentage alone is lost at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Chosen<dyn LossModel>>,
    /// How the delay varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<VariationConfig>,
    /// Bytes that the link adds to each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "65535 B",
        "advice" = "framing of more than 65535 bytes is surely not meant"
    ))]
    pub framing: Option<Size>,
    /// The largest IP packet that it takes; longer ones disappear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "minimum_quantity" = "576 B",
        "advice" = "an mtu of less than 576 bytes is no link of today: IPv4 hosts take that much"
    ))]
    pub mtu: Option<Size>,
    /// What is different from right to left: a table of the same keys, laid over the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("laid_over" = true))]
    pub back: Option<Box<Link>>,
}

fn default_queue() -> Chosen<dyn QueueModel> {
    droptail(DropTailConfig::default())
}

impl Link {
    /// A link of which nothing is said but this.
    pub(crate) fn plain(rate: Rate, delay: Duration, queue: Chosen<dyn QueueModel>) -> Self {
        Self {
            between: Vec::new(),
            rate: Some(rate),
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

    /// The link as it is from right to left.
    pub fn reversed(&self) -> &Self {
        self.back.as_deref().unwrap_or(self)
    }

    /// Its rate; that of a trace is the mean.
    pub fn mean_rate(&self) -> Rate {
        let traced = || self.trace.as_ref().map(TraceFile::mean_rate);
        self.rate.or_else(traced).unwrap_or(Rate::ZERO)
    }

    /// Have both the same rate, or the same trace?
    pub fn is_as_fast_as(&self, other: &Self) -> bool {
        (self.rate, &self.trace) == (other.rate, &other.trace)
    }

    /// Its rate in words: with a trace the mean, and where it is from.
    pub fn rate_words(&self) -> String {
        match &self.trace {
            Some(file) => format!("{} by {}", rounded(file.mean_rate()), file.name()),
            None => self.mean_rate().to_string(),
        }
    }

    /// Is anything random about it, either way: losses, delays, what its queue drops?
    pub fn is_random(&self) -> bool {
        [self, self.reversed()].into_iter().any(|link| {
            link.queue.is_random()
                || link.loss.as_ref().is_some_and(|loss| loss.is_random())
                || link.delay_variation.is_some()
        })
    }

    /// Bytes that the link adds to each packet, zero if nothing is said.
    pub fn framing_bytes(&self) -> u64 {
        self.framing.map_or(0, Size::bytes)
    }

    /// Its queue in words: the limit of a DropTail queue, or the discipline, too.
    pub fn queue_words(&self) -> String {
        match self.queue.kind() {
            "droptail" => self.queue.limit().to_string(),
            kind => format!("{} ({kind})", self.queue.limit()),
        }
    }
}

impl Topology {
    /// The links that a packet crosses from left to right, with their names; of a graph all links.
    pub fn path(&self) -> Vec<(&str, &Link)> {
        match self.kind {
            TopologyKind::Chain | TopologyKind::Graph => self.links.iter().collect(),
            TopologyKind::Wlan => {
                let middle = self.bottleneck.iter();
                middle.map(|link| ("bottleneck", link)).collect()
            }
            TopologyKind::Dumbbell => {
                let access = self.access.iter().map(|link| ("access", link));
                let middle = self.bottleneck.iter().map(|link| ("bottleneck", link));
                access.clone().chain(middle).chain(access).collect()
            }
        }
    }

    /// The names of the links that are measured: a chain's or a graph's, or the bottleneck.
    pub fn measured_links(&self) -> Vec<&str> {
        match self.kind {
            TopologyKind::Chain | TopologyKind::Graph => {
                self.links.iter().map(|(name, _)| name).collect()
            }
            TopologyKind::Dumbbell | TopologyKind::Wlan => {
                self.bottleneck.iter().map(|_| "bottleneck").collect()
            }
        }
    }

    /// The name of the link that most is measured at: the bottleneck, or the slowest of a chain or a graph.
    pub fn bottleneck_name(&self) -> Option<&str> {
        match self.kind {
            TopologyKind::Dumbbell => Some("bottleneck"),
            TopologyKind::Wlan => self.bottleneck.as_ref().map(|_| "bottleneck"),
            TopologyKind::Chain | TopologyKind::Graph => {
                let slowest = self.links.iter().min_by_key(|(_, link)| link.mean_rate());
                slowest.map(|(name, _)| name)
            }
        }
    }

    /// Every link both ways, by its path in `topology`: `bottleneck`, `links.NAME.back`.
    pub(crate) fn directions(&self) -> Vec<(String, &Link)> {
        let access = self.access.iter().map(|link| ("access".to_owned(), link));
        let middle = self.bottleneck.iter();
        let middle = middle.map(|link| ("bottleneck".to_owned(), link));
        let links = self.links.iter();
        let links = links.map(|(name, link)| (format!("links.{name}"), link));
        let mut all = Vec::new();
        for (path, link) in access.chain(middle).chain(links) {
            let back = link.back.as_deref();
            all.extend(back.map(|back| (format!("{path}.back"), back)));
            all.push((path, link));
        }
        all
    }

    /// Does any link lose packets at random, or does chance decide who sends?
    pub fn is_random(&self) -> bool {
        self.kind == TopologyKind::Wlan || self.path().iter().any(|(_, link)| link.is_random())
    }
}
