//! Connecting to the far relay, and what a failure means.

use std::net::{Ipv6Addr, SocketAddr};

use fairwire::tls::ClientConfig;
use fairwire::{
    Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, HandshakeError,
    ResetCode, Security,
};

use super::options::Options;
use super::socket::{SOCKET_BUFFER, endpoint};
use crate::perf::{PerfError, refused_by_dtls};

/// Makes connections to the far relay. All share one UDP port.
#[derive(Debug)]
pub(super) struct Dialer {
    to: String,
    endpoint: Endpoint,
    security: Security<ClientConfig>,
    options: ConnectOptions,
    service: fairwire::ServiceCode,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct NoConnection {
    pub text: String,
    /// Whether another attempt would end in the same way, because the peer is the wrong one.
    pub is_final: bool,
}

impl Dialer {
    /// Binds the port. Needs a tokio runtime.
    pub(super) fn bind(options: &Options, config: Config) -> Result<Self, PerfError> {
        let host = options.to.rsplit_once(':').map_or("", |(host, _)| host);
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        Ok(Self {
            to: options.to.clone(),
            security: options.dtls.client(host)?,
            endpoint: endpoint(any, || Endpoint::builder().socket_buffer(SOCKET_BUFFER))?,
            options: ConnectOptions::new().config(config),
            service: options.service(),
        })
    }

    /// Returns the addresses of the far relay now.
    pub(super) async fn resolve(&self) -> Result<Vec<SocketAddr>, NoConnection> {
        let resolved = fairwire::resolve(&self.to).await;
        resolved.map_err(|error| NoConnection {
            text: format!("cannot resolve {}: {error}", self.to),
            is_final: false,
        })
    }

    /// Connects to the first address that answers. The name is looked up each time, for the relay may have moved.
    pub(super) async fn dial(&self) -> Result<Connection, NoConnection> {
        let remotes = self.resolve().await?;
        let remotes: Vec<_> = remotes.into_iter().map(DccpAddr::same_ports).collect();
        let (security, options) = (self.security.clone(), self.options.clone());
        let connecting = self
            .endpoint
            .connect_any(&remotes, self.service, security, options);
        connecting.await.map_err(|error| NoConnection {
            text: self.text(&error),
            is_final: is_final(&error),
        })
    }

    /// Closes every connection.
    pub(super) async fn close(&self) {
        self.endpoint.close().await;
    }

    /// Returns the error with advice.
    fn text(&self, error: &ConnectError) -> String {
        if let ConnectError::Handshake {
            remote,
            error: HandshakeError::Closed(closed),
        } = error
            && let Some(text) = refused_by_dtls(&remote.to_string(), closed)
        {
            return text;
        }
        if is_other_service(error) {
            let kind = if self.security.is_encrypted() {
                "an encrypted fairwire relay"
            } else {
                "a fairwire relay in clear text"
            };
            return format!("{error}; {} is not {kind}", self.to);
        }
        error.to_string()
    }
}

fn is_other_service(error: &ConnectError) -> bool {
    match error {
        ConnectError::Refused { code, .. } => *code == ResetCode::BadServiceCode,
        ConnectError::All { tried, .. } => tried.iter().any(|(_, error)| is_other_service(error)),
        _ => false,
    }
}

/// Returns whether the peer is the wrong one, or the address is. A peer that does not answer may answer later.
fn is_final(error: &ConnectError) -> bool {
    match error {
        ConnectError::Timeout { not_dccp, .. } => *not_dccp > 0,
        ConnectError::Refused { code, .. } => *code == ResetCode::BadServiceCode,
        ConnectError::Handshake { error, .. } => match error {
            HandshakeError::Dtls(_) => true,
            HandshakeError::Closed(closed) => closed.dtls_refusal().is_some(),
            _ => false,
        },
        ConnectError::All { tried, .. } => tried.iter().all(|(_, error)| is_final(error)),
        ConnectError::Reflected { .. }
        | ConnectError::NotOneHost { .. }
        | ConnectError::NoInterface { .. }
        | ConnectError::NoDccpPort { .. } => true,
        _ => false,
    }
}
