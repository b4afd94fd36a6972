//! The error of a link.

use fairwire::{CloseReason, Connection, ConnectionClosed};

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct LinkError(pub String);

impl LinkError {
    /// Returns the error of a DCCP connection that is over.
    pub(crate) fn closed(connection: &Connection, closed: &ConnectionClosed) -> Self {
        let text = match &closed.reason {
            CloseReason::Reset {
                text: Some(text), ..
            } => text.to_string(),
            _ => String::new(),
        };
        // What a Fairwire service says to a client without DTLS.
        if !connection.is_encrypted() && text.starts_with("this service is encrypted") {
            let peer = connection.remote().map(|remote| remote.user_addr());
            let peer = peer.map_or_else(|| "the server".to_owned(), |peer| peer.to_string());
            return Self(format!(
                "{peer} is encrypted and takes no clear text: give --dtls-pin with the fingerprint that the server \
                 prints when it starts, or --dtls-ca with a file of authorities"
            ));
        }
        Self(closed.to_string())
    }
}

impl From<LinkError> for PerfError {
    fn from(broken: LinkError) -> Self {
        Self::Peer(broken.0)
    }
}
