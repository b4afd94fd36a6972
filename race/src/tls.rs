//! One certificate for all peers, and the same cipher suite and key exchange for all that encrypt.
//!
//! The suite is AES-128-GCM with X25519, which Fairwire's DTLS prefers. Clients accept the one certificate that they
//! were told, as with Fairwire's pinned fingerprints, and never resume a session: each handshake is a full one.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};
use serde::{Deserialize, Serialize};

use crate::transport::Result;

const ALPN: &[u8] = b"race";

/// The name in the certificate.
pub const NAME: &str = "race";

/// The server's certificate and key.
pub struct Identity {
    pub certificate_pem: String,
    pub key_pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// What a client knows of the server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Trusted {
    pub certificate: Vec<u8>,
}

impl Identity {
    pub fn generate() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        Ok(Self {
            certificate_pem: made.cert.pem(),
            key_pem: made.signing_key.serialize_pem(),
            certificate: made.cert.der().clone(),
            key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
        })
    }

    /// Returns what clients have to know.
    pub fn trusted(&self) -> Trusted {
        Trusted {
            certificate: self.certificate.to_vec(),
        }
    }

    pub fn rustls(&self) -> Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

impl Trusted {
    pub fn rustls(&self) -> Result<ClientConfig> {
        let provider = provider();
        let pinned = Pinned {
            certificate: self.certificate.clone(),
            provider: Arc::clone(&provider),
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    })
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    certificate: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
