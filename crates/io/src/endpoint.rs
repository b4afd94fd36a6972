//! Endpoints: where connections begin.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use fairwire_proto::{
    CloseReason, ConnectionId, Encapsulation, EndpointConfig, EndpointStats, ListenError, Path,
};
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::{AddressKind, BindError, ConnectError};
use crate::listener::Listener;
use crate::options::{ConnectOptions, ListenOptions};
use crate::race::race;
use crate::socket::{Claim, Route, Sockets, canonical};
use crate::state::{Backlog, Handle, Link, Shared, State};
use crate::waiting::Place;

/// Can an endpoint at `local` connect to it at all? What only the system knows is not asked here.
fn check(local: IpAddr, to: DccpAddr) -> Result<(), ConnectError> {
    let remote = to.named();
    let kind = match remote.ip() {
        ip if ip.is_unspecified() => Some(AddressKind::Unspecified),
        ip if ip.is_multicast() => Some(AddressKind::Multicast),
        IpAddr::V4(ip) if ip.is_broadcast() => Some(AddressKind::Broadcast),
        _ => None,
    };
    if let Some(kind) = kind {
        return Err(ConnectError::NotOneHost { remote, kind });
    }
    let both_families = local == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    if local.is_ipv4() != remote.is_ipv4() && !both_families {
        return Err(ConnectError::WrongFamily { local, remote });
    }
    if let SocketAddr::V6(v6) = remote
        && v6.ip().is_unicast_link_local()
        && v6.scope_id() == 0
    {
        return Err(ConnectError::NoInterface { remote });
    }
    if to.dccp_port == 0 {
        return Err(ConnectError::NoDccpPort { remote });
    }
    Ok(())
}

/// The ports that are given to whoever asks for none (RFC 6335, section 6).
const DYNAMIC: RangeInclusive<u16> = 49_152..=u16::MAX;

/// A socket that speaks DCCP: any number of listeners and connections behind one UDP port, or
/// directly in IP.
///
/// [`bind`](Self::bind) takes a UDP port (RFC 6773): it works through NATs and needs no privileges.
/// [`bind_native`](Self::bind_native) takes IP protocol 33 itself (RFC 4340), which the DCCP of the
/// Linux kernel speaks too; everything else is the same.
///
/// It owns all its state and shares nothing with other endpoints: to use several threads, make
/// several. Clones are the same endpoint. Connections and listeners keep it running, so it may
/// be dropped before them.
#[derive(Clone, Debug)]
pub struct Endpoint {
    handle: Handle,
}

/// Makes an [`Endpoint`] with other than the default limits.
#[derive(Clone, Debug)]
#[must_use = "call `bind`"]
pub struct EndpointBuilder {
    config: EndpointConfig,
    socket_buffer: usize,
    exclusive: bool,
}

impl EndpointBuilder {
    /// With these limits.
    pub fn config(mut self, config: EndpointConfig) -> Self {
        self.config = config;
        self
    }

    /// With this much room in the kernel, each way, bytes; the system may give less. 4 MiB by default.
    pub fn socket_buffer(mut self, bytes: usize) -> Self {
        self.socket_buffer = bytes;
        self
    }

    /// Natively: answer for every DCCP port of the address, those that nobody here has bound
    /// included, with a Reset. Not by default, for a native endpoint sees the packets of all
    /// programs of its host, and this would end the connections of the others; it is for hosts
    /// with one endpoint. A UDP endpoint has its port to itself and needs no such word.
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// Binds to a UDP address and starts the endpoint's driver on the current tokio runtime.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(self, udp: SocketAddr) -> Result<Endpoint, BindError> {
        let buffer = self.socket_buffer;
        self.start(|| Sockets::udp(udp, buffer))
    }

    /// Binds to IP protocol 33 at an address of this host and starts the endpoint's driver on the
    /// current tokio runtime. `::` is every address, of IPv4 too, `0.0.0.0` every one of IPv4.
    ///
    /// Linux only, with the right to open raw sockets (`CAP_NET_RAW`).
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_native(mut self, ip: IpAddr) -> Result<Endpoint, BindError> {
        let buffer = self.socket_buffer;
        // RFC 4340, 8.3.1, wants a Reset for a packet without a connection; but what is none of
        // ours may be another program's.
        self.config.answer_unbound_ports = self.exclusive;
        self.start(|| Sockets::native(ip.to_canonical(), buffer))
    }

    fn start(
        self,
        open: impl FnOnce() -> Result<Sockets, BindError>,
    ) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        // RFC 4340, 7.2: initial sequence numbers must not be guessable, so the secret must not be.
        // It is overwritten when it is dropped, on each way out.
        let mut secret = zeroize::Zeroizing::new([0; 32]);
        getrandom::fill(secret.as_mut_slice()).map_err(|_| BindError::NoRandomness)?;
        let socket = open()?;
        let proto = fairwire_proto::Endpoint::new(self.config, *secret);
        let shared = Arc::new(Shared::new(proto, socket.local(), socket.encapsulation()));
        let endpoint = Endpoint::new(Handle::new(Arc::clone(&shared)));
        runtime.spawn(Driver::new(shared, socket).run());
        Ok(endpoint)
    }
}

impl Endpoint {
    /// The endpoint of a handle, whose driver somebody runs.
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Binds to a UDP address, with the defaults.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(udp: SocketAddr) -> Result<Self, BindError> {
        Self::builder().bind(udp)
    }

    /// Binds to IP protocol 33, with the defaults; see [`EndpointBuilder::bind_native`].
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_native(ip: IpAddr) -> Result<Self, BindError> {
        Self::builder().bind_native(ip)
    }

    /// Changes the defaults first.
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder {
            config: EndpointConfig::default(),
            socket_buffer: 4 << 20,
            exclusive: false,
        }
    }

    /// The UDP address bound to; natively the address, and port zero.
    pub fn local_addr(&self) -> SocketAddr {
        self.handle.local
    }

    /// Does it send directly in IP?
    pub fn is_native(&self) -> bool {
        self.handle.encapsulation == Encapsulation::Native
    }

    /// Listens on a DCCP port for these services.
    ///
    /// The port belongs to this endpoint's address: several listeners share one UDP port. Clients that know one
    /// number only ([`connect`](crate::connect)) expect both ports to be the same:
    /// `endpoint.listen(endpoint.local_addr().port(), ..)`, or [`listen`](crate::listen), which also binds.
    /// Zero takes a free DCCP port ([`Listener::dccp_port`]), which clients must be told beside the address.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen(
        &self,
        dccp_port: u16,
        services: &[ServiceCode],
    ) -> Result<Listener, ListenError> {
        self.listen_with(dccp_port, services, ListenOptions::default())
    }

    /// Listens with options. Zero is a free port here too.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_with(
        &self,
        dccp_port: u16,
        services: &[ServiceCode],
        options: ListenOptions,
    ) -> Result<Listener, ListenError> {
        let mut state = self.handle.lock();
        if state.gone || state.closing {
            return Err(ListenError::EndpointClosed);
        }
        let (dccp_port, claim) = match dccp_port {
            0 => self.claim_any(&state)?,
            port => (port, self.claim(port)?),
        };
        state.proto.listen(dccp_port, services, options.config)?;
        state.proto.reserve();
        let limit = options.backlog.max(1);
        state.proto.set_room(dccp_port, limit);
        state.proto.set_admit(dccp_port, options.admit);
        let backlog = Backlog {
            waiting: std::collections::VecDeque::new(),
            limit,
            acceptors: crate::wakers::Wakers::default(),
            _claim: claim,
        };
        state.backlogs.insert(dccp_port, backlog);
        drop(state);
        Ok(Listener::new(self.handle.clone(), dccp_port))
    }

    /// A port that nobody listens on. Not one after the other from the first: a port that was let go a moment ago
    /// may still be meant by somebody (RFC 6056, section 3).
    fn claim_any(&self, state: &State) -> Result<(u16, Option<Claim>), ListenError> {
        let mut start = [0; 2];
        // Where to begin need not be a secret: without randomness the first will do.
        let _ = getrandom::fill(&mut start);
        let (first, count) = (*DYNAMIC.start(), DYNAMIC.end() - DYNAMIC.start() + 1);
        for turn in 0..count {
            let port = first + u16::from_ne_bytes(start).wrapping_add(turn) % count;
            if state.backlogs.contains_key(&port) {
                continue;
            }
            match self.claim(port) {
                Err(ListenError::PortInUse { .. }) => {}
                claimed => return Ok((port, claimed?)),
            }
        }
        Err(ListenError::NoPort)
    }

    /// Keeps other programs from a native port.
    fn claim(&self, dccp_port: u16) -> Result<Option<Claim>, ListenError> {
        if !self.is_native() {
            return Ok(None);
        }
        match Claim::take(self.handle.local.ip(), dccp_port) {
            Ok(claim) => Ok(Some(claim)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(ListenError::PortInUse { port: dccp_port })
            }
            Err(_) => Ok(None), // The port can be used all the same.
        }
    }

    /// Connects to a service. Cancelling gives up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
    ) -> Result<Connection, ConnectError> {
        self.connect_with(remote, service, ConnectOptions::default())
            .await
    }

    /// Connects with options. Cancelling gives up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect_with(
        &self,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        self.open(None, remote.into(), service, options).await
    }

    /// Connects to whichever of several remotes answers first, which are taken for addresses of one
    /// server (Happy Eyeballs, RFC 8305): see [`connect_any`](crate::connect_any). Cancelling gives up.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::All`] if there was more than one to try.
    pub async fn connect_any(
        &self,
        remotes: &[DccpAddr],
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        race(remotes, |remote| {
            let options = options.clone();
            async move { self.connect_with(remote, service, options).await }
        })
        .await
    }

    /// Waits on a DCCP port for one client, which it invites (simultaneous open, RFC 5596): then its
    /// Request passes NATs and firewalls on this side too. `remote` is where the client's packets
    /// will come from, which both must have told each other by other means, such as SDP; the
    /// client gives its [`local_port`](ConnectOptions::local_port) and calls
    /// [`connect_with`](Self::connect_with) at about the same time.
    ///
    /// It gives up after `connect_timeout`. Cancelling gives up too. Listeners on the same port
    /// serve everybody else. `options.local_port` is not looked at.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn listen_towards(
        &self,
        dccp_port: u16,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        self.open(Some(dccp_port), remote.into(), service, options)
            .await
    }

    /// Connects, or waits on `invited` for who connects.
    async fn open(
        &self,
        invited: Option<u16>,
        remote: DccpAddr,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let to = self.reach(remote)?;
        let after = options.config.connect_timeout;
        let malformed = self.stats().malformed;
        let id = self.begin(invited, to, service, options)?;
        let connection = Connection::new(self.handle.clone(), id);
        let Err(reason) = connection.established().await else {
            return Ok(connection);
        };
        let native = self.is_native();
        let remote = to.named();
        Err(match reason {
            CloseReason::Reset { code, text, .. } => ConnectError::Refused { remote, code, text },
            CloseReason::Unreachable { why } => ConnectError::Unreachable {
                remote,
                native,
                why,
                after,
            },
            CloseReason::Echoed => ConnectError::Echoed { remote, native },
            CloseReason::ConnectTimeout => ConnectError::Timeout {
                remote,
                native,
                after,
                not_dccp: self.stats().malformed.saturating_sub(malformed),
            },
            CloseReason::Aborted if self.handle.lock().gone => ConnectError::EndpointClosed,
            reason => ConnectError::Ended { reason },
        })
    }

    /// The remote as this endpoint reaches it.
    fn reach(&self, mut remote: DccpAddr) -> Result<DccpAddr, ConnectError> {
        remote.addr = canonical(remote.addr);
        check(self.handle.local.ip(), remote)?;
        match self.handle.encapsulation {
            Encapsulation::Native => Ok(remote.without_udp()),
            Encapsulation::Udp if remote.addr.port() == 0 => Err(ConnectError::NoUdpPort {
                remote: remote.named(),
            }),
            Encapsulation::Udp => Ok(remote),
        }
    }

    fn begin(
        &self,
        invited: Option<u16>,
        to: DccpAddr,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        let config = options.config;
        let route = Route::find(self.handle.local, to.addr).map_err(|e| self.no_route(to, e))?;
        let path = Path {
            encapsulation: self.handle.encapsulation,
            local: route.local,
            remote: to.addr,
        };
        let mut state = self.handle.lock();
        if state.gone || state.closing {
            return Err(ConnectError::EndpointClosed);
        }
        let now = self.handle.clock.now();
        let (proto, there) = (&mut state.proto, to.dccp_port);
        let id = match invited {
            None => proto.connect(now, path, options.local_port, there, service, config),
            Some(port) => proto.listen_towards(now, path, port, there, service, config),
        };
        let id = id.map_err(ConnectError::Start)?;
        if let Some(mtu) = route.mtu {
            // RFC 4340, 14.1: the path MTU begins with that of the interface.
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            state.proto.limit_path_mtu(now, id, mtu);
        }
        state.links.insert(id, Link::default());
        self.handle.poke(&mut state);
        Ok(id)
    }

    /// Closes the endpoint: stops every listener, refuses new connections, closes every connection as
    /// [`Connection::close`] does, and waits until all of them are over and their last packets have left.
    ///
    /// What was received can still be read. The address stays bound until the last handle is dropped. Cancelling
    /// stops the waiting only.
    pub async fn close(&self) {
        self.begin_close();
        let over = |state: &mut State| (state.is_over() || state.gone).then_some(());
        self.handle.wait(Place::Idle, over).await;
    }

    fn begin_close(&self) {
        let mut wakes = Vec::new();
        let mut state = self.handle.lock();
        state.close(self.handle.clock.now(), &mut wakes);
        self.handle.poke(&mut state);
        drop(state);
        for waker in wakes {
            waker.wake();
        }
    }

    /// Waits until every connection whose handles were dropped is over, and its last packet has left.
    /// Connections with a live handle are waited for too. Cancelling changes nothing.
    pub async fn wait_idle(&self) {
        let idle = |state: &mut State| (state.is_idle() || state.gone).then_some(());
        self.handle.wait(Place::Idle, idle).await;
    }

    /// Counters of what belongs to no connection.
    pub fn stats(&self) -> EndpointStats {
        self.handle.lock().proto.endpoint_stats()
    }

    fn no_route(&self, to: DccpAddr, source: io::Error) -> ConnectError {
        ConnectError::NoRoute {
            local: self.handle.local.ip(),
            remote: to.named(),
            source,
        }
    }
}
