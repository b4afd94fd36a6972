//! What crosses the seam between the protocol and the network.

use std::fmt;
use std::net::SocketAddr;

use fairwire_units::Ecn;

use crate::error::ConfigError;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;

/// How DCCP packets travel.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Encapsulation {
    /// Directly in IP, protocol number 33; the ports of the addresses in [`Path`] are zero.
    #[default]
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
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.local.is_ipv4() != self.remote.is_ipv4() {
            return Err(ConfigError::new(
                "path",
                "local and remote address must be of one family",
            ));
        }
        let native = self.encapsulation == Encapsulation::Native;
        // RFC 4340, 9.1: the checksum covers both addresses.
        if native && self.local.ip().is_unspecified() {
            return Err(ConfigError::new(
                "path",
                "native DCCP needs to know its local address",
            ));
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
    /// The packet did not get to a program that takes it.
    Unreachable {
        /// What kept it.
        why: Unreachable,
    },
    /// The packet did not fit; the next hop takes this many bytes.
    TooBig {
        /// MTU of the next hop, bytes.
        mtu: u32,
    },
}

/// What keeps packets from a peer, in the words of the network or of this host.
///
/// RFC 1122, 4.2.3.9, and RFC 5461 tell soft errors, which may pass while the routes change, from
/// hard ones, which do not. [`is_hard`](Self::is_hard) says which is which.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unreachable {
    /// A router, or this host, has no route to the peer's network. Soft.
    Network,
    /// The last router does not find the peer's host. Soft.
    Host,
    /// The packet passed more routers than it may: the routes form a loop, or the way is too long. Soft.
    HopLimit,
    /// This host did not let the packet out: a firewall rule, or a table that is full. Soft.
    NotPermitted,
    /// A router or firewall forbids it. Hard for an attempt to connect only: a policy that did not
    /// exist when a connection began may be gone again soon (RFC 5927, 5.2).
    Prohibited,
    /// The peer's host does not speak the protocol. Hard.
    Protocol,
    /// No program of the peer's host has the port. Hard.
    Port,
}

impl Unreachable {
    /// Is there no point in trying again, so that an attempt to connect ends?
    pub fn is_hard(self) -> bool {
        matches!(self, Self::Prohibited | Self::Protocol | Self::Port)
    }

    /// Does the peer's own host say that nothing is left there of an open connection?
    pub(crate) fn ends_open(self) -> bool {
        matches!(self, Self::Protocol | Self::Port)
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "no route leads to its network",
            Self::Host => "its host is not found on its network",
            Self::HopLimit => "packets are lost on a route that is too long or a loop",
            Self::NotPermitted => "this host does not let the packets out",
            Self::Prohibited => "a firewall or router on the way forbids it",
            Self::Protocol => "its host does not speak the protocol",
            Self::Port => "no program there has the port",
        })
    }
}

/// What an ICMP error quotes of the packet it is about: the DCCP header, at least its ports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IcmpQuote<'a> {
    /// What happened.
    pub error: IcmpError,
    /// The first bytes of our DCCP packet as quoted. RFC 792 asks for eight bytes behind the IP
    /// header: of a native packet those are the ports and no number, of one in UDP nothing.
    pub head: &'a [u8],
}
