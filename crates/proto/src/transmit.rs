//! What crosses the seam between the protocol and the network.

use std::net::SocketAddr;

use fairwire_units::Ecn;

use crate::endpoint::ConnectionId;
use crate::event::DatagramId;
use crate::payload::Payload;

/// How DCCP packets travel.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Encapsulation {
    /// Directly in IP, protocol number 33; the ports of the addresses in [`Path`] are zero.
    Native,
    /// In UDP (RFC 6773); the ports of the addresses in [`Path`] are the UDP ports.
    Udp,
}

/// The two ends of the network below DCCP. DCCP's own ports are in the packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Path {
    /// Native, or in UDP.
    pub encapsulation: Encapsulation,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

impl Path {
    /// What is wrong with it, if something is.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.local.is_ipv4() != self.remote.is_ipv4() {
            return Err("local and remote address must be of one family");
        }
        let native = self.encapsulation == Encapsulation::Native;
        // RFC 4340, 9.1: the checksum covers both addresses.
        if native && self.local.ip().is_unspecified() {
            return Err("native DCCP needs to know its local address");
        }
        Ok(())
    }
}

/// What the network says about a datagram that arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Meta {
    /// Where it came from and to which of our addresses.
    pub path: Path,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// A packet to send; its head was written into the buffer given to `poll_transmit`.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// From where to where.
    pub path: Path,
    /// The ECN field to send it with.
    pub ecn: Ecn,
    /// Must routers not fragment it (RFC 4340, section 14)?
    pub dont_fragment: bool,
    /// What follows the head.
    pub payload: Payload,
    /// The connection it belongs to; `None` for answers to packets that belong to none.
    pub connection: Option<ConnectionId>,
    /// The application's datagram in it, if any.
    pub id: Option<DatagramId>,
}

/// An ICMP error, reduced to what a DCCP endpoint can act on (RFC 4340, section 14.1; RFC 5927).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IcmpError {
    /// Nobody listens there: port, host, network or protocol unreachable.
    Unreachable,
    /// The packet did not fit; the next hop takes this many bytes.
    TooBig {
        /// MTU of the next hop, bytes.
        mtu: u32,
    },
}

/// What an ICMP error quotes of the packet it is about: the DCCP header, at least its ports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IcmpQuote<'a> {
    /// What happened.
    pub error: IcmpError,
    /// The first bytes of our DCCP packet as quoted; may be as short as eight, or empty where
    /// the socket tells only that the UDP path failed.
    pub head: &'a [u8],
}
