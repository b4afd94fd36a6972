//! Encryption of an open connection: waiting until it is complete, and what it knows about the peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::tls::{Dtls, Fingerprint, Session, SessionError, StartError, Stats};
use fairwire_proto::{CloseReason, NoMemory, Security, SecurityError};

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, HandshakeError};
use crate::state::Progress;
use crate::timer;

/// DTLS on this connection.
impl Connection {
    /// Returns whether datagrams of this connection are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.of_session(|_| ()).is_some()
    }

    /// Returns the fingerprint of the peer's certificate, if the connection uses DTLS and the peer showed one.
    pub fn peer_fingerprint(&self) -> Option<Fingerprint> {
        self.of_session(Session::peer).flatten()
    }

    /// Returns what the DTLS session has counted, such as forged records; `None` without DTLS.
    pub fn dtls_stats(&self) -> Option<Stats> {
        self.of_session(Session::stats)
    }

    /// Asks the session, if there is one.
    fn of_session<T>(&self, ask: impl FnOnce(&Session) -> T) -> Option<T> {
        let Inner { handle, id } = &*self.inner;
        let state = handle.lock();
        let session = state.proto.session(*id)?;
        session.as_any().downcast_ref().map(ask)
    }

    /// Completes the reason of an end by what DTLS knows about it.
    pub(super) fn closed_for(&self, reason: CloseReason) -> ConnectionClosed {
        let Inner { handle, id } = &*self.inner;
        let mut closed = ConnectionClosed::of(reason);
        closed.is_authenticated = handle.lock().proto.is_end_announced(*id);
        closed
    }

    /// Sets up DTLS, if there is any, within `limit`. If that fails, the connection is reset.
    ///
    /// RFC 5238, 3.2: the DTLS handshake follows the one of DCCP, so its timer starts after it.
    pub(crate) async fn secure(
        &self,
        security: Option<Arc<Dtls>>,
        limit: Duration,
        is_silent: &AtomicBool,
    ) -> Result<(), HandshakeError> {
        let Some(security) = security else {
            return Ok(());
        };
        if timer::check().is_err() {
            self.abort();
            return Err(HandshakeError::NoRuntime);
        }
        let with = Arc::clone(&security) as Arc<dyn Security>;
        self.with_proto(|proto, now, id| proto.secure(now, id, with));
        let secured = async {
            self.wait(|connection| connection.reached(Progress::Heard))
                .await?;
            is_silent.store(false, Ordering::Relaxed);
            self.wait(|connection| connection.reached(Progress::Secured))
                .await
        };
        let Ok(secured) = tokio::time::timeout(limit, secured).await else {
            let Inner { handle, id } = &*self.inner;
            handle.abort_with(*id, "DTLS: the handshake took too long");
            return Err(HandshakeError::Timeout {
                after: limit,
                is_silent: is_silent.load(Ordering::Relaxed),
            });
        };
        // The data of a peer that has said all it had to say is for the application.
        let is_confirmed = || self.of_session(Session::is_confirmed) == Some(true);
        match secured {
            Err(CloseReason::Security { error }) => Err(failed(error)),
            Err(reason) if !is_confirmed() => Err(HandshakeError::Closed(self.closed_for(reason))),
            _ => Ok(()),
        }
    }
}

/// Returns why DTLS could not be set up.
fn failed(error: SecurityError) -> HandshakeError {
    if let Some(error) = error.downcast_ref::<SessionError>() {
        return HandshakeError::Dtls(error.clone());
    }
    if let Some(error) = error.downcast_ref::<StartError>() {
        return HandshakeError::Start(error.clone());
    }
    if let Some(NoMemory { needed }) = error.downcast_ref() {
        return HandshakeError::NoMemory { needed: *needed };
    }
    HandshakeError::Closed(ConnectionClosed::of(CloseReason::Security { error }))
}
