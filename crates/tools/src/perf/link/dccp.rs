//! DCCP: in UDP one socket per flow, natively one endpoint for all flows.

use std::net::{IpAddr, Ipv6Addr};

use fairwire::tls::ClientConfig;
use fairwire::{
    CloseReason, Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint,
    HandshakeError, Security, ServiceCode,
};
use tokio::net::lookup_host;

use crate::perf::PerfError;
use crate::perf::defaults::{NOT_ENCRYPTED, SOCKET_BUFFER};

/// Binds the endpoint of a native client. All flows share it, because each further raw socket would get a copy of every
/// packet.
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
    security: Security<ClientConfig>,
    config: Config,
    native: Option<Endpoint>,
) -> Result<Connection, PerfError> {
    let options = ConnectOptions::new().config(config);
    let connected = match native {
        None => fairwire::connect_with(target, service, security, options).await,
        Some(endpoint) => connect_natively(&endpoint, target, service, security, options).await?,
    };
    connected.map_err(|error| {
        let advice = match &error {
            // A plain UDP server does not answer other packets, so the protocol may differ.
            error if is_silent_udp(error) => " (Was it started with the same --proto?)",
            error if is_clear_text(error) => ": start the server with --dtls ID",
            _ => "",
        };
        PerfError::Peer(format!("{error}{advice}"))
    })
}

/// Returns whether the server says that it does not encrypt. Nobody vouches for that, so the advice is not to do the
/// same.
fn is_clear_text(error: &ConnectError) -> bool {
    let ConnectError::Handshake {
        error: HandshakeError::Closed(closed),
        ..
    } = error
    else {
        return false;
    };
    let said = match &closed.reason {
        CloseReason::Reset { text, .. } => text.as_ref().map(ToString::to_string),
        _ => None,
    };
    said.is_some_and(|text| text == NOT_ENCRYPTED)
}

/// Returns whether a UDP port did not answer, at one address at least.
fn is_silent_udp(error: &ConnectError) -> bool {
    match error {
        ConnectError::Timeout { native, .. } => !native,
        ConnectError::All { tried, .. } => tried.iter().any(|(_, error)| is_silent_udp(error)),
        _ => false,
    }
}

/// Connects to the first address of the name that answers; natively the port is the DCCP port.
async fn connect_natively(
    endpoint: &Endpoint,
    target: &str,
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
) -> Result<Result<Connection, ConnectError>, PerfError> {
    let unknown = |error: std::io::Error| PerfError::Peer(format!("{target}: {error}"));
    let addrs = lookup_host(target).await.map_err(unknown)?;
    let remotes: Vec<_> = addrs.map(DccpAddr::native).collect();
    let connected = endpoint
        .connect_any(&remotes, service, security, options)
        .await;
    Ok(connected.map_err(|error| match error {
        ConnectError::All { tried, .. } => ConnectError::All {
            host: Some(target.to_owned()),
            tried,
        },
        error => error,
    }))
}
