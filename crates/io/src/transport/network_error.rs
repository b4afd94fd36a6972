//! Errors that the network reports about datagrams that did not arrive.

use std::net::{IpAddr, SocketAddr};

/// An ICMP error about a datagram that we sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NetworkError<'a> {
    /// The address that the datagram was sent from, where the system tells.
    pub local: Option<IpAddr>,
    /// The address that the datagram was sent to.
    pub remote: SocketAddr,
    /// The error.
    pub error: fairwire_proto::IcmpError,
    /// The part of the datagram that the error quotes.
    pub quote: &'a [u8],
}
