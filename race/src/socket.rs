//! UDP sockets on loopback, with the buffers that all peers get.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use nix::sys::socket::{setsockopt, sockopt};

use crate::transport::{Result, SOCKET_BUFFER};

/// Loopback, and a port that the kernel chooses.
pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Binds a socket to a port that the kernel chooses.
pub fn bind() -> Result<UdpSocket> {
    let socket = UdpSocket::bind(LOOPBACK)?;
    setsockopt(&socket, sockopt::RcvBuf, &SOCKET_BUFFER)?;
    setsockopt(&socket, sockopt::SndBuf, &SOCKET_BUFFER)?;
    Ok(socket)
}
