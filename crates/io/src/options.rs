//! What can be asked of a connection and a listener beyond the plain calls.
//!
//! Each is made with `new` (or `default`) and changed by methods, so that later options,
//! deadlines and priorities among them, break nobody.

use fairwire_proto::{Admit, AdmitHook, Attempt, Config};

/// How to connect. Whether packets travel in UDP or directly in IP is not asked here: the endpoint
/// decides it when it is bound, and [`connect_native`](crate::connect_native) binds a native one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The connection's parameters.
    pub config: Config,
    /// Our DCCP port; any free one if `None`.
    pub local_port: Option<u16>,
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
    /// Connections that may be open and not yet accepted, 1,024 by default. Each holds about 10 kB, and what
    /// it has received.
    ///
    /// While there are as many, new clients are told "too busy" (Reset 9). Clients that were
    /// answered before wait, and are served when there is room, for as long as they keep asking: a client
    /// that knows its connection to be open is not reset for want of room.
    pub backlog: usize,
    /// Who may connect; everybody if `None`. See [`admit`](Self::admit).
    pub admit: Option<AdmitHook>,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            config: Config::default(),
            backlog: 1_024,
            admit: None,
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

    /// Asks `hook` about everybody who wants to connect, before the endpoint keeps or answers anything:
    /// whether to go on, to refuse (Reset 9, Too Busy), or not to answer at all.
    ///
    /// The endpoint calls it while it works, for every Request for a service that is offered, forged ones
    /// included, and again for clients that come back with an Init Cookie: it must be quick, and must
    /// not call this endpoint, its listeners or its connections, which would wait for each other
    /// for ever. A panic in it refuses the client. A client that is refused is told that the server is
    /// busy. Packets other than Requests are answered as for anybody, with a Reset.
    ///
    /// ```
    /// use fairwire::{Admit, Attempt, ListenOptions};
    ///
    /// // Only the local network.
    /// let options = ListenOptions::new().admit(|attempt: &Attempt| match attempt.remote.ip() {
    ///     std::net::IpAddr::V4(ip) if ip.is_private() || ip.is_loopback() => Admit::Accept,
    ///     _ => Admit::Ignore,
    /// });
    /// assert!(options.admit.is_some());
    /// ```
    pub fn admit(mut self, hook: impl Fn(&Attempt) -> Admit + Send + Sync + 'static) -> Self {
        self.admit = Some(AdmitHook::new(hook));
        self
    }

    /// With this backlog, at least one.
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections.max(1);
        self
    }
}
