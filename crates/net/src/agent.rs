//! The interface between the network and the agents that use it.

use fairwire_units::{Ecn, Instant};

/// A place where packets start, end or are forwarded, by its number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

/// A link, which is one direction between two nodes, by its number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(pub u32);

/// A flow, which is one direction of a conversation, by its number. Results refer to flows by it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FlowId(pub u32);

/// A reference to the content of a packet in the agents' store. The network never reads the content.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Handle(pub u32);

/// A packet as the network handles it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// The node that sent it.
    pub source: NodeId,
    /// The node that it is for.
    pub destination: NodeId,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Its size as an IP packet, in bytes. A link may add framing.
    pub wire_len: u32,
    /// Its ECN field. A queue may change it to [`Ecn::Ce`] if the packet is ECN-capable.
    pub ecn: Ecn,
    /// Its content.
    pub handle: Handle,
}

/// A store that takes back the contents of packets that the network dropped.
///
/// A handle belongs to the holder of its packet. That is the agent before `poll_transmit` returns the packet and after
/// `handle_packet` receives it, and the network in between. If the network drops a packet, for whatever reason, it
/// releases the handle exactly once, after it has told the observer.
pub trait Release {
    /// Releases the content of a dropped packet; nobody uses `handle` again.
    fn release(&mut self, handle: Handle);
}

/// Packets without content: there is nothing to release.
impl Release for () {
    fn release(&mut self, _handle: Handle) {}
}

/// A sender and receiver of packets at a node.
///
/// The network calls `handle_packet` or `handle_timeout`, then `poll_transmit` until it returns `None`, then
/// `next_timeout`. A real-time driver uses the same trait.
pub trait Agent {
    /// The store of packet contents. The owner of all agents of a run keeps it, and it is passed to each call.
    type Store;

    /// Handles a packet that arrived. The agent now owns its handle and must release it.
    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Self::Store);

    /// Returns the next packet to send now, if there is one.
    fn poll_transmit(&mut self, now: Instant, store: &mut Self::Store) -> Option<Packet>;

    /// Returns when to call `handle_timeout`, or `None` for never.
    fn next_timeout(&self) -> Option<Instant>;

    /// Handles the timeout that `next_timeout` returned.
    fn handle_timeout(&mut self, now: Instant, store: &mut Self::Store);
}
