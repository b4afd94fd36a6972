//! A native port belongs to one listener of the host.
//!
//! The kernel knows nothing of DCCP ports, so two programs could listen on the same one and both
//! answer. Each takes a name among the host's abstract Unix sockets (unix(7)), which are one set
//! per network namespace, as ports are, and go away with the program.

use std::io;
use std::net::IpAddr;

/// Holds a port of one address (or of every address) while it lives.
#[derive(Debug)]
pub(crate) struct Claim {
    #[cfg(target_os = "linux")]
    _socket: std::os::unix::net::UnixDatagram,
}

impl Claim {
    /// Takes the port.
    ///
    /// # Errors
    /// `AddrInUse` if another listener of this host has it.
    #[cfg(target_os = "linux")]
    pub(crate) fn take(ip: IpAddr, port: u16) -> io::Result<Self> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        let name = format!("fairwire/dccp/{ip}/{port}");
        let addr = SocketAddr::from_abstract_name(name)?;
        Ok(Self {
            _socket: UnixDatagram::bind_addr(&addr)?,
        })
    }

    /// Without Linux there are no native endpoints.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn take(_ip: IpAddr, _port: u16) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
