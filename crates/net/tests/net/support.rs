//! Hosts that send by plan, and a store that knows which handles are alive.

use std::collections::{BTreeSet, VecDeque};

use fairwire_net::{Agent, FlowId, Handle, LinkSpec, NodeId, Packet, Release};
use fairwire_units::{Duration, Ecn, Instant, Rate};

/// A store of the handles that are alive and those that the network released.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) alive: BTreeSet<u32>,
    pub(crate) released: Vec<u32>,
}

impl Release for Ledger {
    fn release(&mut self, handle: Handle) {
        assert!(self.alive.remove(&handle.0), "{handle:?} released twice");
        self.released.push(handle.0);
    }
}

/// An agent that sends packets at planned times, and records the packets and timeouts that it gets.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) plan: VecDeque<(Instant, Packet)>,
    pub(crate) received: Vec<(Instant, Packet)>,
    pub(crate) wakes: Vec<Instant>,
}

impl Host {
    pub(crate) fn new(plan: impl IntoIterator<Item = (Instant, Packet)>) -> Self {
        Self {
            plan: plan.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns when each packet arrived, by handle.
    pub(crate) fn arrivals(&self) -> Vec<(u32, u64)> {
        self.received
            .iter()
            .map(|(at, packet)| (packet.handle.0, at.as_nanos()))
            .collect()
    }
}

impl Agent for Host {
    type Store = Ledger;

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Ledger) {
        assert!(store.alive.remove(&packet.handle.0), "a dead packet came");
        self.received.push((now, packet));
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Ledger) -> Option<Packet> {
        self.plan.front().filter(|(at, _)| *at <= now)?;
        let (_, packet) = self.plan.pop_front()?;
        assert!(store.alive.insert(packet.handle.0), "a handle used twice");
        Some(packet)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.plan.front().map(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Instant, _store: &mut Ledger) {
        self.wakes.push(now);
    }
}

pub(crate) fn packet(from: NodeId, to: NodeId, handle: u32, wire_len: u32) -> Packet {
    Packet {
        source: from,
        destination: to,
        flow: FlowId(0),
        wire_len,
        ecn: Ecn::NotEct,
        handle: Handle(handle),
    }
}

/// Returns a host that sends `count` packets, one every `gap`, with handles from `first` on.
pub(crate) fn steady(
    (from, to): (NodeId, NodeId),
    first: u32,
    count: u32,
    wire_len: u32,
    gap: Duration,
) -> Host {
    Host::new((0..count).map(|i| {
        let at = Instant::START + gap * u64::from(i);
        (at, packet(from, to, first + i, wire_len))
    }))
}

pub(crate) fn link(bits_per_s: u64, delay: Duration) -> LinkSpec {
    LinkSpec::new(Rate::from_bits_per_s(bits_per_s), delay)
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn at_ms(at: u64) -> Instant {
    Instant::START + ms(at)
}
