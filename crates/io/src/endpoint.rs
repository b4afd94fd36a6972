//! Endpoints: sockets that carry connections and listeners.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::tls::{ClientConfig, Dtls, ServerConfig};
use fairwire_proto::{CloseReason, Encapsulation, EndpointStats, ListenError, Path, StartError};
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::{AddressKind, BindError, ConnectError, is_out_of_descriptors};
use crate::listener::Listener;
use crate::options::{ConnectOptions, ListenOptions};
use crate::race::race;
use crate::security::Security;
use crate::shards::Shards;
use crate::state::{Backlog, ConnectionState, Handle, State};
use crate::timer;
use crate::transport::{Claim, Facts, System, canonical};
use crate::waiting::Awaited;

/// Checks that an endpoint at `local` can connect to this address. What only the system knows is not checked here.
fn check(local: IpAddr, to: DccpAddr) -> Result<(), ConnectError> {
    let remote = to.user_addr();
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

/// Listens in one shard, with what belongs to it of the options.
fn listen(
    state: &mut State,
    port: u16,
    services: &[ServiceCode],
    options: &ListenOptions,
    claim: Option<Claim>,
) -> Result<(), ListenError> {
    if state.driver_ended || state.closing {
        return Err(ListenError::EndpointClosed);
    }
    let network = options.config.check_for_network();
    network.map_err(ListenError::Config)?;
    state.proto.listen(port, services, options.config.clone())?;
    state.proto.reserve();
    state.proto.set_accept_places(port, options.backlog);
    state.proto.set_admit(port, options.admit.clone());
    let backlog = Backlog {
        waiting: std::collections::VecDeque::new(),
        limit: options.backlog,
        acceptors: crate::wakers::Wakers::default(),
        _claim: claim,
    };
    state.backlogs.insert(port, backlog);
    Ok(())
}

/// The ports that are assigned when none was asked for (RFC 6335, section 6).
const DYNAMIC: RangeInclusive<u16> = 49_152..=u16::MAX;

/// A socket that speaks DCCP: any number of listeners and connections behind one UDP port, or directly in IP.
///
/// [`bind`](Self::bind) uses a UDP port (RFC 6773). It works through NATs and needs no privileges.
/// [`bind_native`](Self::bind_native) uses IP protocol 33 (RFC 4340), which interoperates with the DCCP of the Linux
/// kernel. Everything else is the same.
///
/// An endpoint owns all its state and shares nothing with other endpoints. It is one task; to use several processors,
/// give it several shards ([`EndpointBuilder::shards`](crate::EndpointBuilder::shards)). Clones refer to the same
/// endpoint. Connections and listeners keep it running, so it may be dropped before them.
#[derive(Clone, Debug)]
pub struct Endpoint {
    shards: Shards,
}

impl Endpoint {
    /// Makes an endpoint from shards whose drivers are run by the caller.
    pub(crate) fn new(shards: Shards) -> Self {
        Self { shards }
    }

    fn facts(&self) -> &Facts {
        &self.shards.first().facts
    }

    fn system(&self) -> &dyn System {
        &*self.shards.first().system
    }

    /// Returns how many shards the endpoint has ([`EndpointBuilder::shards`](crate::EndpointBuilder::shards)).
    pub fn shards(&self) -> usize {
        self.shards.count()
    }

    /// Returns the UDP address that the endpoint is bound to; natively, the IP address and port zero.
    pub fn local_addr(&self) -> SocketAddr {
        self.facts().local
    }

    /// Returns whether this endpoint sends directly in IP.
    pub fn is_native(&self) -> bool {
        self.facts().encapsulation == Encapsulation::Native
    }

    /// Listens on a DCCP port for the given services.
    ///
    /// The port belongs to this endpoint's address, so several listeners can share one UDP port. Clients that know only
    /// one number ([`connect`](crate::connect)) expect both ports to be the same. For these, use
    /// `endpoint.listen(endpoint.local_addr().port(), ..)`, or [`listen`](crate::listen), which also binds. Port zero
    /// takes a free DCCP port ([`Listener::dccp_port`]); clients must then learn it together with the address.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen(
        &self,
        dccp_port: u16,
        services: &[ServiceCode],
        security: Security<ServerConfig>,
    ) -> Result<Listener, ListenError> {
        self.listen_with(dccp_port, services, security, ListenOptions::default())
    }

    /// Listens with options; otherwise like [`listen`](Self::listen).
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn listen_with(
        &self,
        dccp_port: u16,
        services: &[ServiceCode],
        security: Security<ServerConfig>,
        mut options: ListenOptions,
    ) -> Result<Listener, ListenError> {
        let timeout = options.config.connect_timeout;
        options.config.ecn &= self.facts().ecn;
        let mut state = self.shards.first().lock();
        let (dccp_port, claim) = match dccp_port {
            0 => self.claim_any(&state)?,
            port => (port, self.claim(port)?),
        };
        options.backlog = options.backlog.max(1).div_ceil(self.shards.count());
        listen(&mut state, dccp_port, services, &options, claim)?;
        drop(state);
        // From here on, dropping the listener undoes it.
        let shards = self.shards.clone();
        let listener = Listener::new(shards, dccp_port, security, timeout);
        for shard in self.shards.iter().skip(1) {
            listen(&mut shard.lock(), dccp_port, services, &options, None)?;
        }
        Ok(listener)
    }

    /// Takes a DCCP port that has no listener. The search starts at a random port, because clients may still send to a
    /// port that was released a moment ago (RFC 6056, section 3).
    fn claim_any(&self, state: &State) -> Result<(u16, Option<Claim>), ListenError> {
        let mut start = [0; 2];
        // The start need not be secret: without random numbers, the search begins at the first port.
        let _ = self.system().draw(&mut start);
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

    /// Reserves a native port among the programs of this host.
    fn claim(&self, dccp_port: u16) -> Result<Option<Claim>, ListenError> {
        if !self.is_native() {
            return Ok(None);
        }
        match self.system().claim(self.facts().local.ip(), dccp_port) {
            Ok(claim) => Ok(Some(claim)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(ListenError::PortInUse { port: dccp_port })
            }
            Err(_) => Ok(None), // The port can be used without the claim.
        }
    }

    /// Connects to a service. Cancelling the future ends the attempt.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        security: Security<ClientConfig>,
    ) -> Result<Connection, ConnectError> {
        self.connect_with(remote, service, security, ConnectOptions::default())
            .await
    }

    /// Connects with options. Cancelling the future ends the attempt.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect_with(
        &self,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        security: Security<ClientConfig>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let security = security.client();
        self.open(None, remote.into(), service, security, options)
            .await
    }

    /// Connects to the first of several remotes that answers (Happy Eyeballs, RFC 8305).
    ///
    /// The remotes are taken as addresses of one server; see [`connect_any`](crate::connect_any). Cancelling the future
    /// ends all attempts.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::All`] if there was more than one to try.
    pub async fn connect_any(
        &self,
        remotes: &[DccpAddr],
        service: ServiceCode,
        security: Security<ClientConfig>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        timer::check()?;
        race(self.shards.first().clock, remotes, |remote| {
            let (security, options) = (security.clone(), options.clone());
            async move { self.connect_with(remote, service, security, options).await }
        })
        .await
    }

    /// Waits on a DCCP port for one client and invites it (simultaneous open, RFC 5596).
    ///
    /// The invitation lets the client's Request pass NATs and firewalls on this side too. `remote` is the address that
    /// the client's packets will come from. Both sides must learn each other's address by other means, such as SDP. The
    /// client sets its [`local_port`](ConnectOptions::local_port) and calls [`connect_with`](Self::connect_with) at
    /// about the same time.
    ///
    /// The wait ends after `connect_timeout`, or when the future is cancelled. Other clients are served by listeners on
    /// the same port, if there are any. `options.local_port` is ignored.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn listen_towards(
        &self,
        dccp_port: u16,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        security: Security<ServerConfig>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let security = security.server();
        self.open(Some(dccp_port), remote.into(), service, security, options)
            .await
    }

    /// Connects, or, if `invited` is a port, waits there for the client.
    async fn open(
        &self,
        invited: Option<u16>,
        remote: DccpAddr,
        service: ServiceCode,
        security: Option<Arc<Dtls>>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        if security.is_some() {
            timer::check()?;
        }
        let to = self.reach(remote)?;
        let after = options.config.connect_timeout;
        let malformed = self.stats().malformed;
        let connection = self.begin(invited, to, service, options)?;
        let Err(reason) = connection.established().await else {
            let shaken = connection
                .secure(security, after, &AtomicBool::new(true))
                .await;
            let remote = to.user_addr();
            return match shaken {
                Ok(()) => Ok(connection),
                Err(error) => Err(ConnectError::Handshake { remote, error }),
            };
        };
        let native = self.is_native();
        let remote = to.user_addr();
        Err(match reason {
            CloseReason::Reset { code, text, .. } => ConnectError::Refused { remote, code, text },
            CloseReason::Unreachable { why } => ConnectError::Unreachable {
                remote,
                native,
                why,
                after,
            },
            CloseReason::Reflected => ConnectError::Reflected { remote, native },
            CloseReason::ConnectTimeout => ConnectError::Timeout {
                remote,
                native,
                after,
                not_dccp: self.stats().malformed.saturating_sub(malformed),
            },
            CloseReason::Aborted if connection.has_lost_its_driver() => {
                ConnectError::EndpointClosed
            }
            reason => ConnectError::Ended { reason },
        })
    }

    /// Returns the remote as this endpoint addresses it.
    fn reach(&self, mut remote: DccpAddr) -> Result<DccpAddr, ConnectError> {
        remote.addr = canonical(remote.addr);
        check(self.facts().local.ip(), remote)?;
        match self.facts().encapsulation {
            Encapsulation::Native => Ok(remote.without_udp()),
            Encapsulation::Udp if remote.addr.port() == 0 => Err(ConnectError::NoUdpPort {
                remote: remote.user_addr(),
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
    ) -> Result<Connection, ConnectError> {
        let mut config = options.config;
        let network = config.check_for_network();
        network.map_err(|error| ConnectError::Start(StartError::Config(error)))?;
        let Facts {
            local,
            encapsulation,
            ecn,
            ..
        } = *self.facts();
        config.ecn &= ecn;
        let route = self.system().route(local, to.addr);
        let route = route.map_err(|e| self.no_route(to, e))?;
        let path = Path {
            encapsulation,
            local: route.local,
            remote: to.addr,
        };
        let handle = self.shards.of(invited.or(options.local_port), to.dccp_port);
        let mut state = handle.lock();
        if state.driver_ended || state.closing {
            return Err(ConnectError::EndpointClosed);
        }
        let now = handle.clock.now();
        let (proto, there) = (&mut state.proto, to.dccp_port);
        let id = match invited {
            None => proto.connect(now, path, options.local_port, there, service, config),
            Some(port) => proto.listen_towards(now, path, port, there, service, config),
        };
        let id = id.map_err(ConnectError::Start)?;
        if let Some(mtu) = route.mtu {
            // RFC 4340, 14.1: the path MTU starts at the MTU of the interface.
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            state.proto.limit_path_mtu(now, id, mtu);
        }
        state.connections.insert(id, ConnectionState::default());
        handle.wake_driver(&mut state);
        drop(state);
        Ok(Connection::new(handle.clone(), id))
    }

    /// Closes the endpoint: stops every listener, refuses new connections and closes every connection.
    ///
    /// Connections are closed as by [`Connection::close`]. Waits until all of them are over and their last packets have
    /// left. Received datagrams can still be read. The address stays bound until the last handle is dropped. Cancelling
    /// stops only the wait.
    pub async fn close(&self) {
        for shard in self.shards.iter() {
            begin_close(shard);
        }
        let over = |state: &mut State| (state.is_over() || state.driver_ended).then_some(());
        for shard in self.shards.iter() {
            shard.wait(Awaited::Idle, over).await;
        }
    }

    /// Waits until every connection whose handles were dropped is over, and its last packet has left.
    ///
    /// It also waits for connections that still have a handle. Cancelling changes nothing.
    pub async fn wait_idle(&self) {
        let idle = |state: &mut State| (state.is_idle() || state.driver_ended).then_some(());
        for shard in self.shards.iter() {
            shard.wait(Awaited::Idle, idle).await;
        }
    }

    /// Returns the counters of the endpoint that belong to no connection.
    pub fn stats(&self) -> EndpointStats {
        self.shards.stats()
    }

    fn no_route(&self, to: DccpAddr, source: io::Error) -> ConnectError {
        if is_out_of_descriptors(&source) {
            let addr = self.facts().local;
            return BindError::Socket { addr, source }.into();
        }
        ConnectError::NoRoute {
            local: self.facts().local.ip(),
            remote: to.user_addr(),
            source,
        }
    }
}

/// Closes one shard.
fn begin_close(shard: &Handle) {
    let mut wakes = Vec::new();
    let mut state = shard.lock();
    state.close(shard.clock.now(), &mut wakes);
    shard.wake_driver(&mut state);
    drop(state);
    for waker in wakes {
        waker.wake();
    }
}
