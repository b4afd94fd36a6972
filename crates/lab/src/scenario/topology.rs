//! The network of a scenario: links, and how they are joined.

use fairwire_units::{Duration, Packets, Percent, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::models::{BurstLoss, Codel, DelayVariation, Red};
use super::quantity::{Named, QueueLimit};
use super::wlan::Wlan;

/// How links are joined.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TopologyKind {
    /// Links one after the other; every flow enters at one end and leaves at the other.
    Chain,
    /// Two routers joined by the bottleneck; each flow has a host of its own on each side.
    Dumbbell,
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
    /// Chain: the links from left to right.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub links: Named<Link>,
    /// Wlan: access points and stations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wlan: Option<Wlan>,
}

/// A link and the queue before it, both ways alike unless `back` says otherwise.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bits per second.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// What the DropTail queue holds beside the packet that is being sent.
    #[serde(default = "default_queue")]
    pub queue: QueueLimit,
    /// Does the packet in transmission count against the queue's size?
    #[serde(default)]
    pub queue_counts: QueueCounts,
    /// Packets lost at random, each by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percent>,
    /// Of how many packets one is lost, in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_every: Option<Packets>,
    /// Packets lost in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Bits that are wrong, out of one; a packet with one is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_errors: Option<f64>,
    /// How the delay varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<DelayVariation>,
    /// A queue with RED instead of DropTail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// A queue with `CoDel` instead of DropTail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<Codel>,
    /// Bytes that the link adds to each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Size>,
    /// The largest IP packet that it takes; longer ones disappear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
    /// What is different from right to left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<LinkBack>,
}

/// What a queue's size is compared with.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// What waits.
    #[default]
    Waiting,
    /// What waits and what is being transmitted; `DropTail` of ns-2 amounts to this.
    Transmission,
}

/// What is different on the way back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkBack {
    /// Bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// What the queue holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// Packets lost at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percent>,
    /// Of how many packets one is lost, in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_every: Option<Packets>,
    /// Packets lost in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Bits that are wrong, out of one; a packet with one is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_errors: Option<f64>,
    /// How the delay varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<DelayVariation>,
    /// A queue with RED instead of DropTail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// A queue with `CoDel` instead of DropTail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<Codel>,
    /// Bytes that the link adds to each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Size>,
    /// The largest IP packet that it takes; longer ones disappear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
}

/// A thousand packets: ample, and still a bound.
fn default_queue() -> QueueLimit {
    QueueLimit::Packets(1_000)
}

impl Link {
    /// A link of which nothing is said but this.
    pub(crate) fn plain(rate: Rate, delay: Duration, queue: QueueLimit) -> Self {
        Self {
            rate,
            delay,
            queue,
            queue_counts: QueueCounts::default(),
            loss: None,
            loss_every: None,
            burst_loss: None,
            bit_errors: None,
            delay_variation: None,
            red: None,
            codel: None,
            framing: None,
            mtu: None,
            back: None,
        }
    }

    /// The link as it is from right to left.
    pub fn reversed(&self) -> Self {
        let back = self.back.clone().unwrap_or_default();
        // A way of losing packets, or of managing a queue, takes the place of every other.
        let own = back.loss.is_some()
            || back.loss_every.is_some()
            || back.burst_loss.is_some()
            || back.bit_errors.is_some();
        let manages = back.red.is_some() || back.codel.is_some();
        Self {
            rate: back.rate.unwrap_or(self.rate),
            delay: back.delay.unwrap_or(self.delay),
            queue: back.queue.unwrap_or(self.queue),
            queue_counts: self.queue_counts,
            loss: if own { back.loss } else { self.loss },
            loss_every: if own {
                back.loss_every
            } else {
                self.loss_every
            },
            burst_loss: if own {
                back.burst_loss
            } else {
                self.burst_loss
            },
            bit_errors: if own {
                back.bit_errors
            } else {
                self.bit_errors
            },
            delay_variation: back.delay_variation.or(self.delay_variation),
            red: if manages { back.red } else { self.red },
            codel: if manages { back.codel } else { self.codel },
            framing: back.framing.or(self.framing),
            mtu: back.mtu.or(self.mtu),
            back: None,
        }
    }

    /// Is anything random about it, either way: losses, delays, what RED drops?
    pub fn is_random(&self) -> bool {
        [self, &self.reversed()].into_iter().any(|link| {
            link.loss.is_some_and(|loss| loss.fraction() > 0.0)
                || link.bit_errors.is_some_and(|rate| rate > 0.0)
                || link.burst_loss.is_some()
                || link.delay_variation.is_some()
                || link.red.is_some()
        })
    }

    /// Bytes that the link adds to each packet, zero if nothing is said.
    pub fn framing_bytes(&self) -> u64 {
        self.framing.map_or(0, Size::bytes)
    }
}

impl Topology {
    /// The links that a packet crosses from left to right, with their names.
    pub fn path(&self) -> Vec<(&str, &Link)> {
        match self.kind {
            TopologyKind::Chain => self.links.iter().collect(),
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

    /// The names of the links that are measured: a chain's, or the bottleneck.
    pub fn measured_links(&self) -> Vec<&str> {
        match self.kind {
            TopologyKind::Chain => self.links.iter().map(|(name, _)| name).collect(),
            TopologyKind::Dumbbell | TopologyKind::Wlan => {
                self.bottleneck.iter().map(|_| "bottleneck").collect()
            }
        }
    }

    /// The name of the link that most is measured at: the bottleneck, or the slowest of a chain.
    pub fn bottleneck_name(&self) -> Option<&str> {
        match self.kind {
            TopologyKind::Dumbbell => Some("bottleneck"),
            TopologyKind::Wlan => self.bottleneck.as_ref().map(|_| "bottleneck"),
            TopologyKind::Chain => {
                let slowest = self.links.iter().min_by_key(|(_, link)| link.rate);
                slowest.map(|(name, _)| name)
            }
        }
    }

    /// Does any link lose packets at random, or does chance decide who sends?
    pub fn is_random(&self) -> bool {
        self.kind == TopologyKind::Wlan || self.path().iter().any(|(_, link)| link.is_random())
    }
}
