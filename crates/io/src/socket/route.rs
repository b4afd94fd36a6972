//! Which way the system would send a datagram.
//!
//! A socket bound to the wildcard address does not know its address towards a peer before it
//! sent something, but a connection's six-tuple (RFC 6773, section 3.8) needs it at once. A
//! second socket, connected and never written to, tells it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::address::canonical;

/// The way to a peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Route {
    /// The address that datagrams leave from, with the port of the socket that sends them.
    pub local: SocketAddr,
    /// The largest IP packet of the first hop, bytes, where the system tells.
    pub mtu: Option<u32>,
}

impl Route {
    /// The way from a socket bound to `bound` to `remote`.
    ///
    /// # Errors
    /// What the system says of a remote that it knows no way to.
    pub(crate) fn find(bound: SocketAddr, remote: SocketAddr) -> io::Result<Self> {
        let from = if bound.ip().is_unspecified() {
            wildcard_for(remote)
        } else {
            SocketAddr::new(bound.ip(), 0)
        };
        let probe = UdpSocket::bind(from)?;
        probe.connect(remote)?;
        let ip = canonical(probe.local_addr()?).ip();
        Ok(Self {
            local: SocketAddr::new(ip, bound.port()),
            mtu: mtu(&probe, remote),
        })
    }
}

#[cfg(target_os = "linux")]
fn mtu(probe: &UdpSocket, remote: SocketAddr) -> Option<u32> {
    use rustix::net::sockopt;
    if remote.is_ipv4() {
        sockopt::ip_mtu(probe).ok()
    } else {
        sockopt::ipv6_mtu(probe).ok()
    }
}

#[cfg(not(target_os = "linux"))]
fn mtu(_probe: &UdpSocket, _remote: SocketAddr) -> Option<u32> {
    None
}

/// The wildcard address of `remote`'s family, any port.
pub(crate) fn wildcard_for(remote: SocketAddr) -> SocketAddr {
    let ip = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::Route;

    /// A wildcard socket's address towards loopback is loopback's, with the socket's own port.
    #[test]
    fn loopback_is_reached_from_loopback() {
        let route = Route::find(([0, 0, 0, 0], 4_000).into(), ([127, 0, 0, 1], 9).into())
            .expect("loopback");
        assert_eq!(route.local, ([127, 0, 0, 1], 4_000).into());
        assert!(route.mtu.is_none_or(|mtu| mtu >= 1_280), "{route:?}");
    }
}
