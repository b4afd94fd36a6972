//! The options that concern encryption.

use std::path::{Path, PathBuf};

use fairwire::Security;
use fairwire::tls::{Authorities, ClientConfig, Fingerprint, ServerConfig, Trust};

use super::PerfError;
use crate::identity;

/// Whether the measurement is encrypted with DTLS 1.3, and whom to trust.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Dtls {
    /// The files of this side's own identity, without `.key` and `.crt`. A server needs one.
    pub identity: Option<PathBuf>,
    /// The fingerprints of the peers' certificates that are trusted.
    pub pins: Vec<Fingerprint>,
    /// A file of certificates of authorities (PEM) that are trusted to certify peers.
    pub authorities: Option<PathBuf>,
}

impl Dtls {
    /// Returns whether the measurement is encrypted: whether any of the options is given.
    pub fn is_on(&self) -> bool {
        *self != Self::default()
    }

    /// Checks that the options fit together.
    pub(crate) fn check(&self, is_dccp: bool) -> Result<(), PerfError> {
        let usage = |text: &str| Err(PerfError::Usage(text.to_owned()));
        if self.is_on() && !is_dccp {
            return usage(
                "--dtls, --dtls-pin and --dtls-ca work only with --proto dccp: the others are not encrypted",
            );
        }
        if !self.pins.is_empty() && self.authorities.is_some() {
            return usage(
                "--dtls-pin and --dtls-ca are two ways to trust a peer: give one of them",
            );
        }
        Ok(())
    }

    /// Checks that a client knows which server to trust.
    pub(crate) fn check_client(&self) -> Result<(), PerfError> {
        if self.identity.is_some() && self.pins.is_empty() && self.authorities.is_none() {
            let text = "the client must know which server to trust: give --dtls-pin with the fingerprint that \
                        'fairwire keygen' and the server print, or --dtls-ca with a file of authorities";
            return Err(PerfError::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Checks that a server has an identity.
    pub(crate) fn check_server(&self) -> Result<(), PerfError> {
        if self.is_on() && self.identity.is_none() {
            let text = "an encrypted server needs an identity: make one with 'fairwire keygen --out ID' and give --dtls ID";
            return Err(PerfError::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Returns the client's part, for a server called `host`.
    pub(crate) fn client(&self, host: &str) -> Result<Security<ClientConfig>, PerfError> {
        if !self.is_on() {
            return Ok(Security::None);
        }
        let mut config = match &self.authorities {
            None => ClientConfig::pinned(self.pins.iter().copied()),
            Some(path) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let name = host.parse().map_err(local)?;
                ClientConfig::verified(authorities(path)?, name)
            }
        };
        if let Some(id) = &self.identity {
            config = config.identity(identity::load(id).map_err(local)?);
        }
        Ok(Security::dtls(config))
    }

    /// Returns the server's part, and the fingerprint of its certificate.
    pub(crate) fn server(
        &self,
    ) -> Result<(Security<ServerConfig>, Option<Fingerprint>), PerfError> {
        let Some(id) = &self.identity else {
            return Ok((Security::None, None));
        };
        let identity = identity::load(id).map_err(local)?;
        let fingerprint = identity.fingerprint();
        let mut config = ServerConfig::new(identity);
        if !self.pins.is_empty() {
            config = config.clients(Trust::Fingerprints(self.pins.clone()));
        } else if let Some(path) = &self.authorities {
            config = config.clients(Trust::Authorities(authorities(path)?));
        }
        Ok((Security::dtls(config), Some(fingerprint)))
    }

    /// Returns whether a server serves only clients that it knows.
    pub(crate) fn restricts_clients(&self) -> bool {
        !self.pins.is_empty() || self.authorities.is_some()
    }

    /// Returns the words of a first line about encryption.
    pub(crate) fn words(&self) -> &'static str {
        if self.is_on() {
            "encrypted with DTLS 1.3"
        } else {
            "not encrypted"
        }
    }
}

fn authorities(path: &Path) -> Result<Authorities, PerfError> {
    let pem = identity::read(path).map_err(|error| local(format!("--dtls-ca: {error}")))?;
    Authorities::from_pem(&pem)
        .map_err(|error| local(format!("--dtls-ca {}: {error}", path.display())))
}

fn local<E: std::fmt::Display>(error: E) -> PerfError {
    PerfError::Local(format!("{error}"))
}
