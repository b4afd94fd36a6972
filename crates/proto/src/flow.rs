//! The identity of a connection on the network: addresses, ports and encapsulation.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fairwire_wire::{Packet, Ports};

use crate::transmit::Path;

/// The six-tuple of RFC 6773, section 3.8, and the encapsulation. Without UDP the ports of the addresses are zero, and
/// four parts remain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Flow {
    /// The addresses and the encapsulation.
    pub path: Path,
    /// Our DCCP port.
    pub local_port: u16,
    /// The peer's DCCP port.
    pub remote_port: u16,
}

impl Flow {
    /// Returns the flow to which a packet received along `path` belongs.
    pub(crate) fn of_received(path: Path, packet: &Packet<'_>) -> Self {
        Self {
            path,
            local_port: packet.ports.destination,
            remote_port: packet.ports.source,
        }
    }

    /// Returns the ports of a packet that we send.
    pub(crate) fn ports(&self) -> Ports {
        Ports {
            source: self.local_port,
            destination: self.remote_port,
        }
    }

    /// Returns the same flow with an unspecified local address, for sockets that are bound to every address.
    pub(crate) fn with_any_local(mut self) -> Self {
        let any = match self.path.local.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self.path.local = SocketAddr::new(any, self.path.local.port());
        self
    }
}

impl Hash for Flow {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Path {
            encapsulation,
            local,
            remote,
        } = self.path;
        // Hashes whole words, not single bytes as the derived code does: this runs for every packet.
        let ports = u64::from(local.port()) << 48
            | u64::from(remote.port()) << 32
            | u64::from(self.local_port) << 16
            | u64::from(self.remote_port);
        state.write_u64(ports);
        match (local.ip(), remote.ip()) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                state.write_u64(u64::from(local.to_bits()) << 32 | u64::from(remote.to_bits()));
            }
            (local, remote) => {
                for ip in [local, remote] {
                    match ip {
                        IpAddr::V4(ip) => state.write_u32(ip.to_bits()),
                        IpAddr::V6(ip) => state.write_u128(ip.to_bits()),
                    }
                }
            }
        }
        state.write_u8(encapsulation as u8);
    }
}
