//! An end's own certificate and private key.

use std::fmt;
use std::sync::Arc;

use pem_rfc7468::LineEnding;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyUsagePurpose,
    SanType, SerialNumber,
};
use rustls_pki_types::pem::{self, PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, IpAddr, ServerName};
use webpki::EndEntityCert;
use zeroize::Zeroizing;

use crate::date::Validity;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::name::PeerName;
use crate::words;

/// What a self-made certificate is called if it has no names.
const NAMELESS: &str = "fairwire";

/// What the key is called in errors.
const PRIVATE_KEY: &str = "private key";

/// The bytes of the fingerprint of the public key that become the serial number of a self-made certificate.
///
/// RFC 5280, section 4.1.2.2, allows at most 20.
const SERIAL_BYTES: usize = 16;

/// A certificate with its private key.
///
/// A copy shares the key with the original. The key is overwritten in memory when the last copy is dropped.
#[derive(Clone)]
pub struct Identity {
    certificate: Arc<[u8]>,
    key: Arc<Key>,
}

impl Identity {
    /// Makes a new key on the curve P-256, and a certificate for it that is signed with the key itself.
    ///
    /// Peers accept such a certificate by its fingerprint. `names` are host names and IP addresses; there may be none.
    /// A host name may begin with `*.` for every name with one more label.
    ///
    /// # Errors
    /// If a name is neither a host name nor an IP address, if the validity ends before it begins or after the year
    /// 9999, or if the operating system gives no random bytes.
    pub fn generate(names: &[&str], validity: Validity) -> Result<Self, IdentityError> {
        Self::of_key(
            Key::generate().map_err(|_| IdentityError::NoKey)?,
            names,
            validity,
        )
    }

    /// Makes the identity that follows from the seed of a simulation; see [`Identity::generate`].
    ///
    /// # Errors
    /// Like [`Identity::generate`].
    #[cfg(feature = "seeded")]
    pub fn simulated(
        names: &[&str],
        validity: Validity,
        seed: &crate::SimulationSeed,
    ) -> Result<Self, IdentityError> {
        let mut draws = seed.draws("identity");
        // One number of 2^32 is beyond the order of the curve.
        let mut tries = (0..8).map(|_| Key::seeded(&draws.next()));
        let key = tries.find_map(Result::ok).ok_or(IdentityError::NoKey)?;
        Self::of_key(key, names, validity)
    }

    fn of_key(key: Key, names: &[&str], validity: Validity) -> Result<Self, IdentityError> {
        let parameters = parameters(names, validity, &key)?;
        let certificate =
            parameters
                .self_signed(&key)
                .map_err(|error| IdentityError::Unwritable {
                    reason: error.to_string(),
                })?;
        Ok(Self {
            certificate: certificate.der().as_ref().into(),
            key: Arc::new(key),
        })
    }

    /// Reads a certificate and its private key, both in PEM.
    ///
    /// The key is ECDSA on P-256 or P-384, as PKCS #8 (`PRIVATE KEY`) or as `EC PRIVATE KEY`, and not encrypted. Both
    /// texts may be the same file.
    ///
    /// # Errors
    /// If a text is not PEM, has no certificate or key, has more than one certificate (a session shows only one, so an
    /// authority that peers know has to sign it directly), or if the key is not that of the certificate.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, IdentityError> {
        let mut certificates = Vec::new();
        for found in CertificateDer::pem_slice_iter(certificate.as_bytes()) {
            certificates.push(found.map_err(|error| unreadable("certificate", &error))?);
        }
        let [certificate] = certificates.as_slice() else {
            return Err(match certificates.len() {
                0 => IdentityError::Missing {
                    what: "certificate",
                    section: "CERTIFICATE",
                },
                count => IdentityError::Chain { count },
            });
        };
        let parsed =
            EndEntityCert::try_from(certificate).map_err(|error| IdentityError::Malformed {
                reason: words::of_certificate(&error),
            })?;
        let key = read_key(key)?;
        // The subject's public key ends with the point on the curve (RFC 5480, section 2).
        if !parsed
            .subject_public_key_info()
            .as_ref()
            .ends_with(key.public())
        {
            return Err(IdentityError::OtherKey);
        }
        Ok(Self {
            certificate: certificate.as_ref().into(),
            key: Arc::new(key),
        })
    }

    /// Returns the certificate in PEM.
    ///
    /// # Panics
    /// Never: any bytes can be written in PEM.
    pub fn certificate_to_pem(&self) -> String {
        pem_rfc7468::encode_string("CERTIFICATE", LineEnding::LF, &self.certificate)
            .expect("the label is valid, and the bytes can have any value")
    }

    /// Returns the private key in PEM (PKCS #8), in memory that is overwritten when it is dropped.
    ///
    /// # Panics
    /// Never: the key was read or made by the library that writes it here.
    pub fn key_to_pem(&self) -> Zeroizing<String> {
        let document = self.key.to_pkcs8().expect("a key that was read is written");
        let text = pem_rfc7468::encode_string("PRIVATE KEY", LineEnding::LF, document.as_ref())
            .expect("the label is valid, and the bytes can have any value");
        Zeroizing::new(text)
    }

    /// Returns the fingerprint of the certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// Returns the certificate in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the private key.
    pub(crate) const fn key(&self) -> &Arc<Key> {
        &self.key
    }
}

impl fmt::Debug for Identity {
    /// Shows the fingerprint of the certificate and nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// Returns what a certificate for `key` says that both clients and servers may show.
fn parameters(
    names: &[&str],
    validity: Validity,
    key: &Key,
) -> Result<CertificateParams, IdentityError> {
    let refused = IdentityError::Validity { validity };
    let (Some(from), Some(until)) = (validity.from.calendar(), validity.until.calendar()) else {
        return Err(refused);
    };
    if until < from {
        return Err(refused);
    }
    let mut subject = DistinguishedName::new();
    subject.push(
        DnType::CommonName,
        names.first().copied().unwrap_or(NAMELESS),
    );
    let serial = Fingerprint::of(key.public());
    let serial = &serial.as_bytes()[..SERIAL_BYTES];
    let mut parameters = CertificateParams::default();
    parameters.not_before = from;
    parameters.not_after = until;
    parameters.distinguished_name = subject;
    parameters.serial_number = Some(SerialNumber::from_slice(serial));
    parameters.subject_alt_names = names
        .iter()
        .map(|name| alternative(name))
        .collect::<Result<_, _>>()?;
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    Ok(parameters)
}

fn alternative(name: &str) -> Result<SanType, IdentityError> {
    let refused = || IdentityError::Name {
        name: name.to_owned(),
    };
    // A wildcard stands for one label (RFC 9525, section 6.3), and peers accept it only before two others.
    let host = name.strip_prefix("*.").unwrap_or(name);
    if host.ends_with('.') || (host != name && !host.contains('.')) {
        return Err(refused());
    }
    let parsed: PeerName = host.parse().map_err(|_| refused())?;
    match parsed.as_server_name() {
        ServerName::IpAddress(_) if host != name => Err(refused()),
        ServerName::IpAddress(IpAddr::V4(address)) => Ok(SanType::IpAddress(
            std::net::Ipv4Addr::from(*address).into(),
        )),
        ServerName::IpAddress(IpAddr::V6(address)) => Ok(SanType::IpAddress(
            std::net::Ipv6Addr::from(*address).into(),
        )),
        _ => name.try_into().map(SanType::DnsName).map_err(|_| refused()),
    }
}

fn read_key(text: &str) -> Result<Key, IdentityError> {
    for found in <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes()) {
        let (kind, der) = found.map_err(|error| {
            // RFC 1421, section 4.6.1.1: such a section has headers before its Base64.
            if text.contains("Proc-Type: 4,ENCRYPTED") {
                IdentityError::Encrypted
            } else {
                unreadable(PRIVATE_KEY, &error)
            }
        })?;
        let der = Zeroizing::new(der);
        match kind {
            SectionKind::PrivateKey | SectionKind::EcPrivateKey => {
                return Key::from_der(&der).ok_or(IdentityError::OtherAlgorithm);
            }
            SectionKind::RsaPrivateKey => return Err(IdentityError::OtherAlgorithm),
            _ => {}
        }
    }
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") {
        return Err(IdentityError::Encrypted);
    }
    Err(IdentityError::Missing {
        what: PRIVATE_KEY,
        section: "PRIVATE KEY",
    })
}

fn unreadable(what: &'static str, error: &pem::Error) -> IdentityError {
    IdentityError::NotPem {
        what,
        reason: words::of_pem(error),
    }
}

/// Why a certificate and its key cannot be made or read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The operating system gives no random bytes for a key.
    #[error("the operating system gives no random bytes for a private key")]
    NoKey,
    /// A name is neither a host name nor an IP address.
    #[error(
        "a certificate is for host names (without a final dot; a wildcard before two labels, as in \
         *.example.org) and IP addresses, and {name:?} is none of these"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The validity ends before it begins, or after the year 9999.
    #[error(
        "a certificate's validity ends after it begins, and before the year 10000, but this one is from {} to {}",
        .validity.from,
        .validity.until
    )]
    Validity {
        /// The validity asked for.
        validity: Validity,
    },
    /// The certificate could not be made for another reason.
    #[error("the certificate cannot be made: {reason}")]
    Unwritable {
        /// The reason.
        reason: String,
    },
    /// A text is not well-formed PEM.
    #[error("the {what} is not well-formed PEM: {reason}")]
    NotPem {
        /// What was being read.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A text has no certificate or no key.
    #[error(
        "the text has no {what}: it needs a section that starts with -----BEGIN {section}-----"
    )]
    Missing {
        /// What was being read.
        what: &'static str,
        /// The name of the section that was looked for.
        section: &'static str,
    },
    /// A text has more than one certificate.
    #[error(
        "the text has {count} certificates, but a session shows only one: give the first alone, and let an \
         authority that peers know sign it directly"
    )]
    Chain {
        /// How many it has.
        count: usize,
    },
    /// The certificate cannot be read.
    #[error("the certificate cannot be read: {reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// The private key is protected by a password.
    #[error(
        "the private key is encrypted with a password: decrypt it first (openssl pkcs8 -topk8 -nocrypt)"
    )]
    Encrypted,
    /// The private key is not ECDSA on P-256 or P-384.
    #[error(
        "the private key is not one of ECDSA on P-256 or P-384, or it is damaged ('fairwire keygen' makes a key \
         with its certificate)"
    )]
    OtherAlgorithm,
    /// The private key does not belong to the certificate.
    #[error("the private key does not belong to the certificate")]
    OtherKey,
}

impl IdentityError {
    /// Returns whether the private key is wrong, and not the certificate.
    pub fn is_about_key(&self) -> bool {
        match self {
            Self::NotPem { what, .. } | Self::Missing { what, .. } => *what == PRIVATE_KEY,
            Self::NoKey | Self::Encrypted | Self::OtherAlgorithm | Self::OtherKey => true,
            Self::Name { .. }
            | Self::Validity { .. }
            | Self::Unwritable { .. }
            | Self::Chain { .. }
            | Self::Malformed { .. } => false,
        }
    }
}
