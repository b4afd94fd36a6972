//! The endpoint that connections of a program share, if the program binds none itself.
//!
//! There is one for each runtime and family of addresses, because the driver of an endpoint is a task of the runtime on
//! which it was bound. It ends with its last connection, and the next one binds another.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime;

use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::shards::Shards;
use crate::state::{Handle, Shared};

/// The endpoints that may still run.
static ENDPOINTS: Mutex<Vec<Common>> = Mutex::new(Vec::new());

struct Common {
    runtime: runtime::Id,
    is_ipv4: bool,
    shared: Weak<Shared>,
}

/// Returns the endpoint of the current runtime for the family of `any`, an unspecified address.
pub(crate) fn endpoint(any: SocketAddr) -> Result<Endpoint, BindError> {
    let runtime = runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
    let (runtime, is_ipv4) = (runtime.id(), any.is_ipv4());
    // Nothing in here panics half way through a change.
    let mut endpoints = ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner);
    endpoints.retain(|common| common.shared.strong_count() > 0);
    let ours = |common: &&Common| common.runtime == runtime && common.is_ipv4 == is_ipv4;
    if let Some(endpoint) = endpoints.iter().filter(ours).find_map(running) {
        return Ok(endpoint);
    }
    let (endpoint, shards) = Endpoint::builder().bind_udp(any)?;
    endpoints.push(Common {
        runtime,
        is_ipv4,
        shared: Arc::downgrade(&shards[0]),
    });
    Ok(endpoint)
}

/// Returns the endpoint, unless it has ended. From then on it runs until it is dropped.
fn running(common: &Common) -> Option<Endpoint> {
    let shared = common.shared.upgrade()?;
    let handle = Handle::new(Arc::clone(&shared));
    let has_ended = {
        let state = handle.lock();
        state.driver_ended || state.closing
    };
    (!has_ended).then(|| Endpoint::new(Shards::new(&[shared])))
}
