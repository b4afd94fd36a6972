//! Routes: which local address and MTU the system would use for a datagram.
//!
//! A socket that is bound to the wildcard address does not know its local address for a peer before it has sent a
//! packet. But a connection's six-tuple (RFC 6773, section 3.8) needs it at once. A second socket is therefore
//! connected to the peer, and tells the address without sending anything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::SockRef;

use super::use_only;
use crate::transport::{Route, canonical};

/// Finds the route from a socket bound to `bound` to `remote`, over this `interface` if there is one.
///
/// # Errors
/// The system's error for a remote without a route.
pub(super) fn find(
    bound: SocketAddr,
    remote: SocketAddr,
    interface: Option<&str>,
) -> io::Result<Route> {
    let from = if bound.ip().is_unspecified() {
        wildcard_for(remote)
    } else {
        let mut from = bound; // With its zone, if it has one.
        from.set_port(0);
        from
    };
    let probe = UdpSocket::bind(from)?;
    if let Some(interface) = interface {
        use_only(&SockRef::from(&probe), interface)?;
    }
    probe.connect(remote)?;
    let ip = canonical(probe.local_addr()?).ip();
    Ok(Route {
        local: SocketAddr::new(ip, bound.port()),
        mtu: mtu(&probe, remote),
    })
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

/// Returns the wildcard address of `remote`'s family, with port zero.
pub(crate) fn wildcard_for(remote: SocketAddr) -> SocketAddr {
    let ip = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::find;

    /// A wildcard socket's local address for a loopback peer is loopback, with the socket's own port.
    #[test]
    fn loopback_is_reached_from_loopback() {
        let route = find(
            ([0, 0, 0, 0], 4_000).into(),
            ([127, 0, 0, 1], 9).into(),
            None,
        )
        .expect("loopback");
        assert_eq!(route.local, ([127, 0, 0, 1], 4_000).into());
        assert!(route.mtu.is_none_or(|mtu| mtu >= 1_280), "{route:?}");
    }
}
