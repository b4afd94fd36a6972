//! The network of a paper or of a scenario file, drawn from its resolved scenarios.
//!
//! Cells whose networks have the same links share a drawing, with the flows that most of them have. Below it are the
//! flows of the other cells and the values that differ between the cells.

mod draw;
mod graph;
mod parts;
mod radio;
mod words;

use std::fmt::Write as _;

use maud::{Markup, html};

use super::markup::{Frame, breakable, drawing};
use draw::Wired;
use fairwire_scenario::{Cell, Flow, Link, Side, Topology};
use graph::Nodes;
use parts::{FlowText, LinkText};
use radio::Radio;
use words::{capital, join_words};

pub(super) use words::spaced;

/// The greatest number of networks that are drawn; further ones are counted.
const MOST_DRAWN: usize = 4;
/// The greatest number of values of a key that are listed; further ones are counted.
const MOST_VALUES: usize = 12;

/// A network as it is drawn, with the cells that have it.
struct Network {
    shape: Shape,
    links: Vec<LinkText>,
    flows: Vec<FlowText>,
    runs: usize,
    /// Other sets of flows on the same links, with the number of runs that have each.
    others: Vec<(Vec<FlowText>, usize)>,
    first: String,
}

/// The kind of drawing.
enum Shape {
    Wired(Wired),
    Radio(Radio),
    Graph(Nodes),
}

/// Returns all networks of some cells. `name` is what readers see for the name of a flow.
pub(super) fn networks(all: &[Cell], name: &dyn Fn(&str) -> String) -> Markup {
    let groups = groups(all);
    let more = groups.len().saturating_sub(MOST_DRAWN);
    html! {
        @for cells in groups.iter().take(MOST_DRAWN) {
            @let network = Network::of(name, cells);
            figure class="network" {
                @for frame in [Frame::WIDE, Frame::NARROW] {
                    (drawing(|out| match &network.shape {
                        Shape::Wired(wired) => {
                            let parts = (network.links.as_slice(), network.flows.as_slice());
                            draw::network(out, parts, &network.alt(), *wired, frame);
                        }
                        Shape::Radio(radio) => {
                            radio::draw(out, &network.links, &network.alt(), radio, frame);
                        }
                        Shape::Graph(nodes) => {
                            let links: Vec<_> = network.links.iter().map(LinkText::lines).collect();
                            nodes.draw(out, &links, &network.alt(), frame);
                        }
                    }))
                }
                figcaption {
                    (network.caption(all.len()))
                    (varies(cells))
                }
            }
        }
        @if more > 0 {
            p class="about" {
                (more) " more arrangements of links and flows are in the resolved scenarios."
            }
        }
    }
}

/// Groups the cells by the shape of their network: its kind, its link names, and for a graph what the links join.
fn groups(all: &[Cell]) -> Vec<Vec<&Cell>> {
    alike(all, |cell| {
        let topology = &cell.scenario.topology;
        let links = topology.links().into_iter();
        let names: Vec<String> = links.map(|(name, _)| name.to_owned()).collect();
        let joins = match topology {
            Topology::Graph(graph) => {
                let links = graph.links.iter();
                links.map(|(_, joined)| joined.between.clone()).collect()
            }
            _ => Vec::new(),
        };
        (std::mem::discriminant(topology), names, joins)
    })
}

/// Returns the links that a drawing shows. The access links of a WLAN are described in words.
fn drawn(cell: &Cell) -> Vec<(&str, &Link)> {
    let topology = &cell.scenario.topology;
    let mut links = topology.links();
    if topology.wlan().is_some() {
        links.retain(|(name, _)| *name != "access");
    }
    links
}

/// Groups the items of `all` by `what`, the largest group first.
fn alike<'a, T, K: PartialEq>(
    all: impl IntoIterator<Item = &'a T>,
    what: impl Fn(&T) -> K,
) -> Vec<Vec<&'a T>> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for one in all {
        let key = what(one);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Network {
    fn of(name: &dyn Fn(&str) -> String, cells: &[&Cell]) -> Self {
        let flows =
            |cell: &Cell| -> Vec<FlowText> { FlowText::all(name, cell.scenario.enabled_flows()) };
        let by_flows = alike(cells.iter().copied(), |cell| {
            let flow = |(name, flow): (&str, &Flow)| (name.to_owned(), flow.from == Side::Left);
            cell.scenario.enabled_flows().map(flow).collect::<Vec<_>>()
        });
        let first = by_flows[0][0];
        let others = by_flows[1..].iter();
        let scenario = &first.scenario;
        let mut links: Vec<LinkText> = Vec::new();
        for (number, (name, _)) in drawn(first).into_iter().enumerate() {
            let all = cells
                .iter()
                .filter_map(|cell| drawn(cell).get(number).copied());
            let all: Vec<&Link> = all.map(|(_, link)| link).collect();
            links.push(LinkText::of(name, &all));
        }
        Self {
            shape: match &scenario.topology {
                Topology::Dumbbell(_) => Shape::Wired(Wired::Dumbbell),
                Topology::Chain(_) => Shape::Wired(Wired::Chain),
                Topology::Graph(graph) => Shape::Graph(Nodes::of(graph)),
                Topology::Wlan(wireless) => Shape::Radio(Radio::of(scenario, wireless)),
            },
            links,
            flows: flows(first),
            runs: cells.len(),
            others: others.map(|cells| (flows(cells[0]), cells.len())).collect(),
            first: first.name.clone(),
        }
    }

    fn caption(&self, all: usize) -> String {
        let which = if self.runs == all {
            "Every run has this network.".to_owned()
        } else if self.runs == 1 {
            format!("The network of the run {}.", self.first)
        } else {
            format!("The network of {} of {all} runs.", self.runs)
        };
        let mut text = match &self.shape {
            Shape::Radio(radio) => format!("{which}{}", radio.moves()),
            Shape::Graph(_) => which,
            Shape::Wired(_) => {
                format!(
                    "{which} Data flows in the direction of the arrows, acknowledgements in the other."
                )
            }
        };
        if matches!(self.shape, Shape::Radio(_) | Shape::Graph(_)) {
            for flow in &self.flows {
                let _ = write!(text, " {}: {}.", capital(&flow.names()), flow.way());
            }
        }
        text + &self.other_flows()
    }

    /// Returns a description of the flows that are not drawn.
    fn other_flows(&self) -> String {
        if self.others.is_empty() {
            return String::new();
        }
        let drawn = self.runs - self.others.iter().map(|(_, runs)| runs).sum::<usize>();
        let mut text = format!(" The drawing shows the flows of {drawn} of them.");
        for (flows, runs) in &self.others {
            let flows: Vec<String> = flows
                .iter()
                .map(|flow| {
                    let (name, protocol, way) = (flow.names(), flow.protocol, flow.way());
                    if name.contains(protocol) {
                        format!("{name} ({way})")
                    } else {
                        format!("{name} ({protocol}, {way})")
                    }
                })
                .collect();
            let _ = write!(text, " {runs} have {}.", join_words(&flows));
        }
        text
    }

    /// Returns the text alternative of the drawing.
    fn alt(&self) -> String {
        let mut text = match &self.shape {
            Shape::Wired(Wired::Chain) => "Links one after the other:".to_owned(),
            Shape::Radio(radio) => radio.alt(),
            Shape::Graph(_) => "Nodes, and links between them:".to_owned(),
            Shape::Wired(Wired::Dumbbell) => "Two routers with hosts on both sides:".to_owned(),
        };
        for link in &self.links {
            let _ = write!(text, " {}", link.sentence());
        }
        text.push_str(" Flows:");
        for flow in &self.flows {
            let _ = write!(
                text,
                " {} ({}, {}).",
                flow.names(),
                flow.protocol,
                flow.way()
            );
        }
        text
    }
}

/// Returns whether two cells have the same values of the network, and the same of them are stated.
fn have_one_network(one: &Cell, other: &Cell) -> bool {
    fn stated(cell: &Cell) -> impl Iterator<Item = &String> {
        let paths = cell.stated.iter().chain(cell.provenance.keys());
        paths.filter(|path| path.starts_with("topology."))
    }
    one.scenario.topology == other.scenario.topology && stated(one).eq(stated(other))
}

/// Returns the values of the network that differ between runs.
fn varies(cells: &[&Cell]) -> Markup {
    let mut paths: Vec<(String, Vec<String>)> = Vec::new();
    // Most cells differ in their flows only.
    let mut networks: Vec<&Cell> = Vec::new();
    for cell in cells {
        if networks.iter().any(|known| have_one_network(known, cell)) {
            continue;
        }
        networks.push(cell);
        for line in fairwire_scenario::explain(cell) {
            let Some(path) = line.path.strip_prefix("topology.") else {
                continue;
            };
            let value = match cell.scenario.topology.wlan() {
                Some(wlan) if path == "wlan.handoffs" => radio::handoffs(wlan),
                _ => spaced(line.value.trim_matches('"')),
            };
            match paths.iter_mut().find(|(known, _)| known == path) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => paths.push((path.to_owned(), vec![value])),
            }
        }
    }
    paths.retain(|(_, values)| values.len() > 1);
    html! {
        @if !paths.is_empty() {
            ul class="varies" {
                @for (path, values) in &paths {
                    @let shown = &values[..values.len().min(MOST_VALUES)];
                    li {
                        code { (breakable(path)) }
                        " differs between runs: " (shown.join("; "))
                        @if values.len() > MOST_VALUES {
                            " and " (values.len() - MOST_VALUES) " more"
                        }
                    }
                }
            }
        }
    }
}
