//! Options for connecting, listening and sending.
//!
//! Make one with `new` (or `default`) and change it with its methods. New options can then be added without breaking
//! callers.

use std::time::Duration;

use fairwire_proto::{Admit, AdmitHook, Attempt, Config, Resend};
use tokio::time::Instant;

/// Options for connecting.
///
/// They do not choose between UDP and IP. The endpoint decides that when it is bound;
/// [`connect_native`](crate::connect_native) binds a native one.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "options have no effect until they are passed on"]
pub struct ConnectOptions {
    /// The parameters of the connection; by default those of [`Config::interactive`], which suit most traffic.
    pub config: Config,
    /// The local DCCP port; `None` takes any free one.
    pub local_port: Option<u16>,
    /// Whether [`connect`](crate::connect) and its kin bind an endpoint for this connection alone.
    pub own_endpoint: bool,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            config: Config::interactive(),
            local_port: None,
            own_endpoint: false,
        }
    }
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

    /// Sets whether [`connect`](crate::connect), [`connect_with`](crate::connect_with) and
    /// [`connect_any`](crate::connect_any) bind an endpoint for this connection alone: a UDP port, a task, a lock and two
    /// file descriptors. By default the connections that they make on one runtime share one.
    ///
    /// A connection with much traffic is faster alone. An endpoint of one's own does not look at it.
    pub fn own_endpoint(mut self, own: bool) -> Self {
        self.own_endpoint = own;
        self
    }
}

/// Options for listening.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "options have no effect until they are passed on"]
pub struct ListenOptions {
    /// The parameters of each accepted connection; by default those of [`Config::interactive`].
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
            config: Config::interactive(),
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

/// Options for one datagram ([`Connection::send_with`](crate::Connection::send_with)).
///
/// The default is a datagram without a deadline, of priority 0 and in no group, as [`send`](crate::Connection::send)
/// sends it.
///
/// ```
/// use std::time::Duration;
/// use fairwire::SendOptions;
///
/// // A part of video frame 1,207, which is of use for the next 80 ms, and waits while audio waits.
/// let video = SendOptions::new().within(Duration::from_millis(80)).group(1_207);
/// let audio = SendOptions::new().within(Duration::from_millis(40)).priority(1);
/// # let _ = (video, audio);
/// ```
///
/// Methods return the changed options, and the compiler warns if they are dropped:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// let options = fairwire::SendOptions::new();
/// options.priority(1);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
#[must_use = "options have no effect until they are passed on"]
pub struct SendOptions {
    /// The last moment at which the datagram may leave; `None` if it may leave at any time. See
    /// [`deadline`](Self::deadline).
    pub deadline: Option<Instant>,
    /// Which datagrams leave first. See [`priority`](Self::priority).
    pub priority: i8,
    /// What the datagram is a part of. See [`group`](Self::group).
    pub group: Option<u64>,
    /// Until when the datagram is sent again if it is lost; `None` if it is sent once. See [`resend`](Self::resend).
    pub resend: Option<Instant>,
}

impl SendOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the last moment at which the datagram may leave, as an `Instant` of tokio or of the standard library.
    ///
    /// A datagram that still waits in the send queue after it is dropped with [`Fate::Expired`](crate::Fate::Expired).
    /// It never leaves late. [`QueueLimits::age`](crate::QueueLimits::age) applies as well.
    pub fn deadline(mut self, at: impl Into<Instant>) -> Self {
        self.deadline = Some(at.into());
        self
    }

    /// Sets a [`deadline`](Self::deadline) that is this far from now. A time too long to be represented sets none.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Instant::now().checked_add(time);
        self
    }

    /// Sets the priority, 0 by default. Datagrams with a higher priority leave first.
    ///
    /// Priorities are strict: while a datagram of a higher priority waits, none of a lower priority leaves. Datagrams
    /// of the same priority leave in the order in which they were queued.
    pub fn priority(mut self, priority: i8) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the number of a group of datagrams that are of use only together, such as the parts of a video frame.
    ///
    /// When one member expires, is dropped from the send queue or is lost, those that still wait are dropped
    /// ([`Fate::GroupBroken`](crate::Fate::GroupBroken)), and further ones are refused
    /// ([`SendError::GroupBroken`](crate::SendError::GroupBroken)). A connection remembers the last 64 broken groups.
    /// CCIDs 3 and 4 report no single losses: under them a group breaks only in the send queue.
    pub fn group(mut self, group: u64) -> Self {
        self.group = Some(group);
        self
    }

    /// Sends the datagram again each time that it is lost, as long as a copy can leave by this moment and by the
    /// [`deadline`](Self::deadline).
    ///
    /// The peer's application gets it once, out of order ([`Received::resent`](crate::Received::resent)). A loss is
    /// known about a round trip after the datagram left, and a copy needs half a round trip to be there, so allow at
    /// least two round trips. The datagram has one fate: [`Fate::Lost`](crate::Fate::Lost) only if no copy was in time.
    ///
    /// It needs [`Config::resend`](crate::Config::resend) at both ends, and CCID 2
    /// ([`SendError::ResendNotAgreed`](crate::SendError::ResendNotAgreed),
    /// [`SendError::ResendWithoutLosses`](crate::SendError::ResendWithoutLosses)). Data is kept in memory until it has
    /// arrived: at most as much as `Config::send_queue` has bytes, and a datagram beyond that is sent once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use fairwire::SendOptions;
    ///
    /// // An action of a player: urgent, and of use for half a second.
    /// let action = SendOptions::new().priority(1).resend_within(Duration::from_millis(500));
    /// # let _ = action;
    /// ```
    pub fn resend(mut self, until: impl Into<Instant>) -> Self {
        self.resend = Some(until.into());
        self
    }

    /// Like [`resend`](Self::resend), until this far from now. A time too long to be represented sends it once.
    pub fn resend_within(mut self, time: Duration) -> Self {
        self.resend = Instant::now().checked_add(time);
        self
    }

    /// Returns the options of the protocol, whose clock shows `at` at a moment of tokio's.
    pub(crate) fn for_proto(
        self,
        at: impl Fn(Instant) -> fairwire_units::Instant,
    ) -> fairwire_proto::SendOptions {
        let mut options = fairwire_proto::SendOptions::default();
        options.deadline = self.deadline.map(&at);
        if let Some(until) = self.resend {
            options.resend = Resend::Until(at(until));
        }
        options.priority = self.priority;
        options.group = self.group;
        options
    }
}
