//! How the datagrams of a connection are protected.

use std::fmt;
use std::sync::Arc;

use crate::tls::{ClientConfig, Dtls, ServerConfig};

use crate::clock::date;

/// How the datagrams of a connection are protected: with DTLS 1.3 (RFC 9147) over DCCP (RFC 5238), or not at all.
///
/// There is no default: `Security::None` is clear text. Nothing falls back to clear text. A peer that
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

impl Security<ClientConfig> {
    /// Returns what encrypts the connections of a client, if anything does.
    pub(crate) fn client(self) -> Option<Arc<Dtls>> {
        match self {
            Self::None => None,
            Self::Dtls(config) => Some(Arc::new(Dtls::client(config, date))),
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

    /// Returns what encrypts the connections of a server, if anything does.
    pub(crate) fn server(self) -> Option<Arc<Dtls>> {
        match self {
            Self::None => None,
            Self::Dtls(config) => Some(Arc::new(Dtls::server(config, date))),
        }
    }
}
