//! The sockets below an endpoint: batches in, batches out, ECN marks and ICMP errors.
//!
//! Each is a UDP socket, or natively a raw socket ([`native`]), which takes the same calls and
//! options; [`Sockets`] is what an endpoint has of them. Knows datagrams and addresses, nothing of DCCP. Addresses are unmapped here: an IPv4 peer of
//! a dual-stack socket is an IPv4 address to everybody above.
//!
//! ECN marks are set and read (RFC 4340, section 12.1; RFC 6773, section 3.5).
//!
//! RFC 6773, 3.3 forbids UDP checksums of zero. We always send one (the system's default). A
//! received zero cannot be seen by a user's socket on IPv4; on IPv6 the system drops it.

mod address;
mod batch;
mod claim;
#[cfg(target_os = "linux")]
mod errors;
mod inbox;
mod limits;
mod native;
mod network_error;
mod route;
mod set;
mod watched;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use quinn_udp::{EcnCodepoint, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Type};
use tokio::io::{Interest, Ready};

use crate::error::BindError;

pub(crate) use address::{arrived_at, canonical};
pub(crate) use batch::Batch;
pub(crate) use claim::Claim;
pub(crate) use inbox::{Arrived, Inbox};
use network_error::NetworkError;
pub(crate) use route::{Route, wildcard_for};
pub(crate) use set::Sockets;
use watched::Watched;

/// Errors taken from a queue in one go: whoever can make the network send them must not keep us from
/// everything else.
#[cfg(target_os = "linux")]
const MAX_ERRORS: usize = 64;

/// A bound socket, never blocking. A raw one goes by the standard library's type for UDP too:
/// nothing is asked of that which a raw socket would not do.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: Watched,
    state: UdpSocketState,
    local: SocketAddr,
    max_segments: usize,
}

impl Socket {
    /// Binds to `addr`, with kernel buffers of `buffer` bytes each way if the system lets us.
    pub(crate) fn bind(addr: SocketAddr, buffer: usize) -> Result<Self, BindError> {
        let socket =
            socket2::Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP));
        let opened = socket.and_then(|socket| {
            if addr.is_ipv6() && addr.ip().is_unspecified() {
                // One socket for both families, where the system can.
                let _ = socket.set_only_v6(false);
            }
            Self::open(socket, addr, buffer)
        });
        opened.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse { addr },
            io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress { addr },
            _ => BindError::Socket { addr, source },
        })
    }

    /// A raw socket for DCCP at `ip`.
    pub(crate) fn native(ip: IpAddr, buffer: usize) -> io::Result<Self> {
        let opened = Self::open(native::socket(ip)?, SocketAddr::new(ip, 0), buffer)?;
        Ok(Self {
            local: SocketAddr::new(opened.local.ip(), 0), // Linux says 33 where a port would be.
            max_segments: 1,
            ..opened
        })
    }

    fn open(socket: socket2::Socket, addr: SocketAddr, buffer: usize) -> io::Result<Self> {
        // Best effort: the system clamps these to its own limits.
        let _ = socket.set_recv_buffer_size(buffer);
        let _ = socket.set_send_buffer_size(buffer);
        socket.set_nonblocking(true)?;
        socket.bind(&addr.into())?;
        let udp = Watched::new(socket.into())?;
        let state = UdpSocketState::new(UdpSockRef::from(udp.get()))?;
        // Without it a dead port is only found by waiting; nothing else depends on it. Raw sockets of
        // IPv6 refuse this call and have set their own option.
        let _ = state.enable_transport_errors(UdpSockRef::from(udp.get()));
        let local = udp.get().local_addr()?;
        Ok(Self {
            max_segments: state.max_gso_segments(),
            udp,
            state,
            local,
        })
    }

    /// The address bound to.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that one system call can send.
    pub(crate) fn max_segments(&self) -> usize {
        self.max_segments.min(self.state.max_gso_segments())
    }

    /// Waits until something arrived or an error is queued.
    pub(crate) async fn ready(&self) -> io::Result<Ready> {
        self.udp.ready().await
    }

    /// Sends one batch.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: nothing was sent. Others say that this batch cannot be
    /// sent, or that an earlier datagram met an error, which clears it.
    pub(crate) fn send(&self, batch: &Batch) -> io::Result<()> {
        self.transmit(batch, batch.bytes(), batch.segment_size())
    }

    /// Sends the packets of a batch one by one, those that can be sent, for systems that refuse
    /// to cut it; says how many left.
    pub(crate) fn send_singly(&self, batch: &Batch) -> usize {
        let packets = batch.bytes().chunks(batch.first().len().max(1));
        packets
            .filter(|packet| self.transmit(batch, packet, None).is_ok())
            .count()
    }

    fn transmit(&self, batch: &Batch, contents: &[u8], segment: Option<usize>) -> io::Result<()> {
        let transmit = quinn_udp::Transmit {
            destination: self.mapped(batch.path().remote),
            ecn: EcnCodepoint::from_bits(batch.ecn().bits()),
            contents,
            segment_size: segment,
            src_ip: self.source(batch.path().local.ip()),
        };
        let socket = UdpSockRef::from(self.udp.get());
        match self.state.try_send(socket, &transmit) {
            Err(error) if is_local_drop(&error) => Ok(()),
            sent => sent,
        }
    }

    /// Receives a batch into `inbox`; `WouldBlock` if there is nothing.
    pub(crate) fn receive(&self, inbox: &mut Inbox) -> io::Result<()> {
        self.udp.try_io(Interest::READABLE, |socket| {
            let socket = UdpSockRef::from(socket);
            inbox.fill(|buffers, meta| self.state.recv(socket, buffers, meta))
        })
    }

    /// Hands queued ICMP errors to `each`. If there are many, those that are left wake us at once.
    pub(crate) fn drain_errors(&self, mut each: impl FnMut(NetworkError<'_>)) {
        if self.take_errors(&mut each) {
            return;
        }
        // Clears the readiness, so that the next error wakes us; one may have come just before.
        let clear = |_: &_| Err(io::ErrorKind::WouldBlock.into());
        let _ = self.udp.try_io::<()>(Interest::ERROR, clear);
        self.take_errors(&mut each);
    }

    /// True if there were as many as are taken at once.
    #[cfg(target_os = "linux")]
    fn take_errors(&self, each: &mut impl FnMut(NetworkError<'_>)) -> bool {
        (0..MAX_ERRORS).all(|_| errors::next(self.udp.get(), each).is_some())
    }

    #[cfg(not(target_os = "linux"))]
    fn take_errors(&self, _: &mut impl FnMut(NetworkError<'_>)) -> bool {
        false
    }

    /// `addr` as this socket's family writes it.
    fn mapped(&self, addr: SocketAddr) -> SocketAddr {
        match (self.local, addr) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            _ => addr,
        }
    }

    /// The source address to ask for: only a wildcard socket needs to be told.
    fn source(&self, ip: IpAddr) -> Option<IpAddr> {
        (self.local.ip().is_unspecified() && !ip.is_unspecified()).then_some(ip)
    }
}

/// Did a queue of this host drop the datagram? Then it is lost as on any other hop, and the peer
/// will say so; sending it again at once would only feed the queue that is full. Linux tells it
/// to those who asked for errors.
fn is_local_drop(error: &io::Error) -> bool {
    #[cfg(target_os = "linux")]
    return error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error());
    #[cfg(not(target_os = "linux"))]
    {
        let _ = error;
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{MAX_ERRORS, Socket};
    use fairwire_proto::{IcmpError, Unreachable};
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};
    use std::time::Duration;

    /// A queue full of ICMP errors is emptied in parts, and the rest wakes at once. Each error tells
    /// which of our addresses the datagram left from, without asking the system about a route.
    #[tokio::test]
    async fn errors_come_in_parts() {
        let dead = UdpSocket::bind("127.0.0.2:0").expect("a free port");
        let there = dead.local_addr().expect("bound");
        drop(dead);
        let socket = Socket::bind(([0, 0, 0, 0], 0).into(), 1 << 20).expect("a free port");
        let all = MAX_ERRORS + 10;
        let mut sent = 0;
        while sent < all {
            // Fails where it reports the error of the one before. Linux sends 1,000 ICMP errors a
            // second at most.
            sent += usize::from(socket.udp.get().send_to(&[0; 40], there).is_ok());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let mut parts = Vec::new();
        while parts.iter().sum::<usize>() < all {
            let ready = tokio::time::timeout(Duration::from_secs(5), socket.ready()).await;
            assert!(ready.expect("in time").expect("open").is_error());
            let mut part = 0;
            socket.drain_errors(|found| {
                part += 1;
                assert_eq!(found.remote, there);
                let why = Unreachable::Port;
                assert_eq!(found.error, IcmpError::Unreachable { why });
                assert_eq!(found.local, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
                assert_eq!(found.quote.len(), 40);
            });
            parts.push(part);
        }
        assert_eq!(parts, [MAX_ERRORS, 10]);
    }
}
