//! UDP sockets of a relay.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::Bytes;
use fairwire::BindError;
use socket2::{Domain, Socket, Type};
use tokio::net::UdpSocket;

use crate::perf::PerfError;

/// The largest UDP datagram, and more.
const LARGEST: usize = 65_536;

/// The size of a socket's receive buffer, bytes; the system may give less.
pub(super) const SOCKET_BUFFER: usize = 4 << 20;

/// The same for the socket of one session at the far side.
const SESSION_BUFFER: usize = 1 << 20;

/// How many datagrams are read before other tasks have a turn.
pub(super) const BATCH: usize = 64;

/// Memory into which datagrams are read.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(vec![0; LARGEST])
    }

    /// Returns the next datagram of the socket and its sender.
    pub(super) fn read(&mut self, socket: &UdpSocket) -> io::Result<(Bytes, SocketAddr)> {
        let (len, from) = socket.try_recv_from(&mut self.0)?;
        Ok((Bytes::copy_from_slice(&self.0[..len]), from))
    }
}

/// Binds the socket on which programs reach a relay.
pub(super) fn listen(addr: SocketAddr) -> Result<UdpSocket, PerfError> {
    let bound = Socket::new(Domain::for_address(addr), Type::DGRAM, None).and_then(|socket| {
        if addr.is_ipv6() && addr.ip().is_unspecified() {
            // One socket for both families, where the system supports it.
            let _ = socket.set_only_v6(false);
        }
        // Best effort: the system has a limit.
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
        socket.set_nonblocking(true)?;
        socket.bind(&addr.into())?;
        UdpSocket::from_std(socket.into())
    });
    bound.map_err(|error| PerfError::Local(no_port(addr, &error)))
}

fn no_port(addr: SocketAddr, error: &io::Error) -> String {
    let port = addr.port();
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("UDP port {port} is in use: choose another, or stop the program that has it")
        }
        io::ErrorKind::AddrNotAvailable => format!("{} is not an address of this host", addr.ip()),
        io::ErrorKind::PermissionDenied => {
            format!(
                "this program may not bind UDP port {port} ({error}): choose a port from 1024 up"
            )
        }
        _ => format!("cannot open a UDP socket on {addr}: {error}"),
    }
}

/// Returns a socket that sends to `to` and receives from there only.
pub(super) async fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any).await?;
    // Best effort, as above. A burst of a video's key frame is longer than the usual 200 kB.
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(SESSION_BUFFER);
    socket.connect(to).await?;
    Ok(socket)
}

/// Returns the address of `to` that is taken: the first one.
pub(super) async fn resolve_one(to: &str) -> Result<SocketAddr, String> {
    let all = fairwire::resolve(to).await;
    let all = all.map_err(|error| format!("cannot resolve {to}: {error}"))?;
    all.first()
        .copied()
        .ok_or_else(|| format!("{to} has no address"))
}

/// Binds a DCCP endpoint in UDP on `addr`; on all IPv4 addresses if it is for all and the host has no IPv6.
pub(super) fn endpoint(
    addr: SocketAddr,
    builder: impl Fn() -> fairwire::EndpointBuilder,
) -> Result<fairwire::Endpoint, PerfError> {
    let bound = match builder().bind(addr) {
        Err(BindError::Socket { .. } | BindError::NoSuchAddress { .. })
            if addr.is_ipv6() && addr.ip().is_unspecified() =>
        {
            builder().bind((Ipv4Addr::UNSPECIFIED, addr.port()).into())
        }
        bound => bound,
    };
    bound.map_err(|error| PerfError::Local(error.to_string()))
}
