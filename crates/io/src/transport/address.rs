//! Conversion of addresses between sockets and the layers above.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// Returns `addr` as the layers above see it: unmapped to IPv4 where possible, without a flow label, and with a zone
/// only if it is link-local. The system reports no zone for other addresses (RFC 4007, section 6: they need none).
pub(crate) fn canonical(addr: SocketAddr) -> SocketAddr {
    match (addr.ip().to_canonical(), addr) {
        (IpAddr::V6(ip), SocketAddr::V6(v6)) => {
            let zone = if ip.is_unicast_link_local() {
                v6.scope_id()
            } else {
                0
            };
            SocketAddrV6::new(ip, v6.port(), 0, zone).into()
        }
        (ip, _) => SocketAddr::new(ip, addr.port()),
    }
}

/// Returns the local address of a datagram that arrived for `ip`, or was sent from it.
pub(crate) fn arrived_at(local: SocketAddr, ip: Option<IpAddr>) -> SocketAddr {
    match ip {
        Some(ip) if local.ip().is_unspecified() => SocketAddr::new(ip.to_canonical(), local.port()),
        _ => SocketAddr::new(local.ip().to_canonical(), local.port()),
    }
}
