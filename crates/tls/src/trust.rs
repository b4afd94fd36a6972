//! Whom an end accepts as its peer.

use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, InvalidNameContext, KeyUsage};

use crate::date::Date;
use crate::fingerprint::Fingerprint;
use crate::name::PeerName;
use crate::words;

/// Whom an end accepts as its peer.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Peers whose certificate has one of these fingerprints. Names and dates in the certificate do not matter.
    Fingerprints(Vec<Fingerprint>),
    /// Peers with a certificate that one of these authorities signed and that is valid now.
    Authorities(Authorities),
}

/// What a peer is: this decides the purpose that its certificate must allow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer<'a> {
    /// A server, with the name that its certificate must be for.
    Server(Option<&'a PeerName>),
    /// A client. Its certificate may be for any name.
    Client,
}

impl Trust {
    /// Checks the certificate that a peer shows, and returns its fingerprint.
    pub(crate) fn check(
        &self,
        certificate: &[u8],
        peer: Peer<'_>,
        date: Date,
    ) -> Result<Fingerprint, CertificateError> {
        let shown = Fingerprint::of(certificate);
        match self {
            Self::Fingerprints(expected) if expected.contains(&shown) => Ok(shown),
            Self::Fingerprints(expected) => Err(CertificateError::OtherFingerprint {
                expected: expected.clone(),
                shown,
            }),
            Self::Authorities(authorities) => authorities
                .verify(certificate, peer, date)
                .map(|()| shown)
                .map_err(|error| refused(error, shown, date)),
        }
    }
}

/// Certificates of authorities.
#[derive(Clone, Debug)]
pub struct Authorities(Vec<TrustAnchor<'static>>);

impl Authorities {
    /// Reads all certificates of a text in PEM.
    ///
    /// # Errors
    /// If the text is not PEM, has no certificate, or one of them cannot be read.
    pub fn from_pem(text: &str) -> Result<Self, AuthoritiesError> {
        let mut certificates = Vec::new();
        for found in CertificateDer::pem_slice_iter(text.as_bytes()) {
            certificates.push(found.map_err(|error| AuthoritiesError::NotPem {
                reason: words::of_pem(&error),
            })?);
        }
        Self::from_certificates(&certificates)
    }

    /// Reads certificates, each in DER.
    ///
    /// # Errors
    /// If there is none, or one cannot be read.
    pub fn from_der<'a>(
        certificates: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, AuthoritiesError> {
        let certificates: Vec<_> = certificates
            .into_iter()
            .map(CertificateDer::from_slice)
            .collect();
        Self::from_certificates(&certificates)
    }

    fn from_certificates(certificates: &[CertificateDer<'_>]) -> Result<Self, AuthoritiesError> {
        let mut anchors = Vec::with_capacity(certificates.len());
        for (place, certificate) in (1..).zip(certificates) {
            let anchor = webpki::anchor_from_trusted_cert(certificate);
            let anchor = anchor.map_err(|error| AuthoritiesError::Malformed {
                place,
                reason: words::of_certificate(&error),
            })?;
            anchors.push(anchor.to_owned());
        }
        if anchors.is_empty() {
            return Err(AuthoritiesError::Empty);
        }
        Ok(Self(anchors))
    }

    fn verify(&self, certificate: &[u8], peer: Peer<'_>, date: Date) -> Result<(), webpki::Error> {
        let certificate = CertificateDer::from_slice(certificate);
        let certificate = EndEntityCert::try_from(&certificate)?;
        let (usage, name) = match peer {
            Peer::Server(name) => (KeyUsage::server_auth(), name),
            Peer::Client => (KeyUsage::client_auth(), None),
        };
        let now = UnixTime::since_unix_epoch(Duration::from_secs(date.as_unix_seconds()));
        // A session shows one certificate, so there are none between it and the authority.
        certificate.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &self.0,
            &[],
            now,
            usage,
            None,
            None,
        )?;
        if let Some(name) = name {
            certificate.verify_is_valid_for_subject_name(name.as_server_name())?;
        }
        Ok(())
    }
}

fn refused(error: webpki::Error, shown: Fingerprint, now: Date) -> CertificateError {
    let date = |time: UnixTime| Date::from_unix_seconds(time.as_secs());
    match error {
        // The second: an authority of this name is known, but it has another key.
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            CertificateError::UnknownIssuer { shown }
        }
        webpki::Error::CertExpired { not_after, .. } => CertificateError::Expired {
            until: date(not_after),
            now,
            shown,
        },
        webpki::Error::CertNotValidYet { not_before, .. } => CertificateError::NotYetValid {
            from: date(not_before),
            now,
            shown,
        },
        webpki::Error::CertNotValidForName(InvalidNameContext {
            expected,
            presented,
        }) => CertificateError::OtherName {
            expected: expected.to_str().into_owned(),
            presented: presented.iter().map(|name| words::of_name(name)).collect(),
            shown,
        },
        error => CertificateError::Invalid {
            reason: words::of_certificate(&error),
            shown,
        },
    }
}

/// Why a peer's certificate is not accepted.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Its fingerprint is none of those that are accepted.
    #[error("the peer's certificate has the fingerprint {shown}, {}", wanted(.expected))]
    OtherFingerprint {
        /// The fingerprints that are accepted.
        expected: Vec<Fingerprint>,
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
    /// None of the known authorities signed it.
    #[error("none of the known authorities signed the peer's certificate (fingerprint {shown})")]
    UnknownIssuer {
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
    /// It is no longer valid.
    #[error(
        "the peer's certificate expired: it was valid until {until}, and now is {now} (fingerprint {shown})"
    )]
    Expired {
        /// The last moment at which it was valid.
        until: Date,
        /// The date of the check.
        now: Date,
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
    /// It is not valid yet.
    #[error(
        "the peer's certificate is not valid yet: it begins at {from}, and now is {now} (fingerprint {shown})"
    )]
    NotYetValid {
        /// The first moment at which it is valid.
        from: Date,
        /// The date of the check.
        now: Date,
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
    /// It is for other names.
    #[error(
        "the peer's certificate is not for {expected}, {} (fingerprint {shown})",
        named(.presented)
    )]
    OtherName {
        /// The name that it should be for.
        expected: String,
        /// The names that it is for.
        presented: Vec<String>,
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
    /// It is malformed, or an authority does not allow it for this purpose.
    #[error("the peer's certificate is not valid: {reason} (fingerprint {shown})")]
    Invalid {
        /// What is wrong.
        reason: String,
        /// The fingerprint of the certificate that the peer shows.
        shown: Fingerprint,
    },
}

/// Returns which fingerprints are accepted, for a message.
fn wanted(expected: &[Fingerprint]) -> String {
    match expected {
        [] => "and no fingerprint is accepted".to_owned(),
        [expected] => format!("expected {expected}"),
        many => format!("which is none of the {} expected", many.len()),
    }
}

/// Returns which names a certificate has, for a message.
fn named(presented: &[String]) -> String {
    if presented.is_empty() {
        "and names no host".to_owned()
    } else {
        format!("but for {}", presented.join(", "))
    }
}

impl CertificateError {
    /// Returns the fingerprint of the certificate that the peer shows.
    pub const fn shown(&self) -> Fingerprint {
        match self {
            Self::OtherFingerprint { shown, .. }
            | Self::UnknownIssuer { shown }
            | Self::Expired { shown, .. }
            | Self::NotYetValid { shown, .. }
            | Self::OtherName { shown, .. }
            | Self::Invalid { shown, .. } => *shown,
        }
    }
}

/// Why certificates of authorities cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthoritiesError {
    /// The text is not well-formed PEM.
    #[error("the authorities' certificates are not well-formed PEM: {reason}")]
    NotPem {
        /// What is wrong.
        reason: String,
    },
    /// There is no certificate.
    #[error(
        "there is no authority's certificate: each needs a section that starts with \
         -----BEGIN CERTIFICATE-----"
    )]
    Empty,
    /// A certificate cannot be read.
    #[error("the authority's certificate number {place} cannot be read: {reason}")]
    Malformed {
        /// Its place among the certificates; the first is 1.
        place: usize,
        /// What is wrong.
        reason: String,
    },
}
