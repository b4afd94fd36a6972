//! The UDP sockets of a relay: one at which clients arrive, and one for each client towards the other side.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairwire_units::Ecn;
use mio::net::UdpSocket;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::Clock;

/// What the kernel may keep for us, bytes, if it allows it.
const BUFFER: usize = 4 << 20;
/// Several datagrams may come in one piece.
const PIECE: usize = 65_536;

/// A UDP socket that never blocks.
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// Memory into which sockets read.
#[derive(Debug)]
pub(crate) struct Buffers {
    pieces: Vec<Vec<u8>>,
    meta: Vec<RecvMeta>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            pieces: vec![vec![0; PIECE]; BATCH_SIZE],
            meta: vec![RecvMeta::default(); BATCH_SIZE],
        }
    }
}

/// What is known of a datagram that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) from: SocketAddr,
    /// The address of this host to which it was sent.
    pub(crate) to: Option<IpAddr>,
    pub(crate) ecn: Ecn,
    /// How long ago the kernel had it.
    pub(crate) ago: Duration,
}

impl Udp {
    /// Opens a socket at this address.
    pub(crate) fn bind(addr: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
        // What the system does not grant, it does not.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        socket.bind(&addr.into())?;
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket.into());
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket, state })
    }

    /// Opens a socket from which `to` can be reached.
    pub(crate) fn towards(to: SocketAddr) -> io::Result<Self> {
        Self::bind(match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        })
    }

    /// Returns the socket, to wait for it.
    pub(crate) fn socket(&mut self) -> &mut UdpSocket {
        &mut self.socket
    }

    /// Returns its address.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Calls `take` with each datagram of a batch. Returns false if there is none.
    pub(crate) fn recv(
        &self,
        buffers: &mut Buffers,
        mut take: impl FnMut(Came, &[u8]),
    ) -> io::Result<bool> {
        let Buffers { pieces, meta } = buffers;
        let mut slices: Vec<io::IoSliceMut<'_>> = pieces
            .iter_mut()
            .map(|piece| io::IoSliceMut::new(piece))
            .collect();
        let read = || self.state.recv((&self.socket).into(), &mut slices, meta);
        let count = match self.socket.try_io(read) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An error that an earlier datagram caused; the next call reads on.
            Err(error) if is_of_peer(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        for (piece, meta) in pieces.iter().zip(&meta[..count]) {
            let came = Came {
                from: meta.addr,
                to: meta.dst_ip,
                ecn: ecn_of(meta.ecn),
                ago: meta.timestamp.map_or(Duration::ZERO, Clock::since),
            };
            if meta.len == 0 {
                take(came, &[]);
            }
            for datagram in piece[..meta.len].chunks(meta.stride.max(1)) {
                take(came, datagram);
            }
        }
        Ok(true)
    }

    /// Sends a datagram, from an address of this host if one is given.
    pub(crate) fn send(
        &self,
        (from, to): (Option<IpAddr>, SocketAddr),
        ecn: Ecn,
        bytes: &[u8],
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: codepoint(ecn),
            contents: bytes,
            segment_size: None,
            src_ip: from,
        };
        self.state.try_send((&self.socket).into(), &transmit)
    }
}

/// Returns whether a datagram that was sent before caused the error, and not this socket.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
    };
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable | Interrupted
    )
}

fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
