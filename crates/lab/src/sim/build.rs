//! From a scenario to a network with its agents in place.

use fairwire_net::{Access, Digest, LinkId, Network, NodeId, Streams, Topology, Towards};
use fairwire_units::{Instant, Size};

use super::built::{Built, FlowPlace};
use super::call::NamedFlow;
use super::capture::{Capture, Tap, forward};
use super::crowd::crowd;
use super::error::RunError;
use super::graph::graph;
use super::ground::{Ground, both_ways};
use super::host::Host;
use super::link_meter::LinkMeters;
use super::link_spec::spec;
use super::windows::windows;
use crate::scenario::shorten::{QUOTED, shorten};
use crate::scenario::{Flow, Scenario, Side, TopologyKind};
use crate::traffic::FlowContext;
use crate::transport::ends::Ends;
use crate::transport::flow_meter::FlowMeter;
use crate::transport::model::Peers;
use crate::transport::store::Store;

/// Builds `scenario` for `seed`; starts are moved at random if `perturbed`.
pub(crate) fn build(
    scenario: &Scenario,
    (seed, perturbed): (u64, bool),
    tap: Option<Tap>,
) -> Result<Built, RunError> {
    let links = scenario.topology.directions();
    let mut traces = links.iter().filter_map(|(_, link)| link.trace.as_ref());
    if traces.any(|file| file.trace().is_none()) {
        return Err(RunError::Scenario(
            "a trace of this scenario was not read: make its cells from a scenario file",
        ));
    }
    let streams = Streams::new(seed);
    let flows: Vec<(&str, &Flow)> = scenario.enabled_flows().collect();
    let ground = ground(scenario, &flows, streams)?;
    let windows = windows(scenario);
    let mut meters = LinkMeters::new(&windows, ground.links.len(), 2 * flows.len());
    for (id, name, link) in &ground.watched {
        meters.watch(*id, name, link);
    }
    let capture = tap.map(|tap| capture(tap, &ground.links)).transpose()?;
    let meter = FlowMeter::new(&windows, scenario.measure.playout);
    let mut store = Store::new(vec![meter; 2 * flows.len()]);
    for (index, (_, flow)) in flows.iter().enumerate() {
        store.meters[2 * index].total = flow.total.map(Size::bytes);
        if flow.traffic.has_frames() {
            store.meters[2 * index].count_frames();
            store.meters[2 * index + 1].count_frames();
        }
    }
    let watch = (Digest::new(), (meters, capture));
    let nodes = ground.topology.nodes();
    let network = Network::new(ground.topology, store, watch);
    let stride = u32::try_from(2 * flows.len()).unwrap_or(u32::MAX);
    let mut hosts: Vec<Host> = (0..nodes).map(|_| Host::default()).collect();
    let mut places = Vec::new();
    for ((index, (name, flow)), (left, right)) in (0..).zip(&flows).zip(&ground.hosts) {
        let (sender, receiver) = match flow.from {
            Side::Left => (*left, *right),
            Side::Right => (*right, *left),
        };
        let ends = Ends::pair(index, sender, receiver);
        let mut start = Instant::START + flow.start;
        if perturbed {
            let range = scenario.start_range(flow);
            start += streams.stream(&format!("start/{name}")).span(range);
        }
        let flow = NamedFlow {
            name,
            flow,
            streams,
        };
        let (source, sink) = peers(&flow, ends, (start, stride))?;
        hosts[sender.0 as usize].peers.push(source);
        hosts[receiver.0 as usize].peers.push(sink);
        places.push(FlowPlace {
            name: (*name).to_owned(),
            ends,
        });
    }
    let mut built = Built {
        network,
        flows: places,
        windows,
    };
    for (number, host) in (0..).zip(hosts) {
        if !host.peers.is_empty() {
            built.network.place(NodeId(number), host);
        }
    }
    Ok(built)
}

fn ground(
    scenario: &Scenario,
    flows: &[(&str, &Flow)],
    streams: Streams,
) -> Result<Ground, RunError> {
    let mut ground = match scenario.topology.kind {
        TopologyKind::Dumbbell => dumbbell(scenario, flows, streams)?,
        TopologyKind::Chain => chain(scenario, flows.len(), streams),
        TopologyKind::Graph => graph(scenario, flows, streams)
            .ok_or(RunError::Scenario("a flow's end is no node of the graph"))?,
        TopologyKind::Wlan => super::wlan::wlan(scenario, flows, streams)?,
    };
    ground.add_extra_delays(flows);
    Ok(ground)
}

/// Does `scenario` have each of these links? For whoever is about to make a file for a capture.
///
/// # Errors
/// [`RunError::UnknownLink`] with the first that it does not have.
pub fn check_links(scenario: &Scenario, links: &[String]) -> Result<(), RunError> {
    let flows: Vec<(&str, &Flow)> = scenario.enabled_flows().collect();
    let ground = ground(scenario, &flows, Streams::new(scenario.run.seed))?;
    known_links(links, &ground.links)
}

fn known_links(wanted: &[String], links: &[(LinkId, String)]) -> Result<(), RunError> {
    let unknown = wanted
        .iter()
        .find(|wanted| links.iter().all(|(_, name)| name != *wanted));
    if let Some(unknown) = unknown {
        let mut known: Vec<&str> = links.iter().map(|(_, name)| forward(name)).collect();
        known.dedup();
        return Err(RunError::UnknownLink {
            name: shorten(unknown, QUOTED),
            known: known.join(", "),
        });
    }
    Ok(())
}

/// A capture of the links that `tap` names.
fn capture(tap: Tap, links: &[(LinkId, String)]) -> Result<Capture, RunError> {
    known_links(&tap.links, links)?;
    let watched = links
        .iter()
        .filter(|(_, name)| tap.watches(name))
        .map(|(id, name)| (*id, name.clone()))
        .collect::<Vec<_>>();
    let named = watched.iter().map(|(id, name)| (*id, name.as_str()));
    Capture::new(tap.out, named).map_err(RunError::Capture)
}

fn dumbbell(
    scenario: &Scenario,
    flows: &[(&str, &Flow)],
    streams: Streams,
) -> Result<Ground, RunError> {
    let (Some(access), Some(middle)) = (&scenario.topology.access, &scenario.topology.bottleneck)
    else {
        return Err(RunError::Scenario(
            "a dumbbell has access links and a bottleneck",
        ));
    };
    let mut topology = Topology::new();
    let shared = both_ways("bottleneck", middle, streams);
    let built = topology.dumbbell(flows.len(), shared, |which| {
        let name = access_name(which, flows[which.pair].0);
        if name.ends_with("/back") {
            spec(access.reversed(), &name, streams)
        } else {
            spec(access, &name, streams)
        }
    });
    let mut links: Vec<(LinkId, String)> = built
        .access
        .iter()
        .map(|(which, id)| (*id, access_name(*which, flows[which.pair].0)))
        .collect();
    let names = [
        (built.forward, "bottleneck".to_owned(), middle.clone()),
        (
            built.backward,
            "bottleneck/back".to_owned(),
            middle.reversed().clone(),
        ),
    ];
    links.extend(names.iter().map(|(id, name, _)| (*id, name.clone())));
    links.sort_by(|(_, one), (_, other)| forward(one).cmp(forward(other)));
    Ok(Ground {
        links,
        hosts: built.left.into_iter().zip(built.right).collect(),
        watched: names.into(),
        topology,
    })
}

/// The name of an access link of `flow`: its side, and whether it is the way back.
fn access_name(which: Access, flow: &str) -> String {
    let (side, away) = match which.side {
        fairwire_net::Side::Left => ("left", Towards::Router),
        fairwire_net::Side::Right => ("right", Towards::Host),
    };
    let back = if which.towards == away { "" } else { "/back" };
    format!("access/{side}/{flow}{back}")
}

fn chain(scenario: &Scenario, flows: usize, streams: Streams) -> Ground {
    let mut topology = Topology::new();
    let links = scenario.topology.links.iter();
    let built = topology.chain(links.map(|(name, link)| both_ways(name, link, streams)));
    let numbers = built.forward.iter().copied().zip(built.backward);
    let links = scenario.topology.links.iter();
    let pairs = links.zip(numbers);
    let pairs = pairs.map(|((name, link), numbers)| (name, link, numbers));
    let ends = (built.nodes[0], built.nodes[built.nodes.len() - 1]);
    Ground::of_links(topology, pairs.collect(), vec![ends; flows])
}

/// The sender and the receiver of a flow; of short flows, those of all of them.
fn peers(
    flow: &NamedFlow<'_>,
    ends: (Ends, Ends),
    (start, stride): (Instant, u32),
) -> Result<Peers, RunError> {
    let context = FlowContext::new(flow.name, flow.flow.packet_shape(), flow.streams);
    let made = match flow.flow.traffic.arrivals(&context) {
        Some(arrivals) => Ok(crowd(flow, ends, (start, stride), arrivals)),
        None => flow.connect(ends, start),
    };
    made.map_err(RunError::Transport)
}
