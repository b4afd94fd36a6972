//! The error of a link.

use fairwire::{Connection, ConnectionClosed, DtlsRefusal};

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct LinkError(pub String);

impl LinkError {
    /// Returns the error of a DCCP connection that is over, with advice where the server gave a reason.
    pub(crate) fn closed(connection: &Connection, closed: &ConnectionClosed) -> Self {
        let advice = match closed.dtls_refusal() {
            Some(DtlsRefusal::NotDtls) => {
                "is encrypted and takes no clear text: give --dtls-pin with the fingerprint that the server prints when \
                 it starts, or --dtls-ca with a file of authorities; if it serves only clients that it knows, --dtls, too"
            }
            Some(DtlsRefusal::NoCertificate) => {
                "serves only clients that it knows: give --dtls ID, and the fingerprint of ID to whoever runs the server"
            }
            Some(DtlsRefusal::Certificate) => {
                "does not accept this client's certificate: give its fingerprint ('fairwire keygen --show ID') to \
                 whoever runs the server"
            }
            _ => return Self(closed.to_string()),
        };
        let peer = connection.remote().map(|remote| remote.user_addr());
        let peer = peer.map_or_else(|| "the server".to_owned(), |peer| peer.to_string());
        Self(format!("{peer} {advice}"))
    }
}

impl From<LinkError> for PerfError {
    fn from(broken: LinkError) -> Self {
        Self::Peer(broken.0)
    }
}
