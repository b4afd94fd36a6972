//! The application's word on who may begin a connection, asked before anything is kept.

use std::fmt;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use fairwire_wire::ServiceCode;

use crate::flow::Flow;

/// Somebody who would begin a connection.
///
/// The address of a Request may be forged. That of a client that echoes an Init Cookie is true.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// Where it comes from; natively the port is zero.
    pub remote: SocketAddr,
    /// Its DCCP port.
    pub remote_port: u16,
    /// The DCCP port that it wants.
    pub local_port: u16,
    /// The service that it wants, one that the port offers.
    pub service: ServiceCode,
}

/// What becomes of an [`Attempt`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Admit {
    /// It goes on, as far as the endpoint's limits let it.
    Accept,
    /// It is told so: Reset 9, Too Busy, at the limited rate of all refusals.
    Refuse,
    /// Nobody answers.
    Ignore,
}

/// A function that says who may begin a connection on a port.
#[derive(Clone)]
pub struct AdmitHook(Arc<dyn Fn(&Attempt) -> Admit + Send + Sync>);

impl AdmitHook {
    /// Asks `hook`.
    pub fn new(hook: impl Fn(&Attempt) -> Admit + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(super) fn ask(&self, flow: &Flow, service: ServiceCode) -> Admit {
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
