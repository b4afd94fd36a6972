//! What the library's errors mean to a user of a session.

use dimpl::{CertificateError, CryptoError, Error, SecurityError, TimeoutError};
use fairwire_units::Duration;

use crate::alert::Alert;
use crate::error::SessionError;

/// Returns the session's error for one of the library's.
///
/// `limit` is how long a handshake may take.
pub(crate) fn of(error: &Error, limit: Duration) -> SessionError {
    match error {
        Error::SecurityError(security) => of_security(security),
        Error::Timeout(TimeoutError::Connect) => SessionError::TimedOut {
            limit: limit.into(),
        },
        Error::Timeout(_) | Error::TransmitHistoryFull => SessionError::Unacknowledged,
        Error::IncompleteServerHello => SessionError::OlderVersion,
        Error::CertificateError(CertificateError::NoClientCertificateReceived) => {
            SessionError::NoCertificate
        }
        Error::CertificateError(_)
        | Error::CryptoError(
            CryptoError::SignatureVerificationFailed { .. }
            | CryptoError::UnsupportedSignatureVerification { .. }
            | CryptoError::UnsupportedPublicKeyAlgorithm
            | CryptoError::UnsupportedEcCurve
            | CryptoError::CertificateParseFailed
            | CryptoError::MissingEcCurveParameter
            | CryptoError::InvalidEcCurveParameter
            | CryptoError::InvalidSubjectPublicKey
            | CryptoError::InvalidSignatureFormat,
        ) => unproven(error),
        _ => protocol(error),
    }
}

fn of_security(error: &SecurityError) -> SessionError {
    match error {
        SecurityError::FatalAlert { description } => {
            SessionError::Alert(Alert::from_number(*description))
        }
        SecurityError::ClientHelloMissingDtls13SupportedVersions
        | SecurityError::ClientHelloLegacyVersionNotDtls12
        | SecurityError::ServerHelloLegacyVersionNotDtls12
        | SecurityError::HrrDidNotSelectDtls13
        | SecurityError::ServerDidNotNegotiateDtls13
        | SecurityError::ServerSelectedUnknownCipherSuite => SessionError::OlderVersion,
        SecurityError::NoCommonCipherSuite | SecurityError::NoCommonKeyExchangeGroup => {
            SessionError::NothingInCommon
        }
        SecurityError::SignatureTooLarge
        | SecurityError::SignatureSchemeNotOffered(_)
        | SecurityError::SignatureAlgorithmMismatch { .. }
        | SecurityError::UnsupportedSignatureScheme(_)
        | SecurityError::SignatureSchemeCertificateCurveMismatch { .. }
        | SecurityError::ServerFinishedVerificationFailed
        | SecurityError::ClientFinishedVerificationFailed => unproven(error),
        _ => protocol(error),
    }
}

fn unproven(error: &impl ToString) -> SessionError {
    SessionError::Unproven {
        reason: error.to_string(),
    }
}

fn protocol(error: &impl ToString) -> SessionError {
    SessionError::Protocol {
        reason: error.to_string(),
    }
}
