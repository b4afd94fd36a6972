//! The nodes, links and media of a scenario with access points and stations.

use std::collections::BTreeMap;

use fairwire_net::{
    Dcf, HandOff, LinkContext, LinkId, NodeId, QueueModel, RadioSpec, RateControl, StationSpec,
    Streams, Topology,
};
use fairwire_units::{Duration, Instant};

use super::error::RunError;
use super::run_network::{RunNetwork, both_ways};
use fairwire_scenario::{Flow, Link, Side, Wireless, Wlan};

/// A wireless network under construction.
struct Site<'a> {
    wireless: &'a Wireless,
    wlan: &'a Wlan,
    streams: Streams,
    topology: Topology,
    /// Every node with a name: access points, stations and wired hosts.
    nodes: BTreeMap<&'a str, NodeId>,
    links: Vec<(LinkId, String)>,
    watched: Vec<(LinkId, String, Link)>,
}

/// Builds the network of a scenario of kind "wlan".
pub(super) fn wlan(
    wireless: &Wireless,
    flows: &[(&str, &Flow)],
    streams: Streams,
) -> Result<RunNetwork, RunError> {
    let mut site = Site {
        wireless,
        wlan: &wireless.wlan,
        streams,
        topology: Topology::new(),
        nodes: BTreeMap::new(),
        links: Vec::new(),
        watched: Vec::new(),
    };
    site.wires(flows);
    site.radios()?;
    site.hand_offs()?;
    let hosts = flows.iter().map(|(_, flow)| {
        let end = |name: &Option<String>| site.node(name.as_deref().unwrap_or_default());
        Ok((end(&flow.sender)?, end(&flow.receiver)?))
    });
    let hosts = hosts.collect::<Result<_, RunError>>()?;
    Ok(RunNetwork {
        topology: site.topology,
        hosts,
        watched: site.watched,
        links: site.links,
    })
}

impl<'a> Site<'a> {
    fn node(&self, name: &str) -> Result<NodeId, RunError> {
        let node = self.nodes.get(name).copied();
        node.ok_or(RunError::Scenario("a flow's end is no host of the wlan"))
    }

    /// Adds a wire in both directions.
    fn duplex(&mut self, (from, to): (NodeId, NodeId), name: &str, link: &Link, watch: bool) {
        let back = link.reversed();
        let back_name = format!("{name}/back");
        let specs = both_ways(name, link, self.streams);
        let (there, home) = self.topology.duplex(from, to, specs);
        self.links.push((there, name.to_owned()));
        self.links.push((home, back_name.clone()));
        if watch {
            self.watched.push((there, name.to_owned(), link.clone()));
            self.watched.push((home, back_name, back.clone()));
        }
    }

    /// Adds the wired part first: switches, the link between them, wired hosts and access points.
    fn wires(&mut self, flows: &[(&str, &'a Flow)]) {
        let access = &self.wireless.access;
        let left = self.topology.node();
        let right = match &self.wireless.bottleneck {
            Some(bottleneck) => {
                let right = self.topology.node();
                self.duplex((left, right), "bottleneck", bottleneck, true);
                right
            }
            None => left,
        };
        let ends = flows
            .iter()
            .flat_map(|(_, flow)| [&flow.sender, &flow.receiver]);
        let named: Vec<&str> = ends.flatten().map(String::as_str).collect();
        for (name, switch) in [("left", left), ("right", right)] {
            if named.contains(&name) {
                let host = self.topology.node();
                self.nodes.insert(name, host);
                self.duplex((host, switch), &format!("access/{name}"), access, false);
            }
        }
        for (name, ap) in self.wlan.aps.iter() {
            let node = self.topology.node();
            self.nodes.insert(name, node);
            let switch = match ap.side {
                Side::Left => left,
                Side::Right => right,
            };
            self.duplex((node, switch), &format!("access/{name}"), access, false);
        }
    }

    fn radio(&self, name: &str, queue: &dyn QueueModel, rate: RateControl) -> RadioSpec {
        let name = format!("wlan/{name}");
        let context = LinkContext {
            name: &name,
            rate: rate.fastest().rate(),
            framing: 0,
            streams: self.streams,
        };
        RadioSpec::new(context.stream("backoff")).boxed_queue(queue.build(&context))
    }

    /// Adds a medium for each channel, then the radios of access points, then stations.
    fn radios(&mut self) -> Result<(), RunError> {
        let mut media = BTreeMap::new();
        for (name, ap) in self.wlan.aps.iter() {
            let topology = &mut self.topology;
            let medium = *media
                .entry(ap.channel)
                .or_insert_with(|| topology.medium(Dcf::G));
            let queue = ap.queue.as_ref().unwrap_or(&self.wlan.queue);
            let radio = self.radio(name, &**queue, self.wlan.rate);
            let node = self.node(name)?;
            self.topology.access_point(node, medium, radio);
        }
        for (name, station) in self.wlan.stations.iter() {
            let aps = self.wlan.access_points(name, station);
            let nodes = aps.iter().map(|ap| self.node(ap));
            let nodes: Vec<NodeId> = nodes.collect::<Result<_, _>>()?;
            let node = self.topology.node();
            self.nodes.insert(name, node);
            let rate = station.rate.unwrap_or(self.wlan.rate);
            let queue = station.queue.as_ref().unwrap_or(&self.wlan.queue);
            let radio = self.radio(name, &**queue, rate);
            let mut spec = StationSpec::new(radio).rate(rate);
            if let Some(level) = station.signal.or(self.wlan.signal) {
                let draws = |way| self.streams.stream(&format!("wlan/{name}/errors/{way}"));
                spec = spec.signal(level.0, draws("up"), draws("down"));
            }
            let (up, down) = self.topology.station(node, &nodes, spec);
            let shown = Link::plain(rate.fastest().rate(), Duration::ZERO, queue.clone());
            self.watch(up, format!("air/{name}"), &shown);
            for (ap, link) in aps.iter().zip(down) {
                self.watch(link, format!("air/{name}/{ap}/back"), &shown);
            }
            if let Some(host) = station.host.or(self.wlan.host) {
                self.topology.host(node, host);
            }
        }
        Ok(())
    }

    fn watch(&mut self, link: LinkId, name: String, shown: &Link) {
        self.links.push((link, name.clone()));
        self.watched.push((link, name, shown.clone()));
    }

    fn hand_offs(&mut self) -> Result<(), RunError> {
        for one in &self.wlan.handoffs {
            let hand_off = HandOff {
                station: self.node(&one.station)?,
                at: Instant::START + one.at,
                to: self.node(&one.to)?,
                outage: one.outage.unwrap_or(self.wlan.outage),
                at_station: self.wlan.at_station,
                at_ap: self.wlan.at_ap,
            };
            self.topology.hand_off(hand_off);
        }
        Ok(())
    }
}
