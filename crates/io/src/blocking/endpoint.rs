//! Blocking endpoints.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

use crate::tls::{ClientConfig, ServerConfig};
use fairwire_proto::ListenError;
use fairwire_wire::ServiceCode;

use super::connection::Connection;
use super::listener::Listener;
use super::runtime::Runtime;
use crate::address::DccpAddr;
use crate::bind::EndpointBuilder;
use crate::error::{BindError, ConnectError};
use crate::options::{ConnectOptions, ListenOptions};
use crate::security::Security;

/// A socket that speaks DCCP, as [`fairwire::Endpoint`](crate::Endpoint), whose calls block.
#[derive(Clone, Debug)]
pub struct Endpoint {
    inner: crate::Endpoint,
    runtime: Runtime,
}

impl Endpoint {
    /// Binds to a UDP address with the default options; see [`fairwire::Endpoint::bind`](crate::Endpoint::bind).
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(udp: SocketAddr) -> Result<Self, BindError> {
        Self::bind_with(crate::Endpoint::builder(), udp)
    }

    /// Binds to a UDP address with options.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_with(builder: EndpointBuilder, udp: SocketAddr) -> Result<Self, BindError> {
        Self::make(|| builder.bind(udp))
    }

    /// Binds to IP protocol 33 with options; see [`EndpointBuilder::bind_native`].
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_native_with(builder: EndpointBuilder, ip: IpAddr) -> Result<Self, BindError> {
        Self::make(|| builder.bind_native(ip))
    }

    fn make(bind: impl FnOnce() -> Result<crate::Endpoint, BindError>) -> Result<Self, BindError> {
        let runtime = Runtime::get()?;
        let inner = runtime.within(bind)?;
        Ok(Self { inner, runtime })
    }

    /// Listens on a DCCP port for the given services; see [`fairwire::Endpoint::listen`](crate::Endpoint::listen).
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
        options: ListenOptions,
    ) -> Result<Listener, ListenError> {
        let listener = self
            .inner
            .listen_with(dccp_port, services, security, options)?;
        Ok(Listener::new(listener, self.runtime.clone()))
    }

    /// Connects to a service, with options; see [`fairwire::Endpoint::connect_with`](crate::Endpoint::connect_with).
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn connect_with(
        &self,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        security: Security<ClientConfig>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let connecting = self.inner.connect_with(remote, service, security, options);
        let connected = self.runtime.wait(connecting)?;
        Ok(Connection::new(connected, self.runtime.clone()))
    }

    /// Waits on a DCCP port for one client and invites it; see
    /// [`fairwire::Endpoint::listen_towards`](crate::Endpoint::listen_towards).
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn listen_towards(
        &self,
        dccp_port: u16,
        remote: impl Into<DccpAddr>,
        service: ServiceCode,
        security: Security<ServerConfig>,
        options: ConnectOptions,
    ) -> Result<Connection, ConnectError> {
        let waiting = self
            .inner
            .listen_towards(dccp_port, remote, service, security, options);
        let connected = self.runtime.wait(waiting)?;
        Ok(Connection::new(connected, self.runtime.clone()))
    }

    /// Closes the endpoint and all its connections, and waits until they are over.
    pub fn close(&self) {
        self.runtime.wait(self.inner.close());
    }

    /// Waits until every connection whose handles were dropped is over, and its last packet has left.
    pub fn wait_idle(&self) {
        self.runtime.wait(self.inner.wait_idle());
    }
}

impl Deref for Endpoint {
    type Target = crate::Endpoint;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}
