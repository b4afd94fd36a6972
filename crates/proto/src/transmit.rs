//! The types that the protocol and the network exchange.

use std::fmt;
use std::net::SocketAddr;

use fairwire_units::Ecn;

use crate::error::ConfigError;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;

/// How DCCP packets are carried.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Encapsulation {
    /// Directly in IP, protocol number 33. The ports of the addresses in [`Path`] are zero.
    #[default]
    Native,
    /// In UDP (RFC 6773). The ports of the addresses in [`Path`] are the UDP ports.
    Udp,
}

/// Who protects a packet with a checksum.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChecksumRule {
    /// DCCP's own checksum does, with the pseudo-header of the IP addresses (RFC 4340, section 9.1).
    PseudoHeader,
    /// The layer below does. DCCP's checksum is zero and is ignored on receipt (RFC 6773, section 3.3).
    Below,
}

/// What follows from how packets are carried. Code that needs such a fact asks here.
impl Encapsulation {
    /// Returns the bytes between the IP header and the DCCP header. They take their share of the MTU (RFC 6773, section
    /// 3.7).
    pub const fn overhead(self) -> u8 {
        match self {
            Self::Native => 0,
            Self::Udp => 8,
        }
    }

    /// Returns who protects a packet with a checksum.
    pub const fn checksum(self) -> ChecksumRule {
        match self {
            Self::Native => ChecksumRule::PseudoHeader,
            Self::Udp => ChecksumRule::Below,
        }
    }

    /// Returns the bytes of a DCCP packet that every ICMP error quotes. RFC 792 requires eight bytes after the IP
    /// header, which hold the UDP header if there is one (RFC 6773, section 3.6).
    pub const fn quoted(self) -> u8 {
        8 - self.overhead()
    }
}

/// The two network addresses below DCCP. DCCP's own ports are in the packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Path {
    /// How DCCP is carried: directly in IP, or in UDP.
    pub encapsulation: Encapsulation,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

impl Path {
    /// Returns an error if the addresses cannot be used together.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.local.is_ipv4() != self.remote.is_ipv4() {
            return Err(ConfigError::new(
                "path",
                "local and remote address must both be IPv4 or both be IPv6",
            ));
        }
        // RFC 4340, 9.1: the checksum covers both addresses.
        if self.encapsulation.checksum() == ChecksumRule::PseudoHeader
            && self.local.ip().is_unspecified()
        {
            return Err(ConfigError::new(
                "path",
                "native DCCP needs a specific local address, not an unspecified one",
            ));
        }
        Ok(())
    }
}

/// What the network reports about a datagram that arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Meta {
    /// The addresses that it was sent from and to.
    pub path: Path,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// A packet to send; its header is in the buffer given to `poll_transmit`.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// The addresses to send it from and to.
    pub path: Path,
    /// The ECN field to send it with.
    pub ecn: Ecn,
    /// Whether to set Don't Fragment (RFC 4340, section 14).
    pub dont_fragment: bool,
    /// The data behind the header.
    pub payload: Payload,
    /// The connection that it belongs to; `None` for answers to packets that belong to none.
    pub connection: Option<ConnectionId>,
    /// The application's datagram in it, if any.
    pub id: Option<DatagramId>,
}

/// A packet that leaves a connection: a [`Transmit`] without what its connection knows.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) ecn: Ecn,
    pub(crate) dont_fragment: bool,
    pub(crate) payload: Payload,
    pub(crate) id: Option<DatagramId>,
    /// The path on which it leaves, if that is not the one in use. Boxed, because that is rare.
    pub(crate) to: Option<Box<Path>>,
}

impl Outgoing {
    /// Returns it as a packet on a path, which is the one in use; `None` as connection if it will be forgotten at once.
    #[inline]
    pub(crate) fn on(self, path: Path, connection: Option<ConnectionId>) -> Transmit {
        let Self {
            ecn,
            dont_fragment,
            payload,
            id,
            to,
        } = self;
        Transmit {
            path: to.map_or(path, |to| *to),
            ecn,
            dont_fragment,
            payload,
            connection,
            id,
        }
    }
}

/// An ICMP error, reduced to what a DCCP endpoint can act on (RFC 4340, section 14.1; RFC 5927).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IcmpError {
    /// The packet did not reach a program that accepts it.
    Unreachable {
        /// The reason.
        why: Unreachable,
    },
    /// The packet was too large for the next hop.
    TooBig {
        /// MTU of the next hop, bytes.
        mtu: u32,
    },
}

/// Why packets do not reach a peer, as the network or this host reports it.
///
/// RFC 1122, 4.2.3.9, and RFC 5461 distinguish soft errors, which may pass when routes change, from hard ones, which do
/// not. [`is_hard`](Self::is_hard) tells which is which.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unreachable {
    /// A router, or this host, has no route to the peer's network. Soft.
    Network,
    /// The last router does not find the peer's host. Soft.
    Host,
    /// The packet exceeded its hop limit: the routes form a loop, or the path is too long. Soft.
    HopLimit,
    /// This host did not let the packet out: because of a firewall rule or a full table. Soft.
    NotPermitted,
    /// A router or firewall forbids it. Hard only for an attempt to connect: a policy that appeared after a connection
    /// began may soon be gone again (RFC 5927, 5.2).
    Prohibited,
    /// The peer's host does not speak the protocol. Hard.
    Protocol,
    /// No program on the peer's host uses the port. Hard.
    Port,
}

impl Unreachable {
    /// Returns whether another try is pointless, so that an attempt to connect ends.
    pub fn is_hard(self) -> bool {
        matches!(self, Self::Prohibited | Self::Protocol | Self::Port)
    }

    /// Returns whether the peer's own host reports that it has nothing left of an open connection.
    pub(crate) fn ends_open(self) -> bool {
        matches!(self, Self::Protocol | Self::Port)
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "there is no route to its network",
            Self::Host => "its host is not found on its network",
            Self::HopLimit => "packets exceed the hop limit: the route is too long or a loop",
            Self::NotPermitted => "this host does not let the packets out",
            Self::Prohibited => "a firewall or router on the path forbids it",
            Self::Protocol => "its host does not speak the protocol",
            Self::Port => "no program there uses the port",
        })
    }
}

/// The part of a packet of ours that an ICMP error quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IcmpQuote<'a> {
    /// The error.
    pub error: IcmpError,
    /// The first bytes of our DCCP packet, as quoted. RFC 792 requires eight bytes behind the IP header. Of a native
    /// packet those are the ports, without a sequence number; of a packet in UDP they contain nothing of DCCP.
    pub head: &'a [u8],
}
