//! The address of one end of a connection.

use std::fmt;
use std::net::SocketAddr;

/// The address of one end of a connection: an IP address with a UDP port, and a DCCP port.
///
/// DCCP has its own ports. In UDP (RFC 6773) a packet has two port numbers on each side. The UDP port leads to an
/// endpoint; the DCCP port leads to one of its listeners. Servers usually use the same number for both, so one
/// `SocketAddr` is enough: `addr.into()`.
///
/// As text, a DCCP port that differs is behind `/`. What is printed is read back the same, on the same host.
///
/// ```
/// use std::net::SocketAddr;
///
/// use fairwire::DccpAddr;
///
/// let addr: SocketAddr = "192.0.2.1:7001".parse()?;
/// assert_eq!("192.0.2.1:7001".parse::<DccpAddr>()?, addr.into());
/// // One of several services behind one UDP port.
/// let service = DccpAddr { addr, dccp_port: 5 };
/// assert_eq!(service.to_string(), "192.0.2.1:7001/5");
/// assert_eq!("192.0.2.1:7001/5".parse::<DccpAddr>()?, service);
/// // Directly in IP there is no UDP port.
/// assert_eq!(DccpAddr::native(addr).to_string(), "192.0.2.1:0/7001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
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

    pub(crate) fn without_udp(&self) -> Self {
        let mut native = *self;
        native.addr.set_port(0);
        native
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
        self.addr.fmt(f)?;
        if self.addr.port() != self.dccp_port {
            write!(f, "/{}", self.dccp_port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::DccpAddr;

    /// A native address has one port, the DCCP port, and users know it by that.
    #[test]
    fn a_native_address_has_one_port() {
        let addr = "[fe80::1%2]:7001".parse().expect("an address");
        let native = DccpAddr::native(addr);
        assert_eq!((native.addr.port(), native.dccp_port), (0, 7_001));
        assert_eq!(native.user_addr(), addr);
        assert_eq!(DccpAddr::from(addr).user_addr(), addr);
    }
}
