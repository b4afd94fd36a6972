//! The address of one end of a connection.

use std::fmt;
use std::net::SocketAddr;

/// The address of one end of a connection: an IP address with a UDP port, and a DCCP port.
///
/// DCCP has its own ports. In UDP (RFC 6773) a packet has two port numbers on each side. The UDP port leads to an
/// endpoint; the DCCP port leads to one of its listeners. Servers usually use the same number for both, so one
/// `SocketAddr` is enough: `addr.into()`.
///
/// ```
/// use std::net::SocketAddr;
///
/// use fairwire::DccpAddr;
///
/// let addr: SocketAddr = "192.0.2.1:7001".parse()?;
/// assert_eq!(DccpAddr::from(addr), DccpAddr { addr, dccp_port: 7_001 });
/// assert_eq!(DccpAddr::from(addr).to_string(), "192.0.2.1:7001");
/// // One of several services behind one UDP port.
/// assert_eq!(DccpAddr { addr, dccp_port: 5 }.to_string(), "192.0.2.1:7001 (DCCP port 5)");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct DccpAddr {
    /// The IP address and the UDP port; the port is zero where DCCP travels directly in IP.
    pub addr: SocketAddr,
    /// The DCCP port.
    pub dccp_port: u16,
}

impl DccpAddr {
    /// Uses the port of `addr` as both the UDP port and the DCCP port.
    ///
    /// A native endpoint ignores the UDP port and uses the DCCP port, so this works for both kinds of endpoint.
    pub const fn same_ports(addr: SocketAddr) -> Self {
        Self {
            addr,
            dccp_port: addr.port(),
        }
    }

    /// Makes an address for DCCP directly in IP; the port of `addr` is the DCCP port.
    pub fn native(addr: SocketAddr) -> Self {
        Self::same_ports(addr).without_udp()
    }

    /// Returns the IP address with the port that users know: the UDP port, or natively the DCCP port.
    pub fn user_addr(&self) -> SocketAddr {
        let mut addr = self.addr;
        if addr.port() == 0 {
            addr.set_port(self.dccp_port);
        }
        addr
    }

    pub(crate) fn without_udp(mut self) -> Self {
        self.addr.set_port(0);
        self
    }
}

/// Uses the same number for both ports.
impl From<SocketAddr> for DccpAddr {
    fn from(addr: SocketAddr) -> Self {
        Self::same_ports(addr)
    }
}

impl fmt::Display for DccpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.user_addr();
        named.fmt(f)?;
        if named.port() != self.dccp_port {
            write!(f, " (DCCP port {})", self.dccp_port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::DccpAddr;

    /// A native address has one port, the DCCP port, and messages show it.
    #[test]
    fn a_native_address_has_one_port() {
        let addr = "[fe80::1%2]:7001".parse().expect("an address");
        let native = DccpAddr::native(addr);
        assert_eq!((native.addr.port(), native.dccp_port), (0, 7_001));
        assert_eq!(native.user_addr(), addr);
        assert_eq!(native.to_string(), addr.to_string());
        assert_eq!(DccpAddr::from(addr).user_addr(), addr);
    }
}
