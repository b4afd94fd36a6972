//! Addresses of both ends.

use std::fmt;
use std::net::SocketAddr;

/// Where one end of a connection is: an address with a UDP port, and a DCCP port.
///
/// DCCP has ports of its own. In UDP (RFC 6773) a packet so has two port numbers on each side: UDP's, which
/// leads to an endpoint, and DCCP's, which leads to one of its listeners. Servers usually give both
/// the same number, and then one `SocketAddr` says it all: `addr.into()`.
///
/// ```
/// use std::net::SocketAddr;
///
/// use fairwire::DccpAddr;
///
/// let addr: SocketAddr = "192.0.2.1:7001".parse()?;
/// assert_eq!(DccpAddr::from(addr), DccpAddr { addr, dccp_port: 7_001 });
/// assert_eq!(DccpAddr::from(addr).to_string(), "192.0.2.1:7001");
/// // Several services behind one UDP port.
/// assert_eq!(DccpAddr { addr, dccp_port: 5 }.to_string(), "192.0.2.1:7001 (DCCP port 5)");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct DccpAddr {
    /// Address and UDP port; the port is zero where DCCP travels directly in IP.
    pub addr: SocketAddr,
    /// DCCP port.
    pub dccp_port: u16,
}

impl DccpAddr {
    /// The same number for both ports. A native endpoint has no use for the UDP port and takes
    /// the DCCP port, so that a program may say this whatever carries its packets.
    pub const fn same_ports(addr: SocketAddr) -> Self {
        Self {
            addr,
            dccp_port: addr.port(),
        }
    }

    /// Directly in IP; the port of `addr` is the DCCP port.
    pub fn native(addr: SocketAddr) -> Self {
        Self::same_ports(addr).without_udp()
    }

    /// The address with the port that people name: UDP's, or natively DCCP's.
    pub fn named(&self) -> SocketAddr {
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

/// The same number for both ports.
impl From<SocketAddr> for DccpAddr {
    fn from(addr: SocketAddr) -> Self {
        Self::same_ports(addr)
    }
}

impl fmt::Display for DccpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.named();
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

    /// A native address has one port, DCCP's, and it is the one that messages show.
    #[test]
    fn a_native_address_has_one_port() {
        let addr = "[fe80::1%2]:7001".parse().expect("an address");
        let native = DccpAddr::native(addr);
        assert_eq!((native.addr.port(), native.dccp_port), (0, 7_001));
        assert_eq!(native.named(), addr);
        assert_eq!(native.to_string(), addr.to_string());
        assert_eq!(DccpAddr::from(addr).named(), addr);
    }
}
