//! Plain UDP: one system call per datagram, as in iperf3.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::{UdpSocket, lookup_host};

use super::error::LinkError;
use crate::perf::PerfError;
use crate::perf::defaults::SOCKET_BUFFER;

/// The bytes that datagrams share in one allocation.
const CHUNK: usize = 1 << 18;

/// A connected UDP socket.
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    /// Whether the peer is the client.
    accepted: bool,
    buffers: Mutex<Buffers>,
}

#[derive(Debug)]
struct Buffers {
    datagram: Vec<u8>,
    chunk: BytesMut,
    first: Option<Bytes>,
}

impl Udp {
    fn new(socket: UdpSocket, accepted: bool) -> Self {
        Self {
            socket,
            accepted,
            buffers: Mutex::new(Buffers {
                datagram: vec![0; 65_536],
                chunk: BytesMut::new(),
                first: None,
            }),
        }
    }

    pub(super) async fn connect(target: &str) -> Result<Self, PerfError> {
        let failed = |error: io::Error| PerfError::Peer(format!("{target}: {error}"));
        let mut last = io::ErrorKind::NotFound.into();
        for addr in lookup_host(target).await.map_err(failed)? {
            let any = match addr {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let opened = async {
                let socket = bind(SocketAddr::new(any, 0), false)?;
                socket.connect(addr).await?;
                Ok(socket)
            };
            match opened.await {
                Ok(socket) => return Ok(Self::new(socket, false)),
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Makes a socket for one client of the server that listens on `local`: the system prefers a connected socket to
    /// the listening one. `first` is the datagram that the client sent to the listening socket.
    pub(crate) async fn accept(
        local: SocketAddr,
        peer: SocketAddr,
        first: Bytes,
    ) -> io::Result<Self> {
        let socket = bind(local, true)?;
        socket.connect(peer).await?;
        let udp = Self::new(socket, true);
        udp.lock().first = Some(first);
        Ok(udp)
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn send(&self, bytes: &[u8]) -> Result<(), LinkError> {
        // Errors that the network reported about earlier datagrams are returned here too. A connected socket has one
        // peer, and that peer is gone.
        let sent = self.socket.send(bytes).await;
        sent.map(drop).map_err(|error| self.link_error(&error))
    }

    pub(super) async fn recv(&self) -> Result<Bytes, LinkError> {
        if let Some(first) = self.lock().first.take() {
            return Ok(first);
        }
        loop {
            let interest = Interest::READABLE | Interest::ERROR;
            let ready = self
                .socket
                .ready(interest)
                .await
                .map_err(|e| self.link_error(&e))?;
            if ready.is_error() {
                if let Ok(Some(error)) = self.socket.take_error() {
                    return Err(self.link_error(&error));
                }
                // The error was returned by a call to send; the readiness must still be cleared.
                let clear = || Err(io::ErrorKind::WouldBlock.into());
                let _ = self.socket.try_io::<()>(Interest::ERROR, clear);
            }
            let mut guard = self.lock();
            let Buffers {
                datagram, chunk, ..
            } = &mut *guard;
            match self.socket.try_recv(datagram) {
                Ok(len) => {
                    if chunk.capacity() < len {
                        chunk.reserve(CHUNK);
                    }
                    chunk.extend_from_slice(&datagram[..len]);
                    return Ok(chunk.split().freeze());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.link_error(&error)),
            }
        }
    }

    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().ok()
    }

    fn link_error(&self, error: &io::Error) -> LinkError {
        LinkError(match error.kind() {
            io::ErrorKind::ConnectionRefused if self.accepted => {
                "the client is gone: nobody has its UDP port any more".to_owned()
            }
            io::ErrorKind::ConnectionRefused => {
                "nobody listens on that UDP port: is the server running with --proto udp?"
                    .to_owned()
            }
            _ => format!("UDP: {error}"),
        })
    }
}

/// Binds a UDP socket; `shared` allows a port that another of our sockets uses.
pub(super) fn bind(addr: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6() && addr.ip().is_unspecified() {
        let _ = socket.set_only_v6(false);
    }
    socket.set_reuse_address(shared)?;
    // Best effort: the system limits these sizes.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    // Only now, so that a second server on the port gets an error. Our own flows' sockets may share it.
    socket.set_reuse_address(true)?;
    UdpSocket::from_std(socket.into())
}
