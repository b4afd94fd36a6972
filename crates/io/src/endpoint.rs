//! Endpoints: where connections begin.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use fairwire_proto::{
    CloseReason, ConnectionId, Encapsulation, EndpointConfig, EndpointStats, ListenError, Path,
};
use fairwire_wire::ServiceCode;

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::{BindError, ConnectError};
use crate::listener::Listener;
use crate::options::{ConnectOptions, ListenOptions};
use crate::socket::{Route, Socket, canonical};
use crate::state::{Backlog, Handle, Link, Shared};

/// Where a listener is: two ports, because DCCP travels in UDP (RFC 6773).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Remote {
    /// Address and UDP port.
    pub udp: SocketAddr,
    /// DCCP port.
    pub dccp_port: u16,
}

impl Remote {
    /// The same number for both ports.
    pub const fn same_ports(addr: SocketAddr) -> Self {
        Self {
            udp: addr,
            dccp_port: addr.port(),
        }
    }
}

/// A UDP socket that speaks DCCP: any number of listeners and connections behind one UDP port.
///
/// It owns all its state and shares nothing with other endpoints: to use several threads, make
/// several. Clones are the same endpoint. Connections and listeners keep it running, so it may
/// be dropped before them.
#[derive(Clone, Debug)]
pub struct Endpoint {
    handle: Handle,
}

/// Makes an [`Endpoint`] that is not as by default.
#[derive(Clone, Debug)]
#[must_use = "call `bind`"]
pub struct EndpointBuilder {
    config: EndpointConfig,
    socket_buffer: usize,
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

    /// Binds to a UDP address and starts the endpoint's driver on the current tokio runtime.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(self, udp: SocketAddr) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        // RFC 4340, 7.2: initial sequence numbers must not be guessable, so the secret must not be.
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|_| BindError::NoRandomness)?;
        let socket = Socket::bind(udp, self.socket_buffer)?;
        let proto = fairwire_proto::Endpoint::new(self.config, secret);
        let shared = Arc::new(Shared::new(proto, socket.local()));
        let handle = Handle::new(Arc::clone(&shared));
        runtime.spawn(Driver::new(shared, socket).run());
        Ok(Endpoint { handle })
    }
}

impl Endpoint {
    /// Binds to a UDP address, with the defaults.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(udp: SocketAddr) -> Result<Self, BindError> {
        Self::builder().bind(udp)
    }

    /// Changes the defaults first.
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder {
            config: EndpointConfig::default(),
            socket_buffer: 4 << 20,
        }
    }

    /// The UDP address bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.handle.local
    }

    /// Listens on a DCCP port for these services.
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

    /// Listens, not as by default.
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
        state.proto.listen(dccp_port, services, options.config)?;
        let backlog = Backlog {
            waiting: std::collections::VecDeque::new(),
            limit: options.backlog.max(1),
            acceptors: crate::state::Wakers::default(),
        };
        state.backlogs.insert(dccp_port, backlog);
        drop(state);
        Ok(Listener::new(self.handle.clone(), dccp_port))
    }

    /// Connects to a service. Cancelling gives up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        remote: Remote,
        service: ServiceCode,
    ) -> Result<Connection, ConnectError> {
        self.connect_with(remote, service, ConnectOptions::default())
            .await
    }

    /// Connects, not as by default. Cancelling gives up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect_with(
        &self,
        remote: Remote,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let udp = canonical(remote.udp);
        let after = options.config.connect_timeout;
        let malformed = self.stats().malformed;
        let id = self.begin(udp, remote.dccp_port, service, options)?;
        let connection = Connection::new(self.handle.clone(), id);
        let Err(reason) = connection.established().await else {
            return Ok(connection);
        };
        Err(match reason {
            CloseReason::Reset { code, .. } => ConnectError::Refused { remote: udp, code },
            CloseReason::Unreachable => ConnectError::Unreachable { remote: udp },
            CloseReason::ConnectTimeout => ConnectError::Timeout {
                remote: udp,
                after,
                not_dccp: self.stats().malformed.saturating_sub(malformed),
            },
            CloseReason::Aborted if self.handle.lock().gone => ConnectError::EndpointGone,
            reason => ConnectError::Ended { reason },
        })
    }

    fn begin(
        &self,
        udp: SocketAddr,
        dccp_port: u16,
        service: ServiceCode,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        let mut config = options.config;
        let route = Route::find(self.handle.local, udp).map_err(|e| no_route(udp, e))?;
        if let Some(mtu) = route.mtu {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            config.path_mtu = config.path_mtu.min(mtu);
        }
        let path = Path {
            encapsulation: Encapsulation::Udp,
            local: route.local,
            remote: udp,
        };
        let mut state = self.handle.lock();
        if state.gone {
            return Err(ConnectError::EndpointGone);
        }
        let now = self.handle.clock.now();
        let id = state
            .proto
            .connect(now, path, options.local_port, dccp_port, service, config)
            .map_err(ConnectError::Begin)?;
        state.links.insert(id, Link::default());
        self.handle.poke(&mut state);
        Ok(id)
    }

    /// Waits until every connection whose handles were dropped has finished closing. Connections
    /// with a live handle are waited for too.
    pub async fn wait_idle(&self) {
        poll_fn(|context| {
            let mut state = self.handle.lock();
            if state.links.is_empty() || state.gone {
                return Poll::Ready(());
            }
            state.idlers.register(context);
            Poll::Pending
        })
        .await;
    }

    /// Counters of what belongs to no connection.
    pub fn stats(&self) -> EndpointStats {
        self.handle.lock().proto.endpoint_stats()
    }
}

fn no_route(remote: SocketAddr, source: io::Error) -> ConnectError {
    match source.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            ConnectError::Unreachable { remote }
        }
        _ => ConnectError::Resolve {
            host: remote.to_string(),
            source,
        },
    }
}
