//! The error of a link.

use fairwire::{CloseReason, Connection, ConnectionClosed};

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct LinkError(pub String);

impl LinkError {
    /// Returns the error of a DCCP connection that is over, with advice where the server gave a reason.
    pub(crate) fn closed(connection: &Connection, closed: &ConnectionClosed) -> Self {
        let text = reset_text(closed).unwrap_or_default();
        // What a Fairwire service says to clients that it does not take.
        let advice = if !connection.is_encrypted() && text.starts_with("this service is encrypted")
        {
            "is encrypted and takes no clear text: give --dtls-pin with the fingerprint that the server prints when it \
             starts, or --dtls-ca with a file of authorities; if it serves only clients that it knows, --dtls, too"
        } else if text == "DTLS: clients have to show a certificate" {
            "serves only clients that it knows: give --dtls ID, and the fingerprint of ID to whoever runs the server"
        } else if text == "DTLS: your certificate is not accepted" {
            "does not accept this client's certificate: give its fingerprint ('fairwire keygen --show ID') to whoever \
             runs the server"
        } else {
            return Self(closed.to_string());
        };
        let peer = connection.remote().map(|remote| remote.user_addr());
        let peer = peer.map_or_else(|| "the server".to_owned(), |peer| peer.to_string());
        Self(format!("{peer} {advice}"))
    }
}

/// Returns what the peer said when it reset a connection.
pub(super) fn reset_text(closed: &ConnectionClosed) -> Option<String> {
    match &closed.reason {
        CloseReason::Reset { text, .. } => text.as_ref().map(ToString::to_string),
        _ => None,
    }
}

impl From<LinkError> for PerfError {
    fn from(broken: LinkError) -> Self {
        Self::Peer(broken.0)
    }
}
