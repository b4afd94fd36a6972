//! The building of a network with its agents from a scenario.

use fairwire_net::{Digest, LinkId, Network, NodeId, Streams};
use fairwire_units::{Duration, Instant, Size};

use super::built::{Built, FlowPlace};
use super::call::NamedFlow;
use super::capture::{Capture, Tap, forward, includes};
use super::error::RunError;
use super::host::Host;
use super::jitter::Jittered;
use super::link_meter::LinkMeters;
use super::run_network::RunNetwork;
use super::short_flows::short_flow_peers;
use super::windows::windows;
use fairwire_scenario::shorten::{QUOTED, shorten};
use fairwire_scenario::traffic::FlowContext;
use fairwire_scenario::transport::Peer;
use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::flow_meter::FlowMeter;
use fairwire_scenario::transport::model::Peers;
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::{Flow, Scenario, Side, Topology, Wiring};

/// Builds `scenario` for `seed`. Starts of flows are delayed at random if `perturbed`.
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

/// Returns the network of `scenario`, without its agents.
pub(crate) fn ground(
    scenario: &Scenario,
    flows: &[(&str, &Flow)],
    streams: Streams,
) -> Result<RunNetwork, RunError> {
    let mut ground = match &scenario.topology {
        Topology::Wlan(wireless) => super::wlan::wlan(wireless, flows, streams)?,
        wired => Wiring::of(wired, flows)
            .and_then(|wiring| RunNetwork::of_wires(&wiring, flows, streams))
            .ok_or(RunError::Scenario("a flow's end is no node of the network"))?,
    };
    ground.add_extra_delays(flows);
    Ok(ground)
}

/// Checks that `scenario` has all of these links. Callers do this before they create the file of a capture.
///
/// # Errors
/// [`RunError::UnknownLink`] with the first link that the scenario does not have.
pub fn check_links(scenario: &Scenario, links: &[String]) -> Result<(), RunError> {
    let flows: Vec<(&str, &Flow)> = scenario.enabled_flows().collect();
    let ground = ground(scenario, &flows, Streams::new(scenario.run.seed))?;
    known_links(links, &ground.links)
}

fn known_links(wanted: &[String], links: &[(LinkId, String)]) -> Result<(), RunError> {
    let unknown = wanted
        .iter()
        .find(|wanted| !links.iter().any(|(_, name)| includes(wanted, name)));
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

/// Returns a capture of the links that `tap` names.
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

/// Makes the sender and the receiver of a flow. For short flows they hold all of its conversations.
fn peers(
    flow: &NamedFlow<'_>,
    ends: (Ends, Ends),
    (start, stride): (Instant, u32),
) -> Result<Peers, RunError> {
    let context = FlowContext::new(flow.name, flow.flow.packet_shape(), flow.streams);
    let made = match flow.flow.traffic.arrivals(&context) {
        Some(arrivals) => Ok(short_flow_peers(flow, ends, (start, stride), arrivals)),
        None => flow.connect(ends, start),
    };
    let (sender, receiver) = made.map_err(RunError::Transport)?;
    Ok(match flow.flow.jitter {
        Some(most) => jittered(flow, most, (sender, receiver)),
        None => (sender, receiver),
    })
}

/// Adds jitter where data leaves: at the sender, and also at the receiver if data goes back.
fn jittered(flow: &NamedFlow<'_>, most: Duration, (sender, receiver): Peers) -> Peers {
    let jitter = |peer, name: &str| -> Box<dyn Peer> {
        let stream = flow.streams.stream(&format!("jitter/{name}"));
        Box::new(Jittered::new(peer, most, stream))
    };
    let sender = jitter(sender, flow.name);
    if !flow.flow.transport().is_two_way() {
        return (sender, receiver);
    }
    (sender, jitter(receiver, &format!("{}/back", flow.name)))
}
