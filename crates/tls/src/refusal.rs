//! Why a peer refused this end, in the words that both ends know.

use crate::error::SessionError;

/// Why a service, or a client, refused this end when DTLS was set up, as it said when it ended the connection.
///
/// The peer's words are not authenticated: somebody on the path may have written them. Use them for advice, never for
/// a decision about security.
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

    /// Returns what a peer is told about a session that failed here, if it is one of these reasons.
    pub fn of(error: &SessionError) -> Option<Self> {
        match error {
            SessionError::NotDtls { .. } => Some(Self::NotDtls),
            SessionError::NoCertificate => Some(Self::NoCertificate),
            SessionError::Certificate(_) => Some(Self::Certificate),
            _ => None,
        }
    }

    /// Returns the reason that a peer has told in these words.
    pub fn told(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.text() == text)
    }

    /// Returns the words, from the reader's point of view.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotDtls => "this service is encrypted: connect with DTLS 1.3",
            Self::NoCertificate => "DTLS: clients have to show a certificate",
            Self::Certificate => "DTLS: your certificate is not accepted",
        }
    }
}
