//! Plain UDP: one system call per datagram, as in iperf3.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use socket2::Type;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::error::LinkError;
use crate::perf::defaults::SOCKET_BUFFER;
use crate::perf::local::{self, Local};

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

    /// Makes a socket for the server at `addr`.
    pub(crate) async fn connect(addr: SocketAddr, local: Option<&Local>) -> io::Result<Self> {
        let socket = bind(local::source(addr, local)?, false, local)?;
        socket.connect(addr).await?;
        Ok(Self::new(socket, false))
    }

    /// Makes a socket for one client, which sent `first` to the address `local` of the server: the system prefers a
    /// connected socket to the listening one.
    pub(crate) async fn accept(
        local: SocketAddr,
        peer: SocketAddr,
        first: Bytes,
    ) -> io::Result<Self> {
        let socket = bind(local, true, None)?;
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

/// The longest first message of a client.
const HELLO: usize = 2_048;

/// The socket at which a server waits for clients.
#[derive(Debug)]
pub(crate) struct UdpListener {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl UdpListener {
    /// Binds to `addr`; the sockets of its clients share its port.
    pub(crate) fn bind(addr: SocketAddr, local: Option<&Local>) -> io::Result<Self> {
        let socket = bind(addr, false, local)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { socket, state })
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Receives a datagram. Returns it, its source, and the address of this host to which it was sent: a client that
    /// gets its answer from another address does not recognise it.
    pub(crate) async fn recv(&self) -> io::Result<(Bytes, SocketAddr, SocketAddr)> {
        let mut buffer = [0; HELLO];
        let mut meta = [RecvMeta::default()];
        let received = self.socket.async_io(Interest::READABLE, || {
            let buffers = &mut [IoSliceMut::new(&mut buffer)];
            self.state
                .recv(UdpSockRef::from(&self.socket), buffers, &mut meta)
        });
        received.await?;
        let [meta] = meta;
        let bound = self.socket.local_addr()?;
        let local = arrived_at(bound, meta.dst_ip, meta.interface_index);
        Ok((
            Bytes::copy_from_slice(&buffer[..meta.len.min(meta.stride)]),
            meta.addr,
            local,
        ))
    }
}

/// Returns the address at which a datagram for `ip` arrived, over the interface with this index: that of a socket which
/// is `bound` to all addresses, or the one that it is bound to.
fn arrived_at(bound: SocketAddr, ip: Option<IpAddr>, interface: Option<u32>) -> SocketAddr {
    match (bound, ip) {
        (SocketAddr::V6(_), Some(ip)) if bound.ip().is_unspecified() => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            let zone = interface.filter(|_| ip.is_unicast_link_local());
            SocketAddrV6::new(ip, bound.port(), 0, zone.unwrap_or(0)).into()
        }
        (SocketAddr::V4(_), Some(ip)) if bound.ip().is_unspecified() => {
            SocketAddr::new(ip, bound.port())
        }
        _ => bound,
    }
}

/// Binds a UDP socket; `shared` allows a port that another of our sockets uses.
fn bind(addr: SocketAddr, shared: bool, local: Option<&Local>) -> io::Result<UdpSocket> {
    let socket = local::socket(addr, Type::DGRAM, local)?;
    socket.set_reuse_address(shared)?;
    // Best effort: the system limits these sizes.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.bind(&addr.into())?;
    // Only now, so that a second server on the port gets an error. Our own flows' sockets may share it.
    socket.set_reuse_address(true)?;
    UdpSocket::from_std(socket.into())
}
