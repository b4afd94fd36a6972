//! The seam between the network and whoever talks over it.

use fairwire_units::{Ecn, Instant};

/// A place where packets start, end or are forwarded.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

/// A link: one direction between two nodes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(pub u32);

/// A flow: one direction of one conversation, as results name it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FlowId(pub u32);

/// Where the owner of the packets keeps what is in one; the network never looks.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Handle(pub u32);

/// A packet as the network sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// Where it came from.
    pub source: NodeId,
    /// Where it goes.
    pub destination: NodeId,
    /// Whose it is.
    pub flow: FlowId,
    /// Its size as an IP packet, bytes; a link may add framing of its own.
    pub wire_len: u32,
    /// Its ECN field; a queue may turn an ECN-capable packet's into [`Ecn::Ce`].
    pub ecn: Ecn,
    /// What is in it.
    pub handle: Handle,
}

/// A store that takes back what the network dropped.
///
/// A handle belongs to whoever holds the packet: the agent before `poll_transmit` returns it and
/// after `handle_packet` got it, the network in between. Each packet the network drops, whatever
/// the reason, has its handle released once, after the observer saw the drop.
pub trait Release {
    /// The packet of `handle` is gone; nobody will ask for it again.
    fn release(&mut self, handle: Handle);
}

/// Packets with nothing in them: there is nothing to take back.
impl Release for () {
    fn release(&mut self, _handle: Handle) {}
}

/// Whoever sends and receives packets at a node.
///
/// The network calls `handle_packet` or `handle_timeout`, then drains `poll_transmit` until it
/// returns `None`, then asks `next_timeout`. A real-time driver uses the same trait.
pub trait Agent {
    /// What packets carry, kept by the owner of all agents of a run and handed to each call.
    type Store;

    /// A packet arrived; its handle is the agent's to release.
    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Self::Store);

    /// The next packet to send, if there is one now.
    fn poll_transmit(&mut self, now: Instant, store: &mut Self::Store) -> Option<Packet>;

    /// When to call `handle_timeout`, if ever.
    fn next_timeout(&self) -> Option<Instant>;

    /// The moment of `next_timeout` has come.
    fn handle_timeout(&mut self, now: Instant, store: &mut Self::Store);
}
