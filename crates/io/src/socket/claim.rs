//! Claims: a native DCCP port belongs to at most one listener of the host.
//!
//! The kernel does not know DCCP ports, so two programs could listen on the same one and both answer. To prevent this,
//! each listener binds a name among the host's abstract Unix sockets (unix(7)). These names form one set per network
//! namespace, like ports, and disappear when the program ends.

use std::io;
use std::net::IpAddr;

use crate::transport::Claim;

/// Claims the port at one address (or at every address).
///
/// # Errors
/// `AddrInUse` if another listener of this host has it.
#[cfg(target_os = "linux")]
pub(super) fn take(ip: IpAddr, port: u16) -> io::Result<Claim> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let name = format!("fairwire/dccp/{ip}/{port}");
    let addr = SocketAddr::from_abstract_name(name)?;
    Ok(Box::new(UnixDatagram::bind_addr(&addr)?))
}

/// Always fails: native endpoints exist on Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn take(_ip: IpAddr, _port: u16) -> io::Result<Claim> {
    Err(io::ErrorKind::Unsupported.into())
}
