//! The checks that types cannot express: which keys go together and which values make sense.

pub(super) mod checker;
pub(super) mod models;
mod work;

use fairwire_measure::counted;
use fairwire_net::QueueLimit;

use self::checker::{Checker, plain_name};
use self::models::link;
use super::graph::{flow_problem, link_problem};
use super::place::{COMMAND_LINE, IMPLIED, ScenarioError};
use super::topology::{Graph, Topology};
use super::tree::Node;
use super::wiring::Wiring;
use super::wlan::check as wlan;
use super::{Flow, Scenario};

/// The size of the longest IP packet, bytes.
const MAX_PACKET: u32 = 65_535;

/// Checks `scenario`, which was read from `tree`.
pub(super) fn check(scenario: &Scenario, tree: &Node) -> Result<(), ScenarioError> {
    let checker = Checker { tree };
    run(&checker, scenario)?;
    topology(&checker, scenario)?;
    if scenario.enabled_flows().next().is_none() {
        let message = if scenario.flows.is_empty() {
            "a scenario needs a flow: write [flows.NAME]"
        } else {
            "no flow takes part: each is switched off, or starts after the end of the run"
        };
        return checker.refuse("flows", message);
    }
    for (name, flow) in scenario.flows.iter() {
        let path = format!("flows.{name}");
        plain_name(&checker, name, &path)?;
        flow_shape(&checker, &path, flow)?;
        flow_times(&checker, &path, flow, scenario)?;
        for (table, transport) in flow.transports() {
            if let Err(error) = transport.check() {
                let key = format!("{path}.{table}.{}", error.field());
                return checker.refuse(&key, error.problem());
            }
            if let Some(key) = transport.needs_frames()
                && !flow.traffic.has_frames()
            {
                let message =
                    "this traffic has no frames: take traffic such as \"video\", or leave this out";
                return checker.refuse(&format!("{path}.{table}.{key}"), message);
            }
        }
    }
    queues(&checker, scenario)?;
    measure(&checker, scenario)?;
    models::measure(&checker, scenario)?;
    work::size_of_run(&checker, scenario)?;
    if scenario.paper.is_some() {
        sources(tree)?;
    }
    Ok(())
}

fn run(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let run = &scenario.run;
    let (seeds, most) = (run.seeds, run.max_seeds);
    let message = format!(
        "max_seeds is {most}, which is less than seeds, {seeds}: write at least {seeds}, or fewer seeds"
    );
    checker.require(most >= seeds, "run.max_seeds", &message)?;
    let last = run.seed.checked_add(u64::from(most));
    let message = format!(
        "{} from {} on do not fit in 64 bits: write at most {}",
        counted(most.into(), "seed"),
        run.seed,
        u64::MAX - u64::from(most)
    );
    checker.require(last.is_some(), "run.seed", &message)
}

fn topology(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let topology = &scenario.topology;
    for (name, each) in topology.links() {
        let path = format!("topology.{}", topology.path(name));
        plain_name(checker, name, &path)?;
        link(checker, &path, each)?;
    }
    match topology {
        Topology::Chain(chain) => {
            let message = "a chain needs links from left to right: write [topology.links.NAME]";
            checker.require(!chain.links.is_empty(), "topology.links", message)?;
            wlan::no_ends(checker, scenario)
        }
        Topology::Dumbbell(_) => wlan::no_ends(checker, scenario),
        Topology::Graph(it) => graph(checker, it, scenario),
        Topology::Wlan(wireless) => wlan::network(checker, &wireless.wlan, scenario),
    }
}

/// Checks the links of a graph, their nodes, and the ends of each flow.
fn graph(checker: &Checker<'_>, graph: &Graph, scenario: &Scenario) -> Result<(), ScenarioError> {
    let message =
        "a graph needs links: write [topology.links.NAME] with 'between', 'rate' and 'delay'";
    checker.require(!graph.links.is_empty(), "topology.links", message)?;
    for (name, joined) in graph.links.iter() {
        for node in &joined.between {
            plain_name(checker, node, &format!("topology.links.{name}.between"))?;
        }
    }
    let wiring = Wiring::graph(graph);
    let mut flows = scenario.flows.iter();
    let problem = link_problem(graph)
        .or_else(|| flows.find_map(|(name, flow)| flow_problem(&wiring, name, flow)));
    problem.map_or(Ok(()), |(path, message)| checker.refuse(&path, message))
}

/// Checks that each queue of bytes holds a data packet of each flow that crosses it.
fn queues(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let topology = &scenario.topology;
    for (flow_name, flow) in scenario.enabled_flows() {
        let mut hops = topology.data_route(flow);
        if flow.transport().is_two_way() {
            hops.extend(topology.ack_route(flow));
        }
        for hop in hops {
            let packet = u64::from(flow.wire_bytes());
            let is_small =
                matches!(hop.link.queue.limit(), QueueLimit::Bytes(size) if size.bytes() < packet);
            if is_small {
                let table = topology.path(hop.table);
                let back = if hop.is_back { ".back" } else { "" };
                let message = format!(
                    "this queue is smaller than a data packet of flow '{flow_name}' ({packet} B): \
                     none would get through"
                );
                return checker.refuse(&format!("topology.{table}{back}.queue"), message);
            }
        }
    }
    Ok(())
}

fn flow_shape(checker: &Checker<'_>, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
    let header = flow.header_bytes();
    let (key, payload) = if flow.wire.is_some() {
        ("wire", flow.payload_bytes())
    } else {
        ("payload", flow.payload_bytes())
    };
    if payload == 0 {
        let message =
            format!("nothing is left for data: IP and transport headers take {header} bytes");
        return checker.refuse(&format!("{path}.{key}"), message);
    }
    let largest = MAX_PACKET - flow.transport().option_room();
    if flow.wire_bytes() > largest {
        let message = format!(
            "too large for an IP packet: at most {} bytes of payload",
            largest - header
        );
        return checker.refuse(&format!("{path}.{key}"), message);
    }
    models::rtp(checker, path, flow)?;
    traffic(checker, path, flow)
}

fn traffic(checker: &Checker<'_>, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
    if let Some((key, message)) = flow.traffic.problem(&flow.packet_shape()) {
        return checker.refuse(&format!("{path}.traffic.{key}"), message);
    }
    // If `--set` changed the flow to UDP, the error points at `udp` rather than at the traffic.
    let is_set = |key: &str| {
        let place = &checker.tree.nearest(&format!("{path}.{key}")).place;
        place.source.name == COMMAND_LINE
    };
    let key = if is_set("udp") { "udp" } else { "traffic" };
    let at_fault = format!("{path}.{key}");
    if flow.brings_short_flows() {
        short_flows(checker, (path, &at_fault), flow)?;
    }
    let controlled = flow.transport().is_connected();
    let message = "a greedy source needs congestion control, which UDP lacks: use traffic with a rate, \
                   as { kind = \"cbr\", rate = \"2 Mbit/s\" }";
    let held = controlled || flow.packets_per_second().is_some();
    checker.require(held, &at_fault, message)
}

/// Checks a flow whose traffic is short flows of finite size, which arrive one after the other.
fn short_flows(
    checker: &Checker<'_>,
    (path, at_fault): (&str, &str),
    flow: &Flow,
) -> Result<(), ScenarioError> {
    let message = "short flows need a connection, which UDP has not: use tcp or dccp";
    checker.require(flow.transport().is_connected(), at_fault, message)?;
    let message = "short flows have sizes of their own: take 'total' away";
    checker.require(flow.total.is_none(), &format!("{path}.total"), message)?;
    let message = "short flows go one way: the way back cannot be loaded, too";
    checker.require(
        !flow.transport().is_two_way(),
        &format!("{path}.traffic"),
        message,
    )
}

fn flow_times(
    checker: &Checker<'_>,
    path: &str,
    flow: &Flow,
    scenario: &Scenario,
) -> Result<(), ScenarioError> {
    let message = "the source stops before it starts";
    let ordered = flow.stop.is_none_or(|stop| stop > flow.start);
    checker.require(ordered, &format!("{path}.stop"), message)?;
    if flow.enabled && flow.start >= scenario.run.duration {
        let message = format!(
            "the flow starts after the run of {} has ended",
            scenario.run.duration
        );
        return checker.refuse(&format!("{path}.start"), message);
    }
    let duration = scenario.run.duration;
    let mut changes = flow.dccp.iter().flat_map(|dccp| &dccp.ccid_changes);
    if flow.enabled && changes.any(|change| change.at >= duration) {
        let message =
            format!("a change of CCID never happens: the run of {duration} is over by then");
        return checker.refuse(&format!("{path}.dccp.ccid_changes"), message);
    }
    let message = "nothing to send: leave 'total' away, or write how much";
    let total = flow.total.is_none_or(|total| total.bytes() > 0);
    checker.require(total, &format!("{path}.total"), message)
}

fn measure(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let duration = scenario.run.duration;
    for (name, window) in scenario.measure.windows.iter() {
        let path = format!("measure.windows.{name}");
        plain_name(checker, name, &path)?;
        let message = "'whole' is always there: call this window something else";
        checker.require(name != "whole", &path, message)?;
        let to = window.to.unwrap_or(duration);
        let from = window.from.unwrap_or_default();
        let message = format!(
            "a window begins before it ends and ends within the run: this one is from {from} to {to}, and the run \
             takes {duration}"
        );
        checker.require(from < to && to <= duration, &path, &message)?;
    }
    let Some(period) = scenario.measure.series else {
        return Ok(());
    };
    let message = "a series has at most 100000 points: take a longer period";
    let points = duration.as_nanos().checked_div(period.as_nanos());
    checker.require(
        points.is_some_and(|points| points <= 100_000),
        "measure.series",
        message,
    )
}

/// Checks that in a paper's scenario every value of topology, flows and duration states its source.
fn sources(tree: &Node) -> Result<(), ScenarioError> {
    let mut missing = None;
    tree.leaves("", &mut |path, node| {
        let needs = ["topology.", "flows.", "run.duration"]
            .iter()
            .any(|part| path.starts_with(part));
        let from_elsewhere = [COMMAND_LINE, IMPLIED].contains(&&*node.place.source.name);
        if needs && !from_elsewhere && node.provenance.is_none() && missing.is_none() {
            missing = Some((path.to_owned(), node.place.clone()));
        }
    });
    let Some((path, place)) = missing else {
        return Ok(());
    };
    let message = format!(
        "'{path}' does not say where it comes from: a paper's value is written \
         {{ value = ..., source = \"paper\" }} (or derived, assumed, fitted), or stands in a table with 'source'"
    );
    Err(ScenarioError::at(message, &place))
}
