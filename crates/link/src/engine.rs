//! The simulator's link between two stations, moved by whoever knows the time.

use std::collections::VecDeque;

use fairwire_net::{
    Agent, DropReason, FlowId, Handle, LinkId, LinkStats, Network, NodeId, Observation, Observer,
    Packet, Place, Release, Stream, Streams, Topology,
};
use fairwire_units::{Ecn, Instant};
use slab::Slab;

use crate::way::Way;
use crate::words::{Words, WordsError};

/// The most bytes that are on the link and wait for it: those of 1 Gbit/s in four seconds.
const MOST_HELD: usize = 512 << 20;

/// A direction of the link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    There,
    Back,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::There, Self::Back];

    /// Returns its name, which also begins the names of its random streams.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Back => "back",
        }
    }

    fn link(self) -> LinkId {
        LinkId(self as u32)
    }

    /// Returns the nodes at its beginning and at its end.
    fn ends(self) -> (NodeId, NodeId) {
        match self {
            Self::There => (NodeId(0), NodeId(1)),
            Self::Back => (NodeId(1), NodeId(0)),
        }
    }
}

/// A datagram on its way.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) client: usize,
    pub(crate) direction: Direction,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Box<[u8]>,
    /// When it arrives; known once it has.
    pub(crate) due: Instant,
}

/// The datagrams on the link, and those that have arrived.
#[derive(Debug, Default)]
struct Store {
    flying: Slab<Datagram>,
    /// The bytes of these.
    held: usize,
    arrived: VecDeque<Datagram>,
}

impl Store {
    fn keep(&mut self, datagram: Datagram) -> Handle {
        self.held += datagram.bytes.len();
        let at = self.flying.insert(datagram);
        Handle(u32::try_from(at).expect("fewer than 2^32 in flight"))
    }

    fn take(&mut self, handle: Handle) -> Option<Datagram> {
        let datagram = self.flying.try_remove(handle.0 as usize)?;
        self.held -= datagram.bytes.len();
        Some(datagram)
    }
}

impl Release for Store {
    fn release(&mut self, handle: Handle) {
        self.take(handle);
    }
}

/// An end of the link, as the simulator sees it.
#[derive(Debug, Default)]
struct Station {
    outgoing: VecDeque<Packet>,
}

impl Agent for Station {
    type Store = Store;

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        if let Some(mut datagram) = store.take(packet.handle) {
            datagram.ecn = packet.ecn;
            datagram.due = now;
            store.arrived.push_back(datagram);
        }
    }

    fn poll_transmit(&mut self, _now: Instant, _store: &mut Store) -> Option<Packet> {
        self.outgoing.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant, _store: &mut Store) {}
}

/// Counts drops by their reason.
#[derive(Debug, Default)]
struct Counts([Drops; 2]);

impl<S> Observer<S> for Counts {
    fn dropped(&mut self, seen: &Observation<'_, S>, reason: DropReason) {
        let Place::Link(LinkId(link)) = seen.place else {
            return;
        };
        let Some(drops) = self.0.get_mut(link as usize) else {
            return;
        };
        match reason {
            DropReason::QueueFull => drops.queue_full += 1,
            DropReason::Lost => drops.lost += 1,
            _ => drops.queue_management += 1,
        }
    }
}

/// The datagrams of one direction that did not arrive, by reason.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Drops {
    /// The queue was full, or more than 512 MiB were on the link.
    pub queue_full: u64,
    /// `codel` or `fq_codel` dropped it, or it should have been marked and was not ECN-capable.
    pub queue_management: u64,
    /// Lost on the wire, by `loss`; or longer than `mtu`.
    pub lost: u64,
    /// Damaged by `corrupt`: a receiver would drop it for its checksum.
    pub corrupted: u64,
    /// The link was down.
    pub down: u64,
}

/// What passed in one direction.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Passed {
    /// Datagrams that came to the link.
    pub offered: u64,
    /// Datagrams that arrived at the far end, copies included.
    pub delivered: u64,
    /// Their bytes as IP packets.
    pub bytes: u64,
    /// Copies that `duplicate` made.
    pub duplicated: u64,
    /// What did not arrive.
    pub drops: Drops,
    /// Packets that wait now.
    pub waiting: u32,
    /// The most that waited at once.
    pub longest_queue: u32,
}

/// What one direction draws and counts beside the simulator.
#[derive(Debug)]
struct Side {
    duplicate: Stream,
    corrupt: Stream,
    offered: u64,
    duplicated: u64,
    corrupted: u64,
    down: u64,
    /// For which there was no memory.
    too_many: u64,
}

impl Side {
    fn new(direction: Direction, streams: Streams) -> Self {
        let stream = |what| streams.stream(&format!("{}/{what}", direction.name()));
        Self {
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
            offered: 0,
            duplicated: 0,
            corrupted: 0,
            down: 0,
            too_many: 0,
        }
    }
}

/// A link in virtual time.
#[derive(Debug)]
pub(crate) struct Engine {
    network: Network<Station, Counts>,
    words: Words,
    streams: Streams,
    sides: [Side; 2],
    /// How often the settings have changed: each has random streams of its own.
    changes: u64,
}

impl Engine {
    /// Makes the link. The same seed gives the same arrivals the same fate.
    pub(crate) fn new(words: Words, seed: u64) -> Self {
        let streams = Streams::new(seed);
        let mut topology = Topology::new();
        let (a, b) = (topology.node(), topology.node());
        let there = words.there.link(Direction::There.name(), streams);
        let back = words.back.link(Direction::Back.name(), streams);
        topology.duplex(a, b, (there, back));
        let mut network = Network::new(topology, Store::default(), Counts::default());
        for node in [a, b] {
            network.place(node, Station::default());
        }
        Self {
            network,
            words,
            streams,
            sides: Direction::BOTH.map(|direction| Side::new(direction, streams)),
            changes: 0,
        }
    }

    /// Returns the settings.
    fn way(&self, direction: Direction) -> &Way {
        match direction {
            Direction::There => &self.words.there,
            Direction::Back => &self.words.back,
        }
    }

    /// Changes what `text` names, from now on.
    pub(crate) fn change(&mut self, now: Instant, text: &str) -> Result<(), WordsError> {
        let mut words = self.words.clone();
        words.change(text)?;
        self.network.run_through(now);
        self.changes += 1;
        for direction in Direction::BOTH {
            let name = format!("{}/{}", direction.name(), self.changes);
            let (old, new) = match direction {
                Direction::There => (&self.words.there, &words.there),
                Direction::Back => (&self.words.back, &words.back),
            };
            // A direction that stays as it is goes on with its random numbers.
            if old != new {
                let spec = new.link(&name, self.streams);
                let keeps = old.has_queue_of(new);
                self.network.reshape(direction.link(), spec, keeps);
            }
        }
        self.words = words;
        Ok(())
    }

    /// Takes a datagram that came at `now` and is an IP packet of `headers` more bytes. A moment before one that is
    /// known counts as that one.
    pub(crate) fn offer(&mut self, now: Instant, datagram: Datagram, headers: u32) {
        let direction = datagram.direction;
        let way = self.way(direction);
        let (duplicate, corrupt, is_down) = (way.duplicate, way.corrupt, way.is_down);
        let side = &mut self.sides[direction as usize];
        side.offered += 1;
        if is_down {
            side.down += 1;
            return;
        }
        if corrupt > 0.0 && side.corrupt.bool(corrupt) {
            side.corrupted += 1;
            return;
        }
        if self.network.store().held > MOST_HELD {
            side.too_many += 1;
            return;
        }
        let copies = 1 + usize::from(duplicate > 0.0 && side.duplicate.bool(duplicate));
        side.duplicated += copies as u64 - 1;
        self.network.run_through(now);
        let (source, destination) = direction.ends();
        let wire_len = u32::try_from(datagram.bytes.len()).unwrap_or(u32::MAX);
        let flow = FlowId(u32::try_from(datagram.client).unwrap_or(u32::MAX));
        self.network.with_agent(source, |station, _, store| {
            let again = (copies == 2).then(|| Datagram {
                bytes: datagram.bytes.clone(),
                ..datagram
            });
            for datagram in [Some(datagram), again].into_iter().flatten() {
                let ecn = datagram.ecn;
                let handle = store.keep(datagram);
                station.outgoing.push_back(Packet {
                    source,
                    destination,
                    flow,
                    wire_len: wire_len.saturating_add(headers),
                    ecn,
                    handle,
                });
            }
        });
    }

    /// Moves the link to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.network.run_through(now);
    }

    /// Returns a datagram that has arrived.
    pub(crate) fn arrived(&mut self) -> Option<Datagram> {
        self.network.store_mut().arrived.pop_front()
    }

    /// Returns when something happens next.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        self.network.next_event()
    }

    /// Returns what passed in a direction.
    pub(crate) fn passed(&self, direction: Direction) -> Passed {
        let side = &self.sides[direction as usize];
        let stats: LinkStats = self.network.link_stats(direction.link());
        let counted = self.network.observer().0[direction as usize];
        Passed {
            offered: side.offered,
            delivered: stats.delivered_packets,
            bytes: stats.delivered_bytes,
            duplicated: side.duplicated,
            drops: Drops {
                corrupted: side.corrupted,
                down: side.down,
                queue_full: counted.queue_full + side.too_many,
                ..counted
            },
            waiting: self.network.backlog(direction.link()).packets,
            longest_queue: stats.peak_waiting,
        }
    }
}
