//! The nodes, flows and addresses of one side of a conversation.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fairwire_net::{FlowId, NodeId, Packet};
use fairwire_proto::{Encapsulation, Path};
use fairwire_units::Ecn;
use fairwire_wire::udp;

/// One side's view of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The node of this side.
    pub here: NodeId,
    /// The node of the other.
    pub there: NodeId,
    /// The flow that this side sends.
    pub outgoing: FlowId,
    /// The flow that it receives.
    pub incoming: FlowId,
}

impl Ends {
    /// Returns the two views of conversation number `index`: its sender's, then its receiver's.
    pub fn pair(index: u32, sender: NodeId, receiver: NodeId) -> (Self, Self) {
        let (there, back) = (FlowId(2 * index), FlowId(2 * index + 1));
        let view = |here, far, outgoing, incoming| Self {
            here,
            there: far,
            outgoing,
            incoming,
        };
        (
            view(sender, receiver, there, back),
            view(receiver, sender, back, there),
        )
    }

    /// Returns this view for conversation `number` of those that share a flow. `stride` is the count of flow numbers.
    pub fn of_call(self, number: u32, stride: u32) -> Self {
        let moved = |flow: FlowId| FlowId(flow.0 + number * stride);
        Self {
            outgoing: moved(self.outgoing),
            incoming: moved(self.incoming),
            ..self
        }
    }

    /// Returns a packet from this side to the other.
    pub fn packet(&self, wire_len: u32, ecn: Ecn, handle: fairwire_net::Handle) -> Packet {
        Packet {
            source: self.here,
            destination: self.there,
            flow: self.outgoing,
            wire_len,
            ecn,
            handle,
        }
    }

    /// Returns the path below DCCP.
    pub fn path(&self, encapsulation: Encapsulation) -> Path {
        let port = match encapsulation {
            Encapsulation::Native => 0,
            Encapsulation::Udp => udp::PORT,
        };
        let socket = |node| SocketAddr::new(IpAddr::V4(address(node)), port);
        Path {
            encapsulation,
            local: socket(self.here),
            remote: socket(self.there),
        }
    }
}

/// Returns the address of a node: 10.0.0.1 for the first, then counting up in 10.0.0.0/8.
pub fn address(node: NodeId) -> Ipv4Addr {
    let [_, a, b, c] = (node.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// The first port of simulated flows. Packet analysers expect no protocol in this range, so they do not try to parse
/// the zero payloads.
const FIRST_PORT: u16 = 51_000;
const PORTS: u32 = 3_000;

/// Returns the port that the conversation of `flow` uses on both sides, with TCP, UDP and DCCP alike.
pub fn port(flow: FlowId) -> u16 {
    let conversation = flow.0 / 2;
    FIRST_PORT + u16::try_from(conversation % PORTS).unwrap_or(0)
}
