//! DCCP: in UDP one socket per flow, natively one endpoint for all flows.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use fairwire::tls::ClientConfig;
use fairwire::{
    CloseReason, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, EndpointBuilder,
    HandshakeError, Security, ServiceCode,
};

use super::error::refused;
use crate::perf::PerfError;
use crate::perf::defaults::{NOT_ENCRYPTED, SOCKET_BUFFER};
use crate::perf::local::Local;

/// Binds the endpoint of a native client. All flows share it, because each further raw socket would get a copy of every
/// packet.
pub(crate) fn native_endpoint(local: Option<&Local>) -> Result<Endpoint, PerfError> {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let ip = local.and_then(|local| local.ip).unwrap_or(any);
    let bound = builder(local).bind_native(ip);
    bound.map_err(|error| PerfError::Local(error.to_string()))
}

/// Returns a builder of endpoints on the interface of `local`.
pub(crate) fn builder(local: Option<&Local>) -> EndpointBuilder {
    let builder = Endpoint::builder().socket_buffer(SOCKET_BUFFER);
    match local.and_then(Local::device) {
        Some(device) => builder.interface(device),
        None => builder,
    }
}

/// Connects to the first of the server's addresses that answers, through `native` if there is one.
pub(super) async fn connect(
    (target, addrs): (&str, &[SocketAddr]),
    service: ServiceCode,
    security: Security<ClientConfig>,
    options: ConnectOptions,
    (native, local): (Option<Endpoint>, Option<&Local>),
) -> Result<Connection, PerfError> {
    let connected = match (native, local) {
        (Some(endpoint), _) => {
            let remotes: Vec<_> = addrs.iter().copied().map(DccpAddr::native).collect();
            let connecting = endpoint.connect_any(&remotes, service, security, options);
            connecting.await
        }
        (None, None) => {
            // Streams that are measured side by side share nothing.
            let options = options.own_endpoint(true);
            fairwire::connect_any(addrs, service, security, options).await
        }
        (None, Some(local)) => {
            let from = local.addr(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
            let from = from.map_err(|error| PerfError::Local(format!("-B {local}: {error}")))?;
            let endpoint = builder(Some(local)).bind(from);
            let endpoint = endpoint.map_err(|error| PerfError::Local(error.to_string()))?;
            let remotes: Vec<_> = addrs.iter().copied().map(DccpAddr::same_ports).collect();
            let connecting = endpoint.connect_any(&remotes, service, security, options);
            connecting.await
        }
    };
    connected.map_err(|error| {
        let error = match error {
            ConnectError::All { tried, .. } => ConnectError::All {
                host: Some(target.to_owned()),
                tried,
            },
            error => error,
        };
        if let ConnectError::Handshake {
            remote,
            error: HandshakeError::Closed(closed),
        } = &error
            && let Some(text) = refused(&remote.to_string(), closed)
        {
            return PerfError::Peer(text);
        }
        let advice = match &error {
            // A plain UDP server does not answer other packets, so the protocol may differ.
            error if is_silent_udp(error) => " (Was it started with the same --proto?)",
            error if is_clear_text(error) => ": start the server with --dtls ID",
            ConnectError::Bind(_) => return PerfError::Local(error.to_string()),
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
