//! Blocking listeners.

use std::ops::Deref;
use std::time::Duration;

use super::connection::Connection;
use super::runtime::Runtime;
use crate::error::{AcceptError, HandshakeError};

/// Accepts the connections of a DCCP port, as [`fairwire::Listener`](crate::Listener), whose calls block.
#[derive(Debug)]
pub struct Listener {
    inner: crate::Listener,
    runtime: Runtime,
}

impl Listener {
    pub(super) fn new(inner: crate::Listener, runtime: Runtime) -> Self {
        Self { inner, runtime }
    }

    /// Waits for the next connection, whose DTLS handshake is complete if the listener has DTLS.
    ///
    /// # Errors
    /// See [`AcceptError`].
    pub fn accept(&self) -> Result<Connection, AcceptError> {
        let accepted = self.runtime.wait(self.inner.accept())?;
        Ok(Connection::new(accepted, self.runtime.clone()))
    }

    /// Waits for the next connection, for at most `limit`; `None` if there was none.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn accept_timeout(&self, limit: Duration) -> Result<Option<Connection>, AcceptError> {
        let Some(accepted) = self.runtime.wait_for(limit, self.inner.accept()) else {
            return Ok(None);
        };
        Ok(Some(Connection::new(accepted?, self.runtime.clone())))
    }

    /// Waits for the next client, to look at it before it is accepted.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn incoming(&self) -> Result<Incoming, AcceptError> {
        let inner = self.runtime.wait(self.inner.incoming())?;
        Ok(Incoming {
            inner,
            runtime: self.runtime.clone(),
        })
    }
}

impl Deref for Listener {
    type Target = crate::Listener;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

/// A client that waits to be accepted, as [`fairwire::Incoming`](crate::Incoming).
#[derive(Debug)]
pub struct Incoming {
    inner: crate::Incoming,
    runtime: Runtime,
}

impl Incoming {
    /// Accepts the client, and waits for the DTLS handshake if the listener has DTLS.
    ///
    /// # Errors
    /// See [`HandshakeError`].
    pub fn accept(self) -> Result<Connection, HandshakeError> {
        let accepted = self.runtime.wait(self.inner.accept())?;
        Ok(Connection::new(accepted, self.runtime))
    }

    /// Refuses the client: it is told that the server is busy.
    pub fn refuse(self) {
        self.inner.refuse();
    }

    /// Refuses the client and tells it why.
    pub fn refuse_with(self, text: &str) {
        self.inner.refuse_with(text);
    }
}

impl Deref for Incoming {
    type Target = crate::Incoming;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}
