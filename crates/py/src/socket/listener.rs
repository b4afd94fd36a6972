//! Listeners.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairwire::{Endpoint, ListenOptions, ServiceCode, parse_address};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::watch;

use crate::socket::config::{config, service};
use crate::socket::connection::Connection;
use crate::socket::errors::{BindError, ListenerClosed, not_bound, not_listening};
use crate::socket::operation::Operation;
use crate::socket::runtime::{Owned, within};
use crate::socket::security::ServerDtls;

/// A port that accepts connections.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Listener {
    listening: Owned<Listening>,
    local: SocketAddr,
}

struct Listening {
    /// Taken when the listener is closed. Calls of `accept` that wait have clones, which they drop then.
    listener: watch::Sender<Option<Arc<fairwire::Listener>>>,
    /// The failed handshakes of a listener that is closed.
    failed: AtomicU64,
}

impl Listening {
    fn failed_handshakes(&self) -> u64 {
        let listener = self.listener.borrow();
        listener.as_ref().map_or_else(
            || self.failed.load(Ordering::Relaxed),
            |listener| listener.failed_handshakes(),
        )
    }
}

/// Listens at the IP address and port of `address`.
#[pyfunction]
#[pyo3(signature = (address, services, security, settings=None, backlog=None))]
pub(crate) fn listen(
    address: &str,
    services: Vec<Bound<'_, PyAny>>,
    security: Option<&ServerDtls>,
    settings: Option<&Bound<'_, PyDict>>,
    backlog: Option<usize>,
) -> PyResult<Listener> {
    let udp = parse_address(address).map_err(|error| {
        BindError::new_err(match error.kind() {
            ErrorKind::InvalidInput => format!(
                "'{address}' is not an IP address of this host with a port: write 0.0.0.0:7001, or [::]:7001 for IPv6 too"
            ),
            _ => error.to_string(),
        })
    })?;
    let services: Vec<ServiceCode> = services
        .into_iter()
        .map(|code| service(&code))
        .collect::<PyResult<_>>()?;
    let mut options = ListenOptions::new().config(config(settings)?);
    if let Some(backlog) = backlog {
        options = options.backlog(backlog);
    }
    let security = ServerDtls::security(security);
    let endpoint = within(|| Endpoint::bind(udp))?.map_err(|error| not_bound(&error))?;
    let local = endpoint.local_addr();
    let listener = within(|| endpoint.listen_with(local.port(), &services, security, options))?;
    let listener = listener.map_err(|error| not_listening(&error))?;
    let (listener, _) = watch::channel(Some(Arc::new(listener)));
    Ok(Listener {
        listening: Owned::new(Listening {
            listener,
            failed: AtomicU64::new(0),
        }),
        local,
    })
}

#[pymethods]
impl Listener {
    /// Waits for a connection. The operation gives a `Connection`.
    fn accept(&self) -> PyResult<Operation> {
        let mut seen = self
            .listening
            .with(|listening| listening.listener.subscribe())?;
        let accept = async move {
            let listener = seen.borrow_and_update().clone()?;
            tokio::select! {
                biased;
                _ = seen.changed() => None,
                accepted = listener.accept() => accepted.ok(),
            }
        };
        Ok(Operation::new(accept, |_, accepted| match accepted {
            Some(connection) => Ok(Connection::new(connection)),
            None => Err(ListenerClosed::new_err("the listener is closed")),
        }))
    }

    /// Stops listening. Accepted connections go on.
    fn close(&self) -> PyResult<()> {
        self.listening.with(|listening| {
            let failed = listening.failed_handshakes();
            listening.failed.store(failed, Ordering::Relaxed);
            listening.listener.send_replace(None);
        })
    }

    fn local(&self) -> (String, u16, u16) {
        (
            self.local.ip().to_string(),
            self.local.port(),
            self.local.port(),
        )
    }

    /// How many DTLS handshakes have failed.
    fn failed_handshakes(&self) -> PyResult<u64> {
        self.listening.with(Listening::failed_handshakes)
    }
}
