//! Listeners, which accept connections.

mod handshakes;
mod incoming;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use fairwire_proto::ConnectionId;
use fairwire_tls::ServerConfig;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::AcceptError;
use crate::security::Security;
use crate::state::{Handle, State};
use crate::waiting::Place;
use handshakes::Handshakes;

pub use incoming::Incoming;

/// A DCCP port that accepts connections.
///
/// Dropping it stops listening and resets the connections that are not yet accepted (Reset 2, Aborted).
#[derive(Debug)]
pub struct Listener {
    handle: Handle,
    port: u16,
    security: Security<ServerConfig>,
    /// How long a DTLS handshake may last.
    limit: Duration,
    handshakes: Arc<Handshakes>,
}

impl Listener {
    pub(crate) fn new(
        handle: Handle,
        port: u16,
        security: Security<ServerConfig>,
        limit: Duration,
    ) -> Self {
        Self {
            handle,
            port,
            security,
            limit,
            handshakes: Arc::default(),
        }
    }

    /// Waits for the next connection. Cancelling loses no connection.
    ///
    /// If the listener uses DTLS, this returns connections whose DTLS handshake is complete. It serves up to 1,024
    /// handshakes at one time, so no client delays another. When one more client arrives, a handshake of the source
    /// network that has most of them ends: the oldest one whose client has said nothing, or else the oldest one.
    /// Clients whose handshake fails are reset and counted ([`failed_handshakes`](Self::failed_handshakes)); to learn
    /// why, use [`incoming`](Self::incoming).
    ///
    /// # Errors
    /// [`AcceptError`] once the endpoint is closed.
    pub async fn accept(&self) -> Result<Connection, AcceptError> {
        if !self.security.is_encrypted() {
            return self.incoming().await.map(|incoming| incoming.connection);
        }
        loop {
            if let Some(connection) = self.handshakes.take() {
                return Ok(connection);
            }
            tokio::select! {
                biased; // A random order would make equal runs differ.
                () = self.handshakes.changed() => {}
                incoming = self.incoming() => self.handshakes.begin(incoming?),
            }
        }
    }

    /// Returns how many DTLS handshakes failed in [`accept`](Self::accept).
    pub fn failed_handshakes(&self) -> u64 {
        self.handshakes.failed()
    }

    /// Waits for the next connection and returns it before it is accepted. Cancelling loses no connection.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub async fn incoming(&self) -> Result<Incoming, AcceptError> {
        let place = Place::Acceptable(self.port);
        let taken = self.handle.wait(place, |state| self.take_over(state)).await;
        taken.map(|id| self.connection(id))
    }

    /// Returns the next connection, or registers the task of `context` to be woken when there is one.
    ///
    /// This is [`incoming`](Self::incoming) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<Result<Incoming, AcceptError>> {
        let place = Place::Acceptable(self.port);
        let polled = self
            .handle
            .poll(place, context, |state| self.take_over(state));
        polled.map(|taken| taken.map(|id| self.connection(id)))
    }

    fn connection(&self, id: ConnectionId) -> Incoming {
        let connection = Connection::new(self.handle.clone(), id);
        connection.limit_mtu_to_route();
        Incoming {
            connection,
            security: self.security.clone(),
            limit: self.limit,
        }
    }

    /// Takes the connection that has waited longest, if there is one.
    fn take_over(&self, state: &mut State) -> Option<Result<ConnectionId, AcceptError>> {
        if state.closing {
            return Some(Err(AcceptError));
        }
        let gone = state.driver_ended;
        let Some(backlog) = state.backlogs.get_mut(&self.port) else {
            return Some(Err(AcceptError));
        };
        let Some(id) = backlog.waiting.pop_front() else {
            return gone.then_some(Err(AcceptError));
        };
        let now = self.handle.clock.now();
        state.proto.free_place(now, self.port);
        self.handle.wake_driver(state);
        Some(Ok(id))
    }

    /// Returns the address that clients connect to: the endpoint's, with the UDP port, or natively the DCCP port.
    ///
    /// If [`dccp_port`](Self::dccp_port) is a different number, clients need it too.
    pub fn local_addr(&self) -> SocketAddr {
        let local = DccpAddr {
            addr: self.handle.facts.local,
            dccp_port: self.port,
        };
        local.user_addr()
    }

    /// Returns the DCCP port: the one that was asked for, or the free one that was taken.
    pub fn dccp_port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Handshakes under way end here, and reset their connections.
        self.handshakes.end();
        let now = self.handle.clock.now();
        let mut state = self.handle.lock();
        state.proto.unlisten(self.port);
        if let Some(backlog) = state.backlogs.remove(&self.port) {
            for id in backlog.waiting {
                state.abandon(now, id);
            }
        }
        self.handle.wake_driver(&mut state);
    }
}
