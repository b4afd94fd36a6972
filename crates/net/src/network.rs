//! The event loop.
//!
//! The network takes the earliest event, moves a packet or wakes an agent, lets that agent send, notes the agent's next
//! timeout, and continues. It holds one event per link (the next arrival at its far end), per node (its agent's next
//! timeout), per slow host and per shared medium, and one for hand-offs. The number of packets in flight does not
//! matter.

use fairwire_units::Instant;

use crate::air::Air;
use crate::host::{Job, Server};
use crate::link::{Link, World};
use crate::observer::{DropReason, Observer, Place};
use crate::routing::Routes;
use crate::schedule::{Key, Schedule};
use crate::topology::Parts;
use crate::{
    Agent, Backlog, LinkId, LinkSpec, LinkStats, Loss, NodeId, Packet, RadioStats, Release,
    Topology,
};

/// How often agents may be woken while time stands still.
///
/// It is far above what a protocol needs. It turns an endless loop of timeouts in the past into a panic with a message.
const WAKES_WITHOUT_PROGRESS: u32 = 1_000_000;

/// The events after which a run asks again whether it shall stop.
const EVENTS_BETWEEN_QUESTIONS: u64 = 1_024;

/// A running network: links, the agents at the nodes, their store, and an observer.
#[derive(Debug)]
pub struct Network<A: Agent, O = ()> {
    agents: Vec<Option<A>>,
    fabric: Fabric<A::Store, O>,
    wakes_now: u32,
}

/// Everything except the agents.
#[derive(Debug)]
struct Fabric<S, O> {
    now: Instant,
    links: Vec<Link>,
    ends: Vec<(NodeId, NodeId)>,
    routes: Routes,
    nodes: usize,
    /// Slow hosts, sorted by node.
    hosts: Vec<Server>,
    air: Air,
    /// One slot for each link, node, slow host and medium, and one for hand-offs.
    schedule: Schedule,
    world: World<S, O>,
    ticket: u64,
    hops: u64,
}

/// The owner of an event.
enum Slot {
    Link(usize),
    Node(usize),
    Host(usize),
    Medium(usize),
    HandOff,
}

impl<A, O> Network<A, O>
where
    A: Agent<Store: Release>,
    O: Observer<A::Store>,
{
    /// Creates the network that `topology` describes, at [`Instant::START`] and without agents.
    pub fn new(topology: Topology, store: A::Store, observer: O) -> Self {
        let Parts {
            nodes,
            routes,
            ends,
            links,
            air,
            mut hosts,
        } = topology.into_parts();
        hosts.sort_by_key(|host| host.node);
        let slots = links.len() + nodes + hosts.len() + air.media() + 1;
        let mut network = Self {
            agents: (0..nodes).map(|_| None).collect(),
            fabric: Fabric {
                now: Instant::START,
                schedule: Schedule::new(slots),
                links,
                ends,
                routes,
                nodes,
                hosts,
                air,
                world: World { store, observer },
                ticket: 0,
                hops: 0,
            },
            wakes_now: 0,
        };
        network.fabric.note_change();
        network
    }

    /// Places `agent` at `node` and lets it send what it has to send now. Returns the previous agent.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn place(&mut self, node: NodeId, agent: A) -> Option<A> {
        let before = self.agents[node.0 as usize].replace(agent);
        self.drain(node);
        before
    }

    /// Handles every event before `until`, and sets the clock to `until`.
    ///
    /// An event at `until` itself is left to the next call, so successive calls cover half-open intervals. With
    /// [`Instant::MAX`] it returns when no event is left, with the clock at the last event.
    ///
    /// # Panics
    /// If agents are woken a million times at the same instant.
    pub fn run_until(&mut self, until: Instant) {
        self.run_until_unless(until, || false);
    }

    /// As [`run_until`](Self::run_until), but gives up if `stop`, which it asks now and then, returns true.
    ///
    /// Returns whether it reached `until`.
    ///
    /// # Panics
    /// As for [`run_until`](Self::run_until).
    pub fn run_until_unless(&mut self, until: Instant, stop: impl Fn() -> bool) -> bool {
        let mut events = 0_u64;
        let mut is_stopped = false;
        self.run_while(|at| {
            is_stopped = events.is_multiple_of(EVENTS_BETWEEN_QUESTIONS) && stop();
            events += 1;
            at < until && !is_stopped
        });
        if is_stopped {
            return false;
        }
        if until < Instant::MAX {
            self.fabric.now = self.fabric.now.max(until);
        }
        self.fabric.settle_before(until);
        true
    }

    /// Handles every event up to and including `now`, and sets the clock to `now`.
    ///
    /// For callers in real time: they cannot come back at the same instant for its remaining events.
    ///
    /// # Panics
    /// As for [`run_until`](Self::run_until).
    pub fn run_through(&mut self, now: Instant) {
        self.run_while(|at| at <= now && at < Instant::MAX);
        self.fabric.now = self.fabric.now.max(now);
        self.fabric.settle(now);
    }

    /// Handles the events, in order, until one comes whose time `is_due` refuses.
    fn run_while(&mut self, mut is_due: impl FnMut(Instant) -> bool) {
        loop {
            let (slot, at) = self.fabric.schedule.first();
            if !is_due(at) {
                break;
            }
            if at > self.fabric.now {
                self.fabric.now = at;
                self.wakes_now = 0;
            }
            match self.fabric.slot(slot) {
                Slot::Link(link) => self.arrival(link),
                Slot::Node(node) => self.wake(node),
                Slot::Host(host) => self.serviced(host),
                Slot::Medium(medium) => self.heard(medium),
                Slot::HandOff => self.hand_over(),
            }
        }
    }

    /// Returns when the next event comes, or `None` if there is none.
    pub fn next_event(&self) -> Option<Instant> {
        let at = self.fabric.schedule.soonest();
        (at < Instant::MAX).then_some(at)
    }

    /// Returns the current time.
    pub fn now(&self) -> Instant {
        self.fabric.now
    }

    /// Returns the agent at `node`.
    pub fn agent(&self, node: NodeId) -> Option<&A> {
        self.agents.get(node.0 as usize)?.as_ref()
    }

    /// Calls `act` with the agent at `node` at the current time, then lets the agent send and set its timer.
    pub fn with_agent<R>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(&mut A, Instant, &mut A::Store) -> R,
    ) -> Option<R> {
        let agent = self.agents.get_mut(node.0 as usize)?.as_mut()?;
        let result = act(agent, self.fabric.now, &mut self.fabric.world.store);
        self.drain(node);
        Some(result)
    }

    /// Adds a loss model to a link after its existing ones: `net.rule(link, nth([14], Verdict::Drop))`.
    ///
    /// # Panics
    /// If there is no such link, or if it is not a wire.
    pub fn add_loss(&mut self, link: LinkId, loss: impl Loss + 'static) {
        self.fabric.links[link.0 as usize].add_loss(Box::new(loss));
    }

    /// Gives a link other settings from now on. What is on its way arrives as it would have; the packet in transmission
    /// goes on at the new rate (of a link with changes of its rate, at the last of them). Loss models that were added
    /// before are gone.
    ///
    /// If it `keeps_queue`, the queue stays as it is, and that of `spec` is not used. Otherwise what waits goes into the
    /// new one, in its order; the old one may drop packets in its manner as they leave it.
    ///
    /// # Panics
    /// If there is no such link, or if it is not a wire.
    pub fn reshape(&mut self, link: LinkId, spec: LinkSpec, keeps_queue: bool) {
        let slot = link.0 as usize;
        let fabric = &mut self.fabric;
        let link = &mut fabric.links[slot];
        link.reshape(fabric.now, spec, keeps_queue, &mut fabric.world);
        fabric.schedule.set(slot, link.next_event());
    }

    /// Returns the store of packet contents.
    pub fn store(&self) -> &A::Store {
        &self.fabric.world.store
    }

    /// Returns the store of packet contents.
    pub fn store_mut(&mut self) -> &mut A::Store {
        &mut self.fabric.world.store
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.fabric.world.observer
    }

    /// Returns the observer.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.fabric.world.observer
    }

    /// Returns the nodes at the beginning and at the end of a link.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.fabric.ends[link.0 as usize]
    }

    /// Returns the statistics of a link.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        match self.fabric.links.get(link.0 as usize) {
            Some(link) => link.stats,
            None => self.fabric.air.stats(self.fabric.hop(link)),
        }
    }

    /// Returns what waits for a link, not counting the packet in transmission.
    ///
    /// The result is exact after `run_until`, for the end of that run. The links of an access point share one queue, so
    /// each of them shows the whole queue.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn backlog(&self, link: LinkId) -> Backlog {
        match self.fabric.links.get(link.0 as usize) {
            Some(link) => link.backlog(),
            None => self.fabric.air.backlog(self.fabric.hop(link)),
        }
    }

    /// Returns the statistics of the radio at `node`, if it has one.
    pub fn radio_stats(&self, node: NodeId) -> Option<RadioStats> {
        self.fabric.air.radio_stats(node)
    }

    /// Returns the number of packets that arrived at the far end of a link, summed over all links.
    pub fn packet_hops(&self) -> u64 {
        self.fabric.hops
    }

    /// Ends the run, and returns the agents by node number, the store and the observer.
    pub fn into_parts(self) -> (Vec<Option<A>>, A::Store, O) {
        let World { store, observer } = self.fabric.world;
        (self.agents, store, observer)
    }

    /// Handles the arrival of a packet at the far end of a link.
    fn arrival(&mut self, slot: usize) {
        let fabric = &mut self.fabric;
        let link = &mut fabric.links[slot];
        let packet = link.deliver(fabric.now, &mut fabric.world);
        let node = link.to;
        fabric.schedule.set(slot, link.next_event());
        if let Some(packet) = packet {
            self.arrived(node, packet);
        }
    }

    /// Handles a packet at the end of a link: forwards it or passes it to the node.
    fn arrived(&mut self, node: NodeId, packet: Packet) {
        let fabric = &mut self.fabric;
        fabric.hops += 1;
        if packet.destination != node {
            fabric.forward(node, packet);
        } else if let Some(host) = fabric.host(node) {
            fabric.queue_at(host, Job::Receive(packet));
        } else {
            self.receive(node, packet);
        }
    }

    /// Passes a packet to the agent at `node`.
    fn receive(&mut self, node: NodeId, packet: Packet) {
        let fabric = &mut self.fabric;
        match &mut self.agents[node.0 as usize] {
            Some(agent) => {
                agent.handle_packet(fabric.now, packet, &mut fabric.world.store);
                self.drain(node);
            }
            None => fabric.drop_at(node, &packet, DropReason::NoAgent),
        }
    }

    /// Handles the packet that a slow host is done with.
    fn serviced(&mut self, host: usize) {
        let fabric = &mut self.fabric;
        let ticket = fabric.next_ticket();
        let server = &mut fabric.hosts[host];
        let done = server.finish(fabric.now, ticket);
        let (node, next) = (server.node, server.done());
        fabric
            .schedule
            .set(fabric.links.len() + fabric.nodes + host, next);
        match done {
            Some(Job::Send(packet)) => fabric.forward(node, packet),
            Some(Job::Receive(packet)) => self.receive(node, packet),
            None => {}
        }
    }

    /// Ends an exchange on a medium.
    fn heard(&mut self, medium: usize) {
        let fabric = &mut self.fabric;
        let ticket = fabric.next_ticket();
        let arrived = fabric
            .air
            .finish(fabric.now, (medium, ticket), &mut fabric.world);
        fabric.note_medium(medium);
        fabric.empty_outbox();
        if let Some((node, packet)) = arrived {
            self.arrived(node, packet);
        }
    }

    /// Makes a station leave its access point or join another.
    fn hand_over(&mut self) {
        let fabric = &mut self.fabric;
        let ticket = fabric.next_ticket();
        if let Some((link, node)) = fabric.air.change(fabric.now, ticket, &mut fabric.world) {
            fabric.ends[link.0 as usize].1 = node;
            fabric.routes = Routes::new(fabric.nodes, &fabric.air.active(&fabric.ends));
        }
        fabric.note_change();
        fabric.empty_outbox();
    }

    /// Handles the timeout of an agent.
    fn wake(&mut self, node: usize) {
        self.wakes_now += 1;
        assert!(
            self.wakes_now < WAKES_WITHOUT_PROGRESS,
            "the agent at node {node} keeps asking for a moment that has come ({})",
            self.fabric.now
        );
        let slot = self.fabric.links.len() + node;
        self.fabric.schedule.set(slot, Key::NEVER);
        if let Some(agent) = &mut self.agents[node] {
            agent.handle_timeout(self.fabric.now, &mut self.fabric.world.store);
        }
        self.drain(NodeId(u32::try_from(node).expect("node numbers are u32")));
    }

    /// Forwards what an agent wants to send, and notes its next timeout.
    fn drain(&mut self, node: NodeId) {
        let Some(agent) = &mut self.agents[node.0 as usize] else {
            return;
        };
        let fabric = &mut self.fabric;
        let host = fabric.host(node);
        while let Some(packet) = agent.poll_transmit(fabric.now, &mut fabric.world.store) {
            match host {
                Some(host) => fabric.queue_at(host, Job::Send(packet)),
                None => fabric.forward(node, packet),
            }
        }
        fabric.set_timer(node, agent.next_timeout());
    }
}

impl<S: Release, O: Observer<S>> Fabric<S, O> {
    /// Forwards a packet from `node` on its route.
    fn forward(&mut self, node: NodeId, packet: Packet) {
        let Some(LinkId(link)) = self.routes.next(node, packet.destination) else {
            return self.drop_at(node, &packet, DropReason::NoRoute);
        };
        let slot = link as usize;
        let ticket = self.next_ticket();
        let Some(link) = self.links.get_mut(slot) else {
            return self.by_air(slot - self.links.len(), ticket, packet);
        };
        if link.offer(self.now, ticket, packet, &mut self.world) {
            self.schedule.set(slot, link.next_event());
        }
    }

    /// Sends a packet over a hop of a shared medium.
    fn by_air(&mut self, hop: usize, ticket: u64, packet: Packet) {
        self.air
            .offer(self.now, ticket, (hop, packet), &mut self.world);
        if let Some(medium) = self.air.medium_of(hop) {
            self.note_medium(medium);
        }
        self.empty_outbox();
    }

    /// Forwards by wire the packets that access points hold for stations which have left.
    fn empty_outbox(&mut self) {
        while let Some((node, packet)) = self.air.outbox.pop_front() {
            self.forward(node, packet);
        }
    }

    /// Queues a packet at a slow host.
    fn queue_at(&mut self, host: usize, job: Job) {
        let ticket = self.next_ticket();
        let server = &mut self.hosts[host];
        let (node, refused) = (server.node, server.offer(self.now, ticket, job));
        let slot = self.links.len() + self.nodes + host;
        self.schedule.set(slot, self.hosts[host].done());
        if let Some(job) = refused {
            self.drop_at(node, job.packet(), DropReason::Busy);
        }
    }

    /// Returns the number of the slow host at `node`, if there is one.
    #[inline]
    fn host(&self, node: NodeId) -> Option<usize> {
        if self.hosts.is_empty() {
            return None;
        }
        self.hosts
            .binary_search_by_key(&node, |host| host.node)
            .ok()
    }

    /// Returns the number of the hop that is `link`.
    fn hop(&self, link: LinkId) -> usize {
        link.0 as usize - self.links.len()
    }

    /// Updates the event of `medium`, which may have changed.
    fn note_medium(&mut self, medium: usize) {
        let slot = self.links.len() + self.nodes + self.hosts.len() + medium;
        self.schedule.set(slot, self.air.end(medium));
    }

    /// Updates the events of all media and the next hand-off.
    fn note_change(&mut self) {
        for medium in 0..self.air.media() {
            self.note_medium(medium);
        }
        let slot = self.links.len() + self.nodes + self.hosts.len() + self.air.media();
        self.schedule.set(slot, self.air.next_change());
    }

    /// Returns the owner of a slot.
    #[inline]
    fn slot(&self, slot: usize) -> Slot {
        let (links, nodes, hosts) = (self.links.len(), self.nodes, self.hosts.len());
        if slot < links {
            Slot::Link(slot)
        } else if slot < links + nodes {
            Slot::Node(slot - links)
        } else if slot < links + nodes + hosts {
            Slot::Host(slot - links - nodes)
        } else if slot < links + nodes + hosts + self.air.media() {
            Slot::Medium(slot - links - nodes - hosts)
        } else {
            Slot::HandOff
        }
    }

    fn drop_at(&mut self, node: NodeId, packet: &Packet, why: DropReason) {
        self.world
            .drop_packet(self.now, Place::Node(node), packet, why);
    }

    /// Sets the timer of a node. An unchanged timeout keeps its place among the events of the same instant.
    fn set_timer(&mut self, node: NodeId, timeout: Option<Instant>) {
        let slot = self.links.len() + node.0 as usize;
        let at = timeout.map_or(Instant::MAX, |at| at.max(self.now));
        if at == self.schedule.at(slot) {
            return;
        }
        let key = if at == Instant::MAX {
            Key::NEVER
        } else {
            Key {
                at,
                ticket: self.next_ticket(),
            }
        };
        self.schedule.set(slot, key);
    }

    fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    /// Advances every link to just before `until`, and tells the observer what happened.
    fn settle_before(&mut self, until: Instant) {
        let last = Instant::from_nanos(until.as_nanos().saturating_sub(1));
        if until > Instant::START {
            self.settle(last);
        }
    }

    /// Advances every link to `now`, and tells the observer what happened.
    fn settle(&mut self, now: Instant) {
        for link in &mut self.links {
            link.settle(now, &mut self.world);
        }
    }
}
