//! What can be asked of a connection and a listener beyond the plain calls.
//!
//! Each is made with `new` (or `default`) and changed by methods, so that later options,
//! deadlines and priorities among them, break nobody.

use fairwire_proto::Config;

/// How to connect.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The connection's parameters.
    pub config: Config,
    /// Our DCCP port; any free one if `None`.
    pub local_port: Option<u16>,
    /// Send directly in IP? For [`connect_with`](crate::connect_with), which makes the endpoint; one
    /// that is there already sends as it was bound.
    pub native: bool,
}

impl ConnectOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// With these parameters.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Directly in IP, protocol 33, instead of UDP; see [`Endpoint::bind_native`](crate::Endpoint::bind_native).
    pub fn native(mut self, native: bool) -> Self {
        self.native = native;
        self
    }

    /// From this DCCP port.
    pub fn local_port(mut self, port: u16) -> Self {
        self.local_port = Some(port);
        self
    }
}

/// How to listen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListenOptions {
    /// The parameters of each connection accepted.
    pub config: Config,
    /// Connections that may be open and not yet accepted, 1,024 by default. Each holds about 8 kB, and what
    /// it has received.
    ///
    /// While there are as many, new clients are told "too busy" (Reset 9). Clients that were
    /// answered before wait, and are served when there is room: a client that knows its
    /// connection to be open is not turned away.
    pub backlog: usize,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            config: Config::default(),
            backlog: 1_024,
        }
    }
}

impl ListenOptions {
    /// The defaults: a backlog of 1,024.
    pub fn new() -> Self {
        Self::default()
    }

    /// With these parameters for each connection.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// With this backlog, at least one.
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections.max(1);
        self
    }
}
