//! The errors of the sockets as exceptions. Their classes are in `python/fairwire/errors.py`.

use fairwire::tls::SessionError;
use fairwire::{CloseReason, DtlsRefusal, HandshakeError, ListenError, StartError, Unreachable};
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(fairwire.errors, BindError);
import_exception!(fairwire.errors, ConfigError);
import_exception!(fairwire.errors, ConnectError);
import_exception!(fairwire.errors, ConnectRefused);
import_exception!(fairwire.errors, ConnectTimeout);
import_exception!(fairwire.errors, ConnectionClosed);
import_exception!(fairwire.errors, CredentialError);
import_exception!(fairwire.errors, DatagramTooLarge);
import_exception!(fairwire.errors, DtlsError);
import_exception!(fairwire.errors, ForkedError);
import_exception!(fairwire.errors, ListenerClosed);
import_exception!(fairwire.errors, SendError);

/// Returns the exception for a connection that could not be made.
pub(crate) fn not_connected(error: &fairwire::ConnectError) -> PyErr {
    let text = error.to_string();
    match kind(error) {
        Kind::Refused => ConnectRefused::new_err(text),
        Kind::Timeout => ConnectTimeout::new_err(text),
        Kind::Dtls {
            shown,
            refusal,
            peer_text,
        } => DtlsError::new_err((text, shown, refusal, peer_text)),
        Kind::Config => ConfigError::new_err(text),
        Kind::Other => ConnectError::new_err(text),
    }
}

#[derive(Eq, PartialEq)]
enum Kind {
    Refused,
    Timeout,
    /// DTLS could not be set up; with the fingerprint of the certificate that was not accepted, or why the peer refused
    /// this end, and its words.
    Dtls {
        shown: Option<String>,
        refusal: Option<&'static str>,
        peer_text: Option<String>,
    },
    Config,
    Other,
}

fn kind(error: &fairwire::ConnectError) -> Kind {
    use fairwire::ConnectError as Error;
    match error {
        Error::Refused { .. }
        | Error::Unreachable {
            why: Unreachable::Port,
            ..
        } => Kind::Refused,
        Error::Timeout { .. } => Kind::Timeout,
        Error::Handshake { error, .. } => {
            let shown = match error {
                HandshakeError::Dtls(SessionError::Certificate(error)) => {
                    Some(error.shown().to_string())
                }
                _ => None,
            };
            let closed = match error {
                HandshakeError::Closed(closed) => Some(closed),
                _ => None,
            };
            Kind::Dtls {
                shown,
                refusal: closed.and_then(refusal),
                peer_text: closed.and_then(|closed| peer_text(&closed.reason)),
            }
        }
        Error::Start(StartError::Config(_)) => Kind::Config,
        Error::All { tried, .. } => {
            let mut kinds = tried.iter().map(|(_, error)| kind(error));
            let first = kinds.next().unwrap_or(Kind::Other);
            if kinds.all(|kind| kind == first) {
                first
            } else {
                Kind::Other
            }
        }
        _ => Kind::Other,
    }
}

/// Returns the exception for a socket that could not be bound.
pub(crate) fn not_bound(error: &fairwire::BindError) -> PyErr {
    BindError::new_err(error.to_string())
}

/// Returns the exception for a port that could not be listened on.
pub(crate) fn not_listening(error: &ListenError) -> PyErr {
    let text = error.to_string();
    match error {
        ListenError::Config(_) => ConfigError::new_err(text),
        _ => BindError::new_err(text),
    }
}

/// Returns the exception for a connection that is over.
pub(crate) fn closed(closed: &fairwire::ConnectionClosed) -> PyErr {
    ConnectionClosed::new_err((
        closed.to_string(),
        closed.is_orderly(),
        reason(&closed.reason),
        peer_text(&closed.reason),
        refusal(closed),
        closed.is_authenticated,
        closed.code(),
    ))
}

/// Returns the name of the reason for which the peer's DTLS refused this end, if it did.
fn refusal(closed: &fairwire::ConnectionClosed) -> Option<&'static str> {
    closed.dtls_refusal().map(|refusal| match refusal {
        DtlsRefusal::NotDtls => "not-dtls",
        DtlsRefusal::NoCertificate => "no-certificate",
        DtlsRefusal::Certificate => "certificate",
        _ => "other",
    })
}

/// Returns what the peer said in its Reset, or as it closed.
fn peer_text(reason: &CloseReason) -> Option<String> {
    match reason {
        CloseReason::Reset {
            text: Some(text), ..
        }
        | CloseReason::ApplicationClosed {
            text: Some(text), ..
        } => Some(text.as_str().to_owned()),
        _ => None,
    }
}

/// Returns the name of a reason for the end of a connection.
pub(crate) fn reason(reason: &CloseReason) -> &'static str {
    match reason {
        CloseReason::Closed | CloseReason::ApplicationClosed { .. } => "closed",
        CloseReason::Reset { .. } => "reset",
        CloseReason::PeerError { .. } => "peer-error",
        CloseReason::ConnectTimeout => "connect-timeout",
        CloseReason::Unreachable { .. } => "unreachable",
        CloseReason::Reflected => "reflected",
        CloseReason::IdleTimeout => "idle-timeout",
        CloseReason::CloseTimeout => "close-timeout",
        CloseReason::Aborted => "aborted",
        CloseReason::Security { .. } => "dtls",
        _ => "other",
    }
}

/// Returns the exception for a datagram that was not queued.
pub(crate) fn not_sent(error: &fairwire::SendError) -> PyErr {
    use fairwire::SendError as Error;
    let reason = match error {
        Error::TooLarge { size, max } => {
            return DatagramTooLarge::new_err((error.to_string(), *size, *max));
        }
        Error::Closed(reason) => return closed(reason),
        Error::Closing => "closing",
        Error::NotListening => "not-listening",
        Error::DeadlinePassed => "deadline-passed",
        Error::GroupBroken { .. } => "group-broken",
        Error::ResendNotAgreed => "resend-not-agreed",
        Error::MessagesNotAgreed => "messages-not-agreed",
        Error::ResendWithoutLosses { .. } => "resend-without-losses",
        _ => "other",
    };
    SendError::new_err((error.to_string(), reason))
}
