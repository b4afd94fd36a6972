//! The run loop.
//!
//! The network takes the first event, moves a packet or wakes an agent, lets that agent send
//! what it wants to, notes when it wants to be woken, and goes on. It holds one possible event
//! per link (the next packet to come to its far end) and one per node (its agent's next
//! timeout), whatever the number of packets on their way.

use fairwire_units::Instant;

use crate::link::{Link, World};
use crate::observer::{DropReason, Observer, Place};
use crate::routing::Routes;
use crate::schedule::{Key, Schedule};
use crate::{Agent, Backlog, LinkId, LinkStats, Loss, NodeId, Packet, Release, Topology};

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
    /// The links' slots, then the nodes'.
    schedule: Schedule,
    world: World<S, O>,
    ticket: u64,
    hops: u64,
}

impl<A, O> Network<A, O>
where
    A: Agent<Store: Release>,
    O: Observer<A::Store>,
{
    /// Builds what `topology` describes, at [`Instant::START`] and with nobody at the nodes.
    pub fn new(topology: Topology, store: A::Store, observer: O) -> Self {
        let (nodes, routes, ends, links) = topology.into_parts();
        Self {
            agents: (0..nodes).map(|_| None).collect(),
            fabric: Fabric {
                now: Instant::START,
                schedule: Schedule::new(links.len() + nodes),
                links,
                ends,
                routes,
                world: World { store, observer },
                ticket: 0,
                hops: 0,
            },
            wakes_now: 0,
        }
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
            if slot < self.fabric.links.len() {
                self.arrival(slot);
            } else {
                self.wake(slot - self.fabric.links.len());
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
    /// If there is no such link.
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
        self.fabric.links[link.0 as usize].stats
    }

    /// How much waits for a link, the packet in transmission not counted; true after `run_until`
    /// up to where it ran.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn backlog(&self, link: LinkId) -> Backlog {
        self.fabric.links[link.0 as usize].backlog()
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
        let Some(packet) = packet else { return };
        fabric.hops += 1;
        if packet.destination != node {
            fabric.forward(node, packet);
            return;
        }
        match &mut self.agents[node.0 as usize] {
            Some(agent) => {
                agent.handle_packet(fabric.now, packet, &mut fabric.world.store);
                self.drain(node);
            }
            None => fabric.drop_at(node, &packet, DropReason::NoAgent),
        }
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
        while let Some(packet) = agent.poll_transmit(fabric.now, &mut fabric.world.store) {
            fabric.forward(node, packet);
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
        let link = &mut self.links[slot];
        if link.offer(self.now, ticket, packet, &mut self.world) {
            self.schedule.set(slot, link.next_event());
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
