//! Wired networks with numbered nodes. Chains and dumbbells are graphs whose nodes need no names in the file.

use std::collections::BTreeMap;

use fairwire_net::{LinkId, NodeId, route};

use super::flow::{Flow, Side};
use super::link::Link;
use super::topology::{Chain, Dumbbell, Graph, Topology};

/// The nodes of a network and the wires between them.
#[derive(Debug, Default)]
pub struct Wiring<'a> {
    /// The names of the nodes, in the order in which wires name them.
    pub nodes: Vec<String>,
    numbers: BTreeMap<String, NodeId>,
    /// The wires between them.
    pub wires: Vec<Wire<'a>>,
}

/// A link between two nodes, in both directions.
#[derive(Debug)]
pub struct Wire<'a> {
    /// Its name in captures and results: `bottleneck`, `access/left/FLOW`.
    pub name: String,
    /// The name of its table in the scenario.
    pub table: &'a str,
    /// Its settings.
    pub link: &'a Link,
    /// Its nodes. In the network of a run, the direction from the first to the second is numbered first.
    pub ends: (NodeId, NodeId),
    /// Whether the direction from the first node to the second is its way back.
    pub is_reversed: bool,
    /// Whether results include it.
    pub is_measured: bool,
}

/// The names of a dumbbell's left router and of a chain's left end.
const LEFT: &str = "left";
const RIGHT: &str = "right";

impl<'a> Wiring<'a> {
    /// Returns the wires of `topology`, which `flows` cross; `None` for a wlan.
    pub fn of(topology: &'a Topology, flows: &[(&str, &Flow)]) -> Option<Self> {
        match topology {
            Topology::Chain(chain) => Some(Self::chain(chain)),
            Topology::Dumbbell(dumbbell) => Some(Self::dumbbell(dumbbell, flows)),
            Topology::Graph(graph) => Some(Self::graph(graph)),
            Topology::Wlan(_) => None,
        }
    }

    /// Returns the wires of a chain, whose nodes are `left`, `1`, `2`, ... and `right`.
    fn chain(chain: &'a Chain) -> Self {
        let mut wiring = Self::default();
        let last = chain.links.iter().count();
        let node = |number: usize| match number {
            0 => LEFT.to_owned(),
            number if number == last => RIGHT.to_owned(),
            number => number.to_string(),
        };
        for (number, (name, link)) in chain.links.iter().enumerate() {
            let ends = (node(number), node(number + 1));
            wiring.join((name, link), ends);
        }
        wiring
    }

    /// Returns the wires of a dumbbell. Its routers are `left` and `right`, and the hosts of a flow `left/FLOW` and
    /// `right/FLOW`.
    fn dumbbell(dumbbell: &'a Dumbbell, flows: &[(&str, &Flow)]) -> Self {
        let mut wiring = Self::default();
        let routers = (LEFT.to_owned(), RIGHT.to_owned());
        let middle = ("bottleneck", &dumbbell.bottleneck);
        wiring.join(middle, routers);
        for (flow, _) in flows {
            for side in [LEFT, RIGHT] {
                wiring.join_host(side, flow, &dumbbell.access);
            }
        }
        wiring
    }

    /// Returns the wires of a graph.
    pub fn graph(graph: &'a Graph) -> Self {
        let mut wiring = Self::default();
        for (name, joined) in graph.links.iter() {
            let [a, b] = joined.between.clone();
            wiring.join((name, &joined.link), (a, b));
        }
        wiring
    }

    fn join(&mut self, (name, link): (&'a str, &'a Link), (a, b): (String, String)) {
        let ends = (self.number(a), self.number(b));
        self.wires.push(Wire {
            name: name.to_owned(),
            table: name,
            link,
            ends,
            is_reversed: false,
            is_measured: true,
        });
    }

    /// Does the same for a host's link in a dumbbell, which begins at the host on either side.
    fn join_host(&mut self, side: &str, flow: &str, link: &'a Link) {
        let host = host(side, flow);
        let ends = (self.number(host.clone()), self.number(side.to_owned()));
        self.wires.push(Wire {
            name: format!("access/{host}"),
            table: "access",
            link,
            ends,
            is_reversed: side == RIGHT,
            is_measured: false,
        });
    }

    fn number(&mut self, name: String) -> NodeId {
        let nodes = &mut self.nodes;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            nodes.push(name.clone());
            NodeId(u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Returns the number of the node called `name`: its index among the nodes.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.numbers.get(name).copied()
    }

    /// Returns the two ends of `flow`: its sender and receiver if it names them, or else its left and right end. `None`
    /// if it names a node that does not exist.
    pub fn ends_of(&self, name: &str, flow: &Flow) -> Option<(NodeId, NodeId)> {
        if let (Some(sender), Some(receiver)) = (&flow.sender, &flow.receiver) {
            return Some((self.node(sender)?, self.node(receiver)?));
        }
        let end = |side| self.node(&host(side, name)).or_else(|| self.node(side));
        Some((end(LEFT)?, end(RIGHT)?))
    }

    /// Returns the wires of the route with the fewest hops, and whether each is crossed on its way back.
    pub(super) fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<(&Wire<'a>, bool)>> {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let both = |wire: &Wire<'_>| [wire.ends, (wire.ends.1, wire.ends.0)];
        let ends: Vec<_> = self.wires.iter().flat_map(both).collect();
        let wire = |LinkId(number): LinkId| {
            let wire = self.wires.get(number as usize / 2)?;
            Some((wire, (number % 2 == 1) != wire.is_reversed))
        };
        route(nodes, &ends, from, to)?
            .into_iter()
            .map(wire)
            .collect()
    }
}

/// Returns the name of the host of `flow` on a side of a dumbbell.
fn host(side: &str, flow: &str) -> String {
    format!("{side}/{flow}")
}

/// A link on the route of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'a> {
    /// The name of its table in the scenario.
    pub(super) table: &'a str,
    /// Whether it is crossed on its way back: from right to left, or from its second node to its first.
    pub(super) is_back: bool,
    /// The link as it is in that direction.
    pub(super) link: &'a Link,
}

impl Topology {
    /// Returns the links from the sender of `flow` to its receiver.
    pub(super) fn data_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Right)
    }

    /// Returns the links from the receiver of `flow` to its sender.
    pub(super) fn ack_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Left)
    }

    /// Returns the links of a route; none if an end of `flow` does not exist, which a checked scenario rules out. In a
    /// wlan only the link between the switches is sure to be on the route.
    fn route(&self, flow: &Flow, is_back: bool) -> Vec<Hop<'_>> {
        if let Self::Wlan(wireless) = self {
            let middle = wireless.bottleneck.iter();
            return middle
                .map(|link| Hop::new("bottleneck", link, is_back))
                .collect();
        }
        self.wired_route(flow, is_back).unwrap_or_default()
    }

    fn wired_route(&self, flow: &Flow, is_back: bool) -> Option<Vec<Hop<'_>>> {
        let wiring = Wiring::of(self, &[("", flow)])?;
        let (left, right) = wiring.ends_of("", flow)?;
        let (from, to) = if is_back {
            (right, left)
        } else {
            (left, right)
        };
        let route = wiring.route(from, to)?;
        let hops = route.into_iter();
        let hops = hops.map(|(wire, is_back)| Hop::new(wire.table, wire.link, is_back));
        Some(hops.collect())
    }
}

impl<'a> Hop<'a> {
    fn new(table: &'a str, link: &'a Link, is_back: bool) -> Self {
        let link = if is_back { link.reversed() } else { link };
        Self {
            table,
            is_back,
            link,
        }
    }
}
