//! Why a peer's DTLS refused this end, in the words that both ends know.

use fairwire_proto::CloseReason;
use fairwire_tls::SessionError;

use super::{ConnectionClosed, HandshakeError};

/// Why a service, or a client, refused this end when DTLS was set up, as it said in its Reset.
///
/// Nobody protects these words: somebody on the path may have written them. Use them for advice, never for a decision
/// about security.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DtlsRefusal {
    /// It is encrypted, and this end sent something else than DTLS.
    NotDtls,
    /// It serves only clients that it knows, and this one showed no certificate.
    NoCertificate,
    /// It does not accept this end's certificate.
    Certificate,
}

impl DtlsRefusal {
    const ALL: [Self; 3] = [Self::NotDtls, Self::NoCertificate, Self::Certificate];

    /// Returns what a peer is told about a handshake that failed here, if it is one of these reasons.
    pub(crate) fn of(error: &HandshakeError) -> Option<Self> {
        match error {
            HandshakeError::Dtls(SessionError::NotDtls { .. }) => Some(Self::NotDtls),
            HandshakeError::Dtls(SessionError::NoCertificate) => Some(Self::NoCertificate),
            HandshakeError::Dtls(SessionError::Certificate(_)) => Some(Self::Certificate),
            _ => None,
        }
    }

    /// Returns the words in the Reset, from the point of view of who reads them.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NotDtls => "this service is encrypted: connect with DTLS 1.3",
            Self::NoCertificate => "DTLS: clients have to show a certificate",
            Self::Certificate => "DTLS: your certificate is not accepted",
        }
    }
}

impl ConnectionClosed {
    /// Returns why the peer's DTLS refused this end, if that is what its Reset says.
    pub fn dtls_refusal(&self) -> Option<DtlsRefusal> {
        let CloseReason::Reset {
            text: Some(text), ..
        } = &self.reason
        else {
            return None;
        };
        let text = text.to_string();
        let mut all = DtlsRefusal::ALL.into_iter();
        all.find(|refusal| refusal.text() == text)
    }
}
