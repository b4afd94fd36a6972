//! Options for connecting and listening.
//!
//! Make one with `new` (or `default`) and change it with its methods. New options can then be added without breaking
//! callers.

use fairwire_proto::{Admit, AdmitHook, Attempt, Config};

/// Options for connecting.
///
/// They do not choose between UDP and IP. The endpoint decides that when it is bound;
/// [`connect_native`](crate::connect_native) binds a native one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The parameters of the connection.
    pub config: Config,
    /// The local DCCP port; `None` takes any free one.
    pub local_port: Option<u16>,
}

impl ConnectOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the parameters of the connection.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the local DCCP port.
    pub fn local_port(mut self, port: u16) -> Self {
        self.local_port = Some(port);
        self
    }
}

/// Options for listening.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListenOptions {
    /// The parameters of each accepted connection.
    pub config: Config,
    /// The largest number of connections that may be open and not yet accepted. Default: 1,024.
    ///
    /// Each one takes about 10 kB of memory, plus the data it has received. While the backlog is full, new clients are
    /// refused with "too busy" (Reset 9). Clients whose Request was already answered wait, and are served when there is
    /// room, as long as they keep asking. A client that knows its connection to be open is never reset for lack of
    /// room.
    pub backlog: usize,
    /// The hook that decides who may connect; `None` admits everybody. See [`admit`](Self::admit).
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
    /// Returns the default options; the backlog is 1,024.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the parameters of each connection.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Calls `hook` for every client that wants to connect, before the endpoint keeps or answers anything.
    ///
    /// The hook decides whether to go on, to refuse the client (Reset 9, Too Busy), or not to answer at all. A refused
    /// client is told that the server is busy.
    ///
    /// The endpoint calls the hook for every Request for an offered service, forged Requests included. It calls it
    /// again for clients that return with an Init Cookie. The hook runs on the endpoint's task, so it must be quick. It
    /// must not call this endpoint, its listeners or its connections: that would deadlock. If it panics, the client is
    /// refused. Packets other than Requests are answered with a Reset, as for any client.
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

    /// Sets the backlog, at least one connection.
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections.max(1);
        self
    }
}
