//! How sessions fail.

use std::time::Duration;

use crate::alert::Alert;
use crate::trust::CertificateError;

/// Why a session cannot begin.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Datagrams are too small for a handshake.
    #[error(
        "a DTLS handshake needs datagrams of {needed} bytes, but at most {max_datagram} bytes can be sent"
    )]
    DatagramTooSmall {
        /// The largest datagram that the session may send, in bytes.
        max_datagram: usize,
        /// The smallest such limit that a session accepts, in bytes.
        needed: usize,
    },
    /// The own certificate would need more datagrams than a handshake may have.
    #[error(
        "the own certificate has {length} bytes, but with datagrams of {max_datagram} bytes a handshake has \
         room for {max}"
    )]
    CertificateTooLarge {
        /// The length of the certificate in bytes.
        length: usize,
        /// The longest certificate that fits with these datagrams, in bytes.
        max: usize,
        /// The largest datagram that the session may send, in bytes.
        max_datagram: usize,
    },
    /// The library of the protocol failed by a flaw of its own.
    #[error("the DTLS library failed ({message}); {FLAW}")]
    Library {
        /// What it says.
        message: String,
    },
}

/// What a message about the library ends with.
const FLAW: &str = "this is a flaw in Fairwire or in its library, please report it";

/// Why a session failed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The first datagram from the peer is not DTLS.
    #[error("the peer does not speak DTLS: its first datagram has {length} bytes{}", beginning(*.first))]
    NotDtls {
        /// The datagram's length in bytes.
        length: usize,
        /// The datagram's first byte, if it has one.
        first: Option<u8>,
    },
    /// The peer speaks only DTLS 1.2 or older.
    #[error("the peer speaks only DTLS 1.2 or older, and this end only DTLS 1.3 (RFC 9147)")]
    OlderVersion,
    /// The two ends have no cipher suite or no key exchange group in common.
    #[error(
        "the peer accepts none of our cipher suites (AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305) or of our \
         key exchange groups (X25519, P-256, P-384)"
    )]
    NothingInCommon,
    /// The peer ended the session with an alert.
    #[error("the peer ended the session with the alert {0}")]
    Alert(Alert),
    /// The handshake did not complete in time.
    #[error("the DTLS handshake did not complete within {limit:?}")]
    TimedOut {
        /// How long a handshake may take.
        limit: Duration,
    },
    /// The peer did not acknowledge a message after the handshake.
    #[error("the peer did not acknowledge a DTLS message, however often it was sent")]
    Unacknowledged,
    /// The peer did not acknowledge a new key before the old one had protected all that it may.
    #[error(
        "the peer did not acknowledge a new key, and the old one has protected {limit} records (RFC 9147, section 4.5.3)"
    )]
    KeyUsedUp {
        /// How many records a key may protect.
        limit: u64,
    },
    /// The peer's certificate is not accepted.
    #[error(transparent)]
    Certificate(Box<CertificateError>),
    /// The peer is a client and showed no certificate, but has to.
    #[error("the client showed no certificate, but this server requires one")]
    NoCertificate,
    /// The peer's signature or hash does not fit what it sent and showed.
    #[error("the peer did not prove who it is: {reason}")]
    Unproven {
        /// What does not fit.
        reason: String,
    },
    /// The handshake has more bytes than are accepted.
    #[error("the peer's handshake has more than {limit} bytes")]
    HandshakeTooLarge {
        /// How many bytes are accepted.
        limit: usize,
    },
    /// A message of the peer's handshake is longer than is accepted.
    #[error(
        "a message of the peer's handshake has {length} bytes, and at most {limit} are accepted"
    )]
    MessageTooLarge {
        /// The length of the message in bytes, or that of its records with their padding if only that is too long.
        length: usize,
        /// How many bytes are accepted.
        limit: usize,
    },
    /// The peer cut a message of its handshake, most likely a chain of certificates, into more parts than are accepted.
    #[error(
        "the peer cut a message of its handshake with {length} bytes into more than {limit} parts; it needs \
         larger packets, or fewer or shorter certificates"
    )]
    TooManyParts {
        /// The length of the message in bytes.
        length: usize,
        /// How many parts are accepted.
        limit: usize,
    },
    /// Too many records failed authentication.
    #[error(
        "more than {limit} records failed authentication with one key (RFC 9147, section 4.5.3)"
    )]
    TooManyForgeries {
        /// How many are accepted.
        limit: u64,
    },
    /// The peer asked for too many answers after the handshake.
    #[error("the peer asked for more than {limit} answers after the handshake")]
    TooManyAnswers {
        /// How many are given besides those that its records explain.
        limit: u32,
    },
    /// A record of the handshake is larger than the path carries now.
    #[error(
        "the path carries datagrams of at most {max_datagram} bytes now, but a record of the handshake needs \
         {needed}"
    )]
    PathTooNarrow {
        /// The length of the datagram with the record, in bytes.
        needed: usize,
        /// The largest datagram that the session may send now, in bytes.
        max_datagram: usize,
    },
    /// The library of the protocol failed by a flaw of its own. Only this session ends.
    #[error("the DTLS library failed ({message}); {FLAW}")]
    Library {
        /// What it says.
        message: String,
    },
    /// The peer broke another rule of the protocol, or its messages cannot be handled.
    #[error("the peer broke the DTLS protocol: {reason}")]
    Protocol {
        /// What is wrong.
        reason: String,
    },
}

/// Returns the part of a message that says with which byte a datagram begins.
fn beginning(first: Option<u8>) -> String {
    first.map_or_else(String::new, |first| {
        format!(" and begins with the byte {first:#04x}")
    })
}

/// Why data cannot be sealed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The handshake is not complete.
    #[error("the DTLS handshake is not complete yet")]
    NotConnected,
    /// One of the ends closed the session.
    #[error("the DTLS session is closed")]
    Closed,
    /// The data do not fit into a datagram with one record.
    #[error("{length} bytes do not fit into one DTLS record, which has room for {max}")]
    TooLarge {
        /// The length of the data in bytes.
        length: usize,
        /// How many bytes fit.
        max: usize,
    },
    /// The session failed.
    #[error(transparent)]
    Failed(SessionError),
}
