//! From a scenario to a network with its agents in place.

use fairwire_net::{Access, Digest, LinkId, Network, NodeId, Streams, Topology, Towards};
use fairwire_proto::{Config, Endpoint, EndpointConfig, PathMtuDiscovery};
use fairwire_tcp::{Receiver, Sender};
use fairwire_units::{Duration, Instant, Size};
use fairwire_wire::Ccid;

use super::application::Application;
use super::built::{Built, FlowPlace};
use super::capture::{Capture, Tap, forward};
use super::dccp::{DccpPeer, SERVICE};
use super::ends::{Ends, port};
use super::error::RunError;
use super::flow_meter::FlowMeter;
use super::graph::graph;
use super::ground::{Ground, both_ways};
use super::host::{Host, Peer};
use super::link_meter::LinkMeters;
use super::link_spec::spec;
use super::store::Store;
use super::tcp::{TcpSink, TcpSource};
use super::tcp_build;
use super::udp::{UdpSink, UdpSource};
use super::windows::Windows;
use crate::scenario::shorten::{QUOTED, shorten};
use crate::scenario::{
    Dccp, Encapsulation, FirstIntervalName, Flow, IdleName, LossMeanName, Protocol, QueuePolicy,
    Scenario, SegmentSize, Side, TopologyKind,
};
use crate::traffic::FlowContext;

/// Builds `scenario` for `seed`; starts are moved at random if `perturbed`.
pub(crate) fn build(
    scenario: &Scenario,
    (seed, perturbed): (u64, bool),
    tap: Option<Tap>,
) -> Result<Built, RunError> {
    let streams = Streams::new(seed);
    let flows: Vec<(&str, &Flow)> = scenario.enabled_flows().collect();
    let ground = ground(scenario, &flows, streams)?;
    let windows = Windows::of(scenario);
    let mut meters = LinkMeters::new(&windows, ground.links.len(), 2 * flows.len());
    for (id, name, link) in &ground.watched {
        meters.watch(*id, name, link.rate.bits_per_s(), link.framing_bytes());
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
        let (source, sink) = peers(name, flow, ends, start, streams)?;
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

/// The application that sends in `flow`, called `name`.
fn application(name: &str, flow: &Flow, streams: Streams) -> Application {
    let context = FlowContext::new(name, flow.packet_shape(), streams);
    let stop = flow.stop.map(|stop| Instant::START + stop);
    let total = flow.total.map(Size::bytes);
    Application::new(flow.traffic.build(&context), stop, total)
}

/// The sender and the receiver of a flow.
fn peers(
    name: &str,
    flow: &Flow,
    (source, sink): (Ends, Ends),
    start: Instant,
    streams: Streams,
) -> Result<(Peer, Peer), RunError> {
    let mut sending = application(name, flow, streams);
    match flow.protocol() {
        Protocol::Udp => {
            sending.begin(start);
            let from = UdpSource::new(source, sending);
            Ok((Peer::UdpSource(from), Peer::UdpSink(UdpSink { ends: sink })))
        }
        Protocol::Tcp(tcp) => {
            sending.begin(start);
            let config = tcp_build::config(flow, tcp);
            let data = match (sending.is_greedy(), sending.left()) {
                (false, _) => fairwire_tcp::Source::Written,
                (true, None) => fairwire_tcp::Source::Greedy,
                (true, Some(total)) => fairwire_tcp::Source::Finite(total),
            };
            let controller = tcp_build::controller(&config, tcp);
            let sender = Sender::new(config, controller, data, start);
            let from = TcpSource::new(source, sender, sending);
            let to = TcpSink::new(sink, Receiver::new(config));
            Ok((Peer::TcpSource(Box::new(from)), Peer::TcpSink(Box::new(to))))
        }
        Protocol::Dccp(dccp) => dccp_peers(
            (name, flow, dccp),
            (source, sink),
            (start, sending),
            streams,
        ),
    }
}

fn dccp_peers(
    (name, flow, dccp): (&str, &Flow, &Dccp),
    (source, sink): (Ends, Ends),
    (start, sending): (Instant, Application),
    streams: Streams,
) -> Result<(Peer, Peer), RunError> {
    let encapsulation = match dccp.encapsulation {
        Encapsulation::Native => fairwire_proto::Encapsulation::Native,
        Encapsulation::Udp => fairwire_proto::Encapsulation::Udp,
    };
    let back_ccid = dccp.back_ccid.unwrap_or(dccp.ccid);
    let endpoint = |side: &str| {
        let mut draw = streams.stream(&format!("secret/{name}/{side}"));
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&draw.bits().to_le_bytes());
        }
        let mut config = EndpointConfig::default();
        // Synthetic payloads take no memory, however many a scenario lets wait.
        config.max_memory = usize::MAX;
        Endpoint::new(config, secret)
    };
    let service = dccp.service.unwrap_or(SERVICE);
    let client_config = dccp_config(flow, dccp, dccp.ccid, back_ccid);
    let mut server_config = dccp_config(flow, dccp, back_ccid, dccp.ccid);
    let changes = dccp.ccid_changes.iter();
    server_config
        .receive_ccids
        .extend(changes.clone().map(|change| Ccid::new(change.ccid)));
    let client = DccpPeer::client(
        (source, name.to_owned()),
        endpoint("sender"),
        encapsulation,
        (start, service, client_config),
        Some(sending),
    )
    .with_ccid_changes(changes.map(|change| (Instant::START + change.at, change.ccid)))
    .reading(dccp.receive.every);
    let mut listening = endpoint("receiver");
    listening
        .listen(port(sink.incoming), &[service], server_config)
        .map_err(|error| RunError::Dccp(error.to_string()))?;
    let back = || application(&format!("{name}/back"), flow, streams);
    let answer = dccp.back_ccid.map(|_| back());
    let server = DccpPeer::server((sink, name.to_owned()), listening, encapsulation, answer)
        .reading(dccp.receive.every);
    Ok((Peer::Dccp(Box::new(client)), Peer::Dccp(Box::new(server))))
}

fn queue_policy(policy: QueuePolicy) -> fairwire_proto::QueuePolicy {
    match policy {
        QueuePolicy::Refuse => fairwire_proto::QueuePolicy::BackPressure,
        QueuePolicy::DropOldest => fairwire_proto::QueuePolicy::DropOldest,
    }
}

fn dccp_config(flow: &Flow, dccp: &Dccp, send_ccid: u8, receive_ccid: u8) -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(send_ccid)];
    config.receive_ccids = vec![Ccid::new(receive_ccid)];
    // What a paper measured had none, and a run has an end of its own.
    config.keep_alive = None;
    config.ecn = dccp.ecn;
    config.ecn_nonce = dccp.ecn_nonce;
    // Models have honest receivers, and published results know of no numbers that are passed over.
    config.check_feedback = false;
    if !dccp.ccid_changes.is_empty() {
        config.ccid_change_interval = Duration::ZERO.into();
    }
    config.short_seqnos = dccp.short_seqnos;
    if dccp.data_checksum {
        config.data_checksum = fairwire_proto::DataChecksum::On;
    }
    config.checksum_coverage = dccp.checksum_coverage;
    config.minimum_checksum_coverage = dccp.minimum_checksum_coverage;
    config.receive_queue_packets = dccp.receive.limit.0 as usize;
    config.receive_queue_bytes = usize::MAX;
    config.receive_queue_policy = match dccp.receive.policy {
        QueuePolicy::Refuse => fairwire_proto::ReceiveQueuePolicy::DropNewest,
        QueuePolicy::DropOldest => fairwire_proto::ReceiveQueuePolicy::DropOldest,
    };
    config.send_queue.packets = dccp.queue.limit.0 as usize;
    config.send_queue.bytes = usize::MAX;
    config.send_queue.age = dccp.queue.age.map(Into::into);
    config.send_queue.policy = queue_policy(dccp.queue.policy);
    let room = flow.wire_bytes().saturating_add(OPTION_ROOM);
    config.path_mtu = u16::try_from(room).unwrap_or(u16::MAX).max(config.path_mtu);
    config.path_mtu_discovery = PathMtuDiscovery::Off;
    if dccp.probe_path_mtu {
        // As on sockets the path is not asked for more than the packets need.
        let packet = u16::try_from(flow.wire_bytes()).unwrap_or(u16::MAX);
        config.path_mtu = packet.max(Config::default().path_mtu);
        config.path_mtu_discovery = PathMtuDiscovery::Probe;
    }
    config.ccid2.law = dccp.law.clone();
    config.ccid2.initial_ssthresh = dccp.initial_ssthresh.map(|packets| f64::from(packets.0));
    config.ccid2.initial_window = dccp.initial_window.map(|packets| f64::from(packets.0));
    config.ccid2.min_rto = dccp.min_rto.duration().into();
    config.send_rtt_estimate = dccp.send_rtt_estimate;
    config.ccid2.idle = match dccp.idle {
        None | Some(IdleName::Restart) => fairwire_proto::IdleRule::Restart,
        Some(IdleName::Halve) => fairwire_proto::IdleRule::Halve,
        Some(IdleName::Keep) => fairwire_proto::IdleRule::Keep,
    };
    let bytes = |size: Size| u32::try_from(size.bytes()).unwrap_or(u32::MAX);
    config.ccid3.segment = match dccp.segment {
        SegmentSize::Mean => fairwire_proto::Segment::Mean,
        SegmentSize::Mps => fairwire_proto::Segment::Mps,
        SegmentSize::Fixed(size) => fairwire_proto::Segment::Fixed(bytes(size)),
        SegmentSize::Literal(size) => fairwire_proto::Segment::Literal(bytes(size)),
    };
    config.ccid3.b = dccp.b;
    config.ccid3.t_rto_rtts = dccp.t_rto_rtts;
    config.ccid3.oscillation_reduction = dccp.oscillation_reduction;
    config.ccid3.history_discounting = dccp.history_discounting;
    config.ccid3.loss_mean = match dccp.loss_mean {
        LossMeanName::Known => fairwire_proto::LossMean::Known,
        LossMeanName::AllWeights => fairwire_proto::LossMean::AllWeights,
    };
    config.ccid3.first_interval = match dccp.first_interval {
        FirstIntervalName::LargestRate => fairwire_proto::FirstInterval::LargestRate,
        FirstIntervalName::LatestRate => fairwire_proto::FirstInterval::LatestRate,
    };
    config.ccid3.feedback = dccp.feedback.rate();
    config
}

/// What options may add to a plain data packet at most, as in the scenario's checks.
const OPTION_ROOM: u32 = 512;
