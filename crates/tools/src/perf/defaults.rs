//! Defaults of both sides.

use std::time::Duration;

use fairwire::ServiceCode;

/// The default DCCP service of a measurement server; for private use (RFC 5595, section 2.3).
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?FwP");

/// The size of the kernel's buffers of a flow, bytes each.
pub(crate) const SOCKET_BUFFER: usize = 4 << 20;

/// How long the other side may be silent, by default.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What a server without DTLS says to a client that uses it.
pub(crate) const NOT_ENCRYPTED: &str = "this service is not encrypted";
