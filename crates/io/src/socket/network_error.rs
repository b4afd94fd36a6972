//! What the network says of datagrams that did not get through.

use std::net::{IpAddr, SocketAddr};

/// What an ICMP error said about a datagram of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NetworkError<'a> {
    /// The address that it left from, where the system tells.
    pub local: Option<IpAddr>,
    /// Where it was going.
    pub remote: SocketAddr,
    /// What happened to it.
    pub error: fairwire_proto::IcmpError,
    /// As much of it as the error quotes.
    pub quote: &'a [u8],
}
