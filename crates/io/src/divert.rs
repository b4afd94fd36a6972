//! A hook that takes datagrams from the port of an endpoint that are not DCCP.

use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Hook = dyn Fn(&[u8], SocketAddr) -> bool + Send + Sync;

/// The hook. It returns whether it takes a datagram.
#[derive(Clone)]
pub(crate) struct Divert(pub(crate) Arc<Hook>);

impl Divert {
    /// Returns whether the hook takes a datagram. A hook that panics for one must not end the connections of all others.
    pub(crate) fn takes(&self, datagram: &[u8], from: SocketAddr) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.0)(datagram, from))).unwrap_or(false)
    }
}

impl fmt::Debug for Divert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Divert")
    }
}
