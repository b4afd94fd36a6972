//! DCCP in user space: congestion-controlled datagram sockets over UDP, or directly over IP.
//!
//! DCCP (RFC 4340) sends datagrams that may be lost and are never retransmitted, at a rate that
//! is fair to the rest of the network. Here it travels in UDP (RFC 6773), over IPv4 and IPv6,
//! through NATs, without privileges; or natively, as IP protocol 33 on Linux. Datagrams are **not encrypted**.
//!
//! ```no_run
//! use fairwire::{ServiceCode, connect, listen};
//!
//! const CAMERA: ServiceCode = ServiceCode::from_bytes(*b"?cam");
//!
//! # async fn server() -> Result<(), Box<dyn std::error::Error>> {
//! // Here.
//! let listener = listen("0.0.0.0:7001".parse()?, &[CAMERA])?;
//! let connection = listener.accept().await?;
//! while let Ok(frame) = connection.recv().await {
//!     println!("{} bytes, {} lost before", frame.data.len(), frame.lost_before);
//! }
//! # Ok(())
//! # }
//! # async fn client() -> Result<(), Box<dyn std::error::Error>> {
//!
//! // And there.
//! let connection = connect("example.org:7001", CAMERA).await?;
//! connection.send("one frame").await?; // waits while the send queue is full
//! connection.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # A connection's life
//!
//! ```text
//!  client                                                server
//!
//!  connect()   -------- Request, with the service ------>  listen()
//!              <------- Response ------------------------
//!              -------- Ack ---------------------------->  accept(), or incoming() to look first
//!
//!  send()      -------- Data, Data, Data --------------->  recv()
//!              <------- Ack: what came, what was marked -
//!  fate()      the window or the rate follows             stats()
//!
//!  close()     -------- Close -------------------------->  recv() gives ConnectionClosed, orderly
//!              <------- Reset (Closed) ------------------
//! ```
//!
//! Both ends send and receive alike; each direction has a congestion control of its own. Where the server closes first,
//! it asks the client to send the Close (`CloseReq`). [`Connection::abort`], and dropping a connection, send a Reset instead, and
//! the other end's [`ConnectionClosed`] is not orderly; [`Connection::abort_with`] says why. A peer that vanished is given up after
//! [`Config::keep_alive`] and [`Config::idle_timeout`].
//!
//! # The parts
//!
//! - [`Endpoint`] is a socket, of UDP or ([`Endpoint::bind_native`]) of IP; [`Endpoint::listen`] (or [`listen`] alone) gives a
//!   [`Listener`], and [`Endpoint::connect`] (or [`connect`] alone) a [`Connection`].
//! - [`Connection::event`] tells what changes: the largest datagram, the CCID, a peer that cannot keep up.
//! - [`Endpoint::close`] ends everything in order.
//! - [`Endpoint::listen_towards`] waits for one client through NATs and firewalls on either side.
//! - [`Connection::stats`] and [`Connection::allowed_rate`] show what congestion control does;
//!   [`Connection::fate`] tells what became of each datagram.
//! - [`Config`] and [`EndpointConfig`] are the protocol's parameters, [`ConnectOptions`] and
//!   [`ListenOptions`] carry them.
//!
//! Parameters are the defaults, changed; both sides have their own:
//!
//! ```
//! use fairwire::{Ccid, Config, ConnectOptions, DataChecksum, IdleRule, QueuePolicy, Segment};
//! use fairwire::laws::law;
//!
//! # fn main() -> Result<(), fairwire::laws::ChooseError> {
//! let mut config = Config::default();
//! config.send_ccids = vec![Ccid::TFRC, Ccid::TCP_LIKE]; // TFRC for what we send, else TCP-like
//! config.report_fates = true;
//! config.data_checksum = DataChecksum::On;
//! config.send_queue.policy = QueuePolicy::DropOldest;
//! config.ccid2.law = law("cubic")?; // or a law of your own: `laws::register_law`
//! config.ccid2.idle = IdleRule::Halve;
//! config.ccid3.segment = Segment::Fixed(1_000);
//! let options = ConnectOptions::new().config(config); // for `connect_with`
//! # Ok(())
//! # }
//! ```
//!
//! Each endpoint is one tokio task; it and the handles share a lock that is never held across
//! a wait. There is no channel and no task per datagram. Everything runs on any tokio runtime,
//! one thread is enough.
//!
//! What the operating system limits: the UDP checksum that RFC 6773 wants non-zero is checked
//! by the kernel and cannot be seen here; datagrams always carry Don't Fragment where the system
//! can; ICMP errors are read on Linux, elsewhere a dead port shows as a timeout.
//!
//! End a connection with [`Connection::close`]. One that is dropped without it is reset, and its peer
//! sees that.

mod address;
mod clock;
mod connection;
mod driver;
mod endpoint;
mod error;
mod event;
mod listener;
mod options;
mod race;
mod received;
mod socket;
mod state;
mod sync;
mod timer;
mod waiting;
mod wakers;

use std::net::SocketAddr;

use tokio::net::lookup_host;

pub use address::DccpAddr;
pub use bytes::Bytes;
pub use connection::Connection;
pub use endpoint::{Endpoint, EndpointBuilder};
pub use error::{
    AcceptError, AddressKind, BindError, ConnectError, ConnectionClosed, SendError, TryRecvError,
    TrySendError,
};
pub use event::ConnectionEvent;
pub use fairwire_proto::{
    Admit, AdmitHook, Attempt, Ccid2Config, Ccid3Config, ChangeCcidError, CloseReason, Config,
    ConfigError, DamagedData, DataChecksum, DatagramId, Direction, EndpointConfig, EndpointStats,
    EquationForm, ErrorText, Fate, FeedbackRate, FirstInterval, FirstIntervalLife, FirstRate,
    Gauges, IdleRule, InitCookies, ListenError, LossEvents, LossMean, PathMtuDiscovery,
    QueueLimits, QueuePolicy, ReceiveLimit, ReceiveQueuePolicy, ReceiveRateOver, Reports, Segment,
    SlowStart, StartError, Stats, Unreachable, laws,
};
pub use fairwire_units::{Ecn, Rate};
pub use fairwire_wire::udp::PORT as DCCP_UDP_PORT;
pub use fairwire_wire::{Ccid, DropCode, ResetCode, ServiceCode};
pub use listener::{Incoming, Listener};
pub use options::{ConnectOptions, ListenOptions};
pub use received::{Received, ReceivedId, ReceivedInto};

/// Connects to a service at `host:port`, the number being both the UDP and the DCCP port, from a
/// fresh UDP port (RFC 6773, section 3.8). Of several addresses that the name has, the one that
/// answers first is taken; see [`connect_any`]. Cancelling gives up.
///
/// # Errors
/// See [`ConnectError`]; [`ConnectError::All`] tells what became of each address.
pub async fn connect(host: &str, service: ServiceCode) -> Result<Connection, ConnectError> {
    connect_with(host, service, ConnectOptions::default()).await
}

/// Connects with options, as [`connect`] does.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_with(
    host: &str,
    service: ServiceCode,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    let addrs = resolve(host).await?;
    let connected = connect_any(&addrs, service, options).await;
    connected.map_err(|error| of_host(host, error))
}

/// As [`connect_with`], directly in IP (protocol 33) instead of UDP; the number is the DCCP port. Linux
/// only, with the right to open raw sockets; see [`Endpoint::bind_native`].
///
/// # Errors
/// As for [`connect`].
pub async fn connect_native(
    host: &str,
    service: ServiceCode,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    let addrs = resolve(host).await?;
    let remotes: Vec<_> = addrs.into_iter().map(DccpAddr::native).collect();
    let connected = race::race(&remotes, |remote| {
        let options = options.clone();
        async move {
            let any = socket::wildcard_for(remote.addr);
            let endpoint = Endpoint::bind_native(any.ip())?;
            endpoint.connect_with(remote, service, options).await
        }
    })
    .await;
    connected.map_err(|error| of_host(host, error))
}

/// Connects to whichever of a server's addresses answers first (Happy Eyeballs, RFC 8305), each from a
/// fresh UDP port; the number is both the UDP and the DCCP port.
///
/// The addresses are best first. The families take turns; each attempt has 250 ms before the next
/// one begins beside it, which begins at once when one fails; when one succeeds, the others are
/// reset. Each lasts `Config::connect_timeout` at most. Sixteen addresses are tried, more are left out.
/// A server may so see a connection that is reset as soon as it is open. Cancelling gives up.
///
/// # Errors
/// See [`ConnectError`]; of one address its own error, of several [`ConnectError::All`].
pub async fn connect_any(
    addrs: &[SocketAddr],
    service: ServiceCode,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    let remotes: Vec<_> = addrs.iter().copied().map(DccpAddr::same_ports).collect();
    race::race(&remotes, |remote| {
        let options = options.clone();
        async move {
            let endpoint = Endpoint::bind(socket::wildcard_for(remote.addr))?;
            endpoint.connect_with(remote, service, options).await
        }
    })
    .await
}

/// Listens on a UDP port of an address of this host (or `0.0.0.0`, or `[::]` for both families) and on the DCCP port of
/// the same number, as [`connect`] expects it. Port zero takes a free one, which [`Listener::local_addr`] tells.
/// For more than one listener, or other than the default options, bind an [`Endpoint`].
///
/// # Errors
/// See [`BindError`].
pub fn listen(udp: SocketAddr, services: &[ServiceCode]) -> Result<Listener, BindError> {
    let endpoint = Endpoint::bind(udp)?;
    let port = endpoint.local_addr().port();
    endpoint.listen(port, services).map_err(BindError::Listen)
}

async fn resolve(host: &str) -> Result<Vec<SocketAddr>, ConnectError> {
    let unknown = |source| ConnectError::Resolve {
        host: host.to_owned(),
        source,
    };
    let addrs: Vec<_> = lookup_host(host).await.map_err(unknown)?.collect();
    if addrs.is_empty() {
        return Err(unknown(std::io::ErrorKind::NotFound.into()));
    }
    Ok(addrs)
}

/// The error with the name of which the addresses are.
fn of_host(host: &str, error: ConnectError) -> ConnectError {
    match error {
        ConnectError::All { tried, .. } => ConnectError::All {
            host: Some(host.to_owned()),
            tried,
        },
        error => error,
    }
}
