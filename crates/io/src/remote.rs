//! Who is at the other end.

use std::net::SocketAddr;

/// Where a listener is: an address, and two ports if DCCP travels in UDP (RFC 6773).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Remote {
    /// Address and UDP port; the port is zero where DCCP travels directly in IP.
    pub addr: SocketAddr,
    /// DCCP port.
    pub dccp_port: u16,
}

impl Remote {
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

#[cfg(test)]
mod tests {
    use super::Remote;

    /// A native remote has one port, DCCP's, and it is the one that messages show.
    #[test]
    fn a_native_remote_has_one_port() {
        let addr = "[fe80::1%2]:7001".parse().expect("an address");
        let remote = Remote::native(addr);
        assert_eq!((remote.addr.port(), remote.dccp_port), (0, 7_001));
        assert_eq!(remote.named(), addr);
        assert_eq!(Remote::same_ports(addr).named(), addr);
    }
}
