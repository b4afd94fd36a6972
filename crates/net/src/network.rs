//! The run loop.
//!
//! The network takes the first event, moves a packet or wakes an agent, lets that agent send
//! what it wants to, notes when it wants to be woken, and goes on. It holds one possible event
//! per link (the next packet to come to its far end), per node (its agent's next timeout),
//! per slow host, per shared medium, and one for hand-offs, whatever the number of packets on their way.

use fairwire_units::Instant;

use crate::air::Air;
use crate::host::{Job, Server};
use crate::link::{Link, World};
use crate::observer::{DropReason, Observer, Place};
use crate::routing::Routes;
use crate::schedule::{Key, Schedule};
use crate::topology::Parts;
use crate::{
    Agent, Backlog, LinkId, LinkStats, Loss, NodeId, Packet, RadioStats, Release, Topology,
};

/// How often an agent may be woken without time moving on: far beyond what a protocol does, and
/// near enough that a wake-up in the past ends as a message instead of a run without end.
const WAKES_WITHOUT_PROGRESS: u32 = 1_000_000;

/// A network at work: links, the agents at the nodes, their store, and an observer.
#[derive(Debug)]
pub struct Network<A: Agent, O = ()> {
    agents: Vec<Option<A>>,
    fabric: Fabric<A::Store, O>,
    wakes_now: u32,
}

/// Everything but the agents.
#[derive(Debug)]
struct Fabric<S, O> {
    now: Instant,
    links: Vec<Link>,
    ends: Vec<(NodeId, NodeId)>,
    routes: Routes,
    nodes: usize,
    /// Slow hosts, in the order of their nodes.
    hosts: Vec<Server>,
    air: Air,
    /// The slots of links, nodes, slow hosts, media, and the one of hand-offs.
    schedule: Schedule,
    world: World<S, O>,
    ticket: u64,
    hops: u64,
}

/// Whose event comes.
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
    /// Builds what `topology` describes, at [`Instant::START`] and with nobody at the nodes.
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

    /// Puts `agent` at `node` and lets it send what it has to send now. Who was there before is
    /// returned.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn place(&mut self, node: NodeId, agent: A) -> Option<A> {
        let before = self.agents[node.0 as usize].replace(agent);
        self.drain(node);
        before
    }

    /// Handles every event before `until`, and stops there: what happens at `until` itself is
    /// left to the next call, so that runs from moment to moment are half-open windows. With
    /// [`Instant::MAX`] it returns when nothing is left to happen, with the clock at the last
    /// event.
    ///
    /// # Panics
    /// If an agent asks a million times in a row to be woken at the moment it was woken.
    pub fn run_until(&mut self, until: Instant) {
        loop {
            let (slot, Key { at, .. }) = self.fabric.schedule.first();
            if at >= until {
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
        if until < Instant::MAX {
            self.fabric.now = self.fabric.now.max(until);
        }
        self.fabric.settle_before(until);
    }

    /// When the next event comes, if one ever does.
    pub fn next_event(&self) -> Option<Instant> {
        let at = self.fabric.schedule.soonest();
        (at < Instant::MAX).then_some(at)
    }

    /// Where the clock stands.
    pub fn now(&self) -> Instant {
        self.fabric.now
    }

    /// The agent at `node`.
    pub fn agent(&self, node: NodeId) -> Option<&A> {
        self.agents.get(node.0 as usize)?.as_ref()
    }

    /// Does something with the agent at `node`, now, then lets it send and set its timer.
    pub fn touch<R>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(&mut A, Instant, &mut A::Store) -> R,
    ) -> Option<R> {
        let agent = self.agents.get_mut(node.0 as usize)?.as_mut()?;
        let result = act(agent, self.fabric.now, &mut self.fabric.world.store);
        self.drain(node);
        Some(result)
    }

    /// Adds a loss model to a link, behind those it has: `net.rule(link, nth([14], Verdict::Drop))`.
    ///
    /// # Panics
    /// If there is no such link, or it is no wire.
    pub fn rule(&mut self, link: LinkId, loss: impl Loss + 'static) {
        self.fabric.links[link.0 as usize].add_loss(Box::new(loss));
    }

    /// What packets carry.
    pub fn store(&self) -> &A::Store {
        &self.fabric.world.store
    }

    /// What packets carry.
    pub fn store_mut(&mut self) -> &mut A::Store {
        &mut self.fabric.world.store
    }

    /// Who watches.
    pub fn observer(&self) -> &O {
        &self.fabric.world.observer
    }

    /// Who watches.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.fabric.world.observer
    }

    /// Where a link begins and where it ends.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.fabric.ends[link.0 as usize]
    }

    /// What a link did so far.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        match self.fabric.links.get(link.0 as usize) {
            Some(link) => link.stats,
            None => self.fabric.air.stats(self.fabric.hop(link)),
        }
    }

    /// How much waits for a link, the packet in transmission not counted; true after `run_until`
    /// up to where it ran. The links of an access point share one queue, and all show what waits in it.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn backlog(&self, link: LinkId) -> Backlog {
        match self.fabric.links.get(link.0 as usize) {
            Some(link) => link.backlog(),
            None => self.fabric.air.backlog(self.fabric.hop(link)),
        }
    }

    /// What the radio at `node` did so far, if it has one.
    pub fn radio_stats(&self, node: NodeId) -> Option<RadioStats> {
        self.fabric.air.radio_stats(node)
    }

    /// How many packets came to the far end of a link so far, over all links.
    pub fn packet_hops(&self) -> u64 {
        self.fabric.hops
    }

    /// The agents by node number, the store and the observer, when the run is over.
    pub fn into_parts(self) -> (Vec<Option<A>>, A::Store, O) {
        let World { store, observer } = self.fabric.world;
        (self.agents, store, observer)
    }

    /// A packet comes to the far end of a link.
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

    /// A packet is at the end of a link.
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

    /// The agent at `node` gets its packet.
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

    /// A slow host is done with a packet.
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

    /// An exchange on a medium ends.
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

    /// A station leaves its access point, or comes to another.
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

    /// The moment an agent asked for has come.
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

    /// Takes from an agent what it wants to send, and notes when to wake it.
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
    /// Sends a packet on from `node`.
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

    /// Packets that access points have for stations which are elsewhere by now go on by wire.
    fn empty_outbox(&mut self) {
        while let Some((node, packet)) = self.air.outbox.pop_front() {
            self.forward(node, packet);
        }
    }

    /// A packet takes its turn at a slow host.
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

    /// The number of the slow host at `node`, if it is slow.
    #[inline]
    fn host(&self, node: NodeId) -> Option<usize> {
        if self.hosts.is_empty() {
            return None;
        }
        self.hosts
            .binary_search_by_key(&node, |host| host.node)
            .ok()
    }

    /// The number of the hop that is `link`.
    fn hop(&self, link: LinkId) -> usize {
        link.0 as usize - self.links.len()
    }

    /// When something ends on `medium` may have changed.
    fn note_medium(&mut self, medium: usize) {
        let slot = self.links.len() + self.nodes + self.hosts.len() + medium;
        self.schedule.set(slot, self.air.end(medium));
    }

    /// A station came or went, or will.
    fn note_change(&mut self) {
        for medium in 0..self.air.media() {
            self.note_medium(medium);
        }
        let slot = self.links.len() + self.nodes + self.hosts.len() + self.air.media();
        self.schedule.set(slot, self.air.next_change());
    }

    /// Whose a slot is.
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

    /// A moment that stays the same keeps its place among the events of that moment.
    fn set_timer(&mut self, node: NodeId, timeout: Option<Instant>) {
        let slot = self.links.len() + node.0 as usize;
        let at = timeout.map_or(Instant::MAX, |at| at.max(self.now));
        if at == self.schedule.key(slot).at {
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

    /// Lets every link do, and the observer see, what happens before `until`.
    fn settle_before(&mut self, until: Instant) {
        let last = Instant::from_nanos(until.as_nanos().saturating_sub(1));
        if until > Instant::START {
            for link in &mut self.links {
                link.settle(last, &mut self.world);
            }
        }
    }
}
