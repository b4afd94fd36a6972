//! Listeners, which accept connections.

mod handshakes;
mod incoming;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::tls::ServerConfig;
use fairwire_proto::ConnectionId;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::AcceptError;
use crate::security::Security;
use crate::shards::Shards;
use crate::state::{Handle, Shared, State};
use crate::timer;
use crate::waiting::Awaited;
use handshakes::Handshakes;

pub use incoming::Incoming;

/// A DCCP port that accepts connections.
///
/// Dropping it stops listening and resets the connections that are not yet accepted (Reset 2, Aborted).
#[derive(Debug)]
pub struct Listener {
    shards: Shards,
    port: u16,
    security: Security<ServerConfig>,
    /// How long a DTLS handshake may last.
    limit: Duration,
    handshakes: Arc<Handshakes>,
}

impl Listener {
    pub(crate) fn new(
        shards: Shards,
        port: u16,
        security: Security<ServerConfig>,
        limit: Duration,
    ) -> Self {
        let each = security.handshake_memory();
        let memory = shards.first().lock().proto.max_memory();
        let memory = memory.saturating_mul(shards.count());
        Self {
            shards,
            port,
            security,
            limit,
            handshakes: Arc::new(Handshakes::new(memory, each)),
        }
    }

    /// Waits for the next connection. Cancelling loses no connection.
    ///
    /// If the listener uses DTLS, this returns connections whose DTLS handshake is complete. It serves up to 1,024
    /// handshakes at one time, or as many as half of [`max_memory`](crate::EndpointConfig::max_memory) holds if each
    /// uses as much as it can. When one more client arrives, and another network has more of them, one of that network
    /// ends: the oldest one whose client has said nothing, or else the oldest one. Otherwise the client waits, with up
    /// to 3,072 others, until a handshake is over. Meanwhile a handshake ends whose client has said nothing for 2 s, or
    /// which lasts 10 s. A network is an IPv4 address, or an IPv6 /64, /56 or /48; a /56 may have twice as many
    /// handshakes as a /64, and a /48 three times. Clients whose handshake fails are reset and counted
    /// ([`failed_handshakes`](Self::failed_handshakes)); to learn why, use [`incoming`](Self::incoming).
    ///
    /// # Errors
    /// See [`AcceptError`].
    pub async fn accept(&self) -> Result<Connection, AcceptError> {
        if !self.security.is_encrypted() {
            return self.incoming().await.map(|incoming| incoming.connection);
        }
        timer::check().map_err(|_| AcceptError::NoRuntime)?;
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
    /// [`AcceptError::EndpointClosed`].
    pub async fn incoming(&self) -> Result<Incoming, AcceptError> {
        let awaited = Awaited::Acceptable(self.port);
        let take = |shard: &Shared, state: &mut State| self.take_over(shard, state);
        let (shard, taken) = self.shards.wait(awaited, take).await;
        taken.map(|id| self.connection(shard, id))
    }

    /// Returns the next connection, or registers the task of `context` to be woken when there is one.
    ///
    /// This is [`incoming`](Self::incoming) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// As for [`incoming`](Self::incoming).
    pub fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<Result<Incoming, AcceptError>> {
        let awaited = Awaited::Acceptable(self.port);
        let take = |shard: &Shared, state: &mut State| self.take_over(shard, state);
        let polled = self.shards.poll(awaited, context, take);
        polled.map(|(shard, taken)| taken.map(|id| self.connection(shard, id)))
    }

    fn connection(&self, shard: &Handle, id: ConnectionId) -> Incoming {
        let connection = Connection::new(shard.clone(), id);
        connection.limit_mtu_to_route();
        Incoming {
            connection,
            security: self.security.clone(),
            limit: self.limit,
        }
    }

    /// Takes the connection of a shard that has waited longest, if there is one.
    fn take_over(
        &self,
        shard: &Shared,
        state: &mut State,
    ) -> Option<Result<ConnectionId, AcceptError>> {
        if state.closing {
            return Some(Err(AcceptError::EndpointClosed));
        }
        let gone = state.driver_ended;
        let Some(backlog) = state.backlogs.get_mut(&self.port) else {
            return Some(Err(AcceptError::EndpointClosed));
        };
        let Some(id) = backlog.waiting.pop_front() else {
            return gone.then_some(Err(AcceptError::EndpointClosed));
        };
        let now = shard.clock.now();
        state.proto.free_place(now, self.port);
        shard.wake_driver(state);
        Some(Ok(id))
    }

    /// Returns the address that clients connect to: the endpoint's, with the UDP port, or natively the DCCP port.
    ///
    /// If [`dccp_port`](Self::dccp_port) is a different number, clients need it too.
    pub fn local_addr(&self) -> SocketAddr {
        let local = DccpAddr {
            addr: self.shards.first().facts.local,
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
        // The first shard comes last: while it has the listener, no other one begins on this port.
        for shard in self.shards.iter().rev() {
            let now = shard.clock.now();
            let mut state = shard.lock();
            if let Some(backlog) = state.backlogs.remove(&self.port) {
                state.proto.unlisten(self.port);
                for id in backlog.waiting {
                    state.abandon(now, id);
                }
            }
            shard.wake_driver(&mut state);
        }
    }
}
