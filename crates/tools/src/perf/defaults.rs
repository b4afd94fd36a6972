//! What both sides take unless somebody says otherwise.

use std::time::Duration;

use fairwire::ServiceCode;

/// The service that a server of measurements offers unless it is told another; private use
/// (RFC 5595, section 2.3).
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?FwP");

/// Kernel buffers of a flow, bytes.
pub(crate) const SOCKET_BUFFER: usize = 4 << 20;

/// How long the other side may take to answer, if nobody says.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
