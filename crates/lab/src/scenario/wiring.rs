//! Networks of wires with their nodes numbered: chains and dumbbells are graphs whose nodes need no names in the file.

use std::collections::BTreeMap;

use fairwire_net::{LinkId, NodeId, route};

use super::flow::{Flow, Side};
use super::link::Link;
use super::topology::{Chain, Dumbbell, Graph, Topology};

/// Nodes, and the wires between them.
#[derive(Debug, Default)]
pub(crate) struct Wiring<'a> {
    /// The names of the nodes, in the order in which wires name them.
    pub(crate) nodes: Vec<String>,
    numbers: BTreeMap<String, NodeId>,
    pub(crate) wires: Vec<Wire<'a>>,
}

/// A link between two nodes, there and back.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    /// Its name in captures and results: `bottleneck`, `access/left/FLOW`.
    pub(crate) name: String,
    /// Its name in the scenario: that of its table.
    pub(crate) table: &'a str,
    pub(crate) link: &'a Link,
    /// Its nodes; in the ground of a run its direction from the first to the second is numbered first.
    pub(crate) ends: (NodeId, NodeId),
    /// Is the direction from the first node to the second its way back?
    pub(crate) is_turned: bool,
    /// Do results have it?
    pub(crate) is_measured: bool,
}

/// The routers of a dumbbell and the ends of a chain.
const LEFT: &str = "left";
const RIGHT: &str = "right";

impl<'a> Wiring<'a> {
    /// The wires of `topology`, which `flows` go over; `None` if it has stations.
    pub(crate) fn of(topology: &'a Topology, flows: &[(&str, &Flow)]) -> Option<Self> {
        match topology {
            Topology::Chain(chain) => Some(Self::chain(chain)),
            Topology::Dumbbell(dumbbell) => Some(Self::dumbbell(dumbbell, flows)),
            Topology::Graph(graph) => Some(Self::graph(graph)),
            Topology::Wlan(_) => None,
        }
    }

    /// The nodes of a chain are `left`, `1`, `2`, ... and `right`.
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

    /// The routers of a dumbbell are `left` and `right`, and the hosts of a flow `left/FLOW` and `right/FLOW`.
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

    /// The wires of a graph.
    pub(crate) fn graph(graph: &'a Graph) -> Self {
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
            is_turned: false,
            is_measured: true,
        });
    }

    /// The same for the link of a host of a dumbbell, which begins at the host on either side.
    fn join_host(&mut self, side: &str, flow: &str, link: &'a Link) {
        let host = host(side, flow);
        let ends = (self.number(host.clone()), self.number(side.to_owned()));
        self.wires.push(Wire {
            name: format!("access/{host}"),
            table: "access",
            link,
            ends,
            is_turned: side == RIGHT,
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

    /// The number of the node called `name`: its place among the nodes.
    pub(crate) fn node(&self, name: &str) -> Option<NodeId> {
        self.numbers.get(name).copied()
    }

    /// The two nodes that `flow` goes between: its sender and its receiver where it names them, or else its left
    /// end and its right one. `None` if it names a node that is not there.
    pub(crate) fn ends_of(&self, name: &str, flow: &Flow) -> Option<(NodeId, NodeId)> {
        if let (Some(sender), Some(receiver)) = (&flow.sender, &flow.receiver) {
            return Some((self.node(sender)?, self.node(receiver)?));
        }
        let end = |side| self.node(&host(side, name)).or_else(|| self.node(side));
        Some((end(LEFT)?, end(RIGHT)?))
    }

    /// The wires from one node to another over the fewest hops, and whether each is crossed on its
    /// way back.
    pub(super) fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<(&Wire<'a>, bool)>> {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let both = |wire: &Wire<'_>| [wire.ends, (wire.ends.1, wire.ends.0)];
        let ends: Vec<_> = self.wires.iter().flat_map(both).collect();
        let wire = |LinkId(number): LinkId| {
            let wire = self.wires.get(number as usize / 2)?;
            Some((wire, (number % 2 == 1) != wire.is_turned))
        };
        route(nodes, &ends, from, to)?
            .into_iter()
            .map(wire)
            .collect()
    }
}

/// The node of a dumbbell that is the host of `flow` on a side.
fn host(side: &str, flow: &str) -> String {
    format!("{side}/{flow}")
}

/// A link on the way of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'a> {
    /// The name of its table in the scenario.
    pub(super) table: &'a str,
    /// Is it crossed from right to left, or from the second of its nodes to the first?
    pub(super) is_back: bool,
    /// The link as it is in that direction.
    pub(super) link: &'a Link,
}

impl Topology {
    /// The links from the sender of `flow` to its receiver.
    pub(super) fn data_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Right)
    }

    /// The links from the receiver of `flow` to its sender.
    pub(super) fn ack_route(&self, flow: &Flow) -> Vec<Hop<'_>> {
        self.route(flow, flow.from == Side::Left)
    }

    /// None if `flow` has not the ends that it needs, which a checked scenario rules out. Of a wlan the wires
    /// between its switches alone are sure to be on the way.
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
