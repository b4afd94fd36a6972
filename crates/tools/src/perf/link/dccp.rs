//! DCCP: in UDP a socket per flow, natively one endpoint for all of them.

use std::net::{IpAddr, Ipv6Addr};

use fairwire::{Config, ConnectError, ConnectOptions, Connection, Endpoint, Remote, ServiceCode};
use tokio::net::lookup_host;

use super::SOCKET_BUFFER;
use crate::perf::PerfError;

/// The endpoint of a native client. One for all flows: each raw socket more would get a copy of
/// every packet.
pub(crate) fn native_endpoint() -> Result<Endpoint, PerfError> {
    let builder = Endpoint::builder().socket_buffer(SOCKET_BUFFER);
    builder
        .bind_native(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
        .map_err(|error| PerfError::Local(error.to_string()))
}

/// Connects to a server at `target`, through `native` if there is one.
pub(super) async fn connect(
    target: &str,
    service: ServiceCode,
    config: Config,
    native: Option<Endpoint>,
) -> Result<Connection, PerfError> {
    let options = ConnectOptions::new().config(config);
    let connected = match native {
        None => fairwire::connect_with(target, service, options).await,
        Some(endpoint) => connect_natively(&endpoint, target, service, options).await?,
    };
    connected.map_err(|error| {
        PerfError::Peer(match error {
            // A server of plain UDP answers nothing that is not for it.
            ConnectError::Timeout { native: false, .. } => {
                format!("{error} (Was it started with the same --proto?)")
            }
            _ => error.to_string(),
        })
    })
}

/// Tries every address that the name has; natively the port is DCCP's.
async fn connect_natively(
    endpoint: &Endpoint,
    target: &str,
    service: ServiceCode,
    options: ConnectOptions,
) -> Result<Result<Connection, ConnectError>, PerfError> {
    let unknown = |why: &dyn std::fmt::Display| PerfError::Peer(format!("{target}: {why}"));
    let addrs = lookup_host(target).await.map_err(|error| unknown(&error))?;
    let mut last = None;
    for addr in addrs {
        let remote = Remote::native(addr);
        match endpoint
            .connect_with(remote, service, options.clone())
            .await
        {
            Err(error) => last = Some(error),
            connected => return Ok(connected),
        }
    }
    last.map(Err).ok_or_else(|| unknown(&"no address"))
}
