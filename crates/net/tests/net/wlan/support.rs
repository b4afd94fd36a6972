//! Agents that send at regular times, and a network of stations around access points.

use fairwire_net::{
    Agent, Dcf, DropTail, FlowId, Handle, LinkSpec, MediumId, Network, NodeId, Packet, RadioSpec,
    StationSpec, Streams, Topology,
};
use fairwire_units::{Duration, Ecn, Instant, Rate};

/// An agent that sends a burst at each tick, and records when packets arrived.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) me: Option<NodeId>,
    pub(crate) to: Option<NodeId>,
    pub(crate) wire_len: u32,
    pub(crate) burst: u32,
    pub(crate) every: Duration,
    pub(crate) next: Option<Instant>,
    pub(crate) until: Option<Instant>,
    pub(crate) owed: u32,
    pub(crate) sent: u32,
    pub(crate) received: Vec<(Instant, Packet)>,
}

impl Host {
    /// Returns a host that sends `burst` packets of `wire_len` bytes to `to`, every `every` from `start` on.
    pub(crate) fn sending(
        (me, to): (NodeId, NodeId),
        (burst, wire_len): (u32, u32),
        (start, every): (Instant, Duration),
    ) -> Self {
        Self {
            me: Some(me),
            to: Some(to),
            wire_len,
            burst,
            every,
            next: Some(start),
            ..Self::default()
        }
    }
}

impl Agent for Host {
    type Store = ();

    fn handle_packet(&mut self, now: Instant, packet: Packet, _store: &mut ()) {
        self.received.push((now, packet));
    }

    fn poll_transmit(&mut self, _now: Instant, _store: &mut ()) -> Option<Packet> {
        self.owed = self.owed.checked_sub(1)?;
        self.sent += 1;
        Some(Packet {
            source: self.me?,
            destination: self.to?,
            flow: FlowId(self.me?.0),
            wire_len: self.wire_len,
            ecn: Ecn::NotEct,
            handle: Handle(self.sent - 1),
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next
            .filter(|next| self.until.is_none_or(|until| *next < until))
    }

    fn handle_timeout(&mut self, now: Instant, _store: &mut ()) {
        self.owed += self.burst;
        self.next = Some(now + self.every);
    }
}

/// Access points with a medium each, connected by a switch to a server, and their stations.
pub(crate) struct Cells {
    pub(crate) topology: Topology,
    pub(crate) server: NodeId,
    pub(crate) aps: Vec<NodeId>,
    pub(crate) media: Vec<MediumId>,
    pub(crate) streams: Streams,
}

impl Cells {
    /// Creates `count` access points with queues of `queue` packets.
    pub(crate) fn new(count: usize, queue: u32, seed: u64) -> Self {
        let streams = Streams::new(seed);
        let mut topology = Topology::new();
        let (server, switch) = (topology.node(), topology.node());
        let wire = || {
            LinkSpec::new(
                Rate::from_bits_per_s(1_000_000_000),
                Duration::from_micros(5),
            )
        };
        topology.duplex(server, switch, (wire(), wire()));
        let mut cells = Self {
            server,
            aps: Vec::new(),
            media: Vec::new(),
            streams,
            topology,
        };
        for number in 0..count {
            let ap = cells.topology.node();
            cells.topology.duplex(switch, ap, (wire(), wire()));
            let medium = cells.topology.medium(Dcf::G);
            let radio = cells.radio(&format!("ap{number}"), queue);
            cells.topology.access_point(ap, medium, radio);
            cells.aps.push(ap);
            cells.media.push(medium);
        }
        cells
    }

    pub(crate) fn radio(&self, name: &str, queue: u32) -> RadioSpec {
        let backoff = self.streams.stream(&format!("wlan/{name}/backoff"));
        RadioSpec::new(backoff).queue(DropTail::packets(queue))
    }

    /// Adds a station that starts at the first access point and can move to all others.
    pub(crate) fn station(
        &mut self,
        queue: u32,
        adjust: impl FnOnce(StationSpec) -> StationSpec,
    ) -> NodeId {
        let node = self.topology.node();
        let spec = StationSpec::new(self.radio(&format!("sta{}", node.0), queue));
        self.topology.station(node, &self.aps, adjust(spec));
        node
    }
}

/// Runs the network and returns all agents.
pub(crate) fn run(mut net: Network<Host>, until: Instant) -> (Vec<Option<Host>>, Network<Host>) {
    net.run_until(until);
    let nodes = (0..).map(NodeId).take_while(|node| node.0 < 64);
    let agents = nodes.map(|node| net.with_agent(node, |host, _, ()| std::mem::take(host)));
    (agents.collect(), net)
}
