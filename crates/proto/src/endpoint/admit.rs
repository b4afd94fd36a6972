//! The application's hook that decides who may begin a connection. It is called before any state is kept.

use std::fmt;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use fairwire_wire::ServiceCode;

use crate::flow::Flow;

/// A client's attempt to begin a connection.
///
/// The address of a Request may be forged. The address of a client that echoes an Init Cookie is genuine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The client's address. Without UDP encapsulation its port is zero.
    pub remote: SocketAddr,
    /// The client's DCCP port.
    pub remote_port: u16,
    /// The DCCP port that the client connects to.
    pub local_port: u16,
    /// The requested service. The listener offers it.
    pub service: ServiceCode,
}

/// The decision about an [`Attempt`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Admit {
    /// The attempt continues, within the endpoint's limits.
    Accept,
    /// The client gets Reset 9, Too Busy, subject to the rate limit of all refusals.
    Refuse,
    /// The client gets no answer.
    Ignore,
}

/// A function that decides who may begin a connection on a port.
#[derive(Clone)]
pub struct AdmitHook(Arc<dyn Fn(&Attempt) -> Admit + Send + Sync>);

impl AdmitHook {
    /// Wraps `hook`.
    pub fn new(hook: impl Fn(&Attempt) -> Admit + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(super) fn decide(&self, flow: &Flow, service: ServiceCode) -> Admit {
        let attempt = Attempt {
            remote: flow.path.remote,
            remote_port: flow.remote_port,
            local_port: flow.local_port,
            service,
        };
        // A hook that panics for one client must not end the connections of all others.
        let asked = panic::catch_unwind(AssertUnwindSafe(|| (self.0)(&attempt)));
        asked.unwrap_or(Admit::Refuse)
    }
}

impl fmt::Debug for AdmitHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdmitHook")
    }
}
