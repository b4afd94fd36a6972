//! The error of a link.

use std::io;

use fairwire::{Connection, ConnectionClosed, DtlsRefusal};

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct LinkError(pub String);

impl LinkError {
    /// Returns the error of a DCCP connection that is over, with advice where the server gave a reason.
    pub(crate) fn closed(connection: &Connection, closed: &ConnectionClosed) -> Self {
        let peer = connection.remote().map(|remote| remote.user_addr());
        let peer = peer.map_or_else(|| "the server".to_owned(), |peer| peer.to_string());
        Self(refused(&peer, closed).unwrap_or_else(|| closed.to_string()))
    }
}

/// Returns the error with advice, if the server refuses this client's security.
pub(crate) fn refused(peer: &str, closed: &ConnectionClosed) -> Option<String> {
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
        _ => return None,
    };
    Some(format!("{peer} {advice}"))
}

/// Returns the error for a server that could not be reached. What this host lacks is not the server's fault.
pub(crate) fn failed(target: &str, error: &io::Error) -> PerfError {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::AddrInUse
        | io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::OutOfMemory => PerfError::Local(format!("cannot open a socket: {error}")),
        _ if is_ours(error) => PerfError::Local(format!("cannot open a socket: {error}")),
        _ => PerfError::Peer(format!("{target}: {error}")),
    }
}

/// Returns whether this process or this host has no descriptor left, no memory, or no such interface.
fn is_ours(error: &io::Error) -> bool {
    #[cfg(unix)]
    return matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENODEV)
    );
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

impl From<LinkError> for PerfError {
    fn from(broken: LinkError) -> Self {
        Self::Peer(broken.0)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use super::failed;

    /// What this host lacks is an error of this side; what the server or the path says is one of the other side.
    #[test]
    fn errors_are_of_the_side_that_has_them() {
        for (number, kind) in [
            (libc::EMFILE, "local"),
            (libc::ENFILE, "local"),
            (libc::ENODEV, "local"),
            (libc::EADDRNOTAVAIL, "local"),
            (libc::ECONNREFUSED, "peer"),
            (libc::EHOSTUNREACH, "peer"),
        ] {
            let error = failed("host:1", &io::Error::from_raw_os_error(number));
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}
