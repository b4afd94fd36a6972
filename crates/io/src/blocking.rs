//! The same sockets without `async`: every call that would wait blocks the calling thread.
//!
//! A thread of this crate runs all endpoints that are made here; it starts with the first one. No tokio is needed in
//! the program. Calls may be made from any thread, several at once on the same connection. In a tokio task they would
//! block the task's thread, so use the `async` API there.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use fairwire::blocking::{connect, listen};
//! use fairwire::{Security, ServiceCode};
//!
//! const CAMERA: ServiceCode = ServiceCode::from_bytes(*b"?cam");
//!
//! # fn server() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = listen("0.0.0.0:7001".parse()?, &[CAMERA], Security::None)?;
//! let connection = listener.accept()?;
//! while let Some(frame) = connection.recv_timeout(Duration::from_secs(10))? {
//!     println!("{} bytes", frame.data.len());
//! }
//! # Ok(())
//! # }
//! # fn client() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let connection = connect("example.org:7001", CAMERA, Security::None)?;
//! connection.send("one frame")?; // waits while the send queue is full
//! connection.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! What does not wait is the same as in the `async` API: a [`Connection`] here dereferences to a
//! [`fairwire::Connection`](crate::Connection), and so do the other types.

mod connection;
mod endpoint;
mod listener;
mod runtime;

use std::net::SocketAddr;

use crate::tls::{ClientConfig, ServerConfig};
use fairwire_wire::ServiceCode;

use crate::error::{BindError, ConnectError};
use crate::options::ConnectOptions;
use crate::security::Security;
use runtime::Runtime;

pub use connection::Connection;
pub use endpoint::Endpoint;
pub use listener::{Incoming, Listener};

/// Connects to a service at `host:port` or `host:udp/dccp`; see [`fairwire::connect`](crate::connect).
///
/// # Errors
/// See [`ConnectError`].
pub fn connect(
    host: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
) -> Result<Connection, ConnectError> {
    connect_with(host, service, security, ConnectOptions::default())
}

/// Connects with options; otherwise like [`connect`].
///
/// # Errors
/// See [`ConnectError`].
pub fn connect_with(
    host: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Connection, ConnectError> {
    let runtime = Runtime::get()?;
    let connected = runtime.wait(crate::connect_with(host, service, security, options))?;
    Ok(Connection::new(connected, runtime))
}

/// Listens on a UDP port of this host, and on the DCCP port of the same number; see
/// [`fairwire::listen`](crate::listen).
///
/// # Errors
/// See [`BindError`].
pub fn listen(
    udp: SocketAddr,
    services: &[ServiceCode],
    security: Security<ServerConfig>,
) -> Result<Listener, BindError> {
    let runtime = Runtime::get()?;
    let listener = runtime.within(|| crate::listen(udp, services, security))?;
    Ok(Listener::new(listener, runtime))
}
