//! How sessions fail.

use std::error::Error;
use std::fmt;

use fairwire_units::Duration;

use crate::alert::Alert;
use crate::trust::CertificateError;

/// Why a session cannot begin.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StartError {
    /// Datagrams are too small for a handshake.
    DatagramTooSmall {
        /// The largest datagram that the session may send, in bytes.
        max_datagram: usize,
        /// The smallest such limit that a session accepts, in bytes.
        needed: usize,
    },
    /// The own certificate would need more datagrams than a handshake may have.
    CertificateTooLarge {
        /// The length of the certificate in bytes.
        length: usize,
        /// The longest certificate that fits with these datagrams, in bytes.
        max: usize,
        /// The largest datagram that the session may send, in bytes.
        max_datagram: usize,
    },
    /// The library of the protocol failed by a flaw of its own.
    Library {
        /// What it says.
        message: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DatagramTooSmall {
                max_datagram,
                needed,
            } => write!(
                f,
                "a DTLS handshake needs datagrams of {needed} bytes, but at most {max_datagram} bytes can be sent"
            ),
            Self::CertificateTooLarge {
                length,
                max,
                max_datagram,
            } => write!(
                f,
                "the own certificate has {length} bytes, but with datagrams of {max_datagram} bytes a handshake has \
                 room for {max}"
            ),
            Self::Library { message } => library(f, message),
        }
    }
}

fn library(f: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    write!(
        f,
        "the DTLS library failed ({message}); this is a flaw in Fairwire or in its library, please report it"
    )
}

impl Error for StartError {}

/// Why a session failed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionError {
    /// The first datagram from the peer is not DTLS.
    NotDtls {
        /// The datagram's length in bytes.
        length: usize,
        /// The datagram's first byte, if it has one.
        first: Option<u8>,
    },
    /// The peer speaks only DTLS 1.2 or older.
    OlderVersion,
    /// The two ends have no cipher suite or no key exchange group in common.
    NothingInCommon,
    /// The peer ended the session with an alert.
    Alert(Alert),
    /// The handshake did not complete in time.
    TimedOut {
        /// How long a handshake may take.
        limit: Duration,
    },
    /// The peer did not acknowledge a message after the handshake.
    Unacknowledged,
    /// The peer's certificate is not accepted.
    Certificate(Box<CertificateError>),
    /// The peer is a client and showed no certificate, but has to.
    NoCertificate,
    /// The peer's signature or hash does not fit what it sent and showed.
    Unproven {
        /// What does not fit.
        reason: String,
    },
    /// The handshake has more bytes than are accepted.
    HandshakeTooLarge {
        /// How many bytes are accepted.
        limit: usize,
    },
    /// A message of the peer's handshake is longer than is accepted.
    MessageTooLarge {
        /// The length of the message in bytes, or that of its records with their padding if only that is too long.
        length: usize,
        /// How many bytes are accepted.
        limit: usize,
    },
    /// The peer cut a message of its handshake, most likely a chain of certificates, into more parts than are accepted.
    TooManyParts {
        /// The length of the message in bytes.
        length: usize,
        /// How many parts are accepted.
        limit: usize,
    },
    /// Too many records failed authentication.
    TooManyForgeries {
        /// How many are accepted.
        limit: u64,
    },
    /// The peer asked for too many answers after the handshake.
    TooManyAnswers {
        /// How many are given.
        limit: u32,
    },
    /// A record of the handshake is larger than the path carries now.
    PathTooNarrow {
        /// The length of the datagram with the record, in bytes.
        needed: usize,
        /// The largest datagram that the session may send now, in bytes.
        max_datagram: usize,
    },
    /// The library of the protocol failed by a flaw of its own. Only this session ends.
    Library {
        /// What it says.
        message: String,
    },
    /// The peer broke another rule of the protocol, or its messages cannot be handled.
    Protocol {
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDtls { length, first } => {
                write!(f, "the peer does not speak DTLS: its first datagram has {length} bytes")?;
                match first {
                    Some(first) => write!(f, " and begins with the byte {first:#04x}"),
                    None => Ok(()),
                }
            }
            Self::OlderVersion => f.write_str(
                "the peer speaks only DTLS 1.2 or older, and this end only DTLS 1.3 (RFC 9147)",
            ),
            Self::NothingInCommon => f.write_str(
                "the peer accepts none of our cipher suites (AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305) or of our \
                 key exchange groups (X25519, P-256, P-384)",
            ),
            Self::Alert(alert) => write!(f, "the peer ended the session with the alert {alert}"),
            Self::TimedOut { limit } => {
                write!(f, "the DTLS handshake did not complete within {limit}")
            }
            Self::Unacknowledged => {
                f.write_str("the peer did not acknowledge a DTLS message, however often it was sent")
            }
            Self::Certificate(error) => fmt::Display::fmt(error, f),
            Self::NoCertificate => {
                f.write_str("the client showed no certificate, but this server requires one")
            }
            Self::Unproven { reason } => {
                write!(f, "the peer did not prove who it is: {reason}")
            }
            Self::HandshakeTooLarge { limit } => {
                write!(f, "the peer's handshake has more than {limit} bytes")
            }
            Self::MessageTooLarge { length, limit } => write!(
                f,
                "a message of the peer's handshake has {length} bytes, and at most {limit} are accepted"
            ),
            Self::TooManyParts { length, limit } => write!(
                f,
                "the peer cut a message of its handshake with {length} bytes into more than {limit} parts; it needs \
                 larger packets, or fewer or shorter certificates"
            ),
            Self::TooManyForgeries { limit } => write!(
                f,
                "more than {limit} records failed authentication (RFC 9147, section 4.5.3)"
            ),
            Self::TooManyAnswers { limit } => write!(
                f,
                "the peer asked for more than {limit} answers after the handshake"
            ),
            Self::PathTooNarrow {
                needed,
                max_datagram,
            } => write!(
                f,
                "the path carries datagrams of at most {max_datagram} bytes now, but a record of the handshake needs \
                 {needed}"
            ),
            Self::Library { message } => library(f, message),
            Self::Protocol { reason } => write!(f, "the peer broke the DTLS protocol: {reason}"),
        }
    }
}

impl Error for SessionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Certificate(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

/// Why data cannot be sealed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SealError {
    /// The handshake is not complete.
    NotConnected,
    /// One of the ends closed the session.
    Closed,
    /// The data do not fit into a datagram with one record.
    TooLarge {
        /// The length of the data in bytes.
        length: usize,
        /// How many bytes fit.
        max: usize,
    },
    /// The session failed.
    Failed(SessionError),
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected => f.write_str("the DTLS handshake is not complete yet"),
            Self::Closed => f.write_str("the DTLS session is closed"),
            Self::TooLarge { length, max } => write!(
                f,
                "{length} bytes do not fit into one DTLS record, which has room for {max}"
            ),
            Self::Failed(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl Error for SealError {}
