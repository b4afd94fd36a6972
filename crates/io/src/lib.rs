//! DCCP in user space: congestion-controlled datagram sockets over UDP, or directly over IP.
//!
//! DCCP (RFC 4340) sends datagrams at a rate that is fair to the rest of the network. A datagram may be lost; it is
//! sent again only if both ends agree on that ([`SendOptions::resend`]). This crate carries DCCP in UDP (RFC 6773),
//! over IPv4 and IPv6, through NATs and without privileges. On Linux it can also carry it natively, as IP protocol 33.
//! Connections are encrypted with DTLS 1.3, or in clear text if you write [`Security::None`].
//!
//! ```no_run
//! use fairwire::tls::{ClientConfig, Fingerprint, Identity, ServerConfig};
//! use fairwire::{Security, ServiceCode, connect, listen};
//!
//! const CAMERA: ServiceCode = ServiceCode::from_bytes(*b"?cam");
//!
//! # async fn server(certificate: &str, key: &str) -> Result<(), Box<dyn std::error::Error>> {
//! // The server, with the files that `fairwire keygen` wrote.
//! let identity = Identity::from_pem(certificate, key)?;
//! let security = Security::dtls(ServerConfig::new(identity));
//! let listener = listen("0.0.0.0:7001".parse()?, &[CAMERA], security)?;
//! let connection = listener.accept().await?;
//! while let Ok(frame) = connection.recv().await {
//!     println!("{} bytes, {} lost before", frame.data.len(), frame.lost_before);
//! }
//! # Ok(())
//! # }
//! # async fn client(fingerprint: Fingerprint) -> Result<(), Box<dyn std::error::Error>> {
//!
//! // The client, which knows the server by the fingerprint that `fairwire keygen` printed.
//! let security = Security::dtls(ClientConfig::pinned([fingerprint]));
//! let connection = connect("example.org:7001", CAMERA, security).await?;
//! connection.send("one frame").await?; // waits while the send queue is full
//! connection.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The life of a connection
//!
//! ```text
//!  client                                                server
//!
//!  connect()   -------- Request, with the service ------>  listen()
//!              <------- Response ------------------------
//!              -------- Ack ---------------------------->  incoming() to look first
//!              <------- DTLS handshake, unless None ---->  accept()
//!
//!  send()      -------- Data, Data, Data --------------->  recv()
//!              <------- Ack: what arrived or was marked -
//!  fate()      the window or the rate follows             stats()
//!
//!  close()     -------- Close -------------------------->  recv() gives ConnectionClosed, orderly
//!              <------- Reset (Closed) ------------------
//! ```
//!
//! Both ends send and receive in the same way. Each direction has its own congestion control. If the server closes
//! first, it asks the client to send the Close (`CloseReq`).
//!
//! [`Connection::abort`] sends a Reset instead of a Close, and so does dropping a connection. The other end's
//! [`ConnectionClosed`] is then not orderly. [`Connection::abort_with`] also sends a reason. A peer that has vanished
//! is detected with [`Config::keep_alive`] and [`Config::idle_timeout`].
//!
//! # The parts
//!
//! - [`Endpoint`] is a socket: of UDP, or of IP ([`Endpoint::bind_native`]). [`Endpoint::listen`] (or [`listen`] alone)
//!   returns a [`Listener`], and [`Endpoint::connect`] (or [`connect`] alone) returns a [`Connection`].
//! - [`Connection::event`] reports changes: the largest datagram, the CCID, a peer that cannot keep up.
//! - [`Endpoint::close`] closes all connections and waits for their end.
//! - [`Endpoint::listen_towards`] waits for one client, through NATs and firewalls on either side.
//! - [`Connection::send_with`] sends a datagram with a deadline, a priority or a group, so that nothing leaves late. It
//!   also sends lost ones again while they are of use, if both ends set [`Config::resend`].
//!   [`Connection::purge`], [`Connection::queue_age`] and [`Connection::waits_for`] are about what has not left yet.
//! - [`Connection::target_bitrate`] is the rate that an encoder can follow; [`Connection::rate_changed`] waits until it
//!   moves, and [`EncoderTarget`] makes a bitrate of it.
//! - [`Connection::stats`], [`Connection::rtt`] and [`Connection::allowed_rate`] show what congestion control does, and
//!   [`Connection::dtls_stats`] what DTLS does. [`Connection::fate`] reports whether each datagram arrived.
//! - [`Config`] and [`EndpointConfig`] hold the parameters of the protocol. [`ConnectOptions`] and [`ListenOptions`]
//!   pass them on.
//!
//! To change parameters, start from the defaults. Each side has its own:
//!
//! ```
//! use fairwire::{Ccid, Config, ConnectOptions, DataChecksum, IdleRule, QueuePolicy, Segment};
//! use fairwire::laws::law;
//!
//! # fn main() -> Result<(), fairwire::laws::ChooseError> {
//! let mut config = Config::default();
//! config.send_ccids = vec![Ccid::TFRC, Ccid::TCP_LIKE]; // what we send: TFRC preferred, then TCP-like
//! config.report_fates = true;
//! config.data_checksum = DataChecksum::On;
//! config.send_queue.policy = QueuePolicy::DropOldest;
//! config.ccid2.law = law("cubic")?; // or your own law: `laws::register_law`
//! config.ccid2.idle = IdleRule::Halve;
//! config.ccid3.segment = Segment::Fixed(1_000);
//! let options = ConnectOptions::new().config(config); // for `connect_with`
//! # Ok(())
//! # }
//! ```
//!
//! To test an application on a bad network, the feature `emulated` has endpoints that are joined by a simulated link:
//! see `docs/testing-your-application.md` in the repository, and the module `emulated`.
//!
//! [`blocking`] has the same sockets for programs without tokio.
//!
//! Each endpoint is one tokio task. The task and the handles share a lock, which is never held across an await. There
//! is no channel and no task per datagram. Every tokio runtime works; one thread is enough. A server with many clients
//! can use several threads: [`EndpointBuilder::shards`] spreads its connections over tasks, sockets and locks of their
//! own, all on one port.
//!
//! Without the feature `dtls`, which is on by default, there is clear text only, and no C to compile.
//!
//! Limits of the operating system:
//!
//! - The tests run on Linux. For macOS, Windows and Android the crate is compiled, and not tried.
//! - RFC 6773 requires a non-zero UDP checksum. The kernel checks it; this crate cannot see it.
//! - Datagrams always carry Don't Fragment, where the system supports it.
//! - ICMP errors are read on Linux. On other systems a closed port is found by a timeout.
//!
//! End a connection with [`Connection::close`]. A connection that is dropped without it is reset, and the peer sees the
//! reset.

// Without DTLS there are no values of its types, so what handles them is never reached.
#![cfg_attr(not(feature = "dtls"), expect(unreachable_code))]

mod address;
mod bind;
pub mod blocking;
mod clock;
mod common;
mod connection;
mod divert;
mod driver;
#[cfg(feature = "emulated")]
pub mod emulated;
mod endpoint;
mod error;
mod event;
mod handover;
mod listener;
mod options;
mod outbox;
mod race;
mod received;
mod resolve;
mod security;
mod sending;
mod shards;
mod socket;
mod state;
mod sync;
mod timer;
mod transport;
mod waiting;
mod wakers;

use std::net::SocketAddr;

use crate::tls::{ClientConfig, ServerConfig};
pub use address::DccpAddr;
pub use bind::EndpointBuilder;
pub use bytes::Bytes;
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use error::{
    AcceptError, AddressKind, BindError, ConnectError, ConnectionClosed, DtlsRefusal, FateError,
    HandshakeError, SendError, TryRecvError, TrySendError,
};
pub use event::ConnectionEvent;
pub use fairwire_proto::{
    AckRatioFollows, Admit, AdmitHook, Attempt, Bursts, Ccid2Config, Ccid3Config, ChangeCcidError,
    CloseReason, Config, ConfigError, DamagedData, DataChecksum, DatagramId, Direction,
    EncoderConfig, EncoderInput, EncoderTarget, EndpointConfig, EndpointStats, EquationForm,
    ErrorText, Fate, FeedbackRate, FirstInterval, FirstIntervalLife, FirstRate, Gauges, IdleRule,
    InitCookies, LimitedBy, ListenError, LossEvents, LossMean, PathMtuDiscovery, Profile,
    QueueLimits, QueuePolicy, ReceiveLimit, ReceiveQueuePolicy, ReceiveRateOver, ReceiverRtt,
    ReductionFrom, Reports, Segment, SlowStart, StartError, Stats, TargetBitrate, Unreachable,
    Waiting, WindowCounts, ccids, laws,
};
pub use fairwire_units::{Ecn, Percent, Rate};
pub use fairwire_wire::udp::PORT as DCCP_UDP_PORT;
pub use fairwire_wire::{Ccid, DropCode, ResetCode, ServiceCode};
pub use listener::{Incoming, Listener};
pub use options::{ConnectOptions, ListenOptions, SendOptions};
pub use received::{Received, ReceivedId, ReceivedInto};
pub use resolve::{interface, parse_address, resolve};
pub use security::Security;

/// What [`Security::dtls`](crate::Security::dtls) needs: identities, fingerprints, and whom to trust.
#[cfg(feature = "dtls")]
pub mod tls {
    pub use fairwire_tls::*;
}
#[cfg(not(feature = "dtls"))]
#[path = "without_dtls.rs"]
pub mod tls;

/// Connects to a service at `host:port`.
///
/// The port number is both the UDP port and the DCCP port; `host:6511/7001` names the UDP port 6511 and the DCCP port
/// 7001. An IPv6 address may have a zone: `[fe80::1%eth0]:7001`. If the name has several addresses, the first one that
/// answers is used; see [`connect_any`]. Cancelling the future ends the attempt.
///
/// Connections that are made in this way on one runtime share an endpoint, and so a UDP port, a task and memory for what
/// arrives, for each family of addresses. Their DCCP ports tell them apart (RFC 6773, section 3.8). One that should be
/// alone has [`ConnectOptions::own_endpoint`]; to choose the address, bind an [`Endpoint`].
///
/// # Errors
/// See [`ConnectError`]; [`ConnectError::All`] lists the error of each address.
pub async fn connect(
    host: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
) -> Result<Connection, ConnectError> {
    connect_with(host, service, security, ConnectOptions::default()).await
}

/// Connects with options; otherwise like [`connect`].
///
/// # Errors
/// As for [`connect`].
pub async fn connect_with(
    host: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    timer::check()?;
    let remotes = remotes(host).await?;
    let connected = connect_first(&remotes, bind_for(&options), service, security, options).await;
    connected.map_err(|error| of_host(host, error))
}

/// Connects directly in IP (protocol 33) instead of UDP; otherwise like [`connect_with`].
///
/// The port number is the DCCP port. Works on Linux only, and needs the right to open raw sockets; see
/// [`Endpoint::bind_native`].
///
/// # Errors
/// As for [`connect`].
pub async fn connect_native(
    host: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    timer::check()?;
    let remotes = remotes(host).await?;
    let remotes: Vec<_> = remotes.iter().map(DccpAddr::without_udp).collect();
    let bind = |any: SocketAddr| Endpoint::bind_native(any.ip());
    let connected = connect_first(&remotes, bind, service, security, options).await;
    connected.map_err(|error| of_host(host, error))
}

/// Connects to the first of a server's addresses that answers (Happy Eyeballs, RFC 8305).
///
/// The port number of an address is both the UDP port and the DCCP port. Put the
/// preferred address first. IPv4 and IPv6 addresses take turns. The next attempt starts 250 ms after the previous one,
/// or at once when one fails; earlier attempts go on. When one succeeds, the others are reset, so a server may see a
/// connection that is reset as soon as it is open.
///
/// Each attempt lasts at most `Config::connect_timeout`. At most 16 addresses are tried; the rest are ignored.
/// Cancelling the future ends all attempts.
///
/// # Errors
/// See [`ConnectError`]. For one address this is its own error, for several it is [`ConnectError::All`].
pub async fn connect_any(
    addrs: &[SocketAddr],
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    timer::check()?;
    let remotes: Vec<_> = addrs.iter().copied().map(DccpAddr::same_ports).collect();
    connect_first(&remotes, bind_for(&options), service, security, options).await
}

/// Returns what makes the endpoint of an attempt to connect, or finds one.
fn bind_for(options: &ConnectOptions) -> fn(SocketAddr) -> Result<Endpoint, BindError> {
    if options.own_endpoint {
        Endpoint::bind
    } else {
        common::endpoint
    }
}

/// Connects to the first of several remotes that answers, to each from an endpoint that `bind` returns.
async fn connect_first(
    remotes: &[DccpAddr],
    bind: impl Fn(SocketAddr) -> Result<Endpoint, BindError>,
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    race::race(clock::Clock::start(), remotes, |remote| {
        let (security, options) = (security.clone(), options.clone());
        let endpoint = bind(socket::wildcard_for(remote.addr));
        async move {
            let endpoint = endpoint?;
            endpoint
                .connect_with(remote, service, security, options)
                .await
        }
    })
    .await
}

/// Listens on a UDP port of this host, and on the DCCP port of the same number, as [`connect`] expects.
///
/// The address is one of this host, or `0.0.0.0`, or `[::]` for both families. Port 0 takes a free port;
/// [`Listener::local_addr`] returns it. For several listeners, or for options, bind an [`Endpoint`].
///
/// # Errors
/// See [`BindError`].
pub fn listen(
    udp: SocketAddr,
    services: &[ServiceCode],
    security: Security<ServerConfig>,
) -> Result<Listener, BindError> {
    let endpoint = Endpoint::bind(udp)?;
    let port = endpoint.local_addr().port();
    endpoint
        .listen(port, services, security)
        .map_err(BindError::Listen)
}

async fn remotes(host: &str) -> Result<Vec<DccpAddr>, ConnectError> {
    let resolved = resolve::remotes(host).await;
    resolved.map_err(|source| ConnectError::Resolve {
        host: host.to_owned(),
        source,
    })
}

/// Adds the host name to an error about several addresses.
fn of_host(host: &str, error: ConnectError) -> ConnectError {
    match error {
        ConnectError::All { tried, .. } => ConnectError::All {
            host: Some(host.to_owned()),
            tried,
        },
        error => error,
    }
}
