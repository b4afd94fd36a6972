//! The network: the simulator, the sockets at its nodes, and the task that moves its time.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use fairwire_net::{FlowId, LinkId, LinkStats, Loss, NodeId, Packet, Streams, Topology, Verdict};
use fairwire_units::Instant;
use tokio::sync::Notify;
use tokio::time;

use super::error::LinkError;
use super::port::Port;
use super::wire::{Datagram, HEADERS, MAX_DATAGRAM, Station, Store};
use crate::timer;

/// The first address of hosts: that of node 0.
const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// A simulated network, which runs while a socket or a handle of it exists. Clones refer to the same network.
#[derive(Clone)]
pub struct Network(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    start: time::Instant,
    streams: Streams,
    nodes: u32,
    links: u32,
    /// Wakes the task that moves the time.
    changed: Arc<Notify>,
}

struct State {
    simulator: fairwire_net::Network<Station>,
    ports: BTreeMap<SocketAddrV4, Arc<Port>>,
    flows: BTreeMap<(SocketAddrV4, SocketAddrV4), FlowId>,
    /// Whether each link that was ever set down or up is down.
    down: BTreeMap<LinkId, Arc<AtomicBool>>,
    /// When the task that moves the time wakes.
    wakes_at: Option<Instant>,
}

/// Drops every packet while a link is down.
#[derive(Debug)]
struct Gate(Arc<AtomicBool>);

impl Loss for Gate {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        if self.0.load(Ordering::Relaxed) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("nodes", &self.0.nodes)
            .field("seed", &self.0.streams.seed())
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Makes a network of `topology`, and a task on the current tokio runtime that moves its time. Time zero is now.
    ///
    /// `seed` determines the secrets of endpoints. What the topology draws has its own streams.
    ///
    /// # Errors
    /// [`LinkError::NoRuntime`] outside a tokio runtime with timers
    /// ([`enable_time`](tokio::runtime::Builder::enable_time)).
    pub fn new(topology: Topology, seed: u64) -> Result<Self, LinkError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| LinkError::NoRuntime)?;
        timer::check().map_err(|_| LinkError::NoRuntime)?;
        let nodes = topology.nodes();
        let links = u32::try_from(topology.ends().len()).unwrap_or(u32::MAX);
        let mut simulator = fairwire_net::Network::new(topology, Store::default(), ());
        for node in 0..nodes {
            simulator.place(NodeId(node), Station::default());
        }
        let changed = Arc::new(Notify::new());
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                simulator,
                ports: BTreeMap::new(),
                flows: BTreeMap::new(),
                down: BTreeMap::new(),
                wakes_at: None,
            }),
            start: time::Instant::now(),
            streams: Streams::new(seed),
            nodes,
            links,
            changed: Arc::clone(&changed),
        });
        runtime.spawn(run(Arc::downgrade(&shared), changed));
        Ok(Self(shared))
    }

    /// Returns the time since the network was made.
    pub fn elapsed(&self) -> Duration {
        self.0.start.elapsed()
    }

    /// Returns the counters of a link, or `None` if there is no such link.
    ///
    /// Links are numbered as the topology added them. Those of a [`Link`](super::Link) are 0 (there) and 1 (back).
    pub fn link_stats(&self, link: LinkId) -> Option<LinkStats> {
        self.advance();
        let state = self.0.lock();
        (link.0 < self.0.links).then(|| state.simulator.link_stats(link))
    }

    /// Sets whether a wire works. While it does not, packets that start on it are lost; those on their way still
    /// arrive. Without such a wire nothing happens.
    ///
    /// For an outage at a time known before, see [`Link::outage`](super::Link::outage).
    pub fn set_up(&self, link: LinkId, up: bool) {
        self.advance();
        if link.0 >= self.0.links {
            return;
        }
        let mut guard = self.0.lock();
        let State {
            simulator, down, ..
        } = &mut *guard;
        let is_down = down.entry(link).or_insert_with(|| {
            let gate = Arc::<AtomicBool>::default();
            simulator.add_loss(link, Gate(Arc::clone(&gate)));
            gate
        });
        is_down.store(!up, Ordering::Relaxed);
    }

    /// Returns the random streams of the network.
    pub(super) fn streams(&self) -> Streams {
        self.0.streams
    }

    /// Returns the address of the host at a node.
    pub(super) fn ip(&self, node: NodeId) -> Option<Ipv4Addr> {
        let ip = FIRST_HOST.to_bits().checked_add(node.0)?;
        (node.0 < self.0.nodes).then_some(Ipv4Addr::from_bits(ip))
    }

    /// Returns the node that has this address.
    pub(super) fn node(&self, ip: Ipv4Addr) -> Option<NodeId> {
        let node = ip.to_bits().checked_sub(FIRST_HOST.to_bits())?;
        (node < self.0.nodes).then_some(NodeId(node))
    }

    /// Takes an address for a socket; port zero means a free one. Returns `None` if there is none.
    pub(super) fn claim(&self, ip: Ipv4Addr, port: u16) -> Option<(SocketAddrV4, Arc<Port>)> {
        let mut state = self.0.lock();
        let is_free = |port: &u16| !state.ports.contains_key(&SocketAddrV4::new(ip, *port));
        let port = match port {
            0 => (49_152..=u16::MAX).find(is_free)?,
            port => Some(port).filter(is_free)?,
        };
        let addr = SocketAddrV4::new(ip, port);
        let waiting = Arc::<Port>::default();
        state.ports.insert(addr, Arc::clone(&waiting));
        Some((addr, waiting))
    }

    /// Gives an address back.
    pub(super) fn release(&self, addr: SocketAddrV4) {
        self.0.lock().ports.remove(&addr);
    }

    /// Sends a datagram.
    pub(super) fn send(&self, datagram: Datagram) -> io::Result<()> {
        if datagram.bytes.len() > MAX_DATAGRAM {
            let len = datagram.bytes.len();
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a datagram of {len} bytes: the hosts take at most {MAX_DATAGRAM}"),
            ));
        }
        let unreachable = || io::Error::from(io::ErrorKind::NetworkUnreachable);
        let source = self.node(*datagram.from.ip()).ok_or_else(unreachable)?;
        let destination = self.node(*datagram.to.ip()).ok_or_else(unreachable)?;
        let now = self.now();
        let mut wakes = Vec::new();
        let mut state = self.0.lock();
        state.advance(now, &mut wakes);
        if source == destination {
            state.deliver(datagram, &mut wakes);
        } else {
            state.send(source, destination, datagram);
        }
        let next = state.simulator.next_event();
        if next.is_some_and(|next| state.wakes_at.is_none_or(|at| next < at)) {
            state.wakes_at = next;
            self.0.changed.notify_one();
        }
        drop(state);
        wakes.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Moves the network to the present, and hands over what has arrived.
    fn advance(&self) {
        self.0.advance();
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        Instant::START + self.start.elapsed().into()
    }

    fn advance(&self) {
        let mut wakes = Vec::new();
        let mut state = self.lock();
        state.advance(self.now(), &mut wakes);
        drop(state);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// Moves the network to the present. Returns when something happens next.
    fn advance_and_wait(&self) -> Option<time::Instant> {
        self.advance();
        let mut state = self.lock();
        state.wakes_at = state.simulator.next_event();
        let at = state.wakes_at?.saturating_since(Instant::START);
        self.start.checked_add(at.into())
    }
}

/// Ends the task that moves the time.
impl Drop for Shared {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

impl State {
    fn advance(&mut self, now: Instant, wakes: &mut Vec<Waker>) {
        self.simulator.run_through(now);
        for datagram in std::mem::take(&mut self.simulator.store_mut().arrived) {
            self.deliver(datagram, wakes);
        }
    }

    /// Hands a datagram to the socket that it is for; without one it is lost.
    fn deliver(&mut self, datagram: Datagram, wakes: &mut Vec<Waker>) {
        if let Some(port) = self.ports.get(&datagram.to) {
            port.push(datagram, wakes);
        }
    }

    fn send(&mut self, source: NodeId, destination: NodeId, datagram: Datagram) {
        let next = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        let flow = self.flows.entry((datagram.from, datagram.to));
        let flow = *flow.or_insert(FlowId(next));
        let len = u32::try_from(datagram.bytes.len()).unwrap_or(u32::MAX);
        self.simulator.with_agent(source, |station, _, store| {
            station.outgoing.push_back(Packet {
                source,
                destination,
                flow,
                wire_len: len.saturating_add(HEADERS),
                ecn: datagram.ecn,
                handle: store.keep(datagram),
            });
        });
    }
}

/// Moves the time of a network until nobody uses it any more.
async fn run(network: Weak<Shared>, changed: Arc<Notify>) {
    loop {
        // Tokio's timers end at the first millisecond after their time.
        let Some(next) = network.upgrade().map(|shared| shared.advance_and_wait()) else {
            return;
        };
        match next {
            Some(at) => tokio::select! {
                biased; // Both lead to the same call; no random number is drawn.
                () = changed.notified() => {}
                () = time::sleep_until(at) => {}
            },
            None => changed.notified().await,
        }
    }
}
