//! How the datagrams of a connection are protected.

use std::fmt;
use std::sync::Arc;

use fairwire_tls::{ClientConfig, ServerConfig};
use fairwire_units::Duration;

/// How the datagrams of a connection are protected: with DTLS 1.3 (RFC 9147) over DCCP (RFC 5238), or not at all.
///
/// There is no default: whoever wants clear text writes `Security::None`. Nothing falls back to clear text. A peer that
/// does not speak DTLS, or shows the wrong certificate, is an error.
///
/// `C` is [`ClientConfig`] for the side that connects, and [`ServerConfig`] for the side that listens.
///
/// DTLS protects the application's data. It does not protect DCCP's own headers, which congestion control and
/// middleboxes read: see `docs/security.md` for what someone on the path can do with them.
///
/// ```
/// use fairwire::Security;
/// use fairwire::tls::{ClientConfig, Fingerprint};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let shown = "00".repeat(32);
/// // The server's administrator tells the fingerprint; `fairwire keygen` prints it.
/// let server: Fingerprint = shown.parse()?;
/// let security = Security::dtls(ClientConfig::pinned([server]));
/// # let _ = security;
/// # Ok(())
/// # }
/// ```
pub enum Security<C> {
    /// Clear text. Anyone on the path can read and forge datagrams.
    None,
    /// DTLS 1.3.
    Dtls(Arc<C>),
}

impl<C> Security<C> {
    /// Returns the protection by DTLS 1.3 with this configuration.
    pub fn dtls(config: C) -> Self {
        Self::Dtls(Arc::new(config))
    }

    /// Returns whether datagrams are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Dtls(_))
    }
}

impl<C> Clone for Security<C> {
    fn clone(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Dtls(config) => Self::Dtls(Arc::clone(config)),
        }
    }
}

impl<C> fmt::Debug for Security<C> {
    /// Shows no part of the configuration, which holds a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Dtls(_) => "Dtls",
        })
    }
}

/// One side's part in a DTLS handshake.
#[derive(Clone)]
pub(crate) enum Role {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Security<ClientConfig> {
    /// Returns the client's part in the handshake, if there is one.
    pub(crate) fn client(self) -> Option<Role> {
        match self {
            Self::None => None,
            Self::Dtls(config) => Some(Role::Client(config)),
        }
    }
}

impl Role {
    /// Returns the role on a path with this round-trip time, which DCCP's handshake has measured.
    pub(crate) fn on_path(&self, rtt: Duration) -> Self {
        match self {
            Self::Client(config) => {
                Self::Client(Arc::new(ClientConfig::clone(config).round_trip(rtt)))
            }
            Self::Server(config) => {
                Self::Server(Arc::new(ServerConfig::clone(config).round_trip(rtt)))
            }
        }
    }

    /// Returns how many bytes of memory its handshake needs at most.
    pub(crate) fn handshake_memory(&self) -> usize {
        match self {
            Self::Client(config) => config.handshake_memory(),
            Self::Server(config) => config.handshake_memory(),
        }
    }
}

impl Security<ServerConfig> {
    /// Returns how many bytes of memory a handshake needs at most.
    pub(crate) fn handshake_memory(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Dtls(config) => config.handshake_memory(),
        }
    }

    /// Returns the server's part in the handshake, if there is one.
    pub(crate) fn server(self) -> Option<Role> {
        match self {
            Self::None => None,
            Self::Dtls(config) => Some(Role::Server(config)),
        }
    }
}
