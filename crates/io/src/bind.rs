//! Making endpoints on sockets of the operating system.

use std::error::Error;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use fairwire_proto::{EndpointConfig, Shard};
use zeroize::Zeroizing;

use crate::divert::Divert;
use crate::driver::Driver;
use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::shards::Shards;
use crate::socket::{self, OperatingSystem, SocketOptions, Sockets};
use crate::state::Shared;
use crate::timer;
use crate::transport::{System, Transport};

/// A builder that makes an [`Endpoint`] with options.
#[derive(Clone, Debug)]
#[must_use = "call `bind`"]
pub struct EndpointBuilder {
    config: EndpointConfig,
    socket: SocketOptions,
    exclusive: bool,
    shards: u16,
    divert: Option<Divert>,
}

/// What the handles of each shard share.
type Started = Arc<[Arc<Shared>]>;

impl EndpointBuilder {
    /// Sets the limits of the endpoint.
    pub fn config(mut self, config: EndpointConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the size of the kernel's send and receive buffers, bytes each; the system may give less. Default: 4 MiB.
    pub fn socket_buffer(mut self, bytes: usize) -> Self {
        self.socket.buffer = bytes;
        self
    }

    /// Uses only this interface of the host, such as `eth0`, whatever the routes say. Linux only.
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.socket.interface = Some(name.into());
        self
    }

    /// Answers packets for every unbound DCCP port of the address with a Reset. For native endpoints only; off by
    /// default.
    ///
    /// A native endpoint sees the packets of all programs of its host, so this would end the connections of the other
    /// programs. Set it only on a host with one endpoint. A UDP endpoint has its port to itself and does not need this
    /// option.
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// Spreads the endpoint's connections over `count` shards, so that they use several processors. Default: 1.
    ///
    /// Each shard has its own socket on the endpoint's port, its own task and its own lock. Connections of different
    /// shards share nothing. A connection belongs to the shard that follows from its two DCCP ports, so a server's
    /// clients spread evenly. The limits of the endpoint are divided among the shards. For a server whose runtime has
    /// several threads, use one shard per thread.
    ///
    /// Works for UDP on Unix; natively there is always one shard. The sockets share their port (`SO_REUSEPORT`), so
    /// another program of the same user can bind to it too if it asks for that.
    pub fn shards(mut self, count: u16) -> Self {
        self.shards = count.max(1);
        self
    }

    /// Binds to a UDP address and starts the endpoint's driver on the current tokio runtime.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(self, udp: SocketAddr) -> Result<Endpoint, BindError> {
        self.bind_udp(udp).map(|(endpoint, _)| endpoint)
    }

    /// Binds to a UDP address, and returns what the handles share, too.
    pub(crate) fn bind_udp(self, udp: SocketAddr) -> Result<(Endpoint, Started), BindError> {
        let (socket, shards) = (self.socket.clone(), self.shards);
        let system = self.system();
        self.start(&system, || Sockets::udp_shards(udp, &socket, shards))
    }

    /// Takes a UDP socket that the program has bound, and starts the endpoint's driver on the current tokio runtime.
    ///
    /// For sockets that a service manager hands over, or that have options of their own. The endpoint makes it,
    /// and each clone, non-blocking and sets the options that it needs; the size of its buffers and its interface stay. A clone of it
    /// (`try_clone`) can send datagrams that are not DCCP, and [`divert`](Self::divert) takes those that arrive. There
    /// is one shard.
    ///
    /// # Errors
    /// See [`BindError`]. A socket that is connected to one peer is refused.
    pub fn from_std(self, socket: UdpSocket) -> Result<Endpoint, BindError> {
        let system = self.system();
        let started = self.start(&system, || Ok(vec![Sockets::own(socket)?]));
        started.map(|(endpoint, _)| endpoint)
    }

    /// Shows each UDP datagram that arrives to `hook` before DCCP does, with its sender's address. Those for which it
    /// returns true are not DCCP's.
    ///
    /// So a program can use the port for STUN, too, whose datagrams have a fixed number in bytes 4 to 7. The hook runs on
    /// the endpoint's task, so it must be quick. It must not call this endpoint, its listeners or its connections: that
    /// would deadlock. If it panics, the datagram is DCCP's.
    ///
    /// ```
    /// use fairwire::Endpoint;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    /// let for_stun = socket.try_clone()?; // sends
    /// let (found, answers) = std::sync::mpsc::channel();
    /// let endpoint = Endpoint::builder()
    ///     .divert(move |datagram, _from| {
    ///         let is_stun = datagram.get(4..8) == Some(&[0x21, 0x12, 0xA4, 0x42]);
    ///         is_stun && found.send(datagram.to_vec()).is_ok()
    ///     })
    ///     .from_std(socket)?;
    /// # let _ = (endpoint, for_stun, answers);
    /// # Ok(())
    /// # }
    /// ```
    pub fn divert(
        mut self,
        hook: impl Fn(&[u8], SocketAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.divert = Some(Divert(Arc::new(hook)));
        self
    }

    /// Binds to IP protocol 33 at an address of this host and starts the endpoint's driver on the current tokio
    /// runtime.
    ///
    /// `::` means every address, of IPv4 too; `0.0.0.0` means every IPv4 address. Works on Linux only, and needs the
    /// right to open raw sockets (`CAP_NET_RAW`).
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_native(mut self, ip: IpAddr) -> Result<Endpoint, BindError> {
        let socket = self.socket.clone();
        // RFC 4340, 8.3.1, wants a Reset for a packet without a connection. But a packet that is not ours may belong
        // to another program.
        self.config.answer_unbound_ports = self.exclusive;
        let system = self.system();
        let started = self.start(&system, || {
            Ok(vec![Sockets::native(ip.to_canonical(), &socket)?])
        });
        started.map(|(endpoint, _)| endpoint)
    }

    fn system(&self) -> Arc<dyn System> {
        Arc::new(OperatingSystem {
            interface: self.socket.interface.clone(),
        })
    }

    /// Starts the drivers of an endpoint on `system`, one for each transport that `open` makes.
    pub(crate) fn start<T: Transport>(
        self,
        system: &Arc<dyn System>,
        open: impl FnOnce() -> Result<Vec<T>, BindError>,
    ) -> Result<(Endpoint, Started), BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        timer::check()?;
        let transports = open().map_err(|error| match error.source() {
            Some(source) if socket::is_without_runtime(source) => BindError::NoRuntime,
            _ => error,
        })?;
        let mut shards = Vec::with_capacity(transports.len());
        let parts = Shard::all(u16::try_from(transports.len()).unwrap_or(u16::MAX));
        for (part, transport) in parts.zip(&transports) {
            let secret = secret(system.as_ref())?;
            let proto = fairwire_proto::Endpoint::new(self.config.for_shard(part), *secret);
            let shared = Shared::new(proto, transport, Arc::clone(system));
            shards.push(Arc::new(shared));
        }
        let endpoint = Endpoint::new(Shards::new(&shards));
        let shards: Started = shards.into();
        for (own, transport) in transports.into_iter().enumerate() {
            let driver = Driver::new(&shards, own, transport, self.divert.clone());
            runtime.spawn(driver.run());
        }
        Ok((endpoint, shards))
    }
}

impl Endpoint {
    /// Binds to a UDP address with the default options.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(udp: SocketAddr) -> Result<Self, BindError> {
        Self::builder().bind(udp)
    }

    /// Binds to IP protocol 33 with the default options; see [`EndpointBuilder::bind_native`].
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind_native(ip: IpAddr) -> Result<Self, BindError> {
        Self::builder().bind_native(ip)
    }

    /// Returns a builder, to set options before binding.
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder {
            config: EndpointConfig::default(),
            socket: SocketOptions {
                buffer: 4 << 20,
                interface: None,
            },
            exclusive: false,
            shards: 1,
            divert: None,
        }
    }
}

/// Draws the secret of an endpoint.
///
/// RFC 4340, 7.2: initial sequence numbers must not be guessable, so the secret must not be either. It is overwritten
/// when it is dropped, on every return.
fn secret(system: &dyn System) -> Result<Zeroizing<[u8; 32]>, BindError> {
    let mut secret = Zeroizing::new([0; 32]);
    let drawn = system.draw(secret.as_mut_slice());
    drawn.map_err(|_| BindError::NoRandomness)?;
    Ok(secret)
}
