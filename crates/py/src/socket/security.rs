//! What DTLS needs: identities, and whom to trust.

use std::fmt::Display;

use fairwire::Security;
use fairwire::tls::{
    self, Authorities, ClientConfig, Date, Fingerprint, PeerName, ServerConfig, Trust, Validity,
};
use pyo3::prelude::*;

use crate::socket::errors::CredentialError;

fn refused(error: impl Display) -> PyErr {
    CredentialError::new_err(error.to_string())
}

/// A certificate with its private key.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Identity(tls::Identity);

#[pymethods]
impl Identity {
    /// Reads a certificate and its key, both in PEM.
    #[new]
    fn new(certificate: &str, key: &str) -> PyResult<Self> {
        tls::Identity::from_pem(certificate, key)
            .map(Self)
            .map_err(refused)
    }

    /// Makes a key and a certificate that is valid for `days` days from `since`, in seconds since 1970.
    #[staticmethod]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "PyO3 makes the list for the call"
    )]
    fn generate(names: Vec<String>, since: u64, days: u32) -> PyResult<Self> {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let validity = Validity::days(Date::from_unix_seconds(since), days);
        tls::Identity::generate(&names, validity)
            .map(Self)
            .map_err(refused)
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn certificate(&self) -> String {
        self.0.certificate_to_pem()
    }

    fn key(&self) -> String {
        self.0.key_to_pem().to_string()
    }
}

/// How a client secures its connections.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct ClientDtls(Security<ClientConfig>);

#[pymethods]
impl ClientDtls {
    /// Accepts servers by the fingerprints of their certificates.
    #[staticmethod]
    #[pyo3(signature = (fingerprints, identity=None))]
    fn pinned(fingerprints: Vec<String>, identity: Option<&Identity>) -> PyResult<Self> {
        Ok(Self::new(
            ClientConfig::pinned(parsed(fingerprints)?),
            identity,
        ))
    }

    /// Accepts servers whose certificate an authority has signed for the host `name`.
    #[staticmethod]
    #[pyo3(signature = (authorities, name, identity=None))]
    fn verified(authorities: &str, name: &str, identity: Option<&Identity>) -> PyResult<Self> {
        let authorities = Authorities::from_pem(authorities).map_err(refused)?;
        let name: PeerName = name.parse().map_err(refused)?;
        Ok(Self::new(
            ClientConfig::verified(authorities, name),
            identity,
        ))
    }
}

impl ClientDtls {
    fn new(config: ClientConfig, identity: Option<&Identity>) -> Self {
        Self(Security::dtls(match identity {
            Some(Identity(identity)) => config.identity(identity.clone()),
            None => config,
        }))
    }

    /// Returns the security of a connection: clear text if there is none.
    pub(crate) fn security(this: Option<&Self>) -> Security<ClientConfig> {
        this.map_or(Security::None, |Self(security)| security.clone())
    }
}

/// How a server secures its connections.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct ServerDtls(Security<ServerConfig>);

#[pymethods]
impl ServerDtls {
    /// Shows the certificate of `identity`. Clients must show a certificate if one of the other two is given.
    #[new]
    #[pyo3(signature = (identity, fingerprints=None, authorities=None))]
    fn new(
        identity: &Identity,
        fingerprints: Option<Vec<String>>,
        authorities: Option<&str>,
    ) -> PyResult<Self> {
        let config = ServerConfig::new(identity.0.clone());
        let trust = match (fingerprints, authorities) {
            (Some(_), Some(_)) => {
                return Err(refused(
                    "give fingerprints or authorities of clients, and not both",
                ));
            }
            (Some(fingerprints), None) => Some(Trust::Fingerprints(parsed(fingerprints)?)),
            (None, Some(text)) => Some(Trust::Authorities(
                Authorities::from_pem(text).map_err(refused)?,
            )),
            (None, None) => None,
        };
        Ok(Self(Security::dtls(match trust {
            Some(trust) => config.clients(trust),
            None => config,
        })))
    }
}

impl ServerDtls {
    /// Returns the security of a listener: clear text if there is none.
    pub(crate) fn security(this: Option<&Self>) -> Security<ServerConfig> {
        this.map_or(Security::None, |Self(security)| security.clone())
    }
}

fn parsed(fingerprints: Vec<String>) -> PyResult<Vec<Fingerprint>> {
    let parsed = fingerprints.into_iter();
    let parsed = parsed.map(|text| text.parse().map_err(refused));
    parsed.collect()
}
