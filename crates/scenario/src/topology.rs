//! The network of a scenario: links, and how they are joined.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::link::{Joined, Link};
use super::schema::KIND;
use super::wlan::Wlan;
use crate::quantity::Named;

/// The network: links, and how they are joined.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Topology {
    /// Links in series. Every flow enters at one end and leaves at the other.
    Chain(Chain),
    /// Two routers joined by the bottleneck. Each flow has a host of its own on each side.
    Dumbbell(Dumbbell),
    /// Links between named nodes. A flow may go from any node to any other.
    Graph(Graph),
    /// Access points on one or both sides of a bottleneck, and stations that belong to them.
    Wlan(Wireless),
}

/// Links in series.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The links from left to right.
    pub links: Named<Link>,
}

/// Two routers, and a host of each flow on each side.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// The link between each host and its router.
    pub access: Link,
    /// The link between the routers.
    pub bottleneck: Link,
}

/// Links between named nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The links, in any order.
    pub links: Named<Joined>,
}

/// Access points, stations, and the wires behind them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wireless {
    /// The link between an access point, or a wired host, and its switch.
    pub access: Link,
    /// The link between the two switches. Without it there is only one switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Link>,
    /// The access points and stations.
    pub wlan: Wlan,
}

impl<'de> Deserialize<'de> for Topology {
    /// Reads a table that begins with its `kind`, as serde writes it. It passes the rest on in order, so that errors
    /// keep their places and links their order. A derived implementation would buffer the table first.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByKind)
    }
}

struct ByKind;

impl<'de> Visitor<'de> for ByKind {
    type Value = Topology;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table that begins with its 'kind'")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Topology, A::Error> {
        let kind = match map.next_entry::<String, String>()? {
            Some((key, kind)) if key == KIND => kind,
            _ => return Err(A::Error::custom("a network begins with its 'kind'")),
        };
        of_kind(&kind, MapAccessDeserializer::new(map))
    }
}

fn of_kind<'de, D: Deserializer<'de>>(kind: &str, rest: D) -> Result<Topology, D::Error> {
    match kind {
        "chain" => Chain::deserialize(rest).map(Topology::Chain),
        "dumbbell" => Dumbbell::deserialize(rest).map(Topology::Dumbbell),
        "graph" => Graph::deserialize(rest).map(Topology::Graph),
        "wlan" => Wireless::deserialize(rest).map(Topology::Wlan),
        other => {
            let known = &["chain", "dumbbell", "graph", "wlan"];
            Err(D::Error::unknown_variant(other, known))
        }
    }
}

impl Topology {
    /// Returns its links with their names, each once, in the order of the file; the access link of a dumbbell comes
    /// first.
    pub fn links(&self) -> Vec<(&str, &Link)> {
        match self {
            Self::Chain(chain) => chain.links.iter().collect(),
            Self::Dumbbell(Dumbbell { access, bottleneck }) => {
                vec![("access", access), ("bottleneck", bottleneck)]
            }
            Self::Graph(graph) => {
                let links = graph.links.iter();
                links.map(|(name, joined)| (name, &joined.link)).collect()
            }
            Self::Wlan(wireless) => {
                let access = [("access", &wireless.access)].into_iter();
                let middle = wireless.bottleneck.iter();
                access
                    .chain(middle.map(|link| ("bottleneck", link)))
                    .collect()
            }
        }
    }

    /// Returns the link called `name`.
    pub fn link(&self, name: &str) -> Option<&Link> {
        let mut links = self.links().into_iter();
        links.find_map(|(known, link)| (known == name).then_some(link))
    }

    /// Returns the names of the links that are measured: all of a chain or a graph, or else the bottleneck.
    pub fn measured_links(&self) -> Vec<&str> {
        let links = self.links().into_iter();
        let names = links.map(|(name, _)| name);
        match self {
            Self::Chain(_) | Self::Graph(_) => names.collect(),
            Self::Dumbbell(_) | Self::Wlan(_) => {
                names.filter(|name| *name == "bottleneck").collect()
            }
        }
    }

    /// Returns the path in `topology` of the link called `name`: `bottleneck`, `links.NAME`.
    pub(crate) fn path(&self, name: &str) -> String {
        match self {
            Self::Chain(_) | Self::Graph(_) => format!("links.{name}"),
            Self::Dumbbell(_) | Self::Wlan(_) => name.to_owned(),
        }
    }

    /// Returns every link by its path in `topology`, with its way back if that differs: `bottleneck`,
    /// `links.NAME.back`.
    pub fn directions(&self) -> Vec<(String, &Link)> {
        let mut all = Vec::new();
        for (name, link) in self.links() {
            let path = self.path(name);
            let back = link.back.as_deref();
            all.extend(back.map(|back| (format!("{path}.back"), back)));
            all.push((path, link));
        }
        all
    }

    /// Returns whether anything in the network is random. In a wlan backoffs always are.
    pub fn is_random(&self) -> bool {
        let wireless = matches!(self, Self::Wlan(_));
        wireless || self.links().iter().any(|(_, link)| link.is_random())
    }

    /// Returns its access points and stations, if it has any.
    pub fn wlan(&self) -> Option<&Wlan> {
        match self {
            Self::Wlan(wireless) => Some(&wireless.wlan),
            Self::Chain(_) | Self::Dumbbell(_) | Self::Graph(_) => None,
        }
    }
}
