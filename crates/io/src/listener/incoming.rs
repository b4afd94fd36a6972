//! Connections that wait to be accepted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::tls::ServerConfig;
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::HandshakeError;
use crate::security::Security;

/// A connection whose DCCP handshake is complete and that the application has not yet accepted. Dropping it refuses it.
///
/// To turn a client away before any answer, use [`ListenOptions::admit`](crate::ListenOptions::admit).
#[derive(Debug)]
#[must_use = "a connection that is not accepted is refused"]
pub struct Incoming {
    pub(super) connection: Connection,
    pub(super) security: Security<ServerConfig>,
    pub(super) limit: Duration,
}

impl Incoming {
    /// Returns the client's address.
    pub fn remote(&self) -> Option<DccpAddr> {
        self.connection.remote()
    }

    /// Returns the local address, as the client sees it unless a NAT is in between.
    pub fn local(&self) -> Option<DccpAddr> {
        self.connection.local()
    }

    /// Returns the service that the client asks for, among those that the listener offers.
    pub fn service(&self) -> ServiceCode {
        self.connection.service()
    }

    /// Accepts the connection. If the listener uses DTLS, this first does its handshake.
    ///
    /// The handshake lasts at most `Config::connect_timeout`. Cancelling resets the connection.
    ///
    /// # Errors
    /// [`HandshakeError`] if DTLS could not be set up; never without DTLS.
    pub async fn accept(self) -> Result<Connection, HandshakeError> {
        self.accept_noting(&AtomicBool::new(true)).await
    }

    /// Accepts the connection, and notes when the client's part of a DTLS handshake begins.
    pub(crate) async fn accept_noting(
        self,
        is_silent: &AtomicBool,
    ) -> Result<Connection, HandshakeError> {
        let role = self.security.server();
        self.connection.secure(role, self.limit, is_silent).await?;
        Ok(self.connection)
    }

    /// Resets the connection (Reset 2, Aborted), as dropping it does.
    pub fn refuse(self) {
        self.connection.abort();
    }

    /// Resets the connection and sends the client a reason, as [`Connection::abort_with`] does.
    ///
    /// At this point the connection is already open at the client.
    pub fn refuse_with(self, text: &str) {
        self.connection.abort_with(text);
    }
}
