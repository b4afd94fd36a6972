//! The sockets of an endpoint: they send and receive batches, with ECN marks and ICMP errors.
//!
//! Each one is a UDP socket, or natively a raw socket ([`native`]), which takes the same calls and options. [`Sockets`]
//! holds the sockets of one endpoint and is its [`Transport`](crate::transport::Transport). [`OperatingSystem`] is the
//! system that such an endpoint runs on. This module knows datagrams and addresses, but nothing of DCCP. It unmaps
//! addresses: the layers above see an IPv4 peer of a dual-stack socket as an IPv4 address.
//!
//! ECN marks are set and read (RFC 4340, section 12.1; RFC 6773, section 3.5).
//!
//! RFC 6773, 3.3 forbids UDP checksums of zero. We always send a checksum, which is the system's default. On IPv4 a
//! user's socket cannot see that a received checksum was zero; on IPv6 the system drops such packets.

mod changes;
mod claim;
#[cfg(target_os = "linux")]
mod errors;
mod lost;
mod native;
mod route;
mod set;
mod steer;
mod system;
mod watched;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
use quinn_udp::{EcnCodepoint, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Type};
use tokio::io::{Interest, Ready};
use tokio::time::Instant;

use crate::error::BindError;
use crate::transport::{Batch, Inbox, NetworkError};

use lost::Refusals;
pub(crate) use route::wildcard_for;
pub(crate) use set::Sockets;
pub(crate) use system::OperatingSystem;
use watched::Watched;
pub(crate) use watched::is_without_runtime;

/// The size of the receive buffer of one message, bytes: the largest UDP datagram, and with GRO the largest buffer of
/// several.
const MESSAGE: usize = 65_536;

/// Whether one call receives messages until the socket is empty or the buffers are full (`recvmmsg`).
const STOPS_WHEN_EMPTY: bool = cfg!(target_os = "linux");

/// Errors taken from a queue in one go. A host that makes the network send many errors must not keep us from other
/// work.
#[cfg(target_os = "linux")]
const MAX_ERRORS: usize = 64;

/// What a socket is opened with, beside its address.
#[derive(Clone, Debug)]
pub(crate) struct SocketOptions {
    /// The size of the kernel's send and receive buffers, bytes each; the system may give less.
    pub(crate) buffer: usize,
    /// The only interface that it uses.
    pub(crate) interface: Option<String>,
}

/// A bound socket that never blocks. A raw socket is held in the standard library's UDP type too: only calls that work
/// on raw sockets are made.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: Watched,
    state: RwLock<UdpSocketState>,
    refusals: Refusals,
    local: SocketAddr,
    max_segments: usize,
}

impl Socket {
    /// Binds to `addr`.
    pub(crate) fn bind(addr: SocketAddr, options: &SocketOptions) -> Result<Self, BindError> {
        if let SocketAddr::V6(v6) = addr
            && v6.ip().is_unicast_link_local()
            && v6.scope_id() == 0
        {
            return Err(BindError::NoInterface { addr });
        }
        let opened = udp(addr).and_then(|socket| Self::open(socket, addr, options));
        opened.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse { addr },
            io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress { addr },
            _ => BindError::Socket { addr, source },
        })
    }

    /// Binds more sockets to the same UDP port, so that there are `count`, and spreads datagrams over them.
    pub(crate) fn share(&self, count: u16, options: &SocketOptions) -> io::Result<Vec<Self>> {
        let own = SockRef::from(self.udp.get());
        steer::share(&own)?;
        let others = (1..count).map(|_| {
            let socket = udp(self.local)?;
            steer::share(&SockRef::from(&socket))?;
            Self::open(socket, self.local, options)
        });
        let others = others.collect::<io::Result<_>>()?;
        // Best effort: packets that the system delivers by another rule are handed over.
        let _ = steer::steer(&own, count);
        Ok(others)
    }

    /// Opens a raw socket for DCCP at `ip`.
    pub(crate) fn native(ip: IpAddr, options: &SocketOptions) -> io::Result<Self> {
        let opened = Self::open(native::socket(ip)?, SocketAddr::new(ip, 0), options)?;
        Ok(Self {
            local: SocketAddr::new(opened.local.ip(), 0), // Linux returns 33 in place of the port.
            max_segments: 1,
            ..opened
        })
    }

    fn open(
        socket: socket2::Socket,
        addr: SocketAddr,
        options: &SocketOptions,
    ) -> io::Result<Self> {
        if let Some(interface) = &options.interface {
            use_only(&socket, interface)?;
        }
        // Best effort: the system clamps these to its own limits.
        let _ = socket.set_recv_buffer_size(options.buffer);
        let _ = socket.set_send_buffer_size(options.buffer);
        socket.bind(&addr.into())?;
        Self::watch(socket.into())
    }

    /// Takes a UDP socket that the program has bound.
    pub(crate) fn own(socket: UdpSocket) -> Result<Self, BindError> {
        let addr = socket.local_addr();
        let addr = addr.map_err(|source| BindError::OwnSocket { source })?;
        if addr.port() == 0 {
            return Err(BindError::NotBound);
        }
        if let Ok(peer) = socket.peer_addr() {
            return Err(BindError::OnePeer { peer });
        }
        Self::watch(socket).map_err(|source| BindError::OwnSocket { source })
    }

    /// Sets what every socket needs.
    fn watch(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        prepare(&socket, &state);
        let local = socket.local_addr()?;
        let udp = Watched::new(socket)?;
        Ok(Self {
            max_segments: state.max_gso_segments(),
            udp,
            state: RwLock::new(state),
            refusals: Refusals::default(),
            local,
        })
    }

    /// Returns the address that the socket is bound to.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns how many datagrams one system call can send.
    pub(crate) fn max_segments(&self) -> usize {
        if self.refusals.has_spoilt() {
            return self.max_segments; // It is renewed before a datagram leaves from another address.
        }
        self.max_segments.min(self.state().max_gso_segments())
    }

    /// Waits until a datagram has arrived or an error is queued.
    pub(crate) async fn ready(&self) -> io::Result<Ready> {
        self.udp.ready().await
    }

    /// Sends one batch.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: nothing was sent. Any other error means that this batch cannot be sent, or
    /// that an earlier datagram met an error, which this call clears.
    pub(crate) fn send(&self, batch: &Batch) -> io::Result<()> {
        self.transmit(batch, batch.bytes(), batch.segment_size())
    }

    /// Sends the packets of a batch one by one, for systems that refuse to split it. Packets that fail are skipped.
    /// Returns how many were sent.
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
        if self.refusals.has_spoilt() && self.refusals.may_renew(Instant::now(), transmit.src_ip) {
            self.renew();
        }
        let socket = UdpSockRef::from(self.udp.get());
        let sent = self.state().try_send(socket, &transmit);
        match sent {
            Err(error) if is_local_drop(&error) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                if let Some(ip) = transmit.src_ip {
                    self.refusals.note(Instant::now(), ip, lost::is_lost);
                }
                Err(error)
            }
            sent => sent,
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, UdpSocketState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what `quinn_udp` takes an address that is gone for: a system without ECN marks and segmentation.
    fn renew(&self) {
        if let Ok(state) = UdpSocketState::new(UdpSockRef::from(self.udp.get())) {
            prepare(self.udp.get(), &state);
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        }
    }

    /// Receives a batch into `inbox`; `WouldBlock` if nothing has arrived.
    pub(crate) fn receive(&self, inbox: &mut Inbox) -> io::Result<()> {
        let received = self.udp.try_io(Interest::READABLE, |socket| {
            let socket = UdpSockRef::from(socket);
            let is_full = inbox.fill(|buffers, meta| self.state().recv(socket, buffers, meta))?;
            if is_full || !STOPS_WHEN_EMPTY {
                return Ok(());
            }
            // The socket is empty. To say so saves a call that would only find that out. What arrives from now on makes
            // it ready again.
            Err(io::ErrorKind::WouldBlock.into())
        });
        if inbox.is_empty() { received } else { Ok(()) }
    }

    /// Passes queued ICMP errors to `each`. If there are many, the rest wake the driver again at once.
    pub(crate) fn drain_errors(&self, mut each: impl FnMut(NetworkError<'_>)) {
        if self.take_errors(&mut each) {
            return;
        }
        // Clears the readiness, so that the next error wakes us. An error may have arrived just before.
        let clear = |_: &_| Err(io::ErrorKind::WouldBlock.into());
        let _ = self.udp.try_io::<()>(Interest::ERROR, clear);
        self.take_errors(&mut each);
    }

    /// Returns true if [`MAX_ERRORS`] errors were taken, so that more may be queued.
    #[cfg(target_os = "linux")]
    fn take_errors(&self, each: &mut impl FnMut(NetworkError<'_>)) -> bool {
        (0..MAX_ERRORS).all(|_| errors::next(self.udp.get(), each).is_some())
    }

    #[cfg(not(target_os = "linux"))]
    fn take_errors(&self, _: &mut impl FnMut(NetworkError<'_>)) -> bool {
        false
    }

    /// Returns `addr` in the form of this socket's address family.
    fn mapped(&self, addr: SocketAddr) -> SocketAddr {
        match (self.local, addr) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            _ => addr,
        }
    }

    /// Returns the source address to set on a packet: only a wildcard socket needs one.
    fn source(&self, ip: IpAddr) -> Option<IpAddr> {
        (self.local.ip().is_unspecified() && !ip.is_unspecified()).then_some(ip)
    }
}

/// Opens a UDP socket of the family of `addr`, not yet bound.
fn udp(addr: SocketAddr) -> io::Result<socket2::Socket> {
    let domain = Domain::for_address(addr);
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6() && addr.ip().is_unspecified() {
        // One socket for both families, where the system supports it.
        let _ = socket.set_only_v6(false);
    }
    Ok(socket)
}

/// Sets what `quinn_udp` does not, and the other way round.
fn prepare(socket: &UdpSocket, state: &UdpSocketState) {
    do_not_stamp(socket);
    // Without this option a closed port is only found by a timeout; nothing else depends on it. IPv6 raw sockets refuse
    // this call and have set their own option. Elsewhere nobody would read the errors.
    #[cfg(target_os = "linux")]
    let _ = state.enable_transport_errors(UdpSockRef::from(socket));
    #[cfg(not(target_os = "linux"))]
    let _ = state;
}

/// Switches off the time of arrival, which `quinn_udp` asks for. Nobody reads it, and it costs the kernel a clock read
/// and a control message for each message.
fn do_not_stamp(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    let _ = setsockopt(socket, ReceiveTimestampns, &false);
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Binds the socket to an interface.
fn use_only(socket: &socket2::Socket, interface: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    let used =
        crate::interface(interface).and_then(|_| socket.bind_device(Some(interface.as_bytes())));
    #[cfg(not(target_os = "linux"))]
    let used: io::Result<()> = {
        let _ = socket;
        Err(io::ErrorKind::Unsupported.into())
    };
    // Of another kind: the port and the address are not what the system refuses.
    used.map_err(|error| {
        io::Error::other(format!(
            "cannot use only the interface '{interface}': {error}"
        ))
    })
}

/// Returns whether a queue of this host dropped the datagram.
///
/// Such a datagram is lost as on any other hop, and the peer will report the loss. Sending it again at once would only
/// fill the full queue further. Linux reports this error to sockets that ask for errors.
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
    use super::{MAX_ERRORS, ReceiveTimestampns, Socket, SocketOptions};
    use fairwire_proto::{IcmpError, Unreachable};
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};
    use std::time::Duration;

    /// The system is not asked for times of arrival.
    #[tokio::test]
    async fn arrivals_are_not_stamped() {
        let options = SocketOptions {
            buffer: 1 << 20,
            interface: None,
        };
        let socket = Socket::bind(([127, 0, 0, 1], 0).into(), &options).expect("a free port");
        let stamped = nix::sys::socket::getsockopt(socket.udp.get(), ReceiveTimestampns);
        assert_eq!(stamped, Ok(false));
    }

    /// A queue full of ICMP errors is emptied in parts, and the rest wakes the driver at once. Each error tells which
    /// of our addresses the datagram left from, without a route lookup.
    #[tokio::test]
    async fn errors_come_in_parts() {
        let dead = UdpSocket::bind("127.0.0.2:0").expect("a free port");
        let there = dead.local_addr().expect("bound");
        drop(dead);
        let options = SocketOptions {
            buffer: 1 << 20,
            interface: None,
        };
        let socket = Socket::bind(([0, 0, 0, 0], 0).into(), &options).expect("a free port");
        let all = MAX_ERRORS + 10;
        let mut sent = 0;
        while sent < all {
            // Fails when it reports the error of the previous datagram. Linux sends at most 1,000 ICMP errors per
            // second.
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
